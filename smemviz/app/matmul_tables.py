"""The tables of the matrix product page: all kernels, the ceilings, the published times, the step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from urllib.parse import urlencode

from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app.matmul_data import FILE, ProductState
from smemviz.figures.labels import duration, number
from smemviz.figures.matmul_steps import Touched
from smemviz.figures.products import Product, nearest_ceiling
from smemviz.figures.quoted import Beside
from smemviz.figures.roofline import told
from smemviz.figures.sweep import cubes
from smemviz.sweep_file import LOOPS, NUMPY, Point, Sweep

_ELEMENTS = "Elements counted"
_HEADS = (
    "Kernel", "Elements loaded, formula", _ELEMENTS, "Sectors loaded", "Sectors stored", "Shared wavefronts", "Excess",
    "Operations per byte", "Time", "GFLOP/s", "Of cuBLAS", "Nearest ceiling", "Largest error",
)  # fmt: skip
_NONE = "not counted"
_NOT_TOLD = "not told"
_YARDSTICKS = {NUMPY: "NumPy on the host", LOOPS: "three loops, one core of the host"}


def product_table(
    rows: Sequence[Product], yardsticks: Sequence[Point], sweep: Sweep | None, state: ProductState, linked: bool
) -> Component:
    """Show what is known of every kernel, and below them cuBLAS and the host; elements where any were counted."""
    elements = any(row.moved and row.moved.elements_loaded is not None for row in rows)
    heads = [head for head in _HEADS if elements or head != _ELEMENTS]
    return _table(
        "Every kernel at this size",
        heads,
        [
            *([_link(row, state, linked), *_counted(row, elements), *_measured(row, sweep)] for row in rows),
            *(
                [_YARDSTICKS.get(point.kernel, point.kernel), *[""] * (6 + elements), *_yardstick(point)]
                for point in yardsticks
            ),
        ],
    )


def skipped_note(points: Iterable[Point]) -> str:
    """Say what was skipped and why, "" when nothing was."""
    return "; ".join(f"{point.kernel} was skipped: {point.skipped}" for point in points if point.skipped)


def _link(row: Product, state: ProductState, linked: bool) -> object:
    if not linked:
        return row.kernel
    query = {"file": FILE, "kernel": row.kernel}
    if row.counted == "lockstep":
        query |= {"M": row.size.m, "K": row.size.k, "N": row.size.n, "TILE": state.tile}  # type: ignore[dict-item]
    return dcc.Link(row.kernel, href="/kernel?" + urlencode(query))


def _counted(row: Product, elements: bool) -> list[object]:
    moved = row.moved
    if moved is None:
        return ["", *[_NONE] * (5 + elements)]
    excess: object = html.Span(f"▲ {moved.excess:,}", className="conflict") if moved.excess else "0"
    wavefronts = f"{moved.shared_loads + moved.shared_stores:,}" if moved.shares else "none"
    return [
        f"{row.formula:,}" if row.formula is not None else "",
        *([f"{moved.elements_loaded:,}" if moved.elements_loaded is not None else _NONE] if elements else []),
        f"{moved.load_sectors:,}",
        f"{moved.store_sectors:,}",
        _NOT_TOLD if moved.untold else wavefronts,
        _NOT_TOLD if moved.untold else excess,
        number(row.intensity or 0),
    ]


def _measured(row: Product, sweep: Sweep | None) -> list[object]:
    point = row.point
    if sweep is None or point is None:
        return ["not measured", "", "", "", ""]
    if point.time is None:
        return ["skipped", "", "", "", ""]
    near = told(nearest_ceiling(row, sweep))
    return [duration(point.time.median_us), _gigaflops(point), row.ratio_text(), near, row.error_text()]


def _yardstick(point: Point) -> list[object]:
    if point.time is None:
        return ["skipped", "", "", "", ""]
    error = "" if point.error is None else f"{point.error:.1e} of {number(point.largest or 0)}"
    return [duration(point.time.median_us), _gigaflops(point), "", "", error]


def _gigaflops(point: Point) -> str:
    rate = (point.rate or 0) / 1e9
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def sweep_table(sweep: Sweep | None, tile: int) -> Component:
    """Show the rates that the picture of the sweep draws, a row per kernel and a column per size."""
    lines = cubes(sweep, tile) if sweep else {}
    sides = sorted({point.size.m for points in lines.values() for point in points})
    body = []
    for kernel, points in lines.items():
        by_side = {point.size.m: point for point in points}
        body.append([kernel, *(_gigaflops(by_side[side]) if side in by_side else "" for side in sides)])
    return _table("GFLOP/s by the side of the matrices", ["Kernel", *map(str, sides)], body)


def ceiling_table(sweep: Sweep) -> Component:
    """Show what the card does at most, how that was measured, and in what state the card was."""
    rows = []
    for one in sweep.ceilings:
        unit = "TB/s" if one.kind == "bytes" else "TFLOP/s"
        interval = f"{one.low / 1e12:.4g} to {one.high / 1e12:.4g}"
        state = ", ".join(f"{name} {value}" for name, value in one.conditions.items())
        rows.append([one.name, f"{one.rate / 1e12:.4g} {unit}", interval, one.how, state])
    heads = ("Ceiling", "Measured", "95 % interval", "By", "Card meanwhile")
    return _table("Measured ceilings", heads, rows, wide=True)


def quoted_table(rows: Sequence[Beside], sweep: Sweep | None) -> Component:
    """Show published times beside ours for the same work."""
    card = sweep.device.name if sweep else "our card"
    heads = ("Size", "Work", "Published", "On", "Ours", f"{card}: kernel", "with copies", "from scratch", "Note")
    body = [
        [
            row.quoted.size.name, row.quoted.work, row.published, row.quoted.hardware, row.quoted.kernel, row.kernel,
            row.copies, row.scratch, row.quoted.note,
        ]
        for row in rows
    ]  # fmt: skip
    return _table("Published times beside ours", heads, body, wide=True)


def step_table(touched: Sequence[Touched]) -> Component:
    """Show which cells a step touches, a row per array."""
    if not touched:
        return html.P("Nobody touches memory at a barrier.", className="note")
    rows = [
        [
            one.array.name,
            f"{one.array.space} {one.op}",
            one.place(),
            str(one.requests),
            str(one.lanes),
            f"{one.cost} {'wavefront' if one.array.space == 'shared' else 'sector'}{'s' * (one.cost != 1)}",
        ]
        for one in touched
    ]
    return _table("What this step touches", ("Array", "Access", "Cells", "Requests", "Lanes", "Cost"), rows, wide=True)


def measured_on(sweep: Sweep, here: bool) -> str:
    """Say on what and when something was measured."""
    date = datetime.fromisoformat(sweep.date)
    return (
        f"measured {'here, ' if here else ''}on {sweep.device.name}, driver {sweep.device.driver}, "
        f"{date.day} {date:%B %Y}, {date:%H:%M} UTC; {sweep.library}; "
        f"host {sweep.host.processor}, {sweep.host.cores} cores, {sweep.host.numpy}"
    )


def _table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[object]], *, wide: bool = False) -> Component:
    return html.Table(
        [
            html.Caption(caption, className="visually-hidden"),
            html.Thead(html.Tr([html.Th(head, scope="col") for head in heads])),
            html.Tbody(
                [html.Tr([html.Th(first, scope="row"), *(html.Td(cell) for cell in cells)]) for first, *cells in rows]
            ),
        ],
        className="table told" if wide else "table compare",
    )
