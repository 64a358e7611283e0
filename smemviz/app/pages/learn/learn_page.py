"""The Learn pages: the list of the lessons, and a lesson whose picture comes once its question was answered."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.addresses import KERNEL, LEARN
from smemviz.app.components.frames import page_title, scroller, section, text_button
from smemviz.app.components.graph import download, graph
from smemviz.app.components.rich import rich
from smemviz.app.pages.learn.task_panel import done_as, task_after, task_href
from smemviz.app.pages.learn.teach_page import TEACH, save_progress, teach_page
from smemviz.i18n import _, ngettext
from smemviz.lessons.course import CHAPTERS, LESSONS, Task, lesson_of
from smemviz.lessons.lesson import SHOW, Knob, Lesson, Question, Text
from smemviz.wording.labels import sentences

PANELS = (0, 1)  # an answer has at most so many pictures
WHY = "why"  # what is presented of a lesson: its text; otherwise its question, or the answer's pictures
SCENE = "scene"  # the panel of the question's picture
_MOST_SEGMENTS = 6  # a choice of more is a list
_LANES = range(32)


def learn_page(path: str, *, editor: bool = True, teach: bool = False) -> list[Component]:
    """Lay out the list at ``/learn``, for teachers with the answers, or the lesson at ``/learn/<slug>``.

    Kernels to fix need the editor.

    Raises:
        InputError: when there is no such lesson.
    """
    name = path.removeprefix(LEARN).strip("/")
    return [
        *(_lesson(lesson_of(name), editor) if name else teach_page() if teach else _list(editor)),
        dcc.Store(id="learn-progress", storage_type="local"),
    ]


def paragraph(message: Text) -> list[Component | str]:
    """Return a message with the code in it."""
    return rich(message.message, **{name: html.Code(text) for name, text in message.code.items()})


def href(lesson: Lesson, query: Mapping[str, str] | None = None) -> str:
    """Return the address of a lesson."""
    return f"{LEARN}/{lesson.slug}" + (f"?{urlencode(query)}" if query else "")


def _list(editor: bool) -> list[Component]:
    forget = text_button(_("Forget my progress"), id="learn-forget", hidden=True)
    course = ngettext(
        "{n} short lesson. Each asks before it shows, and counts the answer as you turn its knobs.",
        "{n} short lessons. Each asks before it shows, and counts the answer as you turn its knobs.",
        len(LESSONS),
    )
    fixes = sum(task_after(lesson.slug) is not None for lesson in LESSONS) if editor else 0
    after = _("After {n} of them there is a kernel to fix.", n=fixes) if fixes else ""
    return [
        page_title(
            _("Learn"),
            sentences(
                course,
                after,
                _("You need to read Python, and to know what a thread, a block and a grid are."),
                _("Each can be presented to a class, and printed as a handout."),
            ),
        ),
        html.Div(
            [
                html.Output("", id="learn-count"),
                forget,
                html.P(_("Your progress is kept in this browser and nowhere else."), className="note"),
                save_progress(),
                dcc.Link(_("For teachers"), href=f"{LEARN}?{TEACH}=1", className="learn-teach"),
            ],
            className="learn-progress",
        ),
        *(part for title, lessons in CHAPTERS for part in _chapter(title, lessons, editor)),
    ]


def _chapter(title: str, lessons: Sequence[Lesson], editor: bool) -> list[Component]:
    first = LESSONS.index(lessons[0]) + 1
    entries = [_entry(number, lesson, editor) for number, lesson in enumerate(lessons, first)]
    return [html.H2(_(title), className="learn-chapter"), html.Ol(entries, className="learn-list", start=first)]


def _entry(number: int, lesson: Lesson, editor: bool) -> Component:
    task = task_after(lesson.slug) if editor else None
    return html.Li(
        [
            html.Span(str(number), className="learn-number", **{"aria-hidden": "true"}),
            html.Div(
                [
                    html.H3(dcc.Link(_(lesson.title), href=href(lesson), className="card-link")),
                    html.P(_(lesson.goal), className="summary"),
                    html.P(minutes(lesson), className="note"),
                    *([_to_fix(task)] if task else []),
                ]
            ),
            html.Span("", id={"type": "learn-status", "slug": lesson.slug}, className="learn-status"),
        ],
        className="card learn-entry",
    )


def minutes(lesson: Lesson) -> str:
    """Say how long a lesson takes."""
    return ngettext("{n} minute", "{n} minutes", lesson.minutes)


def _to_fix(task: Task) -> Component:
    """Lead to a kernel to fix, and say whether it was done."""
    status = html.Span("", id={"type": "learn-status", "slug": done_as(task)}, className="learn-status")
    return html.P([dcc.Link(_("Fix this kernel"), href=task_href(task), className="learn-fix"), " ", status])


def _before(lesson: Lesson) -> list[Component]:
    """Lead to the lessons that should come first."""
    if not lesson.builds_on:
        return []
    first = (dcc.Link(_(one.title), href=href(one)) for one in map(lesson_of, lesson.builds_on))
    links = [part for link in first for part in (", ", link)][1:]
    return [html.P([_("Builds on:"), " ", *links], className="origin learn-before-this")]


def _lesson(lesson: Lesson, editor: bool) -> list[Component]:
    at = LESSONS.index(lesson)
    stage = lesson.stage(lesson.values({}))
    return [
        html.Header(
            [
                html.P(
                    [
                        dcc.Link(_("Learn"), href=LEARN),
                        _("Lesson {number} of {count}", number=at + 1, count=len(LESSONS)),
                        html.Span("", id={"type": "learn-status", "slug": lesson.slug}, className="learn-status"),
                    ],
                    className="eyebrow learn-eyebrow",
                ),
                html.H1(_(lesson.title), className="headline", id=ids.LEARN_TITLE),
                html.P(
                    _("Goal: {goal} {minutes}.", goal=_(lesson.goal), minutes=minutes(lesson)),
                    className="origin learn-goal",
                ),
                *_before(lesson),
                html.P("", className="learn-set", id="learn-set"),
            ],
            className="title learn-title",
        ),
        html.Div([_words(lesson, stage.question), _pictures(_(lesson.title))], className="learn-columns"),
        _links(at, editor),
        html.Div(id=ids.LEARN_STEPS, hidden=True, **{"data-steps": json.dumps(_steps(at)), "data-path": href(lesson)}),
        dcc.Store(id="learn-outcome"),
        dcc.Store(id="learn-lesson", data={"slug": lesson.slug, "defaults": lesson.values({})}),
        html.Div(
            [
                html.P("", id=ids.LEARN_STEP, **{"aria-live": "polite"}),
                _step_button("-1", "←", _("Step back")),
                _step_button("1", "→", _("Step on")),
                _step_button("0", "✕", _("End the presentation")),
            ],
            className="learn-presenter",
        ),
    ]


def _step_button(by: str, sign: str, name: str) -> Component:
    """Offer to those without a keyboard what a presenter's keys do."""
    return text_button(sign, title=name, **{"aria-label": name, "data-learn-step": by})


