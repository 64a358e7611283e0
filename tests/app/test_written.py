"""What reaches the browser as HTML: what was meant, no text as an element, English marked where it stays."""

import json
from xml.etree import ElementTree

import dash_mantine_components as dmc
import pytest
from dash import dcc, html
from helpers.callbacks import CALLBACKS, asking_for
from helpers.pages import tab
from helpers.waiting import settle
from playwright.sync_api import expect
from plotly.utils import PlotlyJSONEncoder

from smemviz import i18n as language
from smemviz.app.components.written_html import Written, as_html, marked, markup
from smemviz.app.factory import create_app
from smemviz.i18n import English, speaking
from smemviz.lessons.course import LESSONS
from smemviz.lessons.handout import handout_page
from smemviz.paths import kernels_dir


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (html.A(["a", html.Br(), html.B("b")], href="/k?a&b"), '<a href="/k?a&amp;b">a<br><b>b</b></a>'),
        (html.Ul(className="key", tabIndex=0), '<ul class="key" tabIndex="0"></ul>'),
        ([html.Div(hidden=False), html.Div(hidden=True)], '<div></div><div hidden=""></div>'),
        (html.P('<b> "c"', title='" onclick="'), '<p title="&#34; onclick=&#34;">&lt;b&gt; &#34;c&#34;</p>'),
    ],
)
def test_components_are_written_as_html(part, expected):
    assert markup(part) == expected


def test_what_only_dash_can_draw_is_refused():
    with pytest.raises(AssertionError):  # its element would be one that leads nowhere
        markup(dcc.Link("a", href="/k"))


def test_english_is_marked_in_it():
    assert as_html(html.P(["재생", English("Play")])) == '<p>재생<span lang="en">Play</span></p>'


def test_it_is_one_component_with_the_attributes_of_its_element():
    shown = Written(html.Ol([html.Li("a"), html.Li("b")], id="source", className="source", **{"aria-label": "Source"}))
    sent = {"tag": "ol", "html": "<li>a</li><li>b</li>", "id": "source", "className": "source", "aria-label": "Source"}
    assert shown.to_plotly_json()["props"] == sent
    shown.html = [html.Li("c")]
    assert shown.to_plotly_json()["props"]["html"] == "<li>c</li>"


@pytest.mark.browser
def test_the_focus_stays_at_its_place_in_what_is_written_anew(page):
    page.goto("/kernel?file=square&kernel=set_row_read_col")
    settle(page)
    link = page.locator("#kernels a").nth(1)
    link.focus()
    link.press("Enter")
    expect(link).to_have_class("kernel-link current")
    expect(link).to_be_focused()


@pytest.mark.browser
def test_what_is_open_in_it_stays_open(page):
    page.goto("/kernel?file=square&kernel=set_row_read_col")
    settle(page)
    tab(page, "Hardware counters")
    page.locator("#hardware-body summary").click()
    page.locator("#kernels").get_by_text("set_row_read_row", exact=True).click()
    expect(page.locator("#eyebrow")).to_have_text("square.py · set_row_read_row")
    settle(page)
    expect(page.locator("#hardware-body details")).to_have_attribute("open", "")


@pytest.fixture
def left(monkeypatch):
    """Serve Korean that has no translation of anything; return the messages that were looked up in vain."""
    looked_up = set()

    class Nothing(language._Untranslated):
        def gettext(self, message):
            looked_up.add(message)
            return super().gettext(message)

    monkeypatch.setattr(language, "_catalogue", lambda tag: Nothing())
    return looked_up


def written(shown):
    return json.loads(json.dumps(shown, cls=PlotlyJSONEncoder))


def span(text):
    return written(html.Span(text, lang="en"))


def test_an_element_that_is_all_english_says_so_itself():
    assert marked(html.P(English("Play"))).lang == "en"
    assert getattr(marked(html.P("재생")), "lang", None) is None
    assert written(marked(English("Play"))) == span("Play")


def test_english_beside_other_text_is_an_element_of_its_own():
    shown = marked(html.Div(["뱅크", English("Play"), html.Ul([html.Li(English("Stop"))])]))
    before, play, items = shown.children
    assert (before, written(play)) == ("뱅크", span("Play"))
    assert items.children[0].lang == "en"
    assert getattr(shown, "lang", None) is None


def test_components_that_are_no_elements_get_one_for_each_text():
    shown = marked(dmc.Alert(English("It was stopped"), title=English("Not measured"), color="red"))
    assert (written(shown.children), written(shown.title)) == (span("It was stopped"), span("Not measured"))
    assert written(marked(dcc.Link(English("Compare"), href="/compare")).children) == span("Compare")
    attributes = {"title": English("Ctrl+Enter"), "aria-label": English("Run")}
    assert written(marked(html.Button("실행", **attributes)))["props"] == {"children": "실행", **attributes}


@pytest.fixture
def app():
    return create_app([kernels_dir() / "square.py"])


def test_the_frame_of_a_page_marks_its_english(app, left):
    with speaking("en"):
        page = app.server.test_client().get("/?lang=ko").text
    assert '<html lang="ko">' in page
    assert 'lang="en">What the numbers mean</a>' in page
    assert 'lang="en">Skip to the content</a>' in page


def test_what_a_callback_puts_on_a_page_marks_its_english(app, left):
    run = {"file": "square", "kernel": "set_row_read_col"}
    asked = asking_for({"path": "/kernel", "file": "square"}, run, {"theme": "light"})
    with speaking("en"):
        answer = app.server.test_client().post(CALLBACKS, json=asked, headers={"Accept-Language": "ko"})
    assert answer.status_code == 200
    found = list(elements(json.loads(answer.text)["response"]))
    assert {text for text, tag in found if tag == "en"} & left >= {"Compare", "Tile", "Source", "grid", "block"}
    assert {text for text, tag in found if tag is None} & left == set()


def elements(shown, tag=None):
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


def test_a_handout_marks_its_english(left):
    lesson = LESSONS[0]
    values = lesson.values({})
    with speaking("ko"):
        page = handout_page([(lesson, values, lesson.stage(values), [])])
    assert '<html lang="ko">' in page
    assert '<h2><span lang="en">Question</span></h2>' in page


def of_html(element, tag):
    tag = element.get("lang", tag)
    yield element.text or "", tag
    for part in element:
        yield from of_html(part, tag)
        yield part.tail or "", tag
