"""The panel that suggests other layouts for the shared arrays of a kernel, each verified by running it."""

from collections.abc import Sequence
from pathlib import Path

from dash import Dash, Input, ctx, dcc, html
from dash.development.base_component import Component

from smemviz.app.components.connect import fill
from smemviz.app.components.frames import job_buttons, notice, scroller
from smemviz.app.components.launches import Filling, Query
from smemviz.app.components.rich import rich, translated
from smemviz.app.components.tables import table
from smemviz.app.components.written_html import Written
from smemviz.app.library import Library, ShownRun
from smemviz.app.state import RunState
from smemviz.app.tasks.suggester import Facts, Suggester
from smemviz.errors import SmemvizError
from smemviz.i18n import N_, _
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.data import Launch
from smemviz.views.suggestions import Note, excess_in, refused_notes, suggested_rows
from smemviz.wording.first_look import first_mistake

POLL_MILLISECONDS = 500
PROPERTIES = (
    "suggest-panel.hidden",
    "suggest.disabled",
    "cancel-suggest.hidden",
    "suggest-status.html",
    "suggestions.html",
    "suggest-poll.disabled",
)
_HEAD = (N_("change"), N_("wavefronts now"), N_("predicted"), N_("counted"), N_("time"))


def suggest_panel() -> Component:
    """Lay out the panel, closed; it is hidden while no shared array of the launch has excess."""
    return html.Details(
        [
            html.Summary(html.H2(_("Another layout"), id="suggest-title")),
            job_buttons((_("Suggest"), "suggest"), "cancel-suggest"),
            Written(html.Div(id="suggest-status", role="status", className="measure-status")),
            Written(html.Div(id="suggestions", className="suggestions")),
            dcc.Interval(id="suggest-poll", interval=POLL_MILLISECONDS, disabled=True),
        ],
        id="suggest-panel",
        className="panel folded suggest-panel",
        hidden=True,
    )


def suggestable(library: Library, query: Query) -> bool:
    """Tell whether there is a panel for the kernel; it stands in the page before the callback fills it."""
    try:
        return _subject(library, query)[1] is not None
    except SmemvizError:
        return False


def _subject(library: Library, query: Query) -> tuple[ShownRun, Path | None]:
    """Return what is shown, and its file where a shared array of the launch has excess and nothing is wrong with it.

    Raises:
        SmemvizError: when the run is refused.
    """
    state = RunState.read(query)
    shown_run = library.show(state)
    launch, recording = shown_run.launch(state), shown_run.recording
    wanted = excess_in(launch, Hardware.of(recording)) and not first_mistake(recording, launch)
    return shown_run, library.kernel_file(state.file) if wanted else None


def view_suggest(library: Library, suggester: Suggester, query: Query, *, busy: bool = False) -> Filling:
    """Show what is suggested for the kernel, or how the search is doing; nothing where the run is refused.

    ``busy`` is whether it could not be started, since something else is being measured.
    """
    try:
        shown_run, path = _subject(library, query)
    except SmemvizError:
        return {"suggest-poll.disabled": True}
    if path is None:
        return {"suggest-panel.hidden": True, "suggest-poll.disabled": True}
    launch = shown_run.launch(RunState.read(query))
    running = suggester.running()
    status: list[Component] = []
    if running:
        status = [html.Span(_("Searching, rewriting, running: {seconds:.0f} s", seconds=running.seconds))]
    elif busy:
        status = [html.Span(_("Something else is being measured; try again when that is done."))]
    elif problem := suggester.problem(shown_run, launch.kernel):
        status = [notice(translated(problem), _("Nothing can be suggested"), kind="wrong")]
    facts = suggester.result(shown_run, path, launch.kernel)
    launches = [other for other in shown_run.recording.launches if other.kernel == launch.kernel]
    return {
        "suggest-panel.hidden": False,
        "suggest.disabled": running is not None or not library.local,
        "cancel-suggest.hidden": running is None,
        "suggest-status.html": status,
        "suggestions.html": suggestion_parts(facts, launches) if facts else [_nothing_yet()],
        "suggest-poll.disabled": running is None,
    }


def _nothing_yet() -> Component:
    sentence = _(
        "Counts the recorded requests with every pad and swizzle, writes the best into a copy of the file, and runs it."
    )
    return html.P(sentence, className="note")


def suggestion_parts(facts: Facts, launches: Sequence[Launch]) -> list[Component]:
    """Show the suggestions for one kernel, whose launches these are, each with its difference."""
    rows = suggested_rows(facts, launches)
    parts: list[Component] = []
    if rows:
        cells = ((row.change, row.now, row.predicted, row.counted, row.time) for row in rows)
        body = (html.Tr(list(map(html.Td, of_row))) for of_row in cells)
        parts.append(scroller(table("suggested", "", list(map(_, _HEAD)), body), titled="suggest-title"))
    parts += [html.P(_noted(note), className="note") for row in rows for note in row.notes]
    parts += [html.P(_noted(note)) for note in refused_notes(facts, launches[0].kernel)]
    parts += [_difference(row.change, row.diff) for row in rows if row.diff]
    on = facts.get("measured_on")
    if on and any(row.measured for row in rows):
        sentence = _(
            "With this change the kernel is the same as one in this file that was recorded on an {gpu}, counted by "
            "Nsight Compute and timed.",
            gpu=on,
        )
        parts.append(html.P(sentence, className="note"))
    return parts


def _noted(note: Note) -> str | list[Component | str]:
    if not note.quoted:
        return note.text
    return rich("{before} {after}", before=note.text, after=html.Span(note.quoted, lang="en"))


def _difference(change: str, diff: str) -> Component:
    """Show the changed lines of a file, folded, and a button that copies them."""
    title = _("Difference: {change}", change=change)
    region = {"role": "region", "aria-label": title}
    shown = html.Pre(diff, className="difference scroller", tabIndex=0, **region)
    copy = html.Button(
        _("Copy the fix"),
        type="button",
        className="text-button",
        **{"data-code": diff, "aria-label": _("Copy the fix: {change}", change=change)},
    )
    return html.Div([html.Details([html.Summary(title), shown], className="details"), copy], className="fix")


def add_callbacks(app: Dash, library: Library, suggester: Suggester) -> None:
    """Connect the panel of an app; it follows the pictures, which are looked at first."""

    def show_suggestions(clicks: int | None, cancels: int | None, polls: int | None, query: Query) -> Filling:
        busy = False
        if ctx.triggered_id == "suggest" and clicks and library.local:  # for others the button is off
            busy = not _start(library, suggester, query)
        elif ctx.triggered_id == "cancel-suggest" and cancels:
            suggester.cancel()
        return view_suggest(library, suggester, query, busy=busy)

    buttons = Input("suggest", "n_clicks"), Input("cancel-suggest", "n_clicks")
    fill(app, PROPERTIES, show_suggestions, *buttons, Input("suggest-poll", "n_intervals"), Input("drawn-run", "data"))


def _start(library: Library, suggester: Suggester, query: Query) -> bool:
    """Start on the kernel shown; return False when something else is running."""
    state = RunState.read(query)
    try:
        shown_run = library.show(state)
        path = library.kernel_file(state.file)
        return path is not None and suggester.start(shown_run, path, shown_run.launch(state).kernel)
    except SmemvizError:  # the page says what is wrong
        return True
