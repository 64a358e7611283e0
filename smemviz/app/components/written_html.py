"""What Dash need not know the inside of: HTML, and pictures that the browser draws."""

from __future__ import annotations

from typing import Any, Literal

from dash.development.base_component import Component

from smemviz.app.markup import as_html, tag_of

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
        return {
            "props": attributes | {"html": as_html(self.html)},
            "type": self._type,
            "namespace": self._namespace,
        }


class Drawn(OwnComponent):
    """A shared array, or the banks that serve a request, no higher than so many pixels."""

    _type = "Drawn"
    _prop_names = ("id", "kind", "height", "data")

    def __init__(self, identity: str | dict[str, Any], kind: Kind, height: int, data: Any = None) -> None:
        self.__dict__.update(id=identity, kind=kind, height=height, data=data)
