"""A server that is busy says so, and a page says what it waits for and can stop it."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from helpers.callbacks import send
from helpers.pages import serve
from playwright.sync_api import expect

from smemviz.app import library as library_module
from smemviz.app.factory import create_app
from smemviz.app.library import Library
from smemviz.app.state import RunState
from smemviz.app.time_limit import StoppedError, TimeLimit
from smemviz.app.working import view_working
from smemviz.engines import run
from smemviz.engines.sandbox import Supervisor
from smemviz.engines.sandbox import supervisor as supervisor_module
from smemviz.engines.sandbox.sharing import MOST_OF_ONE, Ticket, Turns
from smemviz.errors import InputError, WaitingError
from smemviz.paths import gallery, kernels_dir

TEXT = "from numba import cuda\n\n\ndef main():\n    pass\n"


@pytest.fixture
def turns(monkeypatch):
    for name in ("_BUSY_SECONDS", "_QUEUE_SECONDS", "_NEXT_SECONDS"):
        monkeypatch.setattr(supervisor_module, name, 0.0)
    turns = Turns(1)
    assert turns.place(Ticket("another", "held")) == 0
    return turns


@pytest.fixture
def app(turns):
    supervisor = Supervisor(turns=turns)
    yield create_app(local=False, sandbox=supervisor)
    supervisor.close()


def test_a_knob_that_cannot_be_run_now_is_worth_asking_for_again(app):
    values = {"run.data": {"file": "stencil", "RADIUS": "2"}, "look.data": {"theme": "light"}}
    answer = send(app, "played.data", values, changed=["run.data"])
    assert (answer.status_code, answer.headers["Retry-After"], answer.mimetype) == (429, "5", "text/plain")
    assert answer.text == "stencil.py: the server is busy with other runs; try again in 5 s\n"


def test_a_text_that_may_not_even_wait_is_told_when_to_come_back(app):
    def run(at):
        values = {"editor-text.data": {"source": TEXT, "at": at}, "run.data": {}}
        return send(app, "editor-answer.data", values, changed=["editor-text.data"])

    for n in range(MOST_OF_ONE):  # a place in the queue is an answer
        assert json.loads(run(str(n)).text)["response"]["editor-answer"]["data"]["waiting"] == n + 1
    answer = run("more")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "30")
    assert answer.text == "editor.py: too many runs are waiting already; try again in 30 s\n"


def test_two_behind_one_address_who_ask_at_the_same_time_do_not_take_each_other_s_place(app):
    def run(text):
        values = {"editor-text.data": {"source": text, "at": 1}, "run.data": {}}
        return json.loads(send(app, "editor-answer.data", values, changed=["editor-text.data"]).text)

    texts = (TEXT, f"{TEXT}\n", TEXT)
    assert [run(text)["response"]["editor-answer"]["data"]["waiting"] for text in texts] == [1, 2, 1]


@pytest.mark.exhaustive
def test_the_same_question_asked_of_another_process_meanwhile_waits(tmp_path):
    """A browser may ask again on another connection; the turn that it has is held by the process that runs its text."""
    file = tmp_path / "turns"
    began, end = threading.Event(), threading.Event()

    def run_now(self, file, source, constants):
        began.set()
        end.wait()
        raise InputError("done")

    def ask(supervisor):
        with suppress(InputError):
            supervisor.run(TEXT, request_name="1", visitor="class")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Supervisor, "_run_now", run_now)
        one, other = (Supervisor(turns=Turns(2, file)) for _ in range(2))
        first = threading.Thread(target=ask, args=(one,), daemon=True)
        first.start()
        began.wait()
        with pytest.raises(WaitingError) as waiting:
            other.run(TEXT, request_name="1", visitor="class")
        assert waiting.value.place == 1
        end.set()
        first.join()
        with pytest.raises(InputError, match=r"^done$"):
            other.run(TEXT, request_name="1", visitor="class")


STATE = RunState("square", constants={"IPAD": "5"})
STOPPED = "square.py: was stopped; load the page again to run it"


def test_a_run_in_lockstep_ends_when_it_is_told_to():
    limit = TimeLimit("kernels/square.py")
    limit.stop()
    with pytest.raises(StoppedError) as caught:
        run(kernels_dir() / "square.py", engine="lockstep", progress=limit)
    assert str(caught.value) == STOPPED


def test_who_waits_sees_how_far_it_is_and_can_stop_it(monkeypatch):
    runs, begun, may_go_on = [], threading.Event(), threading.Event()

    def run_long(*arguments, progress, **options):
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
def test_a_page_that_waits_says_for_what_and_stops_it(context, tmp_path):
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
