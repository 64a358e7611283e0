"""Messages as components: such with code or links in them, and texts that were recorded in English."""

from string import Formatter
from typing import Any

from dash import html
from dash.development.base_component import Component

from smemviz.i18n import gettext
from smemviz.messages import say


def rich(message: str, /, **values: Any) -> list[Component | str]:
    """Return a message in the spoken language as children; a value may be a component, or a list of children."""
    children: list[Component | str] = []
    for literal, name, form, _ in Formatter().parse(gettext(message)):
        value = values[name] if name is not None else ""
        parts = value if isinstance(value, list) else [value]
        for part in (literal, *(part if isinstance(part, Component) else format(part, form or "") for part in parts)):
            if isinstance(part, str) and children and isinstance(children[-1], str):
                children[-1] += part
            elif part:
                children.append(part)
    return children


def translated(text: str) -> Component | str:
    """Return a recorded or printed English text in the spoken language; one that cannot be said in it is marked."""
    known = say(text)
    return html.Span(text, lang="en") if known is None else known
