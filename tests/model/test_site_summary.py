"""Counts per site, from logged requests and from totals; sectors; bytes that are moved, or could be, in vain."""

from dataclasses import astuple, replace

import numpy as np
import pytest
from helpers import launches
from helpers.gallery import h200
from helpers.strategies import totals
from hypothesis import given
from hypothesis import strategies as st

from smemviz.errors import InputError
from smemviz.model.counting.service import bytes_used, sectors
from smemviz.model.counting.summary import added, bytes_wasted, summarize, totals_of
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.layout.accesses import Access
from smemviz.model.layout.accesses import totals as layout_totals
from smemviz.model.layout.layouts import Layout
from smemviz.recordings.data import SECTOR_BYTES, Requests, SiteSummary, Totals

LANE = np.arange(32)
SITES = (
    launches.site("tile", "shared", "store"),
    launches.site("tile", "shared", "load"),
    launches.site("out", "global", "store"),
    launches.site("bins", "shared", "reduce_add", dtype="float32"),
    launches.site("tile", "shared", "load"),
)


def square():
    """Row stores, column loads, coalesced global stores, float atomics; the last site never runs."""
    rows = [(0, LANE * 4), (0, LANE * 4 + 128), (1, LANE * 128), (2, LANE * 4), (2, LANE * 4 + 128), (3, LANE * 4)]
    return launches.launch(SITES, rows)


def test_one_row_of_plain_numbers_per_site_in_order():
    reason = "A float atomic is a compare-and-swap loop; how often it runs depends on the data."
    rows = square().summary()
    assert rows == summarize(square())
    assert rows == (
        SiteSummary(2, 2, 2, 0, 1, None),
        SiteSummary(1, 32, 1, 31, 32, None),
        SiteSummary(2, None, None, None, None, 8),
        SiteSummary(1, *(None,) * 5, reason=reason),
        SiteSummary(0, 0, 0, 0, 0, None),
    )
    assert {type(value) for row in rows for value in astuple(row)} <= {int, bool, str, type(None)}
    assert square().summary(cc=(3, 5))[1] == SiteSummary(1, 16, 1, 15, 16, None)


def test_the_bank_mode_of_kepler():
    row, column = LANE % 16, LANE // 16
    tall = launches.launch(SITES[:1], [(0, (row * 32 + column) * 4)])
    assert summarize(tall, Hardware((3, 5), 8))[0].max_degree == 8
    with pytest.raises(InputError, match=r"banks of compute capability 9\.0 are 4 bytes wide, not 8"):
        summarize(tall, Hardware(bank_bytes=8))


def test_an_unknown_compute_capability_is_refused_even_where_nothing_is_counted():
    nothing = launches.launch(SITES, [])
    whole = replace(nothing, totals=totals_of(SITES, nothing.requests))
    for launch in (nothing, whole, launches.launch((), [])):
        with pytest.raises(InputError, match=r"compute capability 9\.9 is not in the table"):
            summarize(launch, Hardware((9, 9)))


def cut_short():
    """The same launch with ten times the requests counted, and part of them logged."""
    logged = totals_of(SITES, square().requests)
    return replace(square(), totals=Totals(*(10 * getattr(logged, name) for name in vars(logged))))


def test_totals_stand_in_for_what_was_not_logged():
    rows = summarize(cut_short())
    assert rows[0] == SiteSummary(20, 20, 20, 0, 1, None)
    assert rows[1] == SiteSummary(10, 320, 10, 310, 32, None)
    assert rows[2] == SiteSummary(20, None, None, None, None, 80)
    assert rows[3].requests == 10
    assert rows[3].wavefronts is None
    assert rows[3].reason is not None
    assert summarize(cut_short(), Hardware((5, 0))) == rows


def test_totals_do_not_hold_for_older_parts_and_the_row_says_so():
    rows = summarize(cut_short(), Hardware((3, 5)))
    assert rows[1] == SiteSummary(1, 16, 1, 15, 16, None, complete=False)
    assert rows[2] == SiteSummary(20, None, None, None, None, 80, complete=True)
    assert [row.complete for row in rows] == [False, False, True, False, True]


def test_totals_of_parts_add_up_to_the_totals_of_the_whole():
    whole = square().requests
    parts = [whole.select(np.arange(len(whole)) % 2 == i) for i in (0, 1)]

    both = added(totals_of(SITES, parts[0]), totals_of(SITES, parts[1]))

    for name, column in vars(totals_of(SITES, whole)).items():
        np.testing.assert_array_equal(getattr(both, name), column)


def test_totals_of_count_degrees_and_leave_what_does_not_apply_at_0():
    totals = totals_of(SITES, square().requests)
    assert totals.requests.tolist() == [2, 1, 2, 1, 0]
    assert totals.wavefronts.tolist() == [2, 32, 0, 0, 0]
    assert totals.ideal.tolist() == [2, 1, 0, 0, 0]
    assert totals.sectors.tolist() == [0, 0, 8, 0, 0]
    assert totals.degrees.shape == (5, 33)
    assert np.argwhere(totals.degrees).tolist() == [[0, 1], [1, 32]]
    assert all(column.dtype == np.int64 for column in vars(totals).values())


