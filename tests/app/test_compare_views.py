"""A kernel in CUDA C++ on the compare page: beside its twin in Python, and as written beside as compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
from dash.development.base_component import Component

from smemviz.app.components.launches import SEVERAL
from smemviz.app.file_names import COMPILED
from smemviz.app.library import Library
from smemviz.app.pages.compare.compare_picks import entries, offered, picked
from smemviz.app.pages.compare.compare_tables import view_compiled
from smemviz.app.pages.kernel.run_view import _views_link
from smemviz.app.tasks.stopwatch import Stopwatch
from smemviz.frontends.cuda import nvrtc
from smemviz.paths import kernels_dir
from smemviz.views.comparison import compared

pytestmark = pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC, the extra 'cpp'")

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
def test_a_file_is_offered_with_its_other_view_and_the_other_language(file: str, given: str) -> None:
    library = Library([kernels_dir() / given])
    picks, _ = picked(library, {"file": file})
    assert {group["group"] for group in offered(library, picks)} == {"square", "square.cu", f"square.cu{COMPILED}"}


def test_what_the_compiler_did_to_each_access_is_told(tmp_path: Path) -> None:
    (tmp_path / "mine.cu").write_text(KERNEL)
    library = Library([tmp_path / "mine.cu"])
    query = {"file": "mine.cu", "launch": SEVERAL.join(["mine.cu:k", f"mine.cu{COMPILED}:k"])}
    picks, _ = picked(library, query)
    found = view_compiled(picks, compared(entries(library, Stopwatch(), query, picks)))
    rows = [[str(cell.children) for cell in row.children] for row in _body(found[-1])]
    assert {row[1]: (row[3], row[5], row[6]) for row in rows} == {
        "a[i]": ("1", "4", "as it is written"),
        "t[i]": ("1", "4", "as it is written"),
        "unused[i]": ("1 → 0", "4", "left out: its value is known without it, or never needed"),
        "t[n]": ("4 → 1", "4 → 16", "merged with its neighbours into wider accesses"),
        "out[i]": ("1", "4", "as it is written"),
    }


def _body(table: Component) -> list[Component]:
    return list(table.children.children[2].children)


def test_a_kernel_page_leads_to_both_views() -> None:
    (link,) = _views_link("k", {"file": f"mine.cu{COMPILED}", "kernel": "k", "N": "64"})
    assert link.href == "/compare?file=mine.cu&launch=mine.cu%3Ak&launch=mine.cu%40compiled%3Ak&N=64"
    assert _views_link("k", {"file": "mine"}) == []
