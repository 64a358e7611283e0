"""Callbacks of the kernel page: the URL's stores come in, what they put on the page goes out."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, no_update

from smemviz.app.library import Library
from smemviz.app.look_view import LOOK_PROPERTIES, view_look, view_order
from smemviz.app.run_view import RUN_PROPERTIES, Filling, Query, view_run


def add_callbacks(app: Dash, library: Library) -> None:
    """Connect the kernel page of an app to its files; the page comes filled, so nothing runs when it is placed."""

    @app.callback(  # type: ignore[untyped-decorator]
        _outputs(RUN_PROPERTIES), Input("run", "data"), State("shown-run", "data"), prevent_initial_call=True
    )
    def show_run(query: Query, before: dict[str, Any] | None) -> list[Any]:
        return _values(RUN_PROPERTIES, view_run(library, query, before["title"] if before else None))

    @app.callback(  # type: ignore[untyped-decorator]
        _outputs(LOOK_PROPERTIES),
        Input("run", "data"),
        Input("look", "data"),
        State("shown-look", "data"),
        prevent_initial_call=True,
    )
    def show_look(run_query: Query, look_query: Query, before: dict[str, Any] | None) -> list[Any]:
        filling = view_look(library, run_query, look_query)
        if filling.get("shown-look.data") == before:  # a step changes no control, so none need be looked at
            filling.pop("shown-look.data", None)
        return _values(LOOK_PROPERTIES, filling)

    @app.callback(  # type: ignore[untyped-decorator]
        Output("order", "data"), Input("run", "data"), Input("shown-block", "data")
    )
    def show_order(query: Query, block: str | None) -> Any:
        order = view_order(library, query, block)
        return no_update if order is None else order


def _outputs(properties: tuple[str, ...]) -> list[Output]:
    return [Output(*name.rsplit(".", 1)) for name in properties]


def _values(properties: tuple[str, ...], filling: Filling) -> list[Any]:
    return [filling.get(name, no_update) for name in properties]
