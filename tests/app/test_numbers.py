"""The page that explains the numbers: none that is shown is left out, and its examples are those of the recording."""

import pytest
from dash import html
from helpers.gallery import h200
from helpers.pseudo import forgotten, pseudo
from playwright.sync_api import expect

from smemviz.app.pages.compare.compare_page import compare_page
from smemviz.app.pages.kernel.kernel_page import kernel_page
from smemviz.app.pages.layouts.lab_state import LabState
from smemviz.app.pages.numbers_page import numbers_page
from smemviz.views.across_gpus import GPU_HEADS
from smemviz.views.glossary import numbers
from smemviz.views.layout_lab import COUNT_HEADS, LANE_HEADS, count_rows
from smemviz.views.layout_search import layout_heads

# What heads a column or a row and is no number.
NAMES = {"grid", "block", "recorded", "model", "what", "ours", "on", "launch", "layout", "in a kernel", "gpu"}
NAMES |= {"access", "element", "address", "difference", "rests on", "wavefront", "static", "dynamic", "global accesses"}
NAMES |= {"count", "metric"}  # of raw counters, which have names of their own


@pytest.fixture(scope="module")
def explained():
    sections = numbers(h200("square")["set_row_read_col"])
    return {name.lower(): number for section in sections for number in section.numbers for name in number.names}


def heads(shown):
    """Yield what heads the numbers of a page: terms of lists, and columns of tables."""
    if isinstance(shown, list | tuple):
        for part in shown:
            yield from heads(part)
    elif isinstance(shown, html.Dt) or (isinstance(shown, html.Th) and getattr(shown, "scope", "") == "col"):
        name = getattr(shown.children, "children", shown.children)  # of a link to its explanation
        if isinstance(name, str):
            yield name.lower()
    elif hasattr(shown, "children"):
        yield from heads(shown.children)


def test_every_number_of_the_kernel_page_is_explained(explained, served, stopwatch):
    shown: set[str] = set()
    for query in ({"file": "square", "kernel": "set_row_read_col"}, {"file": "transpose", "kernel": "copy"}):
        shown |= set(heads(kernel_page(served, stopwatch, query, {"theme": "light"})))
    assert {"excess", "median", "efficiency", "hardware"} <= shown
    assert shown - NAMES - set(explained) == set()


def test_every_number_of_a_comparison_is_explained(explained, served, stopwatch):
    page = compare_page(served, stopwatch, {"file": "square"}, "light")
    shown = {head for head in heads(page) if not head.startswith("set_")}  # kernels, and what their conflicts cost
    assert {"store wavefronts", "net"} <= shown
    assert shown - NAMES - set(explained) == set()


def test_every_number_of_layouts_and_parts_is_explained(explained):
    setup = LabState.read({}).sides["A"].setup
    assert setup is not None
    shown = {head.lower() for head in (*GPU_HEADS, *COUNT_HEADS, *LANE_HEADS, *layout_heads(setup))}
    shown = {head for head in shown if not head.startswith("access ")}
    assert shown - NAMES - set(explained) == set()


def test_examples_are_those_of_the_recording(explained):
    # The H200's: 32 warps store a row in 1 wavefront each and load a column in 32, and store 32 rows of out.
    wanted = {"requests": "96", "wavefronts": "1,056", "ideal": "64", "excess": "992", "degree": "32", "sectors": "128"}
    assert {name: explained[name].example for name in wanted} == wanted
    assert explained["shared bytes"].example == "4,096"
    assert explained["efficiency"].example == "100 %"


def test_bytes_wasted_are_bandwidth_and_bytes_are_memory(explained):
    setup = LabState.read({"A": "32x32 float32", "A-access": "column"}).sides["A"].setup
    assert setup is not None
    ((_, _, wavefronts, *_, wasted),) = count_rows(setup)
    assert (wavefronts, wasted) == ("1,024", f"{1024 * 128 - 4096:,}")  # no pad and no pitch: no memory is wasted
    assert explained["bytes wasted"].meaning.startswith("Shared-memory bandwidth left unused: 128 bytes per wavefront")
    assert "pads" in explained["bytes"].meaning


def links(shown):
    if isinstance(shown, list | tuple):
        for part in shown:
            yield from links(part)
    elif getattr(shown, "className", "") == "term":
        yield shown.href
    elif hasattr(shown, "children"):
        yield from links(shown.children)


def test_names_of_numbers_lead_to_their_explanation(explained, served, stopwatch):
    page = kernel_page(served, stopwatch, {"file": "square"}, {"theme": "light"})
    found = set(links(page))
    assert {"/numbers#number-excess", "/numbers#number-median"} <= found
    assert found <= {f"/numbers#number-{number.anchor}" for number in explained.values()}


def test_the_page_is_spoken_in_every_language():
    with pseudo():
        assert forgotten(numbers_page()) == []


@pytest.mark.browser
def test_a_link_to_a_number_leads_there(page):
    page.goto("/numbers#number-floor")
    expect(page.get_by_text("The floor is the time of an empty kernel")).to_be_in_viewport()
    page.get_by_role("link", name="set_row_read_col").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("992 excess wavefronts, all on line 53, 32-way")
