"""What else there is to say of a launch stands below the first screen, in tabs."""

import pytest
from dash import html
from helpers.fitting import axe
from helpers.pages import tab
from helpers.waiting import settle
from playwright.sync_api import expect

from smemviz.app.components.frames import Tab, tabbed


def test_the_first_tab_shows_and_the_others_are_hidden():
    made = tabbed("More", (Tab("a", "A", html.P("one")), Tab("b", "B", html.P("two"))), html.P("foot"))
    names, first, second, foot = made.children
    assert [(head.id, head.tabIndex, head.to_plotly_json()["props"]["aria-selected"]) for head in names.html] == [
        ("a-tab", 0, "true"),
        ("b-tab", -1, "false"),
    ]
    assert (first.hidden, second.hidden, foot.children) == (False, True, "foot")


@pytest.mark.browser
def test_keys_go_from_tab_to_tab_and_leave_the_request(page):
    page.goto("/kernel?file=square&kernel=set_row_read_col")
    settle(page)
    expect(page.locator("#facts")).to_be_visible()
    expect(page.locator("#timing-body")).to_be_hidden()
    tab(page, "Time")
    expect(page.locator("#timing-body")).to_contain_text("Does it matter?")
    expect(page.locator("#facts")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Hardware counters")).to_be_focused()
    expect(page.locator("#verdict")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator("#published-body")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#facts")).to_be_visible()
    expect(page.locator("#position-text")).to_contain_text("33 of 96")
    expect(page.locator(".tabbed > #origin")).to_be_visible()
    axe(page)


@pytest.mark.browser
def test_a_file_of_which_nothing_was_published_has_no_tab_for_it(page):
    page.goto("/kernel?file=stencil")
    settle(page)
    expect(page.get_by_role("tab")).to_have_text(["Launch", "Time", "Hardware counters"])
