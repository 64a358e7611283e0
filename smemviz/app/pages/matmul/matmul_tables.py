"""The tables of the matrix product page: all kernels, the ceilings, the published times, the step."""

from collections.abc import Iterable, Sequence
from urllib.parse import urlencode

from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app.addresses import KERNEL
from smemviz.app.components.rich import rich, translated
from smemviz.app.components.tables import table
from smemviz.app.pages.matmul.matmul_data import FILE, MISTAKES, ProductState
from smemviz.figures.matmul.rates import ceiling_name, described
from smemviz.i18n import N_, _
from smemviz.model.counting.costs import unit_of
from smemviz.recordings.sweep import LOOPS, NUMPY, Point, Sweep, Traffic
from smemviz.views.matmul_products import Beside, Product, error_of, name_of, nearest_ceiling
from smemviz.views.matmul_steps import Loaded
from smemviz.wording.labels import access_name, count, described_conditions, duration, number

_ELEMENTS = N_("Elements counted")
_HEADS = (
    N_("Kernel"), N_("Elements loaded, formula"), _ELEMENTS, N_("Sectors loaded"), N_("Sectors stored"),
    N_("Shared wavefronts"), N_("Excess"), N_("Operations per byte"), N_("Time"), "GFLOP/s", N_("Of cuBLAS"),
    N_("Nearest ceiling"), N_("Largest error"),
)  # fmt: skip
_SHOWN = ("Kernel", "Sectors loaded", "Shared wavefronts", "Excess", "Time", "Of cuBLAS")  # the others are folded
_YARDSTICKS = {NUMPY: N_("NumPy on the host"), LOOPS: N_("three loops, one core of the host")}


def product_table(
    rows: Sequence[Product], yardsticks: Sequence[Point], sweep: Sweep | None, state: ProductState, linked: bool
) -> Component:
    """Show what is known of every kernel, and below them cuBLAS and the host; elements where any were counted."""
    elements = any(row.moved and row.moved.elements_loaded is not None for row in rows)
    heads = [head for head in _HEADS if elements or head != _ELEMENTS]
    body = [[_link(row, state, linked), *_counted(row, elements), *_measured(row, sweep)] for row in rows]
    body += [
        [_(_YARDSTICKS.get(point.kernel, point.kernel)), *[""] * (6 + elements), *_yardstick(point)]
        for point in yardsticks
    ]
    looks = ["" if head in _SHOWN else "folded" for head in heads]
    every = table("compare", _("Every kernel at this size"), [_(head) for head in heads], body, looks)
    return html.Div([html.Details(html.Summary(_("All columns")), className="details all-columns"), every])


def skipped_note(points: Iterable[Point]) -> list[Component | str]:
    """Say what was skipped and why, nothing when nothing was."""
    note: list[Component | str] = []
    for point in points:
        if point.skipped:
            note += ["; "] * bool(note)
            note += rich("{kernel} was skipped: {why}", kernel=name_of(point.kernel), why=translated(point.skipped))
    return note


def _link(row: Product, state: ProductState, linked: bool) -> object:
    if not linked:
        return row.kernel
    query = {"file": FILE, "kernel": row.kernel}
    if row.counted == "lockstep":
        query |= {"M": row.size.m, "K": row.size.k, "N": row.size.n, "TILE": state.tile}  # type: ignore[dict-item]
    return dcc.Link(row.kernel, href=f"{KERNEL}?{urlencode(query)}")


def _counted(row: Product, elements: bool) -> list[object]:
    moved = row.moved
    if moved is None:
        return ["", *[_("not counted")] * (5 + elements)]
    excess: object = html.Span(f"▲ {moved.excess:,}", className="conflict") if moved.excess else "0"
    wavefronts = f"{moved.shared_loads + moved.shared_stores:,}" if moved.shares else _("none")
    return [
        f"{row.formula:,}" if row.formula is not None else "",
        *([_elements(moved)] if elements else []),
        f"{moved.load_sectors:,}",
        f"{moved.store_sectors:,}",
        _("not known") if moved.untold else wavefronts,
        _("not known") if moved.untold else excess,
        number(row.intensity or 0),
    ]


