"""The editor page: a kernel page whose file is a text in the browser, run when it is asked for.

The text reaches the server by one store and goes to ``Texts``, which hands it to a process of its own. What comes back
has a name; the page then shows that name as it shows any kernel file.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.addresses import EDITOR
from smemviz.app.components.connect import fill, of_script, outputs
from smemviz.app.components.frames import section, text_button
from smemviz.app.components.launches import Filling, Query
from smemviz.app.components.written_html import as_html
from smemviz.app.page import Page, Services
from smemviz.app.pages.kernel.kernel_page import kernel_layout
from smemviz.app.pages.kernel.run_view import refusal
from smemviz.app.pages.learn.task_panel import TASK_OUTPUTS, judged, task_head, task_in, task_link, task_stores
from smemviz.app.state import RunState
from smemviz.app.texts import Texts
from smemviz.engines.sandbox.run import FILE
from smemviz.errors import InputError, PlaceError, SmemvizError, WaitingError
from smemviz.figures.registry import FIGURES
from smemviz.i18n import N_, English, _, speaking, spoken
from smemviz.lessons.course import Task, task_of
from smemviz.messages import say
from smemviz.model.hardware.hardware import H200
from smemviz.paths import gallery
from smemviz.recordings.findings import Finding
from smemviz.wording.labels import count, sentences
from smemviz.wording.sentences import folded, more_of_a_kind

_FIRST = "padding"  # a kernel to fix: it is short and has a conflict, so that all of the page has something to show
_LONGEST_TIME = 20  # characters of the time by which a browser tells its questions apart
_UNREAD = "columns nothing unread"  # no text has run yet, so there are no constants either
_REFUSED = ("headline.children", "origin.children", "notices.html", "results.className")


class EditorResult(NamedTuple):
    """What came of running a text: what the browser is told, what the text printed, and why it was refused."""

    answer: dict[str, Any]
    printed: str = ""
    refused: SmemvizError | None = None


def _texts(services: Services) -> Texts:
    assert services.texts is not None  # else the app has no editor
    return services.texts


def editor_page(texts: Texts, run: Query) -> Component:
    """Lay out the page; the browser sends the text it has and fills it: its link's, its draft, or the first."""
    texts.supervisor.warm()
    state, task = RunState.read(run), task_in(run)
    start, meant = _start_text(texts, state.file, task)
    program = texts.add(start).program
    store = dcc.Store(id="editor-start-text", data={"text": start, "meant": meant})
    page = kernel_layout(program, state.hardware or H200, [_panel(), store, *task_stores()])
    page.className = "editing"
    results = page["results"]
    results.className = _UNREAD
    left, _border, right = results.children
    player = next(part for part in left.children if "playback-panel" in getattr(part, "className", ""))
    left.children.remove(player)
    right.children = [right.children, player]  # the text is high: what steps stands below what it moves
    results.children.insert(1, _awaited())
    page[ids.SOURCE_PANEL].hidden = True  # the text itself has the marks
    page["drawn-run"].data = run
    page["headline"].children = _("Write a kernel")
    title = next(part for part in page.children if isinstance(part, html.Header))
    line, headline, why = title.children
    if task:
        line.children.append(task_link(task))
        headline = html.P(headline.children, hidden=True)  # the task is what the page is about
    title.children = [line, headline, *([] if task else [why]), *task_head(task, why)]
    return page


def register(app: Dash, services: Services) -> None:
    """Connect the editor to the texts."""
    texts = _texts(services)

    clientside = of_script(app, "smemviz_editor")
    clientside("open", Output(ids.EDITOR_TEXT, "data"), Input("editor-start-text", "data"))
    clientside("load", Input("editor-start", "data"), initially=False)
    clientside("ask", Input("editor-run", "n_clicks"), initially=False)
    clientside("show_badges", Input("shown-run", "data"), initially=False)
    clientside("copy_link", Input("editor-link", "n_clicks"), initially=False)
    clientside(
        "show",
        *(Output(ids.EDITOR_STATUS, name) for name in ("children", "lang", "className")),
        *outputs(_REFUSED, again=True),
        Input("editor-answer", "data"),
        initially=False,
    )

    of_script(app, "smemviz_learn")(
        "fixed",
        Output("learn-progress", "data", allow_duplicate=True),
        Input("editor-fixed", "data"),
        State("learn-progress", "data"),
        initially=False,
    )

    def start(name: str | None) -> Filling:
        return {"editor-start.data": _start(name)} if name is not None and name in _starts() else {}

    fill(app, ("editor-start.data",), start, Input("editor-choice", "value"), initially=False)

    @app.callback(  # type: ignore[untyped-decorator]
        Output("editor-answer", "data"),
        Output("editor-printed", "children"),
        Output("editor-printed-panel", "hidden"),
        *(Output(*place) for place in TASK_OUTPUTS),
        Input(ids.EDITOR_TEXT, "data"),
        State("shown-run", "data"),
        State("run", "data"),
        prevent_initial_call=True,
    )
    def answer(question: Mapping[str, Any] | None, shown_run: Mapping[str, Any] | None, run: Query) -> tuple[Any, ...]:
        task = task_in(run)
        if not isinstance(question, dict) or not isinstance(question.get("source"), str):
            return no_update, "", True, *judged(task, None)
        result, printed, refused = run_asked(texts, question["source"], str(question.get("at", ""))[:_LONGEST_TIME])
        filling = _view_refused(refused, question["source"], shown_run) if refused else {}
        recording = texts.run(result["file"], {}).recording if task and result.get("file") else None
        # The browser shows a refusal itself, for it knows whether another text was asked for since.
        sent = {name: as_html(value) if name.endswith(".html") else value for name, value in filling.items()}
        answered = {**result, "at": question.get("at"), "refused": list(map(sent.get, _REFUSED))}
        return answered, printed, not printed, *judged(task, recording)


