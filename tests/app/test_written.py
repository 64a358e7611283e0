"""What reaches the browser as HTML says what was meant, and no text of it becomes an element."""

from __future__ import annotations

from typing import Any

import pytest
from dash import dcc, html
from helpers.waiting import settle
from playwright.sync_api import Page, expect

from smemviz.app.components.written_html import Written, as_html, markup
from smemviz.i18n import English


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (html.A(["a", html.Br(), html.B("b")], href="/k?a&b"), '<a href="/k?a&amp;b">a<br><b>b</b></a>'),
        (html.Ul(className="key", tabIndex=0), '<ul class="key" tabIndex="0"></ul>'),
        ([html.Div(hidden=False), html.Div(hidden=True)], '<div></div><div hidden=""></div>'),
        (html.P('<b> "c"', title='" onclick="'), '<p title="&quot; onclick=&quot;">&lt;b&gt; &quot;c&quot;</p>'),
    ],
)
def test_components_are_written_as_html(part: Any, expected: str) -> None:
    assert markup(part) == expected


def test_what_only_dash_can_draw_is_refused() -> None:
    with pytest.raises(AssertionError):  # its element would be one that leads nowhere
        markup(dcc.Link("a", href="/k"))


def test_english_is_marked_in_it() -> None:
    assert as_html(html.P(["재생", English("Play")])) == '<p>재생<span lang="en">Play</span></p>'


def test_it_is_one_component_with_the_attributes_of_its_element() -> None:
    shown = Written(html.Ol([html.Li("a"), html.Li("b")], id="source", className="source", **{"aria-label": "Source"}))
    sent = {"tag": "ol", "html": "<li>a</li><li>b</li>", "id": "source", "className": "source", "aria-label": "Source"}
    assert shown.to_plotly_json()["props"] == sent
    shown.html = [html.Li("c")]
    assert shown.to_plotly_json()["props"]["html"] == "<li>c</li>"


@pytest.mark.browser
def test_the_focus_stays_at_its_place_in_what_is_written_anew(page: Page) -> None:
    page.goto("/kernel?file=square&kernel=set_row_read_col")
    settle(page)
    link = page.locator("#kernels a").nth(1)
    link.focus()
    link.press("Enter")
    expect(link).to_have_class("kernel-link current")
    expect(link).to_be_focused()


@pytest.mark.browser
def test_what_is_open_in_it_stays_open(page: Page) -> None:
    page.goto("/kernel?file=square&kernel=set_row_read_col")
    settle(page)
    page.locator("#hardware-body summary").click()
    page.locator("#kernels").get_by_text("set_row_read_row", exact=True).click()
    expect(page.locator("#eyebrow")).to_have_text("square.py · set_row_read_row")
    settle(page)
    expect(page.locator("#hardware-body details")).to_have_attribute("open", "")