def _elements(traffic: Traffic) -> str:
    return _("not counted") if traffic.elements_loaded is None else f"{traffic.elements_loaded:,}"


def _measured(row: Product, sweep: Sweep | None) -> list[object]:
    point = row.point
    if sweep is None or point is None:
        return [_("not measured"), "", "", "", ""]
    if point.time is None:
        return [_("skipped"), "", "", "", ""]
    near = described(nearest_ceiling(row, sweep))
    return [duration(point.time.median_us), _gigaflops(point), row.ratio_text(), near, row.error_text()]


def _yardstick(point: Point) -> list[object]:
    if point.time is None:
        return [_("skipped"), "", "", "", ""]
    error = "" if point.error is None else error_of(point)
    return [duration(point.time.median_us), _gigaflops(point), "", "", error]


def _gigaflops(point: Point) -> str:
    rate = (point.rate or 0) / 1e9
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def ceiling_table(sweep: Sweep) -> Component:
    """Show what the card does at most, how that was measured, and in what state the card was."""
    rows = []
    for ceiling in sweep.ceilings:
        unit = "TB/s" if ceiling.kind == "bytes" else "TFLOP/s"
        interval = _("{low:.4g} to {high:.4g}", low=ceiling.low / 1e12, high=ceiling.high / 1e12)
        meanwhile = described_conditions(ceiling.conditions)
        rows.append(
            [
                ceiling_name(ceiling.name),
                f"{ceiling.rate / 1e12:.4g} {unit}",
                interval,
                translated(ceiling.how),
                meanwhile,
            ]
        )
    heads = (_("Ceiling"), _("Measured"), _("95 % interval"), _("By"), _("Card meanwhile"))
    return table("measures", _("Measured ceilings"), heads, rows)


def quoted_table(rows: Sequence[Beside], sweep: Sweep | None, linked: bool) -> Component:
    """Show published times beside ours for the same work."""
    kernel = _("{card}: kernel", card=sweep.device.name) if sweep else _("our card: kernel")
    heads = (
        _("Size"), _("Work"), _("Published"), _("On"), _("Ours"), _("Tile"), kernel, _("with copies"),
        _("from scratch"), _("Note"),
    )  # fmt: skip
    body = [
        [
            row.quoted.size.name, _(row.quoted.work), row.published, _(row.quoted.hardware), name_of(row.quoted.kernel),
            str(row.quoted.tile or ""), translated(row.skipped) if row.skipped else row.kernel, row.copies, row.scratch,
            _note(row, linked),
        ]
        for row in rows
    ]  # fmt: skip
    return table("measures", _("Published times beside ours"), heads, body)


def _note(row: Beside, linked: bool) -> object:
    """Say what has to be known to compare two times, with a link to the kernel that makes the same mistake."""
    quoted = row.quoted
    if not quoted.mistake:
        return _(quoted.note) if quoted.note else ""
    query = {"file": MISTAKES, "kernel": quoted.mistake, "elements": "c", "scope": "launch"}
    kernel = dcc.Link(quoted.mistake, href=f"{KERNEL}?{urlencode(query)}") if linked else html.Code(quoted.mistake)
    return rich("{note} {kernel} does the same.", note=_(quoted.note), kernel=kernel)


def step_table(touched: Sequence[Loaded]) -> Component:
    """Show which cells a step touches, a row per array."""
    if not touched:
        return html.P(_("No memory is accessed at a barrier."), className="note")
    rows = [
        [
            load.array.name,
            access_name(load.array.space, load.op),
            load.place(),
            str(load.requests),
            str(load.lanes),
            count(load.cost, unit_of(load.array.space)),
        ]
        for load in touched
    ]
    heads = (_("Array"), _("Access"), _("Cells"), _("Requests"), _("Lanes"), _("Cost"))
    return table("measures stacked", _("What this step touches"), heads, rows)
