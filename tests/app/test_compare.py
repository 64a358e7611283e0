"""The compare page: tiles, table, what changed in a file, and a kernel in CUDA C++ as written and as compiled."""

import csv
import re

import pytest
from dash.development.base_component import Component
from helpers.components import parts, text
from helpers.revisions import commit
from helpers.waiting import settle
from playwright.sync_api import expect

from smemviz.app.components.launches import SEVERAL
from smemviz.app.file_names import COMPILED
from smemviz.app.library import Library
from smemviz.app.pages.compare.compare_page import view_compare
from smemviz.app.pages.compare.compare_picks import entries, offered, picked
from smemviz.app.pages.compare.compare_tables import compare_table, view_changes, view_compiled
from smemviz.app.pages.kernel.run_view import _views_link
from smemviz.app.tasks.stopwatch import Stopwatch
from smemviz.frontends.cuda import nvrtc
from smemviz.paths import kernels_dir
from smemviz.views.comparison import compared, to_csv

needs_nvrtc = pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC, the extra 'cpp'")


def compare(served, file, *kernels):
    query = {"file": file} | ({"launch": "\n".join(f"{file}:{kernel}" for kernel in kernels)} if kernels else {})
    return dict(view_compare(served, Stopwatch(), query, "light"))


def tiles(filling):
    """Return the name of each launch whose tile is shown, and what is said of the request."""
    panels = [one for one in filling["compare-tiles.children"] if "tile-of" in one.className]
    return [
        (panel.children[0].children[0].children, "".join(map(_text, panel.children[1].children))) for panel in panels
    ]


def _text(part):
    return part if isinstance(part, str) else str(part.children)


@pytest.mark.exhaustive
def test_two_launches_show_the_same_access(served):
    assert tiles(compare(served, "square", "set_row_read_col", "set_row_read_col_pad")) == [
        ("set_row_read_col", "tile[tx, ty]: Load by warp 0, step 1: 32 lanes, 32 wavefronts where 1 would do"),
        ("set_row_read_col_pad", "tile[tx, ty]: Load by warp 0, step 1: 32 lanes, 1 wavefront"),
    ]


def test_of_more_the_slowest_stands_beside_the_fastest(served):
    filling = compare(served, "square")
    assert [name for name, _ in tiles(filling)] == ["set_col_read_col", "set_row_read_row"]
    assert filling["compare-tiles.children"][-1].children == "Pick two launches to see the tiles of others."


def test_launches_without_shared_memory_have_no_tile(served):
    assert compare(served, "matmul", "naive", "naive_swapped")["compare-tiles.children"] == []


def test_sectors_are_drawn_where_they_differ(served):
    assert compare(served, "square")["compare-sectors-panel.hidden"] is True
    assert compare(served, "stencil")["compare-sectors-panel.hidden"] is False


@pytest.mark.browser
def test_both_tiles_are_on_the_first_screen(page):
    for width, height in ((1440, 900), (1024, 768)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto("/compare?file=square&launch=square:set_row_read_col&launch=square:set_row_read_col_pad")
        settle(page)
        expect(page.locator("#compare-tiles svg")).to_have_count(2)
        left, right = (one.bounding_box() for one in page.locator("#compare-tiles .tile-of").all())
        assert left is not None
        assert right is not None
        assert left["x"] + left["width"] <= right["x"]
        assert left["y"] == right["y"] < height / 2
        assert right["x"] + right["width"] <= width


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("kernels", "said"),
    [
        (("naive", "naive_swapped"), ["coalesced", "not coalesced: a[row, k]"]),
        (("tiled", "tiled_swapped"), ["coalesced", "not coalesced: a[first_row + tx, first + ty]"]),
    ],
)
def test_two_orders_of_the_indices_are_compared_by_whether_they_are_coalesced(served, kernels, said):
    query = {"file": "matmul", "source": "lockstep", "launch": SEVERAL.join(f"matmul:{kernel}" for kernel in kernels)}
    picks, _ = picked(served, query)
    rows = compared(entries(served, Stopwatch(), query, picks))
    shown = compare_table(rows, [{}] * 2)
    heads, *body = (tuple(map(text, row.children)) for row in parts(shown) if type(row).__name__ == "Tr")
    at = heads.index("Global accesses")
    assert [row[at] for row in body] == said
    assert [record["global_accesses"] for record in csv.DictReader(to_csv(rows).splitlines())] == said


