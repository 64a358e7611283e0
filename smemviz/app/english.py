"""English on a page in another language: what nobody has translated yet is marked as English, for screen readers.

A text is marked where it is an element of its own, or can be made one. Within a translated sentence, in an attribute
and in a figure it cannot: figures have no elements with a language, and an attribute has that of its element.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from dash import Output, html, no_update
from dash.development.base_component import Component

from smemviz.app.markup import is_element, markup
from smemviz.i18n import English

_TAKES_COMPONENTS = ("children", "title", "label", "description", "error")  # in dmc; in html a title is an attribute


def marked(shown: Any) -> Any:
    """Return what is shown with every text that is English for want of a translation in an element that says so."""
    if isinstance(shown, English):
        return html.Span(shown, lang="en")
    if isinstance(shown, list | tuple):
        return [marked(part) for part in shown]
    if isinstance(shown, Component):
        _mark(shown)
    return shown


def marks_english(outputs: tuple[Any, ...], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a callback that marks what it puts on a page."""
    single = len(outputs) == 1 and isinstance(outputs[0], Output)
    named = outputs if isinstance(outputs[0], Output) else outputs[0]

    @wraps(function)
    def answer(*asked: Any) -> Any:
        values = function(*asked)
        if single:
            return _of(outputs[0], values)
        if not isinstance(values, list | tuple):
            return values
        return [_of(output, value) for output, value in zip(named, values, strict=True)]

    return answer


def as_html(shown: Any) -> str:
    """Return what is shown as HTML, with what is English marked."""
    return markup(marked(shown))


def _of(output: Output, value: Any) -> Any:
    if output.component_property == "html" and value is not no_update:  # of what is written, not drawn by Dash
        return as_html(value)
    return marked(value) if output.component_property in _TAKES_COMPONENTS else value


def _mark(component: Component) -> None:
    if is_element(component) and isinstance(getattr(component, "children", None), English):
        component.lang = "en"
        return
    for name in _TAKES_COMPONENTS[: 1 if is_element(component) else None]:
        value = getattr(component, name, None)
        if isinstance(value, English | list | tuple | Component):
            setattr(component, name, marked(value))
