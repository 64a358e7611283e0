"""What a lesson shows for what its URL asks for: the question, and once it is answered why, with the pictures."""

from dataclasses import replace
from typing import Any

from dash import ALL, Dash, Input, Output, State, html
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.addresses import LEARN
from smemviz.app.components.connect import each, fill, of_script
from smemviz.app.components.launches import Filling, Query
from smemviz.app.components.rich import rich
from smemviz.app.page import Address, Page, Services
from smemviz.app.pages.learn.learn_page import PANELS, SCENE, WHY, learn_page
from smemviz.app.pages.learn.teach_page import TEACH
from smemviz.app.state import LookState
from smemviz.errors import InputError
from smemviz.figures.drawing.projected import HEIGHT, TITLE, legible, projected, slide
from smemviz.figures.drawing.style import THEMES, empty
from smemviz.i18n import N_, _
from smemviz.lessons.course import lesson_of
from smemviz.lessons.lesson import SHOW, Lesson, Panel, Stage, read_answer, written

_OF_PANEL = ("panel.hidden", "title.children", "figure.figure", "figure.style", "region.aria-label", "sheet.className")
# What is there until the answer is, and what is there from then on.
_ASKING = ("learn-waiting", ids.LEARN_ANSWER_PLACE, ids.LEARN_CHECK, "learn-show")
_ANSWERED = ("learn-pictures", "learn-again")
LEARN_PROPERTIES = (
    *each("children", "learn-set", "learn-question", "learn-feedback", ids.LEARN_BECAUSE, "learn-origin"),
    *each("hidden", *_ASKING, *_ANSWERED),
    *each("className", "learn-feedback", ids.LEARN_PANELS),
    "learn-outcome.data",
    *(f"learn-{at}-{name}" for at in (*PANELS, SCENE) for name in _OF_PANEL),
)

_BESIDE_TEXT = 700  # pixels of the picture beside what a slide explains, as in assets/learn.css
_KNOBS = {"type": "learn-knob", "name": ALL}
_STATUS = {"type": "learn-status", "slug": ALL}


def lesson_at(path: str) -> Lesson | None:
    """Return the lesson at an address, None where there is none."""
    try:
        return lesson_of(path.removeprefix(f"{LEARN}/"))
    except InputError:
        return None


def view_lesson(lesson: Lesson, query: Query, theme: str) -> Filling:
    """Ask, judge what was answered, and show the pictures to whoever answered right, or gave up."""
    values = lesson.values(query)
    stage = lesson.stage(values)
    outcome, feedback = judge(stage, query.get("ANSWER", ""))
    is_solved = outcome in ("right", "shown")
    filling: Filling = {
        "learn-set.children": lesson.set_to(values),
        "learn-question.children": stage.question.text,
        "learn-feedback.children": feedback,
        "learn-feedback.className": f"learn-feedback is-{outcome}",
        f"{ids.LEARN_BECAUSE}.children": stage.because if is_solved else "",
        "learn-origin.children": stage.origin if is_solved else "",
        **dict.fromkeys(each("hidden", *_ASKING), is_solved),
        **dict.fromkeys(each("hidden", *_ANSWERED), not is_solved),
        "learn-outcome.data": {"slug": lesson.slug, "outcome": outcome},
    }
    colours = LookState.read({"theme": theme}).theme
    panels = stage.panels(colours) if is_solved else (stage.before(colours),)
    if query.get("present") == WHY:
        panels = (replace(panels[0], figure=projected(panels[0].figure, _BESIDE_TEXT, HEIGHT - TITLE)),)
        filling[f"{ids.LEARN_PANELS}.className"] = "learn-panels"
    elif "present" in query:
        figures, beside = slide([panel.figure for panel in panels])
        panels = tuple(replace(panel, figure=figure) for panel, figure in zip(panels, figures, strict=True))
        filling[f"{ids.LEARN_PANELS}.className"] = "learn-panels beside" if beside else "learn-panels"
    else:
        panels = tuple(replace(panel, figure=legible(panel.figure)) for panel in panels)
    places = (*map(str, PANELS),) if is_solved else (SCENE,)
    drawn = dict(zip(places, panels, strict=False))
    return filling | {k: v for at in (*map(str, PANELS), SCENE) for k, v in _panel(at, drawn.get(at)).items()}


