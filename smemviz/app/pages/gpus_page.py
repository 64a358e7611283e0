"""All GPUs: what one access, of the layout lab or of a recorded kernel, costs on every GPU, and why that differs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import dash_mantine_components as dmc
from dash import Dash, Input, dcc, html
from dash.development.base_component import Component

from smemviz.app.addresses import GPUS, LAB
from smemviz.app.components.connect import fill
from smemviz.app.components.frames import origin, page_head, scroller
from smemviz.app.components.launches import Filling, Query, access_query, hardware_of, query_of, request_view_of
from smemviz.app.components.rich import rich, translated
from smemviz.app.components.tables import table
from smemviz.app.library import Library
from smemviz.app.page import Page, Services
from smemviz.app.pages.layouts.lab_page import examples
from smemviz.app.pages.layouts.lab_state import LabState
from smemviz.app.state import LookState, RunState
from smemviz.app.texts import page_of
from smemviz.errors import InputError, SmemvizError
from smemviz.i18n import N_, _
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.layout.accesses import requests
from smemviz.model.layout.across_gpus import Access
from smemviz.recordings.calibration import calibration_files, load_calibration
from smemviz.recordings.data import WARP_SIZE
from smemviz.recordings.measured import Calibration
from smemviz.views.across_gpus import GPU_HEADS, GpuRow, comparable, gpu_rows, gpus_headline
from smemviz.views.layout_lab import access_text, picture
from smemviz.wording.labels import names, operation_name

_KINDS = {"measured": N_("measured"), "documented": N_("documented"), "assumed": N_("assumed")}
GPUS_PROPERTIES = ("gpus-headline.children", "gpus-origin.children", "gpus-notices.children", "gpus-table.children")


class _NotComparedError(InputError):
    """Why an access cannot be compared, in the spoken language."""


@dataclass(frozen=True)
class ComparedAccess:
    """An access by name, where it can be looked at, and the GPU to compare with."""

    access: Access
    name: str
    href: str
    hardware: Hardware


def gpus_page() -> Component:
    """Lay out the page; a callback fills it."""
    keep = _(
        "Run smemviz calibrate to add your card as a row. The command prints where it keeps the result. To "
        "add a card of another machine, put its calibration.json into a folder beside that one."
    )
    return html.Div(
        [
            page_head("gpus", _("Other GPUs"), _("One access on every GPU"), origin("gpus")),
            examples(GPUS),
            html.Div(id="gpus-notices", role="status", className="notices"),
            html.Section(
                [
                    html.H2(_("Every compute capability and bank mode"), id="gpus-title"),
                    scroller(titled="gpus-title", id="gpus-table"),
                    html.P(
                        _(
                            "The rules of the two GPUs are swapped one at a time and the access is counted again; the "
                            "rule that changes the count is the cause."
                        ),
                        className="note",
                    ),
                    html.P(keep, className="note"),
                ],
                className="panel",
            ),
        ],
        id="gpus-page",
    )


def register(app: Dash, services: Services) -> None:
    """Connect the page of an app to its files."""
    view = partial(view_gpus, services.library)
    fill(app, GPUS_PROPERTIES, view, Input("run", "data"), Input("look", "data"), at=GPUS)


def view_gpus(library: Library, run: Query, look: Query) -> Filling:
    """Count the access that the query asks for on every GPU."""
    try:
        compared = _of_kernel(library, run, look) if "file" in run else _of_lab(run)
    except _NotComparedError as error:
        return _refusal(str(error))
    except SmemvizError as error:
        return _refusal(translated(str(error)))
    calibrations, problems = _calibrations()
    rows = gpu_rows(compared.access, compared.hardware, calibrations)
    return {
        "gpus-headline.children": gpus_headline(rows),
        "gpus-origin.children": _origin(compared),
        "gpus-notices.children": [
            dmc.Alert(translated(text), color="yellow", className="refusal") for text in problems
        ],
        "gpus-table.children": _table(rows, run | look),
    }


def _refusal(why: str | Component) -> Filling:
    return {
        "gpus-headline.children": _("This cannot be compared"),
        "gpus-origin.children": "",
        "gpus-notices.children": dmc.Alert(why, color="red", id="error", className="refusal"),
        "gpus-table.children": [],
    }


def _of_kernel(library: Library, run: Query, look: Query) -> ComparedAccess:
    state = RunState.read(run)
    shown_run = library.show(state)
    launch = shown_run.launch(state)
    hardware = hardware_of(shown_run, state)
    row = request_view_of(shown_run.recording, launch, hardware, LookState.read(look)).row
    if row is None:
        raise _NotComparedError(_("no request of this block was logged; choose another block on the kernel's page"))
    site = launch.sites[launch.requests.site[row]]
    if not site.is_shared:
        sentence = _("{source} goes to global memory, where a sector is 32 bytes on every GPU", source=site.source)
        raise _NotComparedError(sentence)
    access = Access(launch.requests.addresses[row][None], site.width, site.op, site.dtype)
    name = _(
        "{source} in {kernel}, {operation} by warp {warp}, step {step}",
        source=site.source,
        kernel=launch.kernel,
        operation=operation_name(site.op),
        warp=launch.requests.warp[row],
        step=launch.requests.step[row],
    )
    return ComparedAccess(access, name, f"{page_of(state.file)}?{access_query(run, look)}", hardware)


def _of_lab(run: Query) -> ComparedAccess:
    state = LabState.read({name: value for name, value in run.items() if name != "cc"})
    setup = state.sides["A"].setup
    if setup is None:
        raise InputError("; ".join(dict.fromkeys(state.sides["A"].errors.values())))
    request = picture(setup, state.access, state.request)
    addresses = requests(request.kind, setup.layout).reshape(-1, WARP_SIZE)
    access = Access(addresses, request.width, request.kind.op, setup.layout.dtype)
    hardware = RunState.read(run).hardware or H200
    name = _("{access} of {layout}", access=access_text(request.kind), layout=setup.layout.text)
    return ComparedAccess(access, name, f"{LAB}?{query_of(run)}", hardware)


def _origin(compared: ComparedAccess) -> list[Component | str]:
    """Link to where the access can be looked at, and say what the GPUs are compared with."""
    access, gpu = dcc.Link(compared.name, href=compared.href), comparable(compared.access, compared.hardware)
    if gpu is None:
        return rich("{access}.", access=access)
    return rich("{access}; compared with {gpu}.", access=access, gpu=f"{gpu.row.family} ({gpu.name})")


def _calibrations() -> tuple[list[Calibration], list[str]]:
    """Return one calibration of every card, the user's own first, and what is wrong with files that are none."""
    calibrations: dict[str, Calibration] = {}
    problems = []
    for path in calibration_files():
        try:
            calibration = load_calibration(path)
        except InputError as error:
            problems.append(str(error))
        else:
            calibrations.setdefault(calibration.device.name, calibration)
    return list(calibrations.values()), problems


