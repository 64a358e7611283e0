"""Callbacks of the Learn pages: the URL comes in, what it puts on the page goes out; the rest is the browser's."""

from __future__ import annotations

from dash import ALL, Dash, Input, Output, State
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.addresses import LEARN
from smemviz.app.components.connect import fill, of_script
from smemviz.app.components.launches import Filling, Query
from smemviz.app.page import Address, Page, Services
from smemviz.app.pages.learn.learn_page import learn_page
from smemviz.app.pages.learn.learn_view import LEARN_PROPERTIES, lesson_at, view_lesson
from smemviz.app.pages.learn.teach_page import TEACH
from smemviz.i18n import N_

_KNOBS = {"type": "learn-knob", "name": ALL}
_STATUS = {"type": "learn-status", "slug": ALL}


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
    clientside(
        "show_progress",
        Output(_STATUS, "children"),
        Input("learn-progress", "data"),
        State(_STATUS, "id"),
    )
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


def _is_there(path: str) -> bool:
    return path == f"{LEARN}/" or lesson_at(path) is not None


PAGE = Page(LEARN, N_("Learn"), _page, register, link=N_("Learn"), below=_is_there)
