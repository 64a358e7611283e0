"""What the table of the compare page says of launches side by side."""

from __future__ import annotations

import csv

import pytest
from helpers.components import parts, text

from smemviz.app.components.launches import SEVERAL
from smemviz.app.library import Library
from smemviz.app.pages.compare.compare_picks import entries, picked
from smemviz.app.pages.compare.compare_tables import compare_table
from smemviz.app.tasks.stopwatch import Stopwatch
from smemviz.paths import kernels_dir
from smemviz.views.comparison import compared, to_csv


@pytest.mark.parametrize(
    ("kernels", "said"),
    [
        (("naive", "naive_swapped"), ["coalesced", "not coalesced: a[row, k]"]),
        pytest.param(
            ("tiled", "tiled_swapped"),
            ["coalesced", "not coalesced: a[first_row + tx, first + ty]"],
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_two_orders_of_the_indices_are_compared_by_whether_they_are_coalesced(
    kernels: tuple[str, ...], said: list[str]
) -> None:
    library = Library([kernels_dir() / "matmul.py"])
    query = {"file": "matmul", "source": "lockstep", "launch": SEVERAL.join(f"matmul:{kernel}" for kernel in kernels)}
    picks, _ = picked(library, query)
    rows = compared(entries(library, Stopwatch(), query, picks))
    shown = compare_table(rows, [{}] * 2)
    heads, *body = (tuple(map(text, row.children)) for row in parts(shown) if type(row).__name__ == "Tr")
    at = heads.index("Global accesses")
    assert [row[at] for row in body] == said
    assert [record["global_accesses"] for record in csv.DictReader(to_csv(rows).splitlines())] == said
