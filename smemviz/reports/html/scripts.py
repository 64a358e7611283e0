"""What scripts in a page say: the translations they look up, and the script that looks them up."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from smemviz.i18n import script_messages, spoken
from smemviz.paths import assets_dir

_PICTURES = assets_dir() / "pictures"  # which the dashboard draws too


def embedded(data: Any) -> str:
    """Write data as JSON that may stand in a script: nothing in it ends the script or opens a comment."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def messages_element() -> str:
    """Return the element that holds the translations of what scripts say, in the spoken language."""
    return f'<script type="application/json" id="messages">{embedded(script_messages(spoken()))}</script>'


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