def judge(stage: Stage, text: str) -> tuple[str, list[Any]]:
    """Return what becomes of an answer (``asking``, ``wrong``, ``right``, ``shown``), and what is said to it."""
    question = stage.question
    if not text:
        return "asking", []
    if text == SHOW:
        return "shown", [html.Strong(_("It is {answer}.", answer=stage.answer))]
    try:
        answer = read_answer(question, text)
    except InputError as error:
        return "wrong", [str(error)]
    if answer in stage.right:
        return "right", [html.Strong(_("Right: {answer}.", answer=written(question, answer)))]
    judgement = _("Not {answer}.", answer=written(question, answer))
    return "wrong", rich("{before} {after}", before=html.Strong(judgement), after=stage.hint(answer))


def _panel(at: str, panel: Panel | None) -> Filling:
    name = f"learn-{at}"
    if panel is None:  # and nothing stays behind that tells the answer
        nothing = empty(THEMES["light"], "")
        return {
            f"{name}-panel.hidden": True,
            f"{name}-title.children": "",
            f"{name}-figure.figure": nothing,
            f"{name}-region.aria-label": "",
        }
    size = {"height": panel.figure.layout.height, "width": panel.figure.layout.width}
    return {
        f"{name}-panel.hidden": False,
        f"{name}-title.children": panel.title,
        f"{name}-figure.figure": panel.figure,
        f"{name}-figure.style": {side: pixels for side, pixels in size.items() if pixels},
        f"{name}-region.aria-label": _("{name}: {sentence}", name=panel.title, sentence=panel.sentence),
        f"{name}-sheet.className": "sheet lab-sheet" if panel.narrow else "sheet",
    }


def register(app: Dash, services: Services) -> None:
    """Connect the pages of an app."""

    def show_lesson(query: Query, theme: str, place: Query) -> Filling:
        lesson = lesson_at(place["path"]) if place else None
        return view_lesson(lesson, query, theme) if lesson else {}

    fill(app, LEARN_PROPERTIES, show_lesson, Input("run", "data"), Input("theme", "data"), State("place", "data"))
    clientside = of_script(app, "smemviz_learn")
    lesson = State("learn-lesson", "data")
    clientside(
        "fill", Output(_KNOBS, "value"), Input("run", "data"), State(_KNOBS, "id"), State(_KNOBS, "value"), lesson
    )
    clientside("set", Input(_KNOBS, "value"), State("learn-outcome", "data"), lesson, initially=False)
    clientside("check", Input(ids.LEARN_CHECK, "n_clicks"), State("learn-answer", "value"), initially=False)
    clientside("show", Input("learn-show", "n_clicks"), initially=False)
    clientside("recall", Output("learn-answer", "value"), Input("run", "data"), State("learn-answer", "value"))
    clientside(
        "again",
        Output("learn-answer", "value", allow_duplicate=True),
        Input("learn-again", "n_clicks"),
        initially=False,
    )
    clientside("present", Input(ids.LEARN_PRESENT, "n_clicks"), initially=False)
    clientside("print", Input("learn-print", "n_clicks"), initially=False)
    clientside(
        "learned", Output("learn-progress", "data"), Input("learn-outcome", "data"), State("learn-progress", "data")
    )
    clientside(
        "forget",
        Output("learn-progress", "data", allow_duplicate=True),
        Input("learn-forget", "n_clicks"),
        initially=False,
    )
    clientside("show_progress", Output(_STATUS, "children"), Input("learn-progress", "data"), State(_STATUS, "id"))
    clientside(
        "count",
        Output("learn-count", "children"),
        Output("learn-forget", "hidden"),
        Input("learn-progress", "data"),
        State(_STATUS, "id"),
    )
    clientside(
        "save",
        Input("learn-save", "n_clicks"),
        State("learn-name", "value"),
        State("learn-progress", "data"),
        initially=False,
    )
    clientside(
        "read_class",
        Output("teach-class", "children"),
        Input("teach-files", "contents"),
        State("teach-files", "filename"),
        State("teach-columns", "data"),
        initially=False,
    )
    clientside("mark", Input("url", "href"))
    clientside("mark", Input("learn-outcome", "data"))


def _page(services: Services, address: Address) -> list[Component]:
    return learn_page(address.path, editor=services.texts is not None, teach=address.run.get(TEACH) == "1")


PAGE = Page(
    LEARN, N_("Learn"), _page, register, link=N_("Learn"),
    below=lambda path: path == f"{LEARN}/" or lesson_at(path) is not None,
)  # fmt: skip
