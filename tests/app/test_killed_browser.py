"""A page whose server loses a process, as the one who reads it sees it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.made_kernels import SHORT
from playwright.sync_api import Page, expect

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(sys.platform != "linux", reason="the processes are found in /proc"),
]

Served = tuple[int, str]


@pytest.fixture
def served() -> Iterator[Served]:
    """Serve the gallery by two processes; yields whose children they are, and the address."""
    command = [sys.executable, "-m", "smemviz", "serve", "--port", "0", "--workers", "2", "--no-log"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield process.pid, found[0]
        process.terminate()


def kill(process: int) -> None:
    """Kill all that answer."""
    for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        os.kill(int(child), signal.SIGKILL)


def test_a_page_goes_on_where_it_was_when_the_processes_are_killed(page: Page, served: Served) -> None:
    process, url = served
    page.goto(f"{url}kernel?file=square&kernel=set_row_read_col&site=1&warp=0&step=1")
    expect(page.locator("#position-text")).to_contain_text("33 of 96")
    kill(process)
    page.get_by_role("button", name="Next request").click()
    expect(page.locator("#position-text")).to_contain_text("34 of 96")
    expect(page.get_by_role("img", name="Tile: load by warp 1, step 1: 32 lanes, 32 wavefronts")).to_be_attached()


def test_a_text_that_was_written_is_still_there_when_the_processes_were_killed(page: Page, served: Served) -> None:
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