def _view_refused(error: SmemvizError, source: str, shown_run: Mapping[str, Any] | None) -> Filling:
    """Say why a text gave nothing, and that what stands below, if anything does, is of another."""
    filling = refusal(error, shown_run["title"] if shown_run else None, source, FILE)
    return filling if shown_run else filling | {"results.className": _UNREAD}


def run_asked(texts: Texts, source: str, request_name: str = "") -> EditorResult:
    """Run a text; a request with a name, which the browser gives it, has a place in the queue and is asked again.

    The browser is told the ``file`` to show, None when there is none, ``marks`` for lines of the text, and a sentence
    with its language: what Python says is in English.
    """
    began = time.perf_counter()
    try:
        text = texts.add(source)
        text_run = texts.run(text.name, {}, request_name)
    except WaitingError as waiting:
        sentence = _("Waiting for its turn: place {place:,} in the queue", place=waiting.place)
        return EditorResult({"waiting": waiting.place, "marks": [], "message": sentence, "lang": _tag(sentence)})
    except PlaceError as error:
        what, tag = _in_words(error.what)
        with speaking(tag):
            sentence = _("Line {line}: {message}", line=error.line, message=what)
        return EditorResult(_refused(sentence, tag, _mark(error.line, what, "error")), refused=error)
    except SmemvizError as error:
        return EditorResult(_refused(*_in_words(str(error))), refused=error)
    recording = text_run.recording
    values = {"seconds": time.perf_counter() - began, "launches": count(len(recording.launches), "launch")}
    if recording.mistakes:
        mistakes = count(len(recording.mistakes), "mistake")
        sentence = _("Ran in {seconds:.2f} s: {launches}, {mistakes}.", mistakes=mistakes, **values)
    else:
        sentence = _("Ran in {seconds:.2f} s: {launches}.", **values)
    marks = [_of_finding(finding, more) for finding, more in folded(recording.findings)]
    return EditorResult(
        {"file": text.name, "marks": marks, "message": sentence, "lang": _tag(sentence)}, text_run.printed
    )


def _tag(sentence: str) -> str:
    return "en" if isinstance(sentence, English) else spoken()


def _in_words(text: str) -> tuple[str, str]:
    """Return what went wrong in the spoken language, else in English, and the tag of which it is."""
    translated = say(text)
    return (text, "en") if translated is None else (translated, spoken())


def _refused(sentence: str, tag: str, *marks: dict[str, Any]) -> dict[str, Any]:
    return {"file": None, "marks": list(marks), "message": sentence, "lang": tag}


def _of_finding(finding: Finding, more: int) -> dict[str, Any]:
    severity = "info" if finding.harmless else "warning"
    return _mark(finding.line, sentences(_in_words(finding.message)[0], more_of_a_kind(more)), severity)


def _mark(line: int, message: str, severity: str) -> dict[str, Any]:
    return {"line": line, "message": message, "severity": severity}


def _start_text(texts: Texts, file: str, task: Task | None) -> tuple[str, bool]:
    """Return the text or the gallery file that the URL names, else the first; and whether it is the one named."""
    if file in _starts():
        return _start(file), True
    if file in texts:
        try:
            return texts.program(file).source, True
        except InputError:  # the link has it, or the browser's draft
            pass
    return (task or task_of(_FIRST)).source, task is not None


def _start(name: str) -> str:
    return _starts()[name].read_text(encoding="utf-8")


def _starts() -> Mapping[str, Path]:
    return {path.stem: path for path in gallery()}


def _awaited() -> Component:
    """Show what will stand beside the text, until one has run."""
    pictures = (
        (
            FIGURES["tile"].title,
            _("Each shared array, coloured by bank, with the lanes of one request in their cells."),
        ),
        (
            FIGURES["banks"].title,
            _("Who is served when: a row per wavefront, and more than one where lanes are in conflict."),
        ),
    )
    panels = [
        html.Section(
            [html.H2(title), html.Div(className="ghost", **{"aria-hidden": "true"}), html.P(text, className="note")],
            className="panel picture-panel",
        )
        for title, text in pictures
    ]
    return html.Div(html.Div(panels, className="pictures"), className="right awaited")


def _panel() -> Component:
    choice = dmc.Select(
        id="editor-choice",
        data=list(_starts()),
        placeholder=_("Start from"),
        size="xs",
        w=130,
        **{"aria-label": _("Start from a file of the gallery")},
    )
    run = html.Button(_("Run"), id="editor-run", className="run-button", type="button", title=_("Ctrl+Enter"))
    controls = html.Div([choice, text_button(_("Copy link"), id="editor-link"), run], className="panel-controls")
    return section(
        "editor",
        html.Div([html.H2(_("Kernel file"), id="editor-title"), controls], className="panel-head"),
        html.Output("", id=ids.EDITOR_STATUS, className="editor-status"),  # above, where small screens show it
        html.Div(id=ids.EDITOR, className="editor notranslate"),
        html.P(
            _(
                "It runs when you pause, and at Ctrl+Enter; Esc, then Tab leaves the text. A copied link carries "
                "the text; the server keeps it in memory only."
            ),
            className="note",
        ),
        html.Div(
            [html.H3(_("Printed")), html.Pre(id="editor-printed", tabIndex=0)],
            id="editor-printed-panel",
            className="printed",
            hidden=True,
        ),
        *(dcc.Store(id=f"editor-{name}") for name in ("text", "answer", "start", "knobs")),
        kind="editor-panel",
    )


PAGE = Page(
    EDITOR,
    N_("Editor"),
    lambda services, address: editor_page(_texts(services), address.run),
    register,
    link=N_("Editor"),
    of_editor=True,
)
