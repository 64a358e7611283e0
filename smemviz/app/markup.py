"""Components of Dash's html as the text of a page: what is there before any script has run, or changes as a whole."""

from __future__ import annotations

from html import escape

from dash.development.base_component import Component

_NAMES = {"className": "class"}  # HTML does not tell capitals from small letters: tabIndex is tabindex
_EMPTY = ("br", "hr", "input")  # have no end, for nothing is in them


def is_element(component: Component) -> bool:
    """Tell an element of HTML from what only Dash can draw."""
    return bool(component._namespace == "dash_html_components")


def tag_of(component: Component) -> str:
    """Return the name of the element that a component is; one that only Dash can draw is none."""
    assert is_element(component), component
    return str(component._type.lower())


def markup(part: object) -> str:
    """Write a component, a text, or a list of those as HTML."""
    if part is None:
        return ""
    if isinstance(part, list | tuple):
        return "".join(markup(child) for child in part)
    if not isinstance(part, Component):
        return escape(str(part))
    tag = tag_of(part)
    attributes: dict[str, object] = dict(part.to_plotly_json()["props"])
    inside = markup(attributes.pop("children", None))
    named = "".join(_attribute(_NAMES.get(name, name), value) for name, value in attributes.items())
    return f"<{tag}{named}>" if tag in _EMPTY else f"<{tag}{named}>{inside}</{tag}>"


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    return f' {name}="{"" if value is True else escape(str(value))}"'
