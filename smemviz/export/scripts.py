"""What scripts in a page say: the translations they look up, and the script that looks them up."""

from __future__ import annotations

from smemviz.export.page import embedded
from smemviz.language import script_messages, spoken
from smemviz.resources import assets_dir


def messages_element() -> str:
    """Return the element that holds the translations of what scripts say, in the spoken language."""
    return f'<script type="application/json" id="messages">{embedded(script_messages(spoken()))}</script>'


def language_script() -> str:
    """Return the script that gives other scripts ``gettext``; it runs before them and after the element."""
    return (assets_dir() / "language.js").read_text("utf-8")
