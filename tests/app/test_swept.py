"""The kernel page with what a sweep over sizes measured, where the recording has other constants; and scopes."""

import pytest
from helpers.components import parts, text

from smemviz.app.library import Library
from smemviz.app.pages.kernel.measured.measured_panels import view_measured
from smemviz.app.pages.matmul.matmul_data import Products
from smemviz.app.pages.matmul.matmul_tables import quoted_table
from smemviz.app.tasks.jobs import Job
from smemviz.app.tasks.stopwatch import Stopwatch
from smemviz.paths import kernels_dir, sweep_for
from smemviz.progress import LINES
from smemviz.recordings.sweep import load_sweep
from smemviz.views.matmul_products import beside

MATMUL = kernels_dir() / "matmul.py"


@pytest.fixture(scope="module")
def library():
    return Library([MATMUL, *(kernels_dir() / f"{name}.py" for name in ("square", "reverse", "rectangle"))])


def view(library, **query):
    return view_measured(library, Stopwatch(Job(environment=LINES, allowed=False)), query, "light")


@pytest.mark.exhaustive
def test_a_kernel_page_shows_the_time_that_the_sweep_has_for_its_constants(library):
    path = sweep_for(MATMUL)
    assert path
    sweep = load_sweep(path)
    point = next(p for p in sweep.points if (p.kernel, p.size.name, p.tile) == ("naive", "64", 16))
    assert point.time

    body = view(library, file="matmul", kernel="naive", TILE="16")["timing-body.children"]

    assert f"median{point.time.median_us:.3f} µs" in text(body)
    assert "Measured in a sweep over sizes, without a floor, on NVIDIA H200" in text(body)
    links = [part.href for part in parts(body) if getattr(part, "href", "").startswith("/matmul")]
    assert links == ["/matmul?SIZE=64&TILE=16"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("constants", [{"M": "48"}, {"TILE": "16", "DEPTH": "16"}], ids=str)
def test_constants_that_the_sweep_has_not_stay_without_a_time(library, constants):
    body = view(library, file="matmul", kernel="naive", **constants)["timing-body.children"]

    assert text(body).startswith("No time was measured with these constants.")


@pytest.mark.parametrize(("file", "array"), [("square", "tile[BDIMY][BDIMX]"), ("reverse", "held[N]")])
def test_declarations_stand_in_the_boxes_of_their_scopes(library, file, array):
    body = view(library, file=file)["published-body.html"]
    cuda, numba = (part for part in parts(body) if getattr(part, "className", "") == "scope" and "file" in text(part))

    line = f"__shared__ int {array};"
    assert text(cuda).count(line) == 2  # in the file, or in the kernel
    (kernel,) = (part for part in parts(cuda.children) if getattr(part, "className", "") == "scope")
    assert text(kernel).count(line) == 1
    assert text(numba).startswith("file scopeno shared arraykernel scope")
    source = (kernels_dir() / f"{file}.py").read_text(encoding="utf-8")
    declared = [text(part) for part in parts(numba) if type(part).__name__ == "Code"]
    assert len(declared) == 2
    assert all(line in source for line in declared)


def test_a_file_without_a_published_scope_has_no_boxes(library):
    body = view(library, file="rectangle")["published-body.html"]
    assert not [part for part in parts(body) if getattr(part, "className", "") == "scope"]


def test_a_published_product_that_stays_unwritten_leads_to_the_kernel_that_does_the_same():
    sweep = Products(Job(environment=LINES)).recorded
    for linked in (True, False):
        table = quoted_table(beside(sweep), sweep, linked)
        links = [part.href for part in parts(table) if hasattr(part, "href")]
        same = ("corner_of_each_tile", "store_past_the_edge")
        assert links == [f"/kernel?file=mistakes&kernel={kernel}&elements=c&scope=launch" for kernel in same] * linked
        assert "corner_of_each_tile does the same." in text(table)
    (row,) = (text(part) for part in parts(table) if type(part).__name__ == "Tr" and "25.73 ms" in text(part))
    assert "tiled_integer16" in row
    assert "2.229 ms" in row
