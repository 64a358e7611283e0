"""What nobody has translated yet: in English on the page of another language, and marked as such."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import dash_mantine_components as dmc
import pytest
from dash import Dash, dcc, html
from helpers.callbacks import CALLBACKS, asking_for
from plotly.utils import PlotlyJSONEncoder

from smemviz import i18n as language
from smemviz.app.components.written_html import marked
from smemviz.app.factory import create_app
from smemviz.i18n import English, speaking
from smemviz.lessons.course import LESSONS
from smemviz.lessons.handout import handout_page
from smemviz.paths import kernels_dir


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Serve Korean that has no translation of anything; return the messages that were looked up in vain."""
    looked_up = set()

    class Nothing(language._Untranslated):
        def gettext(self, message: str) -> str:
            looked_up.add(message)
            return super().gettext(message)

    monkeypatch.setattr(language, "_catalogue", lambda tag: Nothing())
    return looked_up


def written(shown: Any) -> Any:
    return json.loads(json.dumps(shown, cls=PlotlyJSONEncoder))


def span(text: str) -> Any:
    return written(html.Span(text, lang="en"))


def test_an_element_that_is_all_english_says_so_itself() -> None:
    assert marked(html.P(English("Play"))).lang == "en"
    assert getattr(marked(html.P("재생")), "lang", None) is None
    assert written(marked(English("Play"))) == span("Play")


def test_english_beside_other_text_is_an_element_of_its_own() -> None:
    shown = marked(html.Div(["뱅크", English("Play"), html.Ul([html.Li(English("Stop"))])]))
    before, play, items = shown.children
    assert (before, written(play)) == ("뱅크", span("Play"))
    assert items.children[0].lang == "en"
    assert getattr(shown, "lang", None) is None


def test_components_that_are_no_elements_get_one_for_each_text() -> None:
    shown = marked(dmc.Alert(English("It was stopped"), title=English("Not measured"), color="red"))
    assert (written(shown.children), written(shown.title)) == (span("It was stopped"), span("Not measured"))
    assert written(marked(dcc.Link(English("Compare"), href="/compare")).children) == span("Compare")
    attributes = {"title": English("Ctrl+Enter"), "aria-label": English("Run")}
    assert written(marked(html.Button("실행", **attributes)))["props"] == {"children": "실행", **attributes}


@pytest.fixture
def app() -> Dash:
    return create_app([kernels_dir() / "square.py"])


def test_the_frame_of_a_page_marks_its_english(app: Dash, left: set[str]) -> None:
    with speaking("en"):
        page = app.server.test_client().get("/?lang=ko").text
    assert '<html lang="ko">' in page
    assert 'lang="en">What the numbers mean</a>' in page
    assert 'lang="en">Skip to the content</a>' in page


def test_what_a_callback_puts_on_a_page_marks_its_english(app: Dash, left: set[str]) -> None:
    run = {"file": "square", "kernel": "set_row_read_col"}
    asked = asking_for({"path": "/kernel", "file": "square"}, run, {"theme": "light"})
    with speaking("en"):
        answer = app.server.test_client().post(CALLBACKS, json=asked, headers={"Accept-Language": "ko"})
    assert answer.status_code == 200
    found = list(elements(json.loads(answer.text)["response"]))
    assert {text for text, tag in found if tag == "en"} & left >= {"Compare", "Tile", "Source", "grid", "block"}
    assert {text for text, tag in found if tag is None} & left == set()


def elements(shown: Any, tag: str | None = None) -> Iterator[tuple[str, str | None]]:
    """Yield every text of components as JSON, with the language it is marked as."""
    if isinstance(shown, list):
        for part in shown:
            yield from elements(part, tag)
    elif isinstance(shown, str):
        yield shown, tag
    elif isinstance(shown, dict) and "props" in shown:
        yield from elements(shown["props"].get("children"), shown["props"].get("lang", tag))
        yield from of_html(ElementTree.fromstring(f"<div>{shown['props'].get('html', '')}</div>"), tag)
    elif isinstance(shown, dict):
        for part in shown.values():
            yield from elements(part, tag)


def test_a_handout_marks_its_english(left: set[str]) -> None:
    lesson = LESSONS[0]
    values = lesson.values({})
    with speaking("ko"):
        page = handout_page([(lesson, values, lesson.stage(values), [])])
    assert '<html lang="ko">' in page
    assert '<h2><span lang="en">Question</span></h2>' in page


def of_html(element: ElementTree.Element, tag: str | None) -> Iterator[tuple[str, str | None]]:
    """Do so for what is sent as HTML."""
    tag = element.get("lang", tag)
    yield element.text or "", tag
    for part in element:
        yield from of_html(part, tag)
        yield part.tail or "", tag
