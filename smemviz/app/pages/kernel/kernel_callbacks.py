"""Callbacks of the kernel page: the URL's stores come in, what they put on the page goes out.

What the eye is on comes in one answer, source and pictures alike; what it can wait for follows that.
"""

from typing import Any

from dash import Dash, Input, State, ctx
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.addresses import GALLERY, KERNEL
from smemviz.app.components.connect import fill
from smemviz.app.components.launches import Filling, Query
from smemviz.app.library import Library
from smemviz.app.page import Address, Page, Services
from smemviz.app.pages.kernel import follow, suggest_panel
from smemviz.app.pages.kernel.controls import knob_kinds, knobs
from smemviz.app.pages.kernel.folded import FOLDED_PROPERTIES
from smemviz.app.pages.kernel.global_view import GLOBAL_PROPERTIES, closed_global
from smemviz.app.pages.kernel.kernel_page import explained, folded, kernel_page, laid_out, looked, touched
from smemviz.app.pages.kernel.layouts_view import LAYOUTS_PROPERTIES, serve_gif
from smemviz.app.pages.kernel.look_view import LOOK_PROPERTIES
from smemviz.app.pages.kernel.measured import measured_panels
from smemviz.app.pages.kernel.run_view import RUN_PROPERTIES, view_run
from smemviz.app.pages.kernel.why_panel import WHY_PROPERTIES
from smemviz.app.state import RunState
from smemviz.app.tasks.suggester import Suggester
from smemviz.errors import SmemvizError
from smemviz.i18n import N_

_PROPERTIES = (*LOOK_PROPERTIES, *RUN_PROPERTIES, "drawn-run.data")


def register(app: Dash, services: Services) -> None:
    """Connect the kernel page of an app to its files; it comes filled, and only other layouts follow it."""
    library = services.library
    _add_callbacks(app, library, followed=services.follow)
    serve_gif(app, library)
    measured_panels.add_callbacks(app, library, services.stopwatch)
    suggest_panel.add_callbacks(app, library, Suggester(services.job))
    if services.follow:
        follow.add_callbacks(app, library)


def _add_callbacks(app: Dash, library: Library, *, followed: bool) -> None:
    def show(
        run: Query,
        look: Query,
        version: str | None,
        run_before: dict[str, Any] | None,
        stepped: Query | None = None,
    ) -> Filling:
        asked_for = ctx.triggered_prop_ids
        if stepped and "look.data" not in asked_for and "run.data" not in asked_for:  # the file itself has changed
            look = look | stepped
        filling = looked(library, run, look)
        if not {"run.data", f"{ids.VERSION}.data"}.isdisjoint(asked_for):
            filling |= view_run(library, run, run_before["title"] if run_before else None)
            filling["drawn-run.data"] = run
        return filling

    def touch(run: Query, present: object, stepped: Query | None, is_open: bool | None, look: Query) -> Filling:
        if stepped and set(ctx.triggered_prop_ids) == {f"{ids.STEPPED_GLOBALLY}.data"}:
            look = look | stepped
        closed = None if is_open else closed_global(library, run, look)
        return touched(library, run, look) if closed is None else closed

    def fold(run: Query, theme: str, block: object, look: Query) -> Filling:
        return folded(library, run, look | {"theme": theme})

    def why(run: Query, block: object, look: Query) -> Filling:
        return explained(library, run, look)

    def lay_out(run: Query, block: object, look: Query) -> Filling:
        return laid_out(library, run, look)

    stores = (Input(name, "data") for name in ("run", "look", ids.VERSION))
    # Which request a reader has stepped to is asked for only where the file may change: it tells all questions apart.
    place = (State(ids.STEPPED, "data"),) if followed else ()
    fill(app, _PROPERTIES, show, *stores, State("shown-run", "data"), *place, initially=False)
    drawn, look = Input("drawn-run", "data"), State("look", "data")
    present, stepped = Input("present", "data"), Input(ids.STEPPED_GLOBALLY, "data")
    block = Input("shown-block", "data")
    fill(app, GLOBAL_PROPERTIES, touch, drawn, present, stepped, State(ids.GLOBAL_OPEN, "data"), look, initially=False)
    fill(app, FOLDED_PROPERTIES, fold, drawn, Input("theme", "data"), block, look, initially=False)
    fill(app, WHY_PROPERTIES, why, drawn, block, look, initially=False)
    fill(app, LAYOUTS_PROPERTIES, lay_out, drawn, block, look)

    def show_knobs(shown_run: dict[str, Any] | None, run: Query, before: object) -> Filling:
        """Place the knobs of a source with other constants; those that stay are filled as ever."""
        state = RunState.read(run)
        try:
            program = library.program(state.file).with_constants(state.constants)
        except SmemvizError:  # the page says it
            return {}
        kernel = (shown_run or {}).get("title") or state.kernel
        now = knob_kinds(program, kernel)
        return {} if now == before else {"knobs.children": knobs(program, kernel).children, "knobs-of.data": now}

    known = State("run", "data"), State("knobs-of", "data")
    fill(app, ("knobs.children", "knobs-of.data"), show_knobs, Input("shown-run", "data"), *known, initially=False)


def _lay_out(services: Services, address: Address) -> Component:
    return kernel_page(services.library, services.stopwatch, address.run, address.look, follow=services.follow)


PAGE = Page(KERNEL, N_("Kernel"), _lay_out, register, header=GALLERY)
