"""A picture of one request, which the browser draws of data: ``assets/drawn.js``."""

from __future__ import annotations

from typing import Any, Literal

from smemviz.app.components.written import OwnComponent

Kind = Literal["tile", "banks"]


class Drawn(OwnComponent):
    """A shared array, or the banks that serve a request, no higher than so many pixels."""

    _type = "Drawn"
    _prop_names = ("id", "kind", "height", "data")

    def __init__(self, identity: str | dict[str, Any], kind: Kind, height: int, data: Any = None) -> None:
        self.__dict__.update(id=identity, kind=kind, height=height, data=data)
