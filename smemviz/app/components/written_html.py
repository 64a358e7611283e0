"""Components of Dash's html written as HTML, and pictures that the browser draws: Dash need not know their inside."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal

from dash import Output, html, no_update
from dash.development.base_component import Component
from markupsafe import escape

from smemviz.i18n import English

_NAMES = {"className": "class"}  # HTML does not tell capitals from small letters: tabIndex is tabindex
_EMPTY = ("br", "hr", "input")  # have no end, for nothing is in them
_TAKES_COMPONENTS = ("children", "title", "label", "description", "error")  # in dmc; in html a title is an attribute


def is_element(component: Component) -> bool:
    """Tell an element of HTML from what only Dash can draw."""
    return bool(component._namespace == "dash_html_components")


def tag_of(component: Component) -> str:
    """Return the name of the element that a component is; one that only Dash can draw is none."""
    assert is_element(component), component
    return str(component._type.lower())


def markup(part: object) -> str:
    """Write a component, a text, or a list of those as HTML; ``Markup`` is written already."""
    if part is None:
        return ""
    if isinstance(part, list | tuple):
        return "".join(markup(child) for child in part)
    if not isinstance(part, Component):
        return str(escape(part))
    tag = tag_of(part)
    attributes: dict[str, object] = dict(part.to_plotly_json()["props"])
    inside = markup(attributes.pop("children", None))
    written = "".join(_attribute(_NAMES.get(name, name), value) for name, value in attributes.items())
    return f"<{tag}{written}>" if tag in _EMPTY else f"<{tag}{written}>{inside}</{tag}>"


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    if isinstance(value, dict):  # a style
        value = ";".join(f"{key}:{of}" for key, of in value.items())
    return f' {name}="{"" if value is True else escape(str(value))}"'


def marked(component: Any) -> Any:
    """Return what is shown with every text that is English for want of a translation in an element that says so."""
    if isinstance(component, English):
        return html.Span(component, lang="en")
    if isinstance(component, list | tuple):
        return [marked(part) for part in component]
    if isinstance(component, Component):
        _mark(component)
    return component


def marks_english(outputs: tuple[Any, ...], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a callback that marks what it puts on a page."""
    single = len(outputs) == 1 and isinstance(outputs[0], Output)
    targets = outputs if isinstance(outputs[0], Output) else outputs[0]

    @wraps(function)
    def answer(*args: Any) -> Any:
        values = function(*args)
        if single:
            return _of(outputs[0], values)
        if not isinstance(values, list | tuple):
            return values
        return [_of(output, value) for output, value in zip(targets, values, strict=True)]

    return answer


def as_html(component: Any) -> str:
    """Return what is shown as HTML, with what is English marked."""
    return markup(marked(component))


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


Kind = Literal["tile", "banks"]


class OwnComponent(Component):  # type: ignore[misc]
    """A component whose part in the browser is one of ``window.smemviz_components``."""

    _namespace = "smemviz_components"
    _valid_wildcard_attributes = ()


class Written(OwnComponent):
    """An element of Dash's html whose content reaches the browser as HTML, which ``assets/written.js`` places.

    Every component that a page has takes time at every change of any. This is one, whatever is in it: a list, or a
    table of a hundred cells, is not in the way of the pictures. A callback puts components into its ``html``; nothing
    within them can be connected.
    """

    _type = "Written"
    _prop_names = ("children", "id")

    def __init__(self, element: Component) -> None:
        self.__dict__.update(element.to_plotly_json()["props"])
        self.tag = tag_of(element)

    @property
    def html(self) -> Any:
        """What is in it, as components."""
        return getattr(self, "children", None)

    @html.setter
    def html(self, content: Any) -> None:
        self.children = content

    def to_plotly_json(self) -> dict[str, Any]:
        """Return what is sent."""
        attributes = {name: value for name, value in vars(self).items() if name != "children"}
        return {"props": attributes | {"html": as_html(self.html)}, "type": self._type, "namespace": self._namespace}


class Drawn(OwnComponent):
    """A shared array, or the banks that serve a request, no higher than so many pixels."""

    _type = "Drawn"
    _prop_names = ("id", "kind", "height", "data")

    def __init__(self, identity: str | dict[str, Any], kind: Kind, height: int, data: Any = None) -> None:
        self.__dict__.update(id=identity, kind=kind, height=height, data=data)
