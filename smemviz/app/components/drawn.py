"""A picture of one request, which the browser draws of data: ``assets/drawn.js``."""

from __future__ import annotations

from typing import Any, Literal

from dash.development.base_component import Component

Kind = Literal["tile", "banks"]


class Drawn(Component):  # type: ignore[misc]
    """A shared array, or the banks that serve a request, no higher than so many pixels."""

    _namespace = "smemviz_components"
    _type = "Drawn"
    _prop_names = ("id", "kind", "height", "data")
    _valid_wildcard_attributes = ()

    def __init__(self, identity: str | dict[str, Any], kind: Kind, height: int, data: Any = None) -> None:
        self.__dict__.update(id=identity, kind=kind, height=height, data=data)
