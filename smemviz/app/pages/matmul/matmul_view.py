"""What the matrix product page shows for what its URL asks for."""

import re
from collections.abc import Sequence
from datetime import datetime

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app.addresses import MATMUL
from smemviz.app.components.connect import each
from smemviz.app.components.graph import drawn, pictured
from smemviz.app.components.launches import Filling, Query
from smemviz.app.components.rich import rich, translated
from smemviz.app.pages.matmul.matmul_data import COUNTED, DEFAULT_PICTURED, LARGEST, PICTURED, Products, ProductState
from smemviz.app.pages.matmul.matmul_tables import ceiling_table, product_table, quoted_table, skipped_note, step_table
from smemviz.app.state import LookState
from smemviz.errors import SmemvizError
from smemviz.figures.matmul.loads import claim, loads_bars
from smemviz.figures.matmul.rates import measured_sizes, roofline, sweep_lines
from smemviz.figures.matmul.scene import scene
from smemviz.frontends.program import digests
from smemviz.i18n import N_, _, ngettext
from smemviz.recordings.sweep import CUBLAS, LOOPS, NUMPY, Size, Sweep
from smemviz.views.matmul_products import FAILED_LAUNCH, Product, beside, filled_note, headline, points_at, products
from smemviz.views.matmul_steps import loaded, sentence
from smemviz.wording.labels import day, names

# What has to be counted: until it is, what stands there is of another size or tile.
COUNTED_PARTS, SAVED_PARTS = ("products-title", "products-table", "roofline-sheet"), ("loads-sheet",)
MEASURED_PROPERTIES = (
    *each("children", "products-notices", "products-sizes", "skipped-note", "ceilings-table"),
    *each("children", "quoted-table", "quoted-note"),
    *pictured("sweep"),
)
COUNTED_PROPERTIES = (
    *each("children", "products-headline", "products-origin", "products-refusal", "products-table", "filled-note"),
    "products-results.hidden",
    *pictured("roofline"),
    *each("aria-busy", *COUNTED_PARTS),
)
SAVED_PROPERTIES = (
    *each("children", "loads-title", "loads-claim"),
    *pictured("loads"),
    *each("aria-busy", *SAVED_PARTS),
)
STEP_PROPERTIES = (
    *each("children", "step-text", "step-table"),
    *pictured("steps"),
    *("step-slider.max", "step-count.data"),
)
JOB_PROPERTIES = (
    *each("hidden", "products-measure-area", "products-cancel"),
    *each("disabled", "products-measure", "products-poll"),
    "products-measure-status.children",
)
_COUNTED = {
    "lockstep": N_("Counted now, in lockstep"),
    "scaled": N_("Counted now in lockstep at {size} and scaled, loads with S³ and stores of c with S²"),
    "card": N_("Counted on the card"),
    None: N_("Traffic was not counted at this size"),
}
_MEASURED = N_("measured on {card}, driver {driver}, {day}, {time} UTC; {library}; host {processor}, {cores}, {numpy}")
_MEASURED_HERE = N_(
    "measured here, on {card}, driver {driver}, {day}, {time} UTC; {library}; host {processor}, {cores}, {numpy}"
)
_STEP = re.compile(r"(\d+)/(\d+) (.*)")


def view_measured(data: Products, query: Query, theme: str, linked: bool) -> Filling:
    """Show what was measured, for which nothing has to run; ``linked`` where the file of mistakes can be opened."""
    try:
        state = ProductState.read(query, data.recorded)
    except SmemvizError:  # said where the counts would stand; the sizes that were measured are a way out
        state = ProductState.read({**query, "SIZE": str(LARGEST)}, data.recorded)
        return {
            "products-notices.children": [],
            "products-sizes.children": _sizes(None, state.tile, data.sweep()[0], query),
        }
    sweep, _here = data.sweep(state.size, state.tile)
    points = points_at(sweep, state.size, state.tile) if sweep else {}
    skipped, changed = skipped_note(points.values()), _changed(data, sweep)
    return {
        "products-notices.children": _notices(sweep),
        "products-sizes.children": _sizes(state.size, state.tile, sweep, query),
        **drawn("sweep", sweep_lines(sweep, state.tile, theme=LookState.read({"theme": theme}).theme)),
        "skipped-note.children": [*skipped, *[html.Br()] * bool(skipped and changed), *changed],
        "ceilings-table.children": ceiling_table(sweep) if sweep else _("No card was measured."),
        "quoted-table.children": quoted_table(beside(sweep), sweep, linked),
        "quoted-note.children": _(FAILED_LAUNCH),
    }


def view_counted(data: Products, query: Query, theme: str, linked: bool) -> Filling:
    """Show what every kernel moves, which may have to be counted first; a refusal says what is wrong with a size."""
    done: Filling = dict.fromkeys(each("aria-busy", *COUNTED_PARTS), "false")
    try:
        state = ProductState.read(query, data.recorded)
        sweep, here = data.sweep(state.size, state.tile)
        rows = products(state.size, state.tile, data.counted(state), sweep)
    except SmemvizError as error:
        why = dmc.Alert(translated(str(error)), color="red", id="error", className="refusal")
        return done | {
            "products-headline.children": _("This cannot be shown"),
            "products-origin.children": "",
            "products-refusal.children": why,
            "products-results.hidden": True,
        }
    points = points_at(sweep, state.size, state.tile) if sweep else {}
    yardsticks = [points[name] for name in (CUBLAS, NUMPY, LOOPS) if name in points]
    figure = roofline(rows, sweep, points.get(CUBLAS), theme=LookState.read({"theme": theme}).theme)
    return done | {
        "products-headline.children": headline(rows, state.tile),
        "products-origin.children": _origin(state, rows, sweep, here, bool(points)),
        "products-refusal.children": [],
        "products-results.hidden": False,
        "products-table.children": product_table(rows, yardsticks, sweep, state, linked),
        "filled-note.children": filled_note(rows),
        **drawn("roofline", figure),
    }


