"""HTML files that need nothing but themselves: what they may load and run is told to the browser, by its hash.

And what scripts in a page say: the translations they look up, and the script that looks them up.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from smemviz.figures.drawing.style import THEMES, ThemeName, font, mono
from smemviz.i18n import English, _, ngettext, script_messages, spoken
from smemviz.paths import assets_dir
from smemviz.views.grid import RULE

if TYPE_CHECKING:
    import plotly.graph_objects as go

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


def _marked(value: object) -> object:
    return Markup('<span lang="en">{}</span>').format(value) if isinstance(value, English) else value


_TEMPLATES = Environment(
    loader=PackageLoader("smemviz.reports", "html"),
    autoescape=True,
    finalize=_marked,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
)
_TEMPLATES.globals |= {"_": _, "ngettext": ngettext, "spoken": spoken, "font": font, "mono": mono}


def rendered(template: str, **values: Any) -> str:
    """Fill in a template in the spoken language; ``forceescape`` there is for what cannot be marked as English."""
    return _TEMPLATES.get_template(template).render(values)


def document(
    template: str, title: str, scripts: Sequence[str] = (), *, theme: ThemeName | None = None, **values: Any
) -> str:
    """Write a page whose scripts are these and no others, and which can reach no network."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return rendered(template, title=title, scripts=scripts, hashes=hashes, theme=theme, **values)


def figure_page(figure: go.Figure, caption: str, title: str, theme: ThemeName = "light") -> str:
    """Write a figure that answers to the mouse, with its caption and its table, as one file that works offline."""
    from plotly.offline import get_plotlyjs

    drawn = json.loads(figure.to_json())
    start = f'Plotly.newPlot("figure", {embedded(drawn["data"])}, {embedded(drawn["layout"])}, {embedded(CONFIG)});'
    return document(
        "figure.html",
        title,
        [language_script(), table_script(), get_plotlyjs(), start],
        theme=theme,
        colours=THEMES[theme],
        height=figure.layout.height,
        label=(figure.layout.meta or {}).get("says", title),
        caption=caption,
        messages=messages_element(),
    )


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
        (_PICTURES / f"{name}.js").read_text("utf-8")
        for name in ("marks", "request", "tile", "served", "swatches", "hover")
    ]
    own = (files("smemviz.reports.html") / "report.js").read_text("utf-8")
    return [language_script(), table_script(), *pictures, own]


def picture_style() -> str:
    """Return the style sheets of what those scripts draw, and of the source."""
    return "".join((_PICTURES / f"{name}.css").read_text("utf-8") for name in ("pictures", "source"))
