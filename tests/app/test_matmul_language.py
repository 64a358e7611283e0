"""The matrix product page in a language in brackets: every text is a message or data, and none stays for the next."""

import json
from dataclasses import replace

import pytest
from dash._utils import to_json
from helpers.measured_app import printing
from helpers.pseudo import forgotten, leaves_nothing, pseudo
from helpers.servers import until
from helpers.swept import SIZES, at_rate, sweep

from smemviz.app.pages.matmul import matmul_data as module
from smemviz.app.pages.matmul.matmul_data import PICTURED, Products, ProductState
from smemviz.app.pages.matmul.matmul_page import matmul_page
from smemviz.app.pages.matmul.matmul_view import view_counted, view_job, view_measured, view_saved, view_step
from smemviz.app.tasks.jobs import Job
from smemviz.frontends.program import digests
from smemviz.progress import LINES
from smemviz.recordings.sweep import CUBLAS, NUMPY, Size, sweep_facts

NAMES = [
    *("cuBLAS", "float32", "int32", "naive", "sgemm", "NumPy", "host", "c", "k", "S", "T", "M", "K", "N"),
    *("a", "b", "a_tile", "b_tile", "corner_of_each_tile", "store_past_the_edge"),
    *("S³", "65x66x67"),  # the formula, and a size
]


@pytest.fixture(scope="module")
def data():
    """Keep what is counted from test to test: nothing of a language may be kept with it."""
    return Products(Job(environment=LINES))


def names(data):
    """Return what the page shows that is no message: names of kernels, of arrays, of what was measured on."""
    found = [*NAMES, *data.program.kernels]
    for known in (data.recorded, sweep()):
        assert known
        host = known.host
        found += [known.device.name, known.library, host.processor, host.numpy, known.device.driver]
        found += [point.size.name for point in known.points]
        found += [point.filled.name for point in known.points if point.filled]
        found += [f"{point.error:.1e}" for point in known.points if point.error is not None]
    return found


def shown(data, query, theme="light"):
    parts = (
        view_measured(data, query, theme, True)
        | view_counted(data, query, theme, True)
        | view_saved(data, query, theme)
    )
    return {name: value for name, value in parts.items() if not name.endswith(".aria-busy")}  # which nobody reads


def test_what_stands_on_the_page_before_it_is_filled(data):
    with pseudo():
        assert forgotten(matmul_page(), names(data)) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "query",
    [
        {},  # measured and scaled
        {"SIZE": "64", "TILE": "32"},  # counted now
        {"SIZE": "228x240x112"},  # counted on the card
        {"SIZE": "2000"},  # with what was skipped
        {"SIZE": "96", "TILE": "8"},  # nothing measured with such tiles
        {"SIZE": "no size"},
    ],
)
def test_what_is_shown_of_a_size(data, query):
    with pseudo():
        assert forgotten(list(shown(data, query).values()), names(data)) == []


def older(data):
    """Return a sweep of another version of the file, whose ``main()`` failed, with a size that nobody counted."""
    other = {**digests(data.program), "tiled": "0" * 16}
    odd = Size(65, 66, 67)
    points = (*sweep().points, replace(at_rate("tiled", odd, 1e12), moved=None, grid=()))
    return replace(sweep(), kernels=other, notes=("main() raised at 8192: out of memory",), points=points)


@pytest.mark.exhaustive
@pytest.mark.parametrize("query", [{}, {"SIZE": "1024"}, {"SIZE": "4096"}, {"SIZE": "65x66x67"}, {"SIZE": "70"}])
def test_what_is_shown_of_another_version(data, monkeypatch, query):
    monkeypatch.setattr(Products, "recorded", older(data))
    with pseudo():
        assert forgotten(list(shown(data, query).values()), names(data)) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", ["64", "65x66x67"])
def test_what_is_shown_without_a_sweep(data, monkeypatch, size):
    words = names(data)
    monkeypatch.setattr(Products, "recorded", None)
    with pseudo():
        assert forgotten(list(shown(data, {"SIZE": size}).values()), words) == []


# Of the first block: a load, the barrier after it, a multiplication, the barrier before the next load, the last
# barrier, which guards nothing, and the store.
def test_every_kind_of_step(products):
    for step in [1, 2, 3, 11, 22, 23]:
        with pseudo():
            filling = view_step(products, {"PICTURED": "16-8"}, {"step": str(step)})
            assert forgotten(list(filling.values()), NAMES) == []
        assert filling["step-text.children"].startswith("⟦Step ⟧")


@pytest.mark.exhaustive
@pytest.mark.parametrize("pictured", list(PICTURED))
def test_every_product_that_is_pictured(data, pictured):
    with pseudo():
        assert forgotten(list(view_step(data, {"PICTURED": pictured}, {}).values()), NAMES) == []


def test_a_product_that_cannot_be_pictured(data, monkeypatch):
    def fails(_pictured):
        raise KeyError("tiled")

    monkeypatch.setattr(data, "steps", fails)
    with pseudo():
        filling = view_step(data, {}, {})
        assert forgotten(list(filling.values())) == []
    assert filling["step-text.children"][0] == "⟦There is nothing to picture: ⟧"


@pytest.mark.exhaustive
def test_a_measurement_as_it_runs_fails_and_is_shown(monkeypatch):
    data = Products(Job(environment=LINES))
    state = ProductState(Size(96, 96, 96), 32, "")
    points = (
        at_rate("tiled", state.size, 1e12),
        at_rate(CUBLAS, state.size, 4e12, None),
        at_rate(NUMPY, SIZES[0], 1e9, None),
    )
    here = json.dumps(sweep_facts(replace(sweep(), sha256=data.program.sha256, points=points)))
    commands = iter([printing("", seconds=600, said="3/9 tiled 64"), printing("no json"), printing(here)])
    monkeypatch.setattr(module, "command", lambda path, state: next(commands))
    with pseudo():
        assert data.measure(state)
        assert forgotten(list(view_job(data, True).values()), names(data)) == []
        until(lambda: (now := data.running()) and now.message)
        assert forgotten(list(view_job(data, True).values()), names(data)) == []
        data.cancel()
        until(lambda: data.running() is None)
        assert data.measure(state)
        until(lambda: data.running() is None)
        status = view_job(data, True)["products-measure-status.children"]
        assert forgotten(status) == []
        assert status[0].title == "⟦It could not be measured⟧"
        assert data.measure(state)
        until(lambda: data.running() is None)
        filling = shown(data, {"SIZE": "96"})
        assert "⟦; times ⟧⟦measured here, on ⟧" in filling["products-origin.children"]
        assert forgotten(list(filling.values()), names(data)) == []


@pytest.mark.exhaustive
def test_one_language_leaves_nothing_for_the_next(data):
    def everything():
        parts = [
            matmul_page(),
            shown(data, {}),
            shown(data, {"SIZE": "48"}, "dark"),
            view_step(data, {}, {"step": "3"}),
        ]
        return str(to_json(parts))

    leaves_nothing(everything)
