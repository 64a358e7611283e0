"""What the matrix product page shows for what its URL asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app.matmul_data import COUNTED, DEFAULT_PICTURED, PICTURED, Products, ProductState
from smemviz.app.matmul_page import PATH
from smemviz.app.matmul_tables import (
    ceiling_table,
    product_table,
    quoted_table,
    skipped_note,
    step_table,
)
from smemviz.app.rich import rich
from smemviz.app.run_view import Filling, Query
from smemviz.app.state import LookState
from smemviz.errors import SmemvizError
from smemviz.figures.grammar import names
from smemviz.figures.labels import day
from smemviz.figures.matmul_loads import loads_bars
from smemviz.figures.matmul_scene import scene
from smemviz.figures.matmul_steps import sentence, touched
from smemviz.figures.products import Product, headline, points_at, products
from smemviz.figures.quoted import FAILED_LAUNCH, beside
from smemviz.figures.roofline import roofline
from smemviz.figures.sweep import measured_sizes, sweep_lines
from smemviz.language import N_, _, ngettext
from smemviz.sweep_file import CUBLAS, LOOPS, NUMPY, Sweep, digests

_PICTURES = ("loads", "roofline", "sweep")
PRODUCT_PROPERTIES = (
    "products-headline.children",
    "products-origin.children",
    "products-notices.children",
    "products-sizes.children",
    "products-table.children",
    *(f"{picture}.{name}" for picture in _PICTURES for name in ("figure", "style")),
    "skipped-note.children",
    "loads-title.children",
    "ceilings-table.children",
    "quoted-table.children",
    "quoted-note.children",
    "products-results.hidden",
)
STEP_PROPERTIES = (
    "step-text.children",
    "steps.figure",
    "steps.style",
    "step-table.children",
    "step-slider.max",
    "step-count.data",
)
JOB_PROPERTIES = (
    "products-measure-area.hidden",
    "products-measure.disabled",
    "products-cancel.hidden",
    "products-measure-status.children",
    "products-poll.disabled",
)
_COUNTED = {
    "lockstep": N_("Counted now, in lockstep"),
    "scaled": N_("Counted now in lockstep at {size} and scaled, loads with S³ and stores of c with S²"),
    "card": N_("Counted on the card"),
    None: N_("What this size moves is not known"),
}
_MEASURED = N_("measured on {card}, driver {driver}, {day}, {time} UTC; {library}; host {processor}, {cores}, {numpy}")
_MEASURED_HERE = N_(
    "measured here, on {card}, driver {driver}, {day}, {time} UTC; {library}; host {processor}, {cores}, {numpy}"
)
_STEP = re.compile(r"(\d+)/(\d+) (.*)")


def view_products(data: Products, query: Query, theme: str, linked: bool) -> Filling:
    """Show a size; a refusal says what is wrong with it."""
    try:
        state = ProductState.read(query, data.recorded)
        sweep, here = data.sweep(state.size, state.tile)
        counted = data.counted(state)
        savings = data.savings(state)
    except SmemvizError as error:
        return {
            "products-headline.children": _("This cannot be shown"),
            "products-origin.children": "",
            "products-notices.children": dmc.Alert(
                html.Span(str(error), lang="en"), color="red", id="error", className="refusal"
            ),
            "products-sizes.children": [],
            "products-results.hidden": True,
        }
    look = LookState.read({"theme": theme}).theme
    rows = products(state.size, state.tile, counted, sweep)
    points = points_at(sweep, state.size, state.tile) if sweep else {}
    figures = (
        loads_bars(savings, theme=look),
        roofline(rows, sweep, points.get(CUBLAS), theme=look),
        sweep_lines(sweep, state.tile, theme=look),
    )
    filling: Filling = {}
    for picture, figure in zip(_PICTURES, figures, strict=True):
        filling[f"{picture}.figure"] = figure
        filling[f"{picture}.style"] = {"height": figure.layout.height}
    yardsticks = [points[name] for name in (CUBLAS, NUMPY, LOOPS) if name in points]
    return filling | {
        "products-headline.children": headline(rows, state.tile),
        "products-origin.children": _origin(state, rows, sweep, here, bool(points)),
        "products-notices.children": _notices(data, sweep),
        "products-sizes.children": _sizes(state, sweep, query),
        "products-table.children": product_table(rows, yardsticks, sweep, state, linked),
        "skipped-note.children": skipped_note(points.values()),
        "loads-title.children": _("What tiles save, counted at {size}", size=savings[0].size.name),
        "ceilings-table.children": ceiling_table(sweep) if sweep else _("No card was measured."),
        "quoted-table.children": quoted_table(beside(sweep, state.tile), sweep),
        "quoted-note.children": _(FAILED_LAUNCH),
        "products-results.hidden": False,
    }


def view_step(data: Products, query: Query, look: Query) -> Filling:
    """Show the step that the URL asks for, the first when it asks for none."""
    pictured = query.get("PICTURED", DEFAULT_PICTURED)
    try:
        launch, steps = data.steps(pictured if pictured in PICTURED else DEFAULT_PICTURED)
    except (SmemvizError, KeyError) as error:
        why = html.Span(str(error), lang="en")
        return {"step-text.children": rich("There is nothing to picture: {why}", why=why)}
    asked = LookState.read(look).step or 1
    index = min(max(asked, 1), len(steps)) - 1
    figure = scene(launch, steps, index, theme=LookState.read(look).theme)
    return {
        "step-text.children": sentence(launch, steps, index),
        "steps.figure": figure,
        "steps.style": {"height": figure.layout.height},
        "step-table.children": step_table(touched(launch, steps[index].rows)),
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
        said = _STEP.fullmatch(running.said)
        done, total, what = said.groups() if said else ("0", "1", _("starting"))
        status = [
            html.Span(_("Measuring, {seconds:.0f} s: {what}", seconds=running.seconds, what=what)),
            html.Progress(value=done, max=total, **{"aria-label": _("Measured")}),
        ]
    elif data.problem:
        problem = html.Span(data.problem, lang="en")
        status = [dmc.Alert(problem, title=_("It could not be measured"), color="red")]
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
    found = next((_COUNTED[one] for one in ("lockstep", "scaled", "card", None) if one in where), _COUNTED[None])
    counted = _(found, size=COUNTED.name)
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
    """Say on what and when something was measured."""
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


def _notices(data: Products, sweep: Sweep | None) -> list[Component]:
    notices: list[Component] = []
    now = digests(data.program)
    changed = [name for name in now if sweep and name in sweep.kernels and sweep.kernels[name] != now[name]]
    if changed:
        text = _("{kernels} changed since; the times are of what stood there before.", kernels=names(*changed))
        notices.append(dmc.Alert(text, title=_("Measured of another version"), color="yellow", variant="light"))
    if sweep and sweep.notes:
        told = html.Span("; ".join(sweep.notes), lang="en")
        notices.append(dmc.Alert(told, title=_("main() failed while measuring"), color="yellow"))
    return notices


def _sizes(state: ProductState, sweep: Sweep | None, query: Query) -> list[Component]:
    """Link every size that was measured with this tile."""
    links: list[Component] = []
    kept = "".join(f"&{name}={query[name]}" for name in ("TILE", "PICTURED") if name in query)
    for size in measured_sizes(sweep, state.tile) if sweep else []:
        current = size == state.size
        links.append(
            dcc.Link(
                size.name,
                href=f"{PATH}?SIZE={size.name}{kept}",
                className="kernel-link current" if current else "kernel-link",
            )
        )
    return [html.Span(_("Measured:"), className="note"), *links] if links else []
