"""The Learn page for teachers: goals, minutes, the answers with their reasons, wrong answers, and how a class fared."""

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app.addresses import LEARN
from smemviz.app.components.frames import page_title, section, text_button
from smemviz.app.components.rich import rich
from smemviz.app.pages.learn.task_panel import done_as, task_after
from smemviz.i18n import _, ngettext
from smemviz.lessons.course import LESSONS, TASKS
from smemviz.lessons.lesson import Lesson, read_answer, written

TEACH = "teach"  # the name in the URL


def teach_page() -> list[Component]:
    """Lay out the course for whoever teaches it."""
    whole = sum(lesson.minutes for lesson in LESSONS)
    length = ngettext("{n} lesson, {minutes} minutes.", "{n} lessons, {minutes} minutes.", len(LESSONS), minutes=whole)
    where = rich(
        "{list} has the lessons without the answers. On paper: {command}",
        list=dcc.Link(_("Learn"), href=LEARN),
        command=html.Code("smemviz handout --all -o course.pdf"),
    )
    return [
        page_title(_("Teach"), length, html.P(where)),
        _class(),
        html.Div([_lesson(number, lesson) for number, lesson in enumerate(LESSONS, 1)], className="teach-list"),
    ]  # fmt: skip


def _class() -> Component:
    """Offer to read the files of a class; the browser reads them itself."""
    columns = [{"slug": lesson.slug, "name": str(number), "title": _(lesson.title)}
               for number, lesson in enumerate(LESSONS, 1)]  # fmt: skip
    columns += [{"slug": done_as(task), "name": _("fix {n}", n=_number(task.slug)), "title": _("Fix this kernel")}
                for task in TASKS]  # fmt: skip
    return section(
        "teach-class",
        _("Your class"),
        html.P(
            _("Students save their progress on the page Learn. Open their files here: this browser reads them, and "
              "they are sent nowhere."),
        ),
        dcc.Upload(
            html.Button(_("Open files"), type="button", className="run-button", id="teach-open"),
            id="teach-files", multiple=True, accept=".json", max_size=65536,
        ),
        html.Div(id="teach-class", role="status", className="teach-class scroller"),
        dcc.Store(id="teach-columns", data=columns),
    )  # fmt: skip


def _number(slug: str) -> int:
    return [lesson.slug for lesson in LESSONS].index(slug) + 1


def _lesson(number: int, lesson: Lesson) -> Component:
    stage = lesson.stage(lesson.values({}))
    wrong = [read_answer(stage.question, text) for text in lesson.wrong]
    task = task_after(lesson.slug)
    return html.Section(
        [
            html.H2(dcc.Link(f"{number}. {_(lesson.title)}", href=f"{LEARN}/{lesson.slug}")),
            html.P(
                [
                    _(lesson.goal), " ", ngettext("{n} minute", "{n} minutes", lesson.minutes), ". ",
                    dcc.Link(_("Slides"), href=f"{LEARN}/{lesson.slug}?present=1"),
                ],
                className="origin",
            ),
            html.P([html.Strong(_("Question")), " ", stage.question.text]),
            html.P([html.Strong(_("It is {answer}.", answer=stage.answer)), " ", stage.because]),
            html.H3(_("Wrong answers and their hints")),
            html.Ul(
                [html.Li([html.Strong(written(stage.question, answer)), " ", stage.hint(answer)]) for answer in wrong]
            ),
            *([html.P([html.Strong(_("Fix this kernel")), " ", _(task.goal)])] if task else []),
        ],
        className="panel teach-lesson",
    )  # fmt: skip


def save_progress() -> Component:
    """Offer to save what was learned as a file, for a teacher to read."""
    return html.Div(
        [
            dmc.TextInput(id="learn-name", label=_("Your name, for the file"), size="xs", w=220),
            text_button(_("Save my progress"), id="learn-save"),
        ],
        className="learn-save",
    )