def test_what_is_the_same_in_all_launches_is_said_once_below(served):
    query = {"file": "square"}
    picks, _ = picked(served, query)
    rows = compared(entries(served, Stopwatch(), query, picks))
    several, one = compare_table(rows, [{}] * 6), compare_table(rows[:1], [{}])
    heads = [[text(head) for row in parts(shown) if type(row).__name__ == "Tr" for head in row.children
              if getattr(head, "scope", "") == "col"] for shown in (several, one)]  # fmt: skip

    assert text(several[1]) == (
        "The same in all: sectors 128, sectors per request 4, efficiency 100 %, global accesses coalesced."
    )
    assert [head for head in heads[1] if head not in heads[0]] == [
        "Sectors", "Sectors per request", "Efficiency", "Global accesses"
    ]  # fmt: skip
    assert len(one) == 1


@pytest.mark.browser
def test_launches_are_searched_for(page):
    page.goto("/compare?file=square")
    search = page.get_by_placeholder("Search by file or kernel")
    search.fill("tiled_sw")
    page.get_by_role("option", name="matmul: tiled_swapped").first.click()
    expect(page.locator("#compare-table")).to_contain_text("matmul: tiled_swapped")


SQUARE = (kernels_dir() / "square.py").read_text(encoding="utf-8")


