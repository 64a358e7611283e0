"""A kernel to fix, in the editor: what is asked, and after each run whether it is done, or the witness of why not."""

from typing import Any
from urllib.parse import urlencode

from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app.addresses import EDITOR, LEARN
from smemviz.app.components.launches import Query
from smemviz.engines.sandbox.run import FILE
from smemviz.errors import InputError
from smemviz.i18n import _, speaking
from smemviz.lessons.course import TASKS, Task, lesson_of, task_of
from smemviz.recordings.recording import Recording
from smemviz.testing.budget import what_is_missing

TASK_OUTPUTS = (
    ("editor-task-verdict", "children"),
    ("editor-task-verdict", "className"),
    ("editor-task-trace", "children"),
    ("editor-fixed", "data"),
)


def task_in(query: Query | None) -> Task | None:
    """Return the task that a URL names, None where it names none."""
    try:
        return task_of(query.get("task", "")) if query else None
    except InputError:
        return None


def task_after(slug: str) -> Task | None:
    """Return the task after a lesson, None where there is none."""
    return next((task for task in TASKS if task.slug == slug), None)


def task_href(task: Task) -> str:
    """Return the address of a task."""
    return f"{EDITOR}?{urlencode({'task': task.slug})}"


def done_as(task: Task) -> str:
    """Return the name under which the browser keeps that a task was done."""
    return f"fix-{task.slug}"


def task_stores() -> list[Component]:
    """Return the stores of what was done."""
    return [dcc.Store(id="editor-fixed"), dcc.Store(id="learn-progress", storage_type="local")]


def task_head(task: Task | None, why: Component) -> list[Component]:
    """Lay out what is asked, where a run is judged, and hints, each below its own line: the trace, the reason, the fix.

    ``why`` holds the last two, and learn.css hides the fix until it is asked for.
    """
    verdict = html.Div("", id="editor-task-verdict", className="task-verdict", role="status")
    trace = html.Pre(id="editor-task-trace", lang="en", tabIndex=0, className="notranslate")
    if task is None:
        return [html.Div([verdict, trace], hidden=True)]
    fix = _hint("fix", _("Show the fix"))
    return [
        html.H1(_(task.goal), className="headline task-goal", id="editor-task-title"),
        verdict,
        _hint("trace", _("Give me a hint"), trace),
        _hint("why", _("Say why"), html.Div([why, fix], className="task-why")),
    ]


def task_link(task: Task) -> Component:
    """Say that a kernel is to be fixed, and lead to its lesson."""
    lesson = lesson_of(task.slug)
    link = dcc.Link(_("Lesson: {title}", title=_(lesson.title)), href=f"{LEARN}/{lesson.slug}")
    return html.P([_("Fix this kernel"), " · ", link])


def _hint(name: str, text: str, *content: Component) -> Component:
    return html.Details([html.Summary(text), *content], id=f"hint-{name}", className="details")


def _fault(line: str) -> str:
    """Return a line without the sentence that says what mends it, which the last hint shows."""
    return line.partition(". ")[0] if line.lstrip().startswith(FILE) else line


def judged(task: Task | None, recording: Recording | None) -> tuple[Any, str, str, Any]:
    """Return what is said to a run of a task's text, how it looks, its trace, and what the browser keeps as done."""
    if task is None or recording is None:
        return "", "task-verdict", "", None
    with speaking("en"):  # as a whole, for a part of it has no other language
        missing = what_is_missing(task, recording)
    if missing is None:
        fixed = html.Strong(_("Fixed: the result is the same and the budget is kept."))
        return fixed, "task-verdict is-right", "", done_as(task)
    told = ("  to pass:", "  why:")  # the task and the reason say it
    head, *rest = (_fault(line) for line in missing.splitlines() if not line.startswith(told))
    trace = "\n".join(rest).rstrip()
    verdict = [html.Strong(_("Not yet.")), html.P(head, lang="en", className="notranslate")]
    return verdict, "task-verdict is-wrong", trace, None
