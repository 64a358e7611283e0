"""The layout lab and the editor in a language in brackets: every text is a message, or data."""

from __future__ import annotations

import re

import pytest
from helpers.pseudo import TAG, forgotten, pseudo

from smemviz.app.pages.editor_page import _panel, run_asked
from smemviz.app.pages.layouts.lab_page import lab_page
from smemviz.app.pages.layouts.lab_view import view_lab, view_layouts
from smemviz.app.texts import Texts
from smemviz.model.hardware.compute_capability import known
from smemviz.model.layout.accesses import PATTERNS, access_of
from smemviz.paths import gallery
from smemviz.views.layout_lab import access_text

# What the texts of a URL are made of: shapes, dtypes, patterns, formulas, swizzles, and the names of the set-ups.
URL = ["A", "B", "dtype", "xor", "Swizzle", "lane", "warp", "row", "column", "float16", "float32", *PATTERNS]
PARTS = [row.family for row in known()]
CODE = [*URL, *PARTS, "add", "ldmatrix", "ldmatrix_x4", "x4"]


def test_the_lab_before_it_is_filled() -> None:
    with pseudo():
        assert forgotten(lab_page(), [*CODE, *OPTIONS]) == []


OPTIONS = [
    *("atomic_add", "atomic_max", "reduce_add", "reduce_inc", "load", "store", "matrices"),
    *("ldmatrix_x1", "ldmatrix_x2", "ldmatrix_x4_trans", "ldmatrix_x1_trans", "ldmatrix_x2_trans"),
    *("stmatrix_x1", "stmatrix_x2", "stmatrix_x4"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float64", "bool"),
]


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"A": "32x32 float32", "B": "32x32 float32; pad=1", "VIEW": "banks"},
        {"A": "32x64 float16; pitch=72", "A-access": "row; op=store; width=16\nmatrices; op=ldmatrix_x4"},
        {"A": "32x32 float32; swizzle=xor 5; pad=1", "cc": "3.5-8", "A-access": "lane, warp; op=atomic_add"},
        {"A": "32x32 float32; base=4; pad=2", "A-access": "row", "B": "32x32; pad=x"},
    ],
)
def test_what_the_lab_shows(query: dict[str, str]) -> None:
    with pseudo():
        shown = view_lab(query)
        assert (
            forgotten([value for name, value in shown.items() if not name.endswith((".href", ".className"))], CODE)
            == []
        )
        found = [value for name, value in view_layouts(query).items() if not name.endswith(".data")]
        assert forgotten(found, CODE) == []


NO_KERNEL_RUNS = "from numba import cuda\n\n\n@cuda.jit\ndef k():\n    pass\n\n\ndef main():\n    1 / 0\n"


def test_an_access_is_named_by_a_whole_message() -> None:
    with pseudo():
        assert access_text(access_of("row; op=store; width=16")) == "row⟦ ⟧⟦store⟧⟦, ⟧16⟦ bytes⟧"


def test_the_editor_and_what_it_says_of_a_run(texts: Texts) -> None:
    with pseudo():
        panel = _panel()
        assert forgotten(panel, [path.stem for path in gallery()]) == []
        said, *_ = run_asked(
            texts, "from numba import cuda\n\n\n@cuda.jit\ndef k():\n    pass\n\n\ndef main():\n    k[1, 32]()\n"
        )
        assert re.fullmatch(r"⟦Ran in ⟧\d+\.\d\d⟦ s: ⟧1⟦ launch⟧⟦\.⟧", said["message"])
        assert said["lang"] == TAG
        refused, *_ = run_asked(texts, "def main(:")
        assert forgotten(refused["message"], ["invalid syntax"]) == []
        assert (refused["lang"], refused["marks"][0]["message"]) == (TAG, "⟦is not valid Python: ⟧invalid syntax")
        raised, *_ = run_asked(texts, NO_KERNEL_RUNS)
        assert (raised["message"], raised["lang"]) == ("Line 10: ZeroDivisionError: division by zero", "en")