def _words(lesson: Lesson, question: Question) -> Component:
    return html.Div(
        [
            html.Section(
                [html.P(paragraph(paragraph_text)) for paragraph_text in lesson.text],
                className="panel learn-text",
                id="learn-text",
            ),
            section(
                "learn-question",
                _("Question"),
                html.Div([_knob(knob) for knob in lesson.knobs], className="learn-knobs"),
                html.P("", id="learn-question", className="learn-question", **{"aria-live": "polite"}),
                html.Div(_answer(question), className="learn-answer", id=ids.LEARN_ANSWER_PLACE),
                html.Div(
                    [
                        html.Button(_("Check"), id=ids.LEARN_CHECK, className="run-button", type="button"),
                        text_button(_("Show me"), id="learn-show"),
                        text_button(_("Ask me again"), id="learn-again"),
                    ],
                    className="learn-buttons",
                ),
                html.Div(id="learn-feedback", className="learn-feedback", role="status"),
                kind="learn-ask",
            ),
        ],
        className="learn-words",
    )


def _knob(knob: Knob) -> Component:
    label: Any = _(knob.label) if knob.label else html.Code(knob.name)
    data = [{"value": value, "label": knob.written(value)} for value in knob.options]
    identity = {"type": "learn-knob", "name": knob.name}
    if len(data) > _MOST_SEGMENTS or any(len(option["label"]) > 8 for option in data):
        return dmc.Select(id=identity, label=label, data=data, value=knob.default, allowDeselect=False, size="sm")
    name = f"learn-knob-{knob.name}"
    return html.Div(
        [
            html.Span(label, className="label", id=name),
            dmc.SegmentedControl(id=identity, data=data, value=knob.default, size="sm", **{"aria-labelledby": name}),
        ],
        className="field",
    )


