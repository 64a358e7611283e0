"""The compare page in a language in brackets: every text is a message or data, and none stays for the next."""

import pytest
from dash._utils import to_json
from helpers.measured_app import write_gallery
from helpers.pseudo import TAG, forgotten, leaves_nothing, pseudo
from helpers.revisions import commit

from smemviz.app.factory import create_app
from smemviz.app.library import Library
from smemviz.app.pages.compare.compare_page import compare_page
from smemviz.app.pages.compare.compare_tables import view_changes
from smemviz.app.state import RunState

NAMES = ["NVIDIA Test Card", "lockstep", "add", "inc", "STRIDE", "HEAD", "A", "B"]
BEFORE = """
import numpy as np
from numba import cuda, int32

STRIDE = 1

@cuda.jit
def turn(out):
    tile = cuda.shared.array(64, int32)
    i = cuda.threadIdx.x
    tile[i * STRIDE] = i
    cuda.syncthreads()
    out[i] = tile[i * STRIDE]

@cuda.jit
def fill(out):
    out[cuda.threadIdx.x] = 1

def main():
    out = cuda.to_device(np.zeros(32, np.int32))
    turn[1, 32](out)
    turn[1, 32](out)
    turn[1, 32](out)
    fill[1, 32](out)
"""
AFTER = """
import numpy as np
from numba import cuda, int32

STRIDE = 2

@cuda.jit
def turn(out):
    tile = cuda.shared.array(64, int32)
    counts = cuda.shared.array(2, int32)
    i = cuda.threadIdx.x
    if i < 2:
        counts[i] = 0
    cuda.syncthreads()
    tile[i * STRIDE] = i
    cuda.atomic.add(counts, 0, 1)
    cuda.syncthreads()
    out[i] = tile[i * STRIDE]

@cuda.jit
def clear(out):
    out[cuda.threadIdx.x * 2 % 32] = 0

def main():
    out = cuda.to_device(np.zeros(32, np.int32))
    turn[1, 32](out)
    turn[1, 32](out)
    turn[1, 32](out)
    clear[1, 32](out)
"""


def names(served):
    """Return what the page shows that is no message: names of files and kernels, and pieces of their source."""
    found = [*NAMES, *served.every_file]
    for file in served.every_file:
        found += served.program(file).kernels
        if file in SHOWN:
            launches = served.show(RunState(file)).recording.launches
            found += [site.source for launch in launches for site in launch.sites]
            found += [array.name for launch in launches for array in launch.arrays]
    return found


SHOWN = ("square", "matmul", "histogram", "transpose", "mine")
TWO = "square:set_row_read_row\nsquare:set_row_read_col"
FOUR = f"{TWO}\nsquare:set_row_read_col_pad\nsquare:set_row_read_col_dyn_pad"


def test_what_is_shown_of_launches(served, stopwatch):
    for query in [
        {"file": "square"},  # recorded, with times
        {"file": "square", "source": "lockstep"},
        {"file": "square", "IPAD": "0", "cc": "3.5-8"},
        {"file": "square", "launch": FOUR},
        {"launch": f"{TWO}\nmatmul:naive"},
        {"file": "histogram"},  # wavefronts that depend on the data
        {"file": "transpose", "launch": "transpose:copy_row\ntranspose:naive_load_row_store_col"},
        {"file": "square", "launch": "square:no_such_kernel"},
        {"file": "nothing"},
    ]:
        with pseudo():
            assert forgotten(compare_page(served, stopwatch, query, "light"), names(served)) == []


@pytest.fixture
def measured(tmp_path):
    return Library(write_gallery(tmp_path))


def test_what_is_shown_of_times_and_of_what_they_cost(measured, stopwatch):
    with pseudo():
        page = compare_page(measured, stopwatch, {"file": "square"}, "dark")
        assert forgotten(page, names(measured)) == []


@pytest.fixture
def changed(tmp_path):
    """Serve a file whose last revision had another stride, another kernel, and no atomic."""
    path = tmp_path / "mine.py"
    path.write_text(BEFORE, encoding="utf-8")
    commit(path)
    path.write_text(AFTER, encoding="utf-8")
    return Library([path])


@pytest.mark.parametrize(
    "query",
    [
        {"against": "HEAD"},
        {"against": "HEAD STRIDE=2"},
        {"against": "STRIDE=1"},  # worse
        {"STRIDE": "1", "against": "STRIDE=2"},  # better
        {"against": "nowhere"},
        {"against": "HEAD~1 HEAD~2"},
        {"against": "WIDE=1"},
    ],
)
def test_what_is_shown_of_changes(changed, query):
    with pseudo():
        parts = view_changes(changed, {"file": "mine", **query})
        assert parts
        assert forgotten(parts, [*names(changed), "fill", "WIDE", changed.program("mine").file]) == []


def test_changes_have_every_kind_of_row(changed):
    with pseudo():
        told = str(view_changes(changed, {"file": "mine", "against": "HEAD"}))
    for message in ("only in A", "only in B", " identical launches", "Worse in B: ", "reduce "):
        assert f"⟦{message}⟧" in told


def test_one_language_leaves_nothing_for_the_next(served, changed, stopwatch):
    def everything():
        page = compare_page(served, stopwatch, {"file": "square", "launch": TWO}, "light")
        return str(to_json([page, view_changes(changed, {"file": "mine", "against": "STRIDE=1"})]))

    leaves_nothing(everything)


def test_what_programs_read_is_english():
    client = create_app().server.test_client()
    address = "/compare.csv?file=square&source=lockstep"
    with pseudo():
        assert client.get(f"{address}&lang={TAG}").text == client.get(address).text
