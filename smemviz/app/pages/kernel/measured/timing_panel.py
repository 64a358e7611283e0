"""The timing panel of the kernel page: how long the launch takes, on what, and whether its conflicts matter."""

import shlex
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app.addresses import MATMUL
from smemviz.app.components.frames import job_head, notice, section
from smemviz.app.components.graph import download, graph
from smemviz.app.components.launches import Filling, Query
from smemviz.app.components.rich import rich, translated
from smemviz.app.components.tables import fact
from smemviz.app.components.written_html import Written
from smemviz.app.library import Library, ShownRun
from smemviz.app.state import RunState
from smemviz.app.tasks.jobs import settings
from smemviz.app.tasks.stopwatch import Running, Stopwatch
from smemviz.errors import SmemvizError
from smemviz.figures.drawing.style import ThemeName
from smemviz.figures.times import times
from smemviz.frontends.program import Program, digests
from smemviz.i18n import N_, _
from smemviz.paths import sweep_for
from smemviz.recordings.data import Launch
from smemviz.recordings.measured import Timing
from smemviz.recordings.sweep import SIZE_CONSTANTS, Clocked, Point, Size, Sweep, load_sweep
from smemviz.wording.impact import Measured, impact
from smemviz.wording.labels import count, day, described_conditions, duration

POLL_MILLISECONDS = 500
JOB_PROPERTIES = (
    "measure-area.hidden",
    "measure.disabled",
    "cancel-measure.hidden",
    "measure-status.html",
    "poll.disabled",
)
_BANDS = N_(
    "The lower plot enlarges the samples: the pale band is the 5th to 95th percentile, the strong one the "
    "95 % interval of the median."
)


def timing_panel() -> Component:
    """Lay out the panel; the button is shown once a GPU is known to be here."""
    return section(
        "timing",
        job_head(
            _("Time"), "timing-title", (_("Measure"), "measure"), "cancel-measure", id="measure-area", hidden=True
        ),
        Written(html.Div(id="measure-status", role="status", className="measure-status")),
        html.Div(id="timing-body"),
        dcc.Interval(id="poll", interval=POLL_MILLISECONDS, disabled=True),
        kind="timing-panel",
    )


def view_timing(
    stopwatch: Stopwatch, shown_run: ShownRun, launch: Launch, theme: ThemeName, path: Path | None
) -> list[Component]:
    """Show the time of a launch of the file ``path``, or say that there is none and what would measure it."""
    measured = stopwatch.measured(shown_run, launch)
    if measured is None:
        point = swept(path, shown_run.program, launch.kernel) if path else None
        return _of_sweep(*point) if point else _no_time(shown_run)
    others = (stopwatch.measured(shown_run, other) for other in shown_run.recording.launches if other is not launch)
    judged = impact(measured, [other for other in others if other])
    panels = [
        html.Dl(_facts(measured), className="facts"),
        html.H3(_("Does it matter?")),
        html.P(
            rich("{answer}. {sentence}", answer=html.Strong(judged.answer), sentence=judged.sentence),
            id="impact",
            className="impact",
        ),
        html.P(judged.basis, className="note"),
    ]
    notes = [
        html.P(_(_BANDS), className="note"),
        html.P(_origin(measured), id="timing-origin", className="note origin-note"),
        *(html.P(rich("Note: {note}.", note=translated(note)), className="note") for note in measured.time.notes),
    ]
    return [
        Written(html.Div(panels)),
        download(_("Times")),
        graph("times", times(measured.time, theme=theme)),
        Written(html.Div(notes)),
    ]


def view_job(stopwatch: Stopwatch, library: Library, query: Query) -> Filling:
    """Show what is being measured; nothing where there is no GPU, or no kernel file to run on it."""
    state = RunState.read(query)
    try:
        shown_run = library.show(state)
    except SmemvizError:
        return {"measure.disabled": True}
    if not stopwatch.available or library.kernel_file(state.file) is None:
        return {"measure-area.hidden": True, "poll.disabled": True}
    running = stopwatch.running()
    status: list[Component] = []
    if running:
        launches = len(shown_run.recording.launches)
        status = [
            html.Span(_measuring(running)),
            html.Progress(value=str(running.done), max=str(launches), **{"aria-label": _("Launches measured")}),
        ]
    elif problem := stopwatch.problem(shown_run):
        status = [notice(translated(problem), _("It could not be measured"), kind="wrong")]
    return {
        "measure-area.hidden": False,
        "measure.disabled": running is not None,
        "cancel-measure.hidden": running is None,
        "measure-status.html": status,
        "poll.disabled": running is None,
    }