def _answer(question: Question) -> Component:
    if question.kind == "number":
        return dmc.NumberInput(
            id="learn-answer",
            label=_("Your answer"),
            value="",
            debounce=True,  # handed over with Enter and as the box is left, before a click on what checks it
            allowDecimal=False,
            size="md",
            w=150,
            hideControls=True,
        )
    if question.kind == "choice":
        choices = [dmc.Radio(value=o.value, label=html.Code(o.text)) for o in question.options]
        return dmc.RadioGroup(choices, id="learn-answer", label=_("Your answer"), value="", size="md")
    # In the theme's own shade white numbers could not be read by everyone.
    look = {"size": "xs", "radius": "sm", "icon": "", "color": "indigo.7"}
    chips = [dmc.Chip(str(lane), value=str(lane), **look) for lane in _LANES]
    return html.Div(
        [
            html.Span(_("Your answer: the lanes that do, or none"), className="label", id="learn-lanes"),
            html.Div(
                dmc.ChipGroup(chips, id="learn-answer", multiple=True, value=[]),
                className="learn-lanes",
                role="group",
                **{"aria-labelledby": "learn-lanes"},
            ),
        ]
    )


def _pictures(title: str) -> Component:
    return html.Div(
        [
            html.Div(
                [
                    _panel(SCENE, _("{title}, the question", title=title)),
                    html.P(_("The result is shown after you answer."), className="note"),
                ],
                id="learn-waiting",
                className="learn-waiting",
            ),
            html.Div(
                [
                    html.P("", id=ids.LEARN_BECAUSE, className="learn-because", tabIndex=-1),
                    html.Div(
                        [_panel(str(at), _("{title}, picture {n}", title=title, n=at + 1)) for at in PANELS],
                        id=ids.LEARN_PANELS,
                        className="learn-panels",
                    ),
                    html.P("", id="learn-origin", className="note"),
                ],
                id="learn-pictures",
                className="learn-pictures",
                hidden=True,
            ),
        ],
        className="learn-shown",
    )


def _panel(at: str, alternatives: str) -> Component:
    name = f"learn-{at}"
    return html.Section(
        [
            html.Div([html.H2("", id=f"{name}-title"), download(alternatives)], className="panel-head"),
            scroller(
                html.Div(graph(f"{name}-figure"), className="sheet", id=f"{name}-sheet"),
                label="", id=f"{name}-region",
            ),
        ],
        className="panel learn-panel",
        id=f"{name}-panel",
    )  # fmt: skip


def _links(at: int, editor: bool) -> Component:
    """Lead on to the next lesson, and offer what a class needs."""
    before = dcc.Link(_(LESSONS[at - 1].title), href=href(LESSONS[at - 1]), className="learn-before") if at else None
    following = LESSONS[at + 1] if at + 1 < len(LESSONS) else None
    after = dcc.Link(_(following.title), href=href(following), className="learn-after") if following else None
    task = task_after(LESSONS[at].slug) if editor else None
    tools = [
        *([_to_fix(task)] if task else []),
        html.A(_("Continue in the gallery"), href=f"{KERNEL}?{LESSONS[at].kernel}", className="text-button"),
        text_button(_("Present"), id=ids.LEARN_PRESENT, title=_("key p")),
        text_button(_("Print handout"), id="learn-print"),
    ]
    links = html.Nav([link for link in (before, after) if link], className="learn-nav", **{"aria-label": _("Lessons")})
    return html.Div([links, html.Div(tools, className="learn-tools")], className="learn-ways")


def _steps(at: int) -> list[str]:
    """Return the addresses a presenter steps through: those of a lesson; before and after them the others'."""
    own = steps_of(LESSONS[at])
    before = steps_of(LESSONS[at - 1])[-1:] if at else []
    after = steps_of(LESSONS[at + 1])[:1] if at + 1 < len(LESSONS) else []
    return [*before, *own, *after]


def steps_of(lesson: Lesson) -> Sequence[str]:
    """Return those of one lesson: the question with its picture, the answer, why it is so, and the other scenes."""
    first, *others = [href(lesson, {**scene, "ANSWER": SHOW, "present": "1"}) for scene in lesson.scenes]
    why = href(lesson, {**lesson.scenes[0], "ANSWER": SHOW, "present": WHY})
    return [href(lesson, {"present": "1"}), first, why, *others]
