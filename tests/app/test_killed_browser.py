"""A page whose server loses a process, as the one who reads it sees it."""

import os
import re
import signal
import sys
import time

import pytest
from helpers.made_kernels import SHORT
from helpers.servers import LONGEST, children, serving
from playwright.sync_api import expect

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(sys.platform != "linux", reason="the processes are found in /proc"),
]

PADDED = "kernel?file=square&kernel=set_row_read_col_pad&site=1&warp=0&step=1"


@pytest.fixture
def served():
    """Serve the gallery by two processes; yields whose children they are, and the address."""
    with serving("--workers", "2", "--no-log") as (process, port):
        yield process.pid, f"http://127.0.0.1:{port}/"


@pytest.fixture
def page(context):
    return context.new_page()


WATCH = """() => {
  window.heard = [];
  new MutationObserver(() => window.heard.push(document.getElementById("asked-again").textContent)).observe(
    document.body, { childList: true });
}"""  # what is said at the end of the page


def kill(process):
    for child in children(process):
        os.kill(child, signal.SIGKILL)


def turn_pad_off(page, before):
    """Turn a knob, for which the server is asked, after something happened to it."""
    shown = page.get_by_role("img", name=re.compile("^Tile: load by warp 0, step 1: 32 lanes, 1 wavefront"))
    expect(shown).to_be_attached()
    expect(page.get_by_label("IPAD", exact=True)).to_have_value("1")
    before()
    page.get_by_label("IPAD", exact=True).fill("0")
    expect(page.get_by_role("img", name="Tile: load by warp 0, step 1: 32 lanes, 32 wavefronts")).to_be_attached()


def test_a_page_goes_on_where_it_was_when_the_processes_are_killed(page, served):
    process, url = served
    page.goto(f"{url}{PADDED}")
    turn_pad_off(page, lambda: kill(process))


def test_a_question_without_an_answer_is_asked_again(page, server):
    turned_away: list[str] = []

    def turn_away(route):
        turned_away.append(route.request.post_data or "")
        if len(turned_away) == 1:
            page.evaluate(WATCH)
            route.fulfill(status=429, headers={"Retry-After": "1"}, body="smemviz: too many requests from here\n")
        elif len(turned_away) == 2:
            route.abort("connectionreset")
        else:
            route.continue_()

    page.goto(f"/{PADDED}")
    turn_pad_off(page, lambda: page.route("**/_dash-update-component*", turn_away))
    end = time.monotonic() + LONGEST
    while turned_away.count(turned_away[0]) == 1:  # the picture may come sooner than what was asked besides
        assert time.monotonic() < end
        page.wait_for_timeout(100)
    expect(page.locator("#asked-again")).to_be_hidden()
    assert re.match(r"The server is busy\. This page asks again in [12] s\.", page.evaluate("window.heard[0]"))


def test_a_text_that_was_written_is_still_there_when_the_processes_were_killed(page, served):
    process, url = served
    page.goto(f"{url}editor")
    expect(page.locator("#editor-status")).to_contain_text("Ran in")  # the text that the page comes with
    page.get_by_role("textbox", name="Text of the kernel file").fill(SHORT)
    page.get_by_role("button", name="Run", exact=True).click()
    knob = page.get_by_label("STRIDE", exact=True)
    expect(knob).to_have_value("2")
    kill(process)
    knob.fill("4")
    expect(page).to_have_url(re.compile("STRIDE=4"))
    expect(page.get_by_role("img", name=re.compile("^Tile: .* 32 lanes, 4 wavefronts "))).to_be_attached()
