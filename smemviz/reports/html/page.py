"""HTML files that need nothing but themselves: what they may load and run is told to the browser, by its hash.

And what scripts in a page say: the translations they look up, and the script that looks them up.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from smemviz.figures.drawing.style import THEMES, ThemeName, font
from smemviz.i18n import English, _, script_messages, spoken
from smemviz.paths import assets_dir
from smemviz.views.grid import RULE

# Nothing of a figure leaves the file: no upload button, no server to upload to.
CONFIG: Mapping[str, Any] = {
    "displaylogo": False,
    "displayModeBar": False,  # its buttons may not stand in a picture that is read out by its name
    "modeBarButtonsToRemove": ["sendChartToCloud"],
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "responsive": True,
}
_PICTURES = assets_dir() / "pictures"  # which the dashboard draws too


def document(title: str, body: str, style: str, scripts: Sequence[str], *, theme: ThemeName | None = None) -> str:
    """Write a page whose scripts are these and no others, and which can reach no network."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    allowed = hashes or "'none'"
    # Styles are set by scripts, plotly's among them; they load nothing.
    policy = f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"
    script_elements = "\n".join(f"<script>{script}</script>" for script in scripts)
    return f"""<!doctype html>
<html lang="{spoken()}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="{theme or "light dark"}">
<title>{escape(title)}</title>
<style>
{style}
</style>
</head>
<body>
{body}
{script_elements}
</body>
</html>
"""


def text_of(text: str) -> str:
    """Write what stands between tags; English among another language is marked as such."""
    return f'<span lang="en">{escape(text)}</span>' if isinstance(text, English) else escape(text)


def figure_page(figure: go.Figure, caption: str, title: str, theme: ThemeName = "light") -> str:
    """Write a figure that answers to the mouse, with its caption and its table, as one file that works offline."""
    colours = THEMES[theme]
    style = (
        f"body {{ margin: 0; padding: 1.5rem; font: 15px/1.5 {font()}; }}"
        f" body {{ background: {colours.paper}; color: {colours.ink}; }}"
        " main { margin: 0 auto; max-width: 1000px; } h1 { font-size: 20px; }"
        " figure { margin: 0; } .scroller { overflow-x: auto; }"
        f" #figure {{ min-width: 640px; height: {figure.layout.height}px; }}"
        " .figure-table .scroller { max-height: 420px; overflow: auto; margin: 0.5rem 0; }"
        " table { border-collapse: collapse; font-size: 13px; width: max-content; } caption { text-align: left; }"
        f" th, td {{ border: 1px solid {colours.muted}; padding: 3px 8px; text-align: left; vertical-align: top; }}"
        " td { max-width: 240px; } th { font-weight: 400; } button { font: inherit; }"
        f" figcaption {{ color: {colours.muted}; max-width: 75ch; margin-top: 0.75rem; }}"
    )
    label = (figure.layout.meta or {}).get("says", title)
    paragraphs = "".join(f"<p>{escape(line)}</p>" for line in caption.splitlines())
    table = f'<button type="button" data-table="{escape(title)}" aria-expanded="false">{text_of(_("Table"))}</button>'
    body = f"""{messages_element()}<main><h1>{escape(title)}</h1>
{table}<figure><div class="scroller" tabindex="0" role="region" aria-label="{escape(title)}">\
<div id="figure" role="group" aria-label="{escape(label)}"></div></div>
<figcaption>{paragraphs}</figcaption></figure></main>"""
    drawn = json.loads(figure.to_json())
    start = f'Plotly.newPlot("figure", {embedded(drawn["data"])}, {embedded(drawn["layout"])}, {embedded(CONFIG)});'
    scripts = [language_script(), table_script(), get_plotlyjs(), start]
    return document(title, body, style, scripts, theme=theme)


def embedded(data: Any) -> str:
    """Write data as JSON that may stand in a script: nothing in it ends the script or opens a comment."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def messages_element() -> str:
    """Return the elements that scripts read: what they say in the spoken language, and where they name lanes."""
    parts = {"messages": script_messages(spoken()), "label-rule": RULE}
    return "".join(
        f'<script type="application/json" id="{name}">{embedded(part)}</script>' for name, part in parts.items()
    )


def language_script() -> str:
    """Return the script that gives other scripts ``gettext``; it runs before them and after the element."""
    return (assets_dir() / "language.js").read_text("utf-8")


def table_script() -> str:
    """Return the script that names figures by what they show and opens their tables; it needs ``gettext``."""
    return (assets_dir() / "tables.js").read_text("utf-8")


def report_scripts() -> list[str]:
    """Return the scripts that play a recording, in their order; they need the messages."""
    pictures = [
        (_PICTURES / f"{name}.js").read_text("utf-8") for name in ("marks", "request", "tile", "served", "hover")
    ]
    own = (files("smemviz.reports.html") / "report.js").read_text("utf-8")
    return [language_script(), table_script(), *pictures, own]


def picture_style() -> str:
    """Return the style sheet of the pictures that those scripts draw."""
    return (_PICTURES / "pictures.css").read_text("utf-8")
