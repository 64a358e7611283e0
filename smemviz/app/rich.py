"""Messages with components in them, such as code or links."""

from __future__ import annotations

from string import Formatter
from typing import Any

from dash.development.base_component import Component

from smemviz.language import gettext


def rich(message: str, /, **values: Any) -> list[Component | str]:
    """Return a message in the spoken language as children; a value may be a component, or a list of children."""
    children: list[Component | str] = []
    for literal, name, form, _ in Formatter().parse(gettext(message)):
        if literal:
            children.append(literal)
        if name is None:
            continue
        value = values[name]
        if isinstance(value, list):
            children += value
        else:
            children.append(value if isinstance(value, Component) else format(value, form or ""))
    return children
