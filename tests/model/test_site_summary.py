"""Counts per site, from logged requests and from totals."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest
from helpers import launches

from smemviz.errors import InputError
from smemviz.model.counting.summary import added, summarize, totals_of
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.data import Launch, SiteSummary, Totals

LANE = np.arange(32)
SITES = (
    launches.site("tile", "shared", "store"),
    launches.site("tile", "shared", "load"),
    launches.site("out", "global", "store"),
    launches.site("bins", "shared", "reduce_add", dtype="float32"),
    launches.site("tile", "shared", "load"),
)


def square() -> Launch:
    """Row stores, column loads, coalesced global stores, float atomics; the last site never runs."""
    rows = [(0, LANE * 4), (0, LANE * 4 + 128), (1, LANE * 128), (2, LANE * 4), (2, LANE * 4 + 128), (3, LANE * 4)]
    return launches.launch(SITES, rows)


def test_one_row_per_site_in_order() -> None:
    assert summarize(square()) == (
        SiteSummary(2, 2, 2, 0, 1, None),
        SiteSummary(1, 32, 1, 31, 32, None),
        SiteSummary(2, None, None, None, None, 8),
        SiteSummary(
            1,
            *(None,) * 5,
            reason="A float atomic is a compare-and-swap loop; how often it runs depends on the data.",
        ),
        SiteSummary(0, 0, 0, 0, 0, None),
    )


def test_the_launch_hands_on_its_summary() -> None:
    assert square().summary() == summarize(square())
    assert square().summary(cc=(3, 5))[1] == SiteSummary(1, 16, 1, 15, 16, None)


def test_the_bank_mode_of_kepler() -> None:
    row, column = LANE % 16, LANE // 16
    tall = launches.launch(SITES[:1], [(0, (row * 32 + column) * 4)])
    assert summarize(tall, Hardware((3, 5), 8))[0].max_degree == 8
    with pytest.raises(InputError, match=r"banks of compute capability 9\.0 are 4 bytes wide, not 8"):
        summarize(tall, Hardware(bank_bytes=8))


def test_an_unknown_compute_capability_is_refused_even_where_nothing_is_counted() -> None:
    nothing = launches.launch(SITES, [])
    whole = replace(nothing, totals=totals_of(SITES, nothing.requests))
    for launch in (nothing, whole, launches.launch((), [])):
        with pytest.raises(InputError, match=r"compute capability 9\.9 is not in the table"):
            summarize(launch, Hardware((9, 9)))


def cut_short() -> Launch:
    """The same launch with ten times the requests counted, and part of them logged."""
    logged = totals_of(SITES, square().requests)
    return replace(square(), totals=Totals(*(10 * getattr(logged, name) for name in vars(logged))))


def test_totals_stand_in_for_what_was_not_logged() -> None:
    rows = summarize(cut_short())
    assert rows[0] == SiteSummary(20, 20, 20, 0, 1, None)
    assert rows[1] == SiteSummary(10, 320, 10, 310, 32, None)
    assert rows[2] == SiteSummary(20, None, None, None, None, 80)
    assert rows[3].requests == 10
    assert rows[3].wavefronts is None
    assert rows[3].reason is not None
    assert summarize(cut_short(), Hardware((5, 0))) == rows


def test_totals_do_not_hold_for_older_parts_and_the_row_says_so() -> None:
    rows = summarize(cut_short(), Hardware((3, 5)))
    assert rows[1] == SiteSummary(1, 16, 1, 15, 16, None, complete=False)
    assert rows[2] == SiteSummary(20, None, None, None, None, 80, complete=True)
    assert [row.complete for row in rows] == [False, False, True, False, True]


def test_totals_of_parts_add_up_to_the_totals_of_the_whole() -> None:
    whole = square().requests
    parts = [whole.select(np.arange(len(whole)) % 2 == i) for i in (0, 1)]

    both = added(totals_of(SITES, parts[0]), totals_of(SITES, parts[1]))

    for name, column in vars(totals_of(SITES, whole)).items():
        np.testing.assert_array_equal(getattr(both, name), column)


def test_totals_of_count_degrees_and_leave_what_does_not_apply_at_0() -> None:
    totals = totals_of(SITES, square().requests)
    assert totals.requests.tolist() == [2, 1, 2, 1, 0]
    assert totals.wavefronts.tolist() == [2, 32, 0, 0, 0]
    assert totals.ideal.tolist() == [2, 1, 0, 0, 0]
    assert totals.sectors.tolist() == [0, 0, 8, 0, 0]
    assert totals.degrees.shape == (5, 33)
    assert np.argwhere(totals.degrees).tolist() == [[0, 1], [1, 32]]
    assert all(column.dtype == np.int64 for column in vars(totals).values())


def test_a_summary_holds_plain_numbers() -> None:
    assert {type(value) for row in summarize(square()) for value in astuple(row)} <= {int, bool, str, type(None)}
