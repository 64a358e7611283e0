"""A run that takes long: the page says how far it is, and it can be stopped."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from helpers.pages import serve
from playwright.sync_api import BrowserContext, expect

from smemviz.app import library as library_module
from smemviz.app.library import Library
from smemviz.app.state import RunState
from smemviz.app.time_limit import StoppedError, TimeLimit
from smemviz.app.working import view_working
from smemviz.engines import run
from smemviz.paths import gallery, kernels_dir
from smemviz.recordings.recording import Recording

STATE = RunState("square", constants={"IPAD": "5"})
STOPPED = "square.py: was stopped; load the page again to run it"


def test_a_run_in_lockstep_ends_when_it_is_told_to() -> None:
    limit = TimeLimit("kernels/square.py")
    limit.stop()
    with pytest.raises(StoppedError) as caught:
        run(kernels_dir() / "square.py", engine="lockstep", progress=limit)
    assert str(caught.value) == STOPPED


def test_who_waits_sees_how_far_it_is_and_can_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    runs, begun, may_go_on = [], threading.Event(), threading.Event()

    def run_long(*arguments: Any, progress: TimeLimit, **options: Any) -> Recording:
        runs.append(progress)
        progress(3, 8, "turn")
        begun.set()
        assert may_go_on.wait(60)
        progress(4, 8, "turn")
        return run(*arguments, **options)

    served = Library(gallery())
    monkeypatch.setattr(library_module, "run", run_long)
    assert list(view_working(served).values()) == [True, "", "0", "1"]
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(served.show, STATE) for _ in range(2)]
        assert begun.wait(60)
        assert list(view_working(served).values()) == [False, "Running square.py: turn", "3", "8"]
        served.stop()
        may_go_on.set()
        for one in waiting:
            with pytest.raises(StoppedError, match="was stopped"):
                one.result(60)
    assert view_working(served)["working.hidden"] is True
    with pytest.raises(StoppedError):  # what follows on the page does not start it once more
        served.show(STATE)
    assert len(runs) == 1
    served.again()
    assert served.show(STATE).recording.constants["IPAD"] == 5
    assert len(runs) == 2


SLOW = """import numpy as np
from numba import cuda, int32

SIZE = 1024


@cuda.jit
def step(out):
    tile = cuda.shared.array(SIZE, int32)
    tile[cuda.threadIdx.x] = 1
    out[cuda.threadIdx.x] = 1


def main():
    out = cuda.to_device(np.zeros(32, np.int32))
    for _ in range(1_000_000):
        step[1, 32](out)
"""


@pytest.mark.browser
def test_a_page_that_waits_says_for_what_and_stops_it(context: BrowserContext, tmp_path: Path) -> None:
    path = tmp_path / "slow.py"
    path.write_text(SLOW)
    page = context.new_page()
    with serve([path]) as address:
        page.goto(f"{address}/kernel?file=slow")
        for _ in range(2):
            expect(page.get_by_text("Running slow.py: step")).to_be_visible()
            page.get_by_role("button", name="Stop").click()
            expect(page.get_by_text("slow.py: was stopped; load the page again to run it")).to_be_visible()
            expect(page.locator("#working")).to_be_hidden()
            page.reload()
        expect(page.get_by_text("Running slow.py: step")).to_be_visible()
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#working")).to_be_hidden()