def view_saved(data: Products, query: Query, theme: str) -> Filling:
    """Show what tiles save, for which each of them has to be counted."""
    try:
        state = ProductState.read(query, data.recorded)
        savings, (sweep, _here) = data.savings(state), data.sweep(COUNTED, state.tile)
    except SmemvizError:  # the page says so already, and shows no pictures
        return {}
    return {
        "loads-title.children": _("What tiles save, counted at {size}", size=savings[0].size.name),
        **drawn("loads", loads_bars(savings, theme=LookState.read({"theme": theme}).theme)),
        "loads-claim.children": claim(savings, sweep),
        **dict.fromkeys(each("aria-busy", *SAVED_PARTS), "false"),
    }


def view_step(data: Products, query: Query, look: Query) -> Filling:
    """Show the step that the URL asks for, the first when it asks for none."""
    pictured = query.get("PICTURED", DEFAULT_PICTURED)
    try:
        launch, steps = data.steps(pictured if pictured in PICTURED else DEFAULT_PICTURED)
    except (SmemvizError, KeyError) as error:
        return {"step-text.children": rich("There is nothing to picture: {why}", why=translated(str(error)))}
    step = LookState.read(look).step or 1
    index = min(max(step, 1), len(steps)) - 1
    return {
        "step-text.children": sentence(launch, steps, index),
        **drawn("steps", scene(launch, steps, index, theme=LookState.read(look).theme)),
        "step-table.children": step_table(loaded(launch, steps[index].rows)),
        "step-slider.max": len(steps),
        "step-count.data": {"count": len(steps), "now": index + 1},
    }


def view_job(data: Products, available: bool) -> Filling:
    """Show what is being measured; nothing where there is no GPU."""
    if not available:
        return {"products-measure-area.hidden": True, "products-poll.disabled": True}
    running = data.running()
    status: list[Component] = []
    if running:
        step = _STEP.fullmatch(running.message)
        done, total, what = step.groups() if step else ("0", "1", _("starting"))
        status = [
            html.Span(_("Measuring, {seconds:.0f} s: {what}", seconds=running.seconds, what=what)),
            html.Progress(value=done, max=total, **{"aria-label": _("Measured")}),
        ]
    elif data.problem:
        status = [dmc.Alert(translated(data.problem), title=_("It could not be measured"), color="red")]
    return {
        "products-measure-area.hidden": False,
        "products-measure.disabled": running is not None,
        "products-cancel.hidden": running is None,
        "products-measure-status.children": status,
        "products-poll.disabled": running is None,
    }


def control_values(data: Products, query: Query) -> dict[str, str]:
    """Return what the controls show, by their names in the URL."""
    try:
        state = ProductState.read(query, data.recorded)
    except SmemvizError:  # the page says it; the control keeps what was typed
        state = ProductState.read({k: v for k, v in query.items() if k != "SIZE"}, data.recorded)
        return {"SIZE": query["SIZE"], "TILE": str(state.tile), "PICTURED": state.pictured}
    return {"SIZE": state.size.name, "TILE": str(state.tile), "PICTURED": state.pictured}


def _origin(state: ProductState, rows: Sequence[Product], sweep: Sweep | None, here: bool, timed: bool) -> str:
    where = {row.counted for row in rows}
    template = next(
        (_COUNTED[origin] for origin in ("lockstep", "scaled", "card", None) if origin in where), _COUNTED[None]
    )
    counted = _(template, size=COUNTED.name)
    if sweep is None:
        return _("{counted}; nothing was measured.", counted=counted)
    if not timed:
        return _(
            "{counted}; {size} with tiles of {tile} was not measured on {card}.",
            counted=counted,
            size=state.size.name,
            tile=state.tile,
            card=sweep.device.name,
        )
    return _("{counted}; times {measured}.", counted=counted, measured=_measured(sweep, here))


def _measured(sweep: Sweep, here: bool) -> str:
    date = datetime.fromisoformat(sweep.date)
    return _(
        _MEASURED_HERE if here else _MEASURED,
        card=sweep.device.name,
        driver=sweep.device.driver,
        day=day(date),
        time=f"{date:%H:%M}",
        library=sweep.library,
        processor=sweep.host.processor,
        cores=ngettext("{n:,} core", "{n:,} cores", sweep.host.cores),
        numpy=sweep.host.numpy,
    )


def _changed(data: Products, sweep: Sweep | None) -> list[Component]:
    now = digests(data.program)
    changed = [name for name in now if sweep and name in sweep.kernels and sweep.kernels[name] != now[name]]
    if not changed:
        return []
    text = _("{kernels} changed since; the times are of what stood there before.", kernels=names(*changed))
    return [html.Span(text)]


def _notices(sweep: Sweep | None) -> list[Component]:
    notices: list[Component] = []
    if sweep and sweep.notes:
        failures = [part for note in sweep.notes for part in (html.Br(), translated(note))][1:]
        notices.append(dmc.Alert(failures, title=_("main() failed while measuring"), color="yellow"))
    return notices


def _sizes(current: Size | None, tile: int, sweep: Sweep | None, query: Query) -> list[Component]:
    rest = "".join(f"&{name}={query[name]}" for name in ("TILE", "PICTURED") if name in query)
    links = [
        dcc.Link(
            size.name, href=f"{MATMUL}?SIZE={size.name}{rest}", className="kernel-link" + " current" * (size == current)
        )
        for size in (measured_sizes(sweep, tile) if sweep else ())
    ]
    return [html.Span(_("Measured:"), className="note"), *links] if links else []
