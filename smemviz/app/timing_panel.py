"""The timing panel of the kernel page: how long the launch takes, on what, and whether its conflicts matter."""

from __future__ import annotations

import shlex
from datetime import datetime
from pathlib import Path

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app.graph import download, graph
from smemviz.app.library import Library, Shown
from smemviz.app.run_view import Filling, Query
from smemviz.app.state import RunState
from smemviz.app.stopwatch import Stopwatch
from smemviz.errors import SmemvizError
from smemviz.figures.labels import count, duration
from smemviz.figures.matter import Measured, matter
from smemviz.figures.style import ThemeName
from smemviz.figures.times import times
from smemviz.recording import Launch

POLL_MILLISECONDS = 500
JOB_PROPERTIES = (
    "measure-area.hidden",
    "measure.disabled",
    "cancel-measure.hidden",
    "measure-status.children",
    "poll.disabled",
)
_BANDS = (
    "Below, the samples under a lens: the pale band is the 5th to 95th percentile, the strong one the 95 % interval "
    "of the median."
)


def timing_panel() -> Component:
    """Lay out the panel; the button is shown once a GPU is known to be here."""
    return html.Section(
        [
            html.Div(
                [
                    html.H2("Time", id="timing-title"),
                    html.Div(
                        [
                            html.Button("Measure", id="measure", type="button", className="text-button"),
                            html.Button(
                                "Cancel", id="cancel-measure", type="button", className="text-button", hidden=True
                            ),
                        ],
                        id="measure-area",
                        hidden=True,
                        className="panel-controls",
                    ),
                ],
                className="panel-head",
            ),
            html.Div(id="measure-status", role="status", className="measure-status"),
            html.Div(id="timing-body"),
            dcc.Interval(id="poll", interval=POLL_MILLISECONDS, disabled=True),
        ],
        className="panel timing-panel",
        **{"aria-labelledby": "timing-title"},
    )


def view_timing(stopwatch: Stopwatch, shown: Shown, launch: Launch, theme: ThemeName) -> list[Component]:
    """Show the time of a launch, or say that there is none and what would measure it."""
    one = stopwatch.measured(shown, launch)
    if one is None:
        return _no_time(shown)
    others = (stopwatch.measured(shown, other) for other in shown.recording.launches if other is not launch)
    judged = matter(one, [other for other in others if other])
    picture = graph("times", still=False)
    picture.figure = times(one.time, theme=theme)
    picture.style = {"height": picture.figure.layout.height}
    return [
        html.Dl([html.Div([html.Dt(a), html.Dd(b)], className="fact") for a, b in _facts(one)], className="facts"),
        html.H3("Does it matter?"),
        html.P([html.Strong(f"{judged.answer}. "), judged.sentence], id="matter", className="matter"),
        html.P(judged.basis, className="note"),
        download("Times"),
        picture,
        html.P(_BANDS, className="note"),
        html.P(_origin(one), id="timing-origin", className="note origin-note"),
        *(html.P(f"Note: {note}.", className="note") for note in one.time.notes),
    ]


def view_job(stopwatch: Stopwatch, library: Library, query: Query) -> Filling:
    """Show what is being measured; nothing where there is no GPU, or no kernel file to run on it."""
    state = RunState.read(query)
    try:
        shown = library.show(state)
    except SmemvizError:
        return {"measure.disabled": True}
    if not stopwatch.available or library.kernel_file(state.file) is None:
        return {"measure-area.hidden": True, "poll.disabled": True}
    running = stopwatch.running()
    status: list[Component] = []
    if running:
        launches = len(shown.recording.launches)
        text = f"Measuring {running.file}, {running.seconds:.0f} s: {running.kernel or 'starting'}"
        status = [
            html.Span(text),
            html.Progress(value=str(running.done), max=str(launches), **{"aria-label": "Launches measured"}),
        ]
    elif problem := stopwatch.problem(shown):
        status = [dmc.Alert(problem, title="It could not be measured", color="red")]
    return {
        "measure-area.hidden": False,
        "measure.disabled": running is not None,
        "cancel-measure.hidden": running is None,
        "measure-status.children": status,
        "poll.disabled": running is None,
    }


def _facts(one: Measured) -> list[tuple[str, str]]:
    time = one.time
    return [
        ("median", duration(time.median_us)),
        ("95 % interval", f"{time.low_us:.5g} to {time.high_us:.5g} µs"),
        ("floor", duration(time.floor_us)),
        ("net", duration(time.net_us)),
        ("5th to 95th percentile", f"{time.p5_us:.5g} to {time.p95_us:.5g} µs"),
        ("samples", f"{time.samples} of {count(time.nodes, 'launch')}"),
    ]


def _origin(one: Measured) -> str:
    """Say what a time was measured on, when and how."""
    date = datetime.fromisoformat(one.time.date)
    where = f"Measured {'here, ' if one.here else ''}on {one.device.name}, driver {one.device.driver}"
    when = f"{date.day} {date:%B %Y}, {date:%H:%M} UTC"
    conditions = ", ".join(f"{name} {value}" for name, value in one.time.conditions.items())
    how = "with arrays out of the L2 cache" if one.time.cold else "by CUDA graph replay"
    return (
        f"{where}, {when}, {how}{'; ' + conditions if conditions else ''}. The floor is an empty kernel of this size."
    )


def _no_time(shown: Shown) -> list[Component]:
    program = shown.program
    why = shown.why or "The recording has no times."
    settings = [part for name, value in program.overrides.items() for part in ("--set", f"{name}={value}")]
    line = shlex.join(["smemviz", "time", Path(program.file).name, *settings])
    return [
        html.P(
            [f"No time was measured with these constants. {why} On a machine with an NVIDIA GPU, ", html.Code(line),
             " measures it."],
            className="not-measured",
        )
    ]  # fmt: skip
