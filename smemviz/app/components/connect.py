"""Connecting callbacks with what is on a page, and those that run in the browser."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from dash import ClientsideFunction, Dash, Input, Output, State, no_update
from dash.development.base_component import Component

from smemviz.app.components.launches import Filling, Query


def outputs(properties: Sequence[str], *, again: bool = False) -> list[Output]:
    """Return what a callback puts out, from names as ``id.property``; ``again`` where another one does as well."""
    return [Output(*name.rsplit(".", 1), allow_duplicate=again) for name in properties]


def each(attribute: str, *names: str) -> tuple[str, ...]:
    """Return the names of one property of several components."""
    return tuple(f"{name}.{attribute}" for name in names)


def values(properties: Sequence[str], filling: Filling) -> list[Any]:
    """Return the values of properties in their order; what is not filled in stays as it is."""
    return [filling.get(name, no_update) for name in properties]


def fill(
    app: Dash,
    properties: Sequence[str],
    view: Callable[..., Filling],
    *dependencies: Input | State,
    initially: bool = True,
    at: str = "",
) -> None:
    """Let a view fill properties with what it makes of dependencies; ``at`` is the path of the only page to do it on.

    One that is not wanted ``initially`` waits for a change.
    """
    place = (State("place", "data"),) if at else ()

    @app.callback(outputs(properties), *dependencies, *place, prevent_initial_call=not initially)  # type: ignore[untyped-decorator]
    def answer(*inputs: Any) -> list[Any]:
        if at and not is_at(inputs[-1], at):
            return values(properties, {})
        return values(properties, view(*inputs[: len(dependencies)]))


def placed(page: Component, filling: Filling) -> Component:
    """Fill in a page that is being laid out."""
    for name, value in filling.items():
        identity, attribute = name.rsplit(".", 1)
        setattr(page[identity], attribute, value)
    return page


def is_at(place: Query | None, path: str) -> bool:
    """Tell whether the page of a path is the one that is open."""
    return bool(place and place["path"] == path)


class Clientside(Protocol):
    """Connects a function of a script; one that is not wanted ``initially`` waits for a change."""

    def __call__(self, name: str, *dependencies: Input | Output | State, initially: bool = True) -> None: ...


def of_script(app: Dash, script: str) -> Clientside:
    """Return what connects the functions that a script of ``assets`` has under a name of its own."""

    def clientside(name: str, *dependencies: Input | Output | State, initially: bool = True) -> None:
        app.clientside_callback(ClientsideFunction(script, name), *dependencies, prevent_initial_call=not initially)

    return clientside
