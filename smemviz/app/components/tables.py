"""Tables and numbers on a page.

A table has a caption, which screen readers read out, a head, and rows that their first cell names; a number of a list
has a name, which leads to what it means.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from smemviz.app.addresses import NUMBERS


def table(
    kind: str, caption: str, heads: Sequence[str], rows: Iterable[Component | Sequence[Any]], looks: Sequence[str] = ()
) -> html.Table:
    """Lay out a table of a kind; ``looks`` are the classes of its columns, where those have any.

    A row is its cells, or laid out already. One that is ``stacked`` among the words of its kind lists the cells of a
    row below its name on a narrow screen, each with the head of its column.
    """
    looks = looks or [""] * len(heads)
    titles = [
        _cell(html.Th, head, look, scope="col") if head else html.Td() for head, look in zip(heads, looks, strict=True)
    ]
    named = heads if "stacked" in kind else ()
    body = [row if isinstance(row, Component) else _row(row, looks, named) for row in rows]
    captions = [html.Caption(caption, className="visually-hidden")] if caption else []
    return html.Table([*captions, html.Thead(html.Tr(titles)), html.Tbody(body)], className=f"table {kind}")


def _row(cells: Sequence[Any], looks: Sequence[str], heads: Sequence[str]) -> Component:
    name, *others = cells
    rest = [_cell(html.Td, cell, look) for cell, look in zip(others, looks[1:], strict=True)]
    for cell, head in zip(rest, heads[1:], strict=False):
        setattr(cell, "data-head", head)
    return html.Tr([_cell(html.Th, name, looks[0], scope="row"), *rest])


def _cell(kind: type[Component], content: Any, look: str, **more: str) -> Component:
    return kind(content, **({"className": look} if look else {}), **more)


def fact(name: str, value: str, anchor: str = "", *, conflict: bool = False) -> Component:
    """Place a number in a list; ``anchor`` is its place on the page that explains the numbers."""
    term = html.A(name, href=f"{NUMBERS}#{place(anchor)}", className="term") if anchor else name
    return html.Div([html.Dt(term), html.Dd(value)], className="fact conflict" if conflict else "fact")


def place(anchor: str) -> str:
    """Return the id of a number on the page; panels of other pages have names such as ``pad`` for their own."""
    return f"number-{anchor}"
