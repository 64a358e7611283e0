"""A kernel to fix, in the editor: what is asked, and after each run whether it is done, or the witness of why not."""

from typing import Any
from urllib.parse import urlencode

from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app.addresses import EDITOR, LEARN
from smemviz.app.components.frames import section
from smemviz.app.components.launches import Query
from smemviz.errors import InputError
from smemviz.i18n import _, speaking
from smemviz.lessons.course import TASKS, Task, lesson_of, task_of
from smemviz.recordings.recording import Recording
from smemviz.testing.budget import what_is_missing

TASK_OUTPUTS = (("editor-task-verdict", "children"), ("editor-task-verdict", "className"), ("editor-fixed", "data"))


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


def task_panel(task: Task | None) -> Component:
    """Lay out what is asked, and hints, each within the one before; hidden where nothing is.

    What they tell is on the page and learn.css hides it until they are open: the trace, the reason, the fix.
    """
    stores = [dcc.Store(id="editor-fixed"), dcc.Store(id="learn-progress", storage_type="local")]
    if task is None:
        return html.Div(stores, hidden=True)
    lesson = lesson_of(task.slug)
    goal = html.P(_(task.goal), className="task-goal")
    link = html.P(dcc.Link(_("Lesson: {title}", title=_(lesson.title)), href=f"{LEARN}/{lesson.slug}"))
    hints: list[Component] = []
    for name, text in (("fix", _("Show the fix")), ("why", _("Say why")), ("trace", _("Give me a hint"))):
        hints = [html.Details([html.Summary(text), *hints], id=f"hint-{name}", className="details")]
    return section("editor-task", _("Fix this kernel"), goal, link, *hints, *stores, kind="task-panel")


def verdict_place() -> Component:
    """Lay out where a run is judged, below the text."""
    return html.Div("", id="editor-task-verdict", className="task-verdict", role="status")


def judged(task: Task | None, recording: Recording | None) -> tuple[Any, str, Any]:
    """Return what is said to a run of a task's text, how it looks, and what the browser is to keep as done."""
    if task is None or recording is None:
        return "", "task-verdict", None
    with speaking("en"):  # as a whole, for a part of it has no other language
        missing = what_is_missing(task, recording)
    if missing is None:
        return (
            html.Strong(_("Fixed: the result is the same and the budget is kept.")),
            "task-verdict is-right",
            done_as(task),
        )
    head, _line, rest = missing.partition("\n")
    told = ("  to pass:", "  why:")  # hints say it
    rest = "\n".join(line for line in rest.splitlines() if not line.startswith(told)).rstrip()
    verdict: list[Component] = [html.Strong(_("Not yet.")), html.P(head, lang="en", className="notranslate")]
    if rest:
        verdict.append(html.Pre(rest, lang="en", tabIndex=0, className="notranslate"))
    return verdict, "task-verdict is-wrong", None
