"""What was measured of a launch, on the kernel page: its time, the hardware's counts, published figures, the button."""

from dash import Dash, Input, State, ctx

from smemviz.app.components.connect import fill
from smemviz.app.components.launches import Filling, Query, hardware_of
from smemviz.app.library import Library
from smemviz.app.pages.kernel.measured.hardware_panel import view_hardware
from smemviz.app.pages.kernel.measured.published_panel import PROPERTIES as PUBLISHED
from smemviz.app.pages.kernel.measured.published_panel import view_published
from smemviz.app.pages.kernel.measured.timing_panel import JOB_PROPERTIES, view_job, view_timing
from smemviz.app.state import LookState, RunState
from smemviz.app.tasks.stopwatch import Stopwatch
from smemviz.errors import SmemvizError

_PROPERTIES = ("timing-body.children", "hardware-body.html", *PUBLISHED)


def view_measured(library: Library, stopwatch: Stopwatch, query: Query, theme: str) -> Filling:
    """Show what was measured of the launch; nothing where the run is refused, which ``view_run`` says."""
    state = RunState.read(query)
    try:
        shown_run = library.show(state)
        launch = shown_run.launch(state)
    except SmemvizError:
        return {}
    look = LookState.read({"theme": theme})
    return {
        "timing-body.children": view_timing(stopwatch, shown_run, launch, look.theme, library.kernel_file(state.file)),
        "hardware-body.html": view_hardware(shown_run, launch, hardware_of(shown_run, state)),
        **view_published(shown_run),
    }


def add_callbacks(app: Dash, library: Library, stopwatch: Stopwatch) -> None:
    """Connect the panels of an app; what was measured comes with the page, whether it can be measured comes after."""

    def measured(query: Query, theme: str, last: int | None) -> Filling:
        return view_measured(library, stopwatch, query, theme)

    # After the pictures, which are looked at first.
    after = Input("drawn-run", "data"), Input("theme", "data"), Input("measured-last", "data")
    fill(app, _PROPERTIES, measured, *after, initially=False)

    def measure(clicks: int | None, cancels: int | None, polls: int | None, query: Query, last: int | None) -> Filling:
        if ctx.triggered_id == "measure" and clicks:
            _start(library, stopwatch, query)
        elif ctx.triggered_id == "cancel-measure" and cancels:
            stopwatch.cancel()
        filling = view_job(stopwatch, library, query)
        latest = stopwatch.latest
        return filling if latest == (last or 0) else filling | {"measured-last.data": latest}

    buttons = Input("measure", "n_clicks"), Input("cancel-measure", "n_clicks"), Input("poll", "n_intervals")
    query, last = Input("drawn-run", "data"), State("measured-last", "data")
    fill(app, (*JOB_PROPERTIES, "measured-last.data"), measure, *buttons, query, last)


def _start(library: Library, stopwatch: Stopwatch, query: Query) -> None:
    state = RunState.read(query)
    try:
        path = library.kernel_file(state.file)
        if path is not None and stopwatch.available:
            stopwatch.start(library.show(state), path)
    except SmemvizError:  # the page says what is wrong
        return
