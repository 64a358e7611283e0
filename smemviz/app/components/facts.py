"""A number with its name, which leads to what it means."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from smemviz.app.addresses import NUMBERS


def fact(name: str, value: str, anchor: str = "", *, conflict: bool = False) -> Component:
    """Place a number in a list; ``anchor`` is its place on the page that explains the numbers."""
    term = html.A(name, href=f"{NUMBERS}#{place(anchor)}", className="term") if anchor else name
    return html.Div([html.Dt(term), html.Dd(value)], className="fact conflict" if conflict else "fact")


def place(anchor: str) -> str:
    """Return the id of a number on the page; panels of other pages have names such as ``pad`` for their own."""
    return f"number-{anchor}"