def _table(rows: Sequence[GpuRow], query: Query) -> Component:
    heads = (_("GPU"), *map(_, GPU_HEADS))
    looks = ("", "number", "number", "number", "words", "words")
    most = max(map(_wavefronts, rows), default=0)
    usual = next((row.numbers for row in rows if row.reference), ())
    body = (_row(list(alike), query, most, is_usual=key[0] == usual) for key, alike in groupby(rows, _told))
    return table("gpus-table", _("One access on every GPU"), heads, body, looks)


def _wavefronts(row: GpuRow) -> int:
    return int(row.numbers[0].replace(",", "")) if row.numbers else 0


def _told(row: GpuRow) -> tuple[object, ...]:
    """Return what a row tells: neighbours that tell the same are one."""
    return row.numbers, row.difference, row.basis, row.quoted, row.card and row.name


def _row(alike: Sequence[GpuRow], query: Query, most: int, *, is_usual: bool) -> Component:
    """Lay out a row; a bar says what its wavefronts are of the most, and what is as usual steps back."""
    row = alike[0]
    linked = [part for one in alike for part in (", ", _named(one, query))][1:]
    capabilities = row.capabilities
    if len(alike) > 1:
        newest = row.capabilities.rpartition(names("", ""))[2]
        capabilities = _("{oldest} to {newest}", oldest=alike[-1].hardware.row.name, newest=newest)
    head = html.Th([*linked, html.Span(capabilities, className="unit")], scope="row")
    basis: list[Component] = []
    if row.kind:
        basis = [html.Span(_(_KINDS[row.kind]), className=f"verdict {row.kind}"), html.Span(row.basis)]
    difference = [row.difference, html.Div(translated(row.quoted))] if row.quoted else row.difference
    wavefronts, *others = row.numbers or ("-",) * 3
    bar = html.Span(className="bar", style={"width": f"{100 * _wavefronts(row) / max(most, 1):.1f}%"})
    cells = [
        html.Td([html.Span(bar, className="bars"), wavefronts], className="number"),
        *(html.Td(text, className="number") for text in others),
    ]
    cells_of_words = [html.Td(difference, className="words"), html.Td(html.Div(basis, className="gpus-basis"))]
    marks = (("reference", row.reference), ("calibrated", row.card), ("usual", is_usual))
    kinds = [name for name, is_so in marks if is_so]
    return html.Tr([head, *cells, *cells_of_words], className=" ".join(kinds))


def _named(row: GpuRow, query: Query) -> Component:
    """Name a row, which leads to the comparison with it."""
    if row.card or row.reference or not row.numbers:
        return html.Strong(row.name)
    rest = {name: value for name, value in query.items() if name not in ("theme", "cc")}
    href = f"{GPUS}?{query_of(rest | {'cc': row.hardware.key})}"
    return dcc.Link(row.name, href=href, title=_("Compare with {gpu}", gpu=row.name))


PAGE = Page(GPUS, N_("GPUs"), lambda services, address: gpus_page(), register, link=N_("GPUs"))
