"""Pictures are drawn once for whoever asks for them in the same words."""

import gc
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from weakref import ref

import plotly.graph_objects as go
import pytest

from smemviz.app.library import Library
from smemviz.app.pages.kernel.look_view import view_look
from smemviz.app.pages.kernel.pictures import Pictures
from smemviz.app.state import RunState
from smemviz.i18n import speak
from smemviz.paths import gallery, kernels_dir

RUN = {"file": "square", "kernel": "set_row_read_col"}
STEP = {"site": "1", "warp": "3", "step": "1"}


class Counted:
    """A view that counts how often it draws, and fails when told to."""

    def __init__(self):
        self.drawn = 0
        self.fails = False
        self.may_end = threading.Event()
        self.may_end.set()

    def __call__(self, served, run, look):
        self.drawn += 1
        self.may_end.wait(60)
        if self.fails:
            raise MemoryError
        return {"tile.figure": go.Figure(layout={"height": 100 + self.drawn}), "note.children": "said"}


@pytest.fixture
def view():
    return Counted()


def test_what_was_drawn_before_is_what_was_drawn(served):
    drawn, again = view_look(served, RUN, STEP), Pictures().cached(view_look)
    for _ in range(2):
        filling = again(served, RUN, STEP)
        assert filling.keys() == drawn.keys()
        assert all(go.Figure(filling[name]) == drawn[name] for name in drawn if name.endswith("figure"))
        rest = {name for name in drawn if not name.endswith("figure")}
        assert {name: filling[name] for name in rest} == json.loads(json.dumps({name: drawn[name] for name in rest}))


def test_a_picture_is_drawn_again_only_when_something_else_is_asked_for(served, view):
    looked = Pictures().cached(view)
    first = looked(served, RUN, STEP)
    assert first["tile.figure"]["layout"]["height"] == 101
    first.pop("note.children")  # what is handed out may be changed
    assert looked(served, RUN, STEP)["note.children"] == "said"
    assert view.drawn == 1
    for run, look in ((RUN, STEP | {"warp": "4"}), (RUN | {"cc": "3.5"}, STEP), (RUN | {"BDIMX": "16"}, STEP)):
        looked(served, run, look)
    assert view.drawn == 4
    copy_context().run(lambda: (speak("ko"), looked(served, RUN, STEP)))
    assert view.drawn == 5


def test_a_file_that_was_changed_is_drawn_anew(tmp_path, view):
    path = tmp_path / "mine.py"
    path.write_text((kernels_dir() / "square.py").read_text("utf-8"), "utf-8")
    looked, served = Pictures().cached(view), Library([path])
    for expected, text in ((1, "\n# one\n"), (2, "\n# two\n")):
        looked(served, {"file": "mine"}, {})
        looked(served, {"file": "mine"}, {})
        assert view.drawn == expected
        path.write_text(path.read_text("utf-8") + text, "utf-8")


def test_no_recording_is_held(view):
    served, looked = Library(gallery()), Pictures().cached(view)
    looked(served, RUN, STEP)
    recording = ref(served.show(RunState.read(RUN)).recording)
    del served
    gc.collect()
    assert recording() is None


def test_what_two_ask_for_at_once_is_drawn_once(view):
    served, looked = Library(gallery()), Pictures().cached(view)  # the recording is not loaded yet either
    view.may_end.clear()
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(looked, served, RUN, STEP) for _ in range(8)]
        view.may_end.set()
        assert [one.result(60)["tile.figure"]["layout"]["height"] for one in asked] == [101] * 8
    assert view.drawn == 1


def test_a_picture_that_failed_is_not_kept(served, view):
    looked = Pictures().cached(view)
    view.fails = True
    with pytest.raises(MemoryError):
        looked(served, RUN, STEP)
    view.fails = False
    assert looked(served, RUN, STEP)["note.children"] == "said"


def test_a_run_that_is_refused_is_asked_for_again(served, view):
    looked = Pictures().cached(view)
    for _ in range(2):
        looked(served, {"file": "square", "BDIMX": "64"}, {})
    assert view.drawn == 2


@pytest.mark.parametrize(
    "junk", [{"nothing": "1"}, {"kernel": RUN["kernel"], "x" * 5000: ""}, {"cc": "9.0?"}, {"launch": "x"}]
)
def test_what_a_url_says_besides_is_neither_drawn_for_nor_kept(served, view, junk):
    looked = Pictures().cached(view)
    for run in (RUN, RUN | junk):
        looked(served, run, STEP | {"x" * 5000: "y", "array": "z" * 5000, "elements": "z" * 5000})
    assert view.drawn == 1


def test_a_view_is_given_what_was_read_of_the_url(served):
    def view(served, run, look):
        return {"run": run}

    run = RUN | {"IPAD": " 2", "junk": "1", "cc": "3.5"}
    assert Pictures().cached(view)(served, run, {})["run"] == RUN | {"IPAD": "2", "launch": "0", "cc": "3.5"}
