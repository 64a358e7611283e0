"""Bytes wasted: what sectors move and wavefronts could move, and no lane asks for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.gallery import h200
from helpers.strategies import totals

from smemviz.model.counting.summary import bytes_wasted, summarize
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.layout.accesses import Access
from smemviz.model.layout.accesses import totals as layout_totals
from smemviz.model.layout.layouts import Layout
from smemviz.recordings.data import Launch, Requests, Site


def of(kernel: str, file: str = "square") -> Launch:
    return h200(file)[kernel]


def a_launch(site: Site, addresses: list[list[int]]) -> Launch:
    """Return a launch of one site whose requests go there."""
    n, like = len(addresses), of("set_row_read_col")
    block, zeros = np.zeros(n, np.int64), np.zeros(n, np.int32)
    steps = np.arange(n, dtype=np.int32)
    requests = Requests(np.array(addresses), zeros, block, zeros, steps, zeros, np.full((n, 32), np.nan))
    return replace(like, sites=(site,), requests=requests, totals=None, hardware=None)


def test_of_shared_memory_it_is_what_a_layout_says() -> None:
    """32 warps load a column of 32 x 32 floats: 1,024 wavefronts of 128 bytes for 4,096 bytes."""
    launch = of("set_row_read_col")
    (store, load_site) = (i for i, site in enumerate(launch.sites) if site.space == "shared")
    assert bytes_wasted(launch, store) == 32 * 128 - 4096
    assert bytes_wasted(launch, load_site) == 1024 * 128 - 4096
    layout = Layout((32, 32), "float32")
    assert layout_totals(Access("column"), layout).bytes_wasted == bytes_wasted(launch, load_site)


def test_of_global_memory_it_is_what_sectors_move_unused() -> None:
    """192 requests for 128 bytes each take 32 sectors of 32 bytes down a column, 4 along a row."""
    launch = of("load_rows_store_columns", "transpose")
    assert [bytes_wasted(launch, i) for i in range(2)] == [0, 192 * (32 * 32 - 128)]


def test_a_lane_that_shares_its_bytes_asks_for_them_once() -> None:
    site = next(site for site in of("set_row_read_col").sites if site.space == "global")
    assert bytes_wasted(a_launch(site, [[0] * 32]), 0) == 32 - 4


@pytest.mark.parametrize("matrices", [1, 2, 4])
def test_lanes_past_the_last_matrix_ask_for_nothing(matrices: int) -> None:
    """Rows of 16 bytes side by side fill a wavefront of 128 bytes for each matrix, whatever lanes beyond hold."""
    shared = next(site for site in of("set_row_read_col").sites if site.space == "shared")
    site = replace(shared, op=f"ldmatrix_x{matrices}", width=16)
    assert bytes_wasted(a_launch(site, [[16 * lane for lane in range(32)]]), 0) == 0


def test_it_is_not_known_where_part_was_not_logged() -> None:
    launch = of("set_row_read_col")
    cut = replace(launch, totals=totals(launch, 100))
    assert [bytes_wasted(cut, i) for i in range(3)] == [None] * 3
    assert bytes_wasted(cut, 0, Hardware((3, 5))) is None  # counted from what was logged: it is not all


def test_it_is_not_known_where_wavefronts_depend_on_the_data() -> None:
    launch = of("weigh_in_shared_memory", "histogram")
    atomic = next(i for i, row in enumerate(summarize(launch, Hardware((3, 5)))) if row.reason is not None)
    assert bytes_wasted(launch, atomic, Hardware((3, 5))) is None  # a loop around a lock