@pytest.fixture
def library(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(SQUARE.replace("IPAD = 1", "IPAD = 0"), encoding="utf-8")
    commit(path)
    path.write_text("# A line above.\n" + SQUARE, encoding="utf-8")
    return Library([path])


def said(parts):
    if isinstance(parts, str):
        return [parts]
    if isinstance(parts, list | tuple):
        return [text for part in parts for text in said(part)]
    return said(getattr(parts, "children", None) or []) if isinstance(parts, Component) else []


def rows(parts, table):
    tables = [part.children for part in parts if getattr(part, "className", "") == "scroller"]
    return [" | ".join(said(row)) for row in tables[table].children[2].children]


def test_nothing_is_compared_before_it_is_asked_for(library):
    assert view_changes(library, {"file": "mine"}) == []
    assert view_changes(library, {"file": "mine", "against": " "}) == []


def test_a_revision_shows_totals_and_the_lines_that_changed(library):
    parts = view_changes(library, {"file": "mine", "against": "HEAD"})
    assert said(parts[0]) == ["No launch is worse in B."]
    assert said(parts[1]) == ["A is HEAD, B is mine as this page shows it."]
    assert rows(parts, 0)[4] == "set_row_read_col_pad | 96 | 1,056 → 64 | 992 → 0 | 32 → 1 | 128 | not measured"
    line = SQUARE[: SQUARE.index("out[idx] = tile[tx, ty]", SQUARE.index("def set_row_read_col_pad"))].count("\n") + 1
    places = f"{line} → {line + 1}"
    assert rows(parts, 1) == [f"{places} | tile[tx, ty] | shared load | 32 | 1,024 → 32 | 992 → 0 | 32 → 1 | -"]


def test_constants_stand_for_what_was_before(library):
    parts = view_changes(library, {"file": "mine", "IPAD": "0", "against": "IPAD=1"})
    assert said(parts[0]) == ["Worse in B: set_row_read_col_pad in wavefronts; set_row_read_col_dyn_pad in wavefronts."]


def test_counts_are_those_of_the_hardware_of_the_page(library):
    """A row of 33 floats begins within a word of 8 bytes: of every second column, lanes 0 and 31 meet in one bank."""
    totals = {
        cc: rows(view_changes(library, {"file": "mine", "against": "HEAD", "cc": cc}), 0)[4] for cc in ("3.7", "3.7-8")
    }
    assert totals["3.7"] == "set_row_read_col_pad | 96 | 544 → 64 | 480 → 0 | 16 → 1 | 128 | not measured"
    assert totals["3.7-8"] == "set_row_read_col_pad | 96 | 544 → 80 | 480 → 16 | 16 → 2 | 128 | not measured"


@pytest.mark.exhaustive
def test_no_revision_is_read_for_other_machines(library, texts, tmp_path):
    served = Library([tmp_path / "mine.py"], texts, local=False)
    refused = "mine: revisions are read only when the server is reachable from this machine alone"
    assert said(view_changes(served, {"file": "mine", "against": "HEAD"})) == [refused]
    assert said(view_changes(served, {"file": "mine", "against": "IPAD=0"})[0]) == ["No launch is worse in B."]


def test_a_text_of_the_editor_is_run_in_the_sandbox(tmp_path, texts):
    """Neither what is shown nor what it is compared with may reach Python's ``exec``."""
    trace = tmp_path / "trace"
    hostile = f"{SQUARE}\n\nif IPAD == 0:\n    open({str(trace)!r}, 'w')\n"
    names = [texts.add(text).name for text in (SQUARE, hostile)]
    served = Library([kernels_dir() / "reverse.py"], texts)
    assert said(view_changes(served, {"file": names[0], "against": "IPAD=0"})[0]) == ["No launch is worse in B."]
    refused = said(view_changes(served, {"file": names[1], "against": "IPAD=0"}))
    assert "open is not defined here" in refused[0]
    assert not trace.exists()


def test_a_revision_and_constants_go_together(library):
    parts = view_changes(library, {"file": "mine", "against": "HEAD IPAD=1"})
    assert [len(rows(parts, 0)), len(parts)] == [6, 3]  # six launches, and no line changed


@pytest.mark.parametrize(
    ("against", "error"),
    [
        ("nowhere", "nowhere:mine.py: git does not have it: "),
        ("HEAD~1 HEAD~2", "HEAD~1 HEAD~2: write a revision such as HEAD~1, constants such as IPAD=0, or both"),
        ("--output=/tmp/x", "--output=/tmp/x: write a revision such as HEAD~1, "),
        ("HEAD:../other", "HEAD:../other: write a revision such as HEAD~1, "),
        ("WIDE=1", "mine.py:1: there is no constant WIDE; the file has: BDIMX, BDIMY, IPAD, PITCH"),
    ],
)
def test_a_mistake_is_said_in_its_place(library, against, error):
    (alert,) = view_changes(library, {"file": "mine", "against": against})
    assert error in said(alert)[0]


@pytest.mark.browser
def test_what_is_compared_with_stands_in_the_address(page):
    page.goto("/compare?file=square")
    field = page.get_by_role("textbox", name="Before")
    fold = page.locator("details", has=page.locator("#compare-changes"))
    fold.locator("summary").first.click()
    field.fill("IPAD=0")
    field.press("Enter")
    changes = page.locator("#compare-changes")
    expect(changes).to_contain_text("No launch is worse in B.")
    expect(page).to_have_url(re.compile(r"/compare\?file=square&against=IPAD%3D0$"))
    page.reload()
    expect(changes).to_contain_text("1,056 → 64")
    expect(field).to_have_value("IPAD=0")
    field.fill("")
    field.press("Enter")
    expect(changes).to_be_empty()
    expect(page).to_have_url(re.compile(r"/compare\?file=square$"))


KERNEL = """#define N 32
__global__ void k(float *out, const float *a) {
    extern __shared__ float t[];
    __shared__ float unused[N];
    int i = threadIdx.x;
    t[i] = a[i];
    unused[i] = 1;
    __syncthreads();
    float sum = 0;
    for (int n = 0; n < 4; n++) sum += t[n];
    out[i] = sum + t[i];
}
// smemviz: k<<<1, N, N * sizeof(float)>>>(zeros(N), zeros(N))
"""


@pytest.mark.parametrize("file", ["square", "square.cu", f"square.cu{COMPILED}"])
@pytest.mark.parametrize("given", ["square.py", "square.cu"])
@needs_nvrtc
def test_a_file_is_offered_with_its_other_view_and_the_other_language(file, given):
    library = Library([kernels_dir() / given])
    picks, _ = picked(library, {"file": file})
    assert {group["group"] for group in offered(library, picks)} == {"square", "square.cu", f"square.cu{COMPILED}"}


@needs_nvrtc
def test_what_the_compiler_did_to_each_access_is_told(tmp_path):
    (tmp_path / "mine.cu").write_text(KERNEL)
    library = Library([tmp_path / "mine.cu"])
    query = {"file": "mine.cu", "launch": SEVERAL.join(["mine.cu:k", f"mine.cu{COMPILED}:k"])}
    picks, _ = picked(library, query)
    found = view_compiled(picks, compared(entries(library, Stopwatch(), query, picks)))
    rows = [[str(cell.children) for cell in row.children] for row in _body(found[-1])]
    assert {row[1]: (row[3], row[5], row[6]) for row in rows} == {
        "a[i]": ("1", "4", "as it is written"),
        "t[i]": ("1", "4", "as it is written"),
        "unused[i]": ("1 → 0", "4", "removed: its value is known without it, or never used"),
        "t[n]": ("4 → 1", "4 → 16", "merged with its neighbours into wider accesses"),
        "out[i]": ("1", "4", "as it is written"),
    }


def _body(table):
    return list(table.children.children[2].children)


@needs_nvrtc
def test_a_kernel_page_leads_to_both_views():
    (link,) = _views_link("k", {"file": f"mine.cu{COMPILED}", "kernel": "k", "N": "64"})
    assert link.href == "/compare?file=mine.cu&launch=mine.cu%3Ak&launch=mine.cu%40compiled%3Ak&N=64"
    assert _views_link("k", {"file": "mine"}) == []
