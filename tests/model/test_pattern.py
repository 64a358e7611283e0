"""Patterns are recovered from addresses made by a known one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smemviz.model.counting.pattern import Level, Pattern, find_patterns, index_steps
from smemviz.recordings.data import ArrayInfo

LANES = np.arange(32)


def pattern_of(offsets):
    """Return the pattern of one request."""
    found = find_patterns(np.array([offsets], np.int64))
    assert found.which.tolist() == [0]
    return found.patterns[0]


def test_a_known_pattern_is_recovered():
    for offsets, pattern in [
        (4 * LANES, Pattern("stride", (Level(32, 4),))),
        (128 * LANES + 12, Pattern("stride", (Level(32, 128),))),
        (4 * (31 - LANES), Pattern("stride", (Level(32, -4),))),
        (np.full(32, 20), Pattern("one element", (Level(32, 0),))),
        (4 * (LANES // 4), Pattern("groups", (Level(4, 0), Level(8, 4)))),
        (4 * (LANES % 16), Pattern("groups", (Level(16, 4), Level(2, 0)))),
        # kernels/rectangle.py, set_row_read_col: a block of 32 x 16, read by columns of a 16 x 32 tile
        (128 * (LANES % 16) + 4 * (LANES // 16), Pattern("groups", (Level(16, 128), Level(2, 4)))),
        # kernels/transpose.py, swizzled_tile: held[ty, tx ^ ty] and held[tx, ty ^ tx], here for ty = 5
        (4 * (LANES ^ 5), Pattern("xor")),
        (128 * LANES + 4 * (LANES ^ 5), Pattern("xor")),
        (4 * np.random.default_rng(1).integers(0, 256, 32), Pattern("irregular")),
        (4 * LANES**2, Pattern("irregular")),
        # kernels/square.py with BDIMX = 24, set_row_read_col: a warp goes down one column and into the next
        (96 * (LANES % 24) + 4 * (LANES // 24), Pattern("irregular")),
        (np.where(LANES == 9, 64, -1), Pattern("one lane")),
        (np.where(LANES < 16, 8 * LANES, -1), Pattern("stride", (Level(32, 8),))),
        # kernels/reduce.py, neighbours_by_spread_threads with step 2: lanes 0, 4, 8, ... load held[t]
        (np.where(LANES % 4 == 0, 4 * LANES, -1), Pattern("stride", (Level(32, 16),), 4)),
        # Lanes at uneven distances keep their own stride.
        (np.where(np.isin(LANES, [0, 1, 2, 3, 5, 8, 13, 21]), 4 * LANES, -1), Pattern("stride", (Level(32, 4),), 0)),
    ]:
        assert pattern_of(offsets) == pattern


def test_each_request_is_told_its_own_pattern():
    found = find_patterns(np.stack([4 * LANES, 8 * LANES, 4 * LANES + 400]))
    assert [found.patterns[i] for i in found.which] == [
        Pattern("stride", (Level(32, 4),)),
        Pattern("stride", (Level(32, 8),)),
        Pattern("stride", (Level(32, 4),)),
    ]


def test_no_request_has_no_pattern():
    found = find_patterns(np.zeros((0, 32), np.int64))
    assert found.patterns == ()
    assert len(found.which) == 0


@given(
    stride=st.integers(-300, 300).filter(bool),
    spacing=st.integers(1, 8),
    start=st.integers(0, 7),
    active=st.integers(2, 32),
)
def test_any_stride_is_recovered_from_any_evenly_spaced_lanes(stride, spacing, start, active):
    lanes = (start + spacing * np.arange(active))[start + spacing * np.arange(active) < 32]
    offsets = np.full(32, -1)
    offsets[lanes] = 9600 + stride * np.arange(len(lanes))
    expected = Pattern("stride", (Level(32, stride),), spacing) if len(lanes) > 1 else Pattern("one lane")
    assert pattern_of(offsets) == expected


@given(inner=st.integers(-99, 99), outer=st.integers(-99, 99), bits=st.integers(1, 4))
def test_any_two_strides_are_recovered(inner, outer, bits):
    lanes = 1 << bits
    offsets = 10_000 + inner * (LANES % lanes) + outer * (LANES // lanes)
    found = pattern_of(offsets)
    if outer == lanes * inner:
        assert found == Pattern("stride" if inner else "one element", (Level(32, inner),))
    else:
        assert found == Pattern("groups", (Level(lanes, inner), Level(32 // lanes, outer)))


def test_neighbours_step_through_the_indices():
    for pitch, offsets, steps in [
        (33, 132 * LANES + 8, (1, 0)),
        (33, 4 * LANES, (0, 1)),
        (33, 136 * LANES, (1, 1)),
        (16, 4 * LANES, None),  # lanes wrap into the next row
        (16, np.where(LANES == 3, 64, -1), None),  # one lane takes no step
    ]:
        tile = ArrayInfo("tile", "shared", (32, pitch), (4 * pitch, 4), "int32", 1024, 1)
        assert index_steps(tile, offsets) == steps