def _measuring(running: Running) -> str:
    file, seconds = running.file, running.seconds
    if not running.kernel:
        return _("Measuring {file}, {seconds:.0f} s: starting", file=file, seconds=seconds)
    return _("Measuring {file}, {seconds:.0f} s: {kernel}", file=file, seconds=seconds, kernel=running.kernel)


def _facts(measured: Measured) -> list[Component]:
    time = measured.time
    return [
        *_median(time),
        fact(_("floor"), duration(time.floor_us), "floor"),
        fact(_("net"), duration(time.net_us), "floor"),
        fact(_("5th to 95th percentile"), _span(time.p5_us, time.p95_us), "interval"),
        _samples(time),
    ]


def _median(time: Timing | Clocked) -> list[Component]:
    return [
        fact(_("median"), duration(time.median_us), "median"),
        fact(_("95 % interval"), _span(time.low_us, time.high_us), "interval"),
    ]


def _span(low: float, high: float) -> str:
    return _("{low} to {high}", low=duration(low), high=duration(high))


def _samples(time: Timing | Clocked) -> Component:
    samples = _("{samples} of {launches}", samples=time.samples, launches=count(time.nodes, "launch"))
    return fact(_("samples"), samples, "interval")


def _origin(timing: Measured) -> str:
    """Say what a time was measured on, when and how."""
    date = datetime.fromisoformat(timing.time.date)
    message = (
        N_("Measured here, on {card}, driver {driver}, {day}, {time:%H:%M} UTC, {how}")
        if timing.here
        else N_("Measured on {card}, driver {driver}, {day}, {time:%H:%M} UTC, {how}")
    )
    how = _("with arrays out of the L2 cache") if timing.time.cold else _("by CUDA graph replay")
    measured = _(message, card=timing.device.name, driver=timing.device.driver, day=day(date), time=date, how=how)
    state = described_conditions(timing.time.conditions)
    if not state:
        return _("{measured}. The floor is an empty kernel of this size.", measured=measured)
    return _("{measured}; {state}. The floor is an empty kernel of this size.", measured=measured, state=state)


def _of_sweep(sweep: Sweep, point: Point) -> list[Component]:
    """Show the time that a sweep over sizes took, which knows neither a floor nor the single samples."""
    time = point.time
    if time is None:
        raise ValueError(f"{point.kernel} was not timed")
    date = datetime.fromisoformat(sweep.date)
    sentence = rich(
        "Measured in a sweep over sizes, without a floor, on {card}, driver {driver}, {day}, {time:%H:%M} UTC. {link}",
        card=sweep.device.name,
        driver=sweep.device.driver,
        day=day(date),
        time=date,
        link=html.A(_("Every kernel at this size"), href=f"{MATMUL}?SIZE={point.size.name}&TILE={point.tile}"),
    )
    facts = html.Dl([*_median(time), _samples(time)], className="facts")
    return [Written(html.Div([facts, html.P(sentence, id="timing-origin", className="note origin-note")]))]


def _no_time(shown_run: ShownRun) -> list[Component]:
    program = shown_run.program
    why = shown_run.why or _("The recording has no times.")
    line = shlex.join(["smemviz", "time", Path(program.file).name, *settings(program.overrides)])
    sentence = rich(
        "No time was measured with these constants. {why} On a machine with an NVIDIA GPU, {command} measures it.",
        why=why,
        command=html.Code(line),
    )
    return [Written(html.P(sentence, className="not-measured"))]


def swept(path: Path, program: Program, kernel: str) -> tuple[Sweep, Point] | None:
    """Return what a sweep of the file measured of a kernel with these constants, None where it did not."""
    file = sweep_for(path)
    varied = (*SIZE_CONSTANTS, "TILE")
    if file is None or not set(program.overrides) <= set(varied) or not set(varied) <= program.constants.keys():
        return None
    sweep = _read(file, file.stat().st_mtime_ns)
    if sweep.kernels.get(kernel) != digests(program).get(kernel):
        return None
    m, k, n, tile = (int(str(program.values[name])) for name in varied)
    timed = (point for point in sweep.points if point.kernel == kernel and point.time)
    return next(((sweep, point) for point in timed if (point.size, point.tile) == (Size(m, k, n), tile)), None)


@lru_cache(maxsize=4)
def _read(file: Path, _changed: int) -> Sweep:
    return load_sweep(file)