def of(kernel, file="square"):
    return h200(file)[kernel]


def a_launch(site, addresses):
    """Return a launch of one site whose requests go there."""
    n, like = len(addresses), of("set_row_read_col")
    block, zeros = np.zeros(n, np.int64), np.zeros(n, np.int32)
    steps = np.arange(n, dtype=np.int32)
    requests = Requests(np.array(addresses), zeros, block, zeros, steps, zeros, np.full((n, 32), np.nan))
    return replace(like, sites=(site,), requests=requests, totals=None, hardware=None)


def test_of_shared_memory_it_is_what_a_layout_says():
    """32 warps load a column of 32 x 32 floats: 1,024 wavefronts of 128 bytes for 4,096 bytes."""
    launch = of("set_row_read_col")
    (store, load_site) = (i for i, site in enumerate(launch.sites) if site.space == "shared")
    assert bytes_wasted(launch, store) == 32 * 128 - 4096
    assert bytes_wasted(launch, load_site) == 1024 * 128 - 4096
    layout = Layout((32, 32), "float32")
    assert layout_totals(Access("column"), layout).bytes_wasted == bytes_wasted(launch, load_site)


def test_of_global_memory_it_is_what_sectors_move_unused():
    """192 requests for 128 bytes each take 32 sectors of 32 bytes down a column, 4 along a row."""
    launch = of("load_rows_store_columns", "transpose")
    assert [bytes_wasted(launch, i) for i in range(2)] == [0, 192 * (32 * 32 - 128)]


def test_lanes_that_share_bytes_or_lie_past_the_last_matrix_ask_for_nothing():
    """Rows of 16 bytes side by side fill a wavefront of 128 bytes for each matrix, whatever lanes beyond hold."""
    shared, global_ = (
        next(site for site in of("set_row_read_col").sites if site.space == space) for space in ("shared", "global")
    )
    assert bytes_wasted(a_launch(global_, [[0] * 32]), 0) == 32 - 4
    for matrices in (1, 2, 4):
        site = replace(shared, op=f"ldmatrix_x{matrices}", width=16)
        assert bytes_wasted(a_launch(site, [[16 * lane for lane in range(32)]]), 0) == 0


def test_it_is_not_known_where_part_was_not_logged_or_wavefronts_depend_on_the_data():
    launch = of("set_row_read_col")
    cut = replace(launch, totals=totals(launch, 100))
    assert [bytes_wasted(cut, i) for i in range(3)] == [None] * 3
    assert bytes_wasted(cut, 0, Hardware((3, 5))) is None  # counted from what was logged: it is not all
    launch = of("weigh_in_shared_memory", "histogram")
    atomic = next(i for i, row in enumerate(summarize(launch, Hardware((3, 5)))) if row.reason is not None)
    assert bytes_wasted(launch, atomic, Hardware((3, 5))) is None  # a loop around a lock


def test_sectors_that_are_moved_and_bytes_that_are_used():
    base = 0x7F_8000_0000  # as on a device
    for addresses, width, moved, used in [
        *((LANE * width, width, width, width * SECTOR_BYTES) for width in (1, 2, 4, 8, 16)),  # all that is moved
        (LANE * 128, 4, 32, 128),
        (LANE * 4 + 4, 4, 5, 128),
        (np.full(32, 4096), 4, 1, 4),
        (np.full((2, 32), 4096), 4, [1, 1], [4, 4]),
        (np.full(32, -1), 4, 0, 0),
        (np.where(LANE < 8, LANE * 4, -1), 4, 1, 32),
        (np.zeros((0, 32), int), 4, [], []),
        (base + LANE * (1 << 32), 4, 32, 128),
        (np.where(LANE % 2, base, base + (1 << 45)), 4, 2, 8),
    ]:
        assert (sectors(addresses, width).tolist(), bytes_used(addresses, width).tolist()) == (moved, used)


@given(st.sampled_from([1, 2, 4, 8, 16]), st.lists(st.integers(-1, 1 << 43), min_size=32, max_size=32))
def test_sectors_are_different_multiples_of_32(width, index):
    addresses = [-1 if i < 0 else i * width for i in index]
    active = [a for a in addresses if a >= 0]
    assert sectors(addresses, width) == len({a // 32 for a in active})
    assert bytes_used(addresses, width) == len({a + i for a in active for i in range(width)})


def test_a_mistake_gets_one_clear_line():
    for addresses, width, message in [
        (LANE, 5, "a lane cannot access 5 bytes; the widths are 1, 2, 4, 8 and 16"),
        (LANE, 4, "lane 1: address 1 is not a multiple of 4, the width of the access"),
        (LANE - 5, 1, "lane 0: address -5 is negative; a lane that is off is -1"),
        (LANE[:8], 4, "addresses must have shape (..., 32), one per lane, not (8,)"),
    ]:
        for function in (sectors, bytes_used):
            with pytest.raises(InputError) as refusal:
                function(addresses, width)
            assert str(refusal.value) == message
