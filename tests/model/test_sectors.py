"""Sectors of global memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemviz.errors import InputError
from smemviz.model.counting.service import bytes_used, sectors
from smemviz.recordings.data import SECTOR_BYTES

LANE = np.arange(32)


@pytest.mark.parametrize(("width", "best"), [(1, 1), (2, 2), (4, 4), (8, 8), (16, 16)])
def test_a_full_warp_side_by_side_moves_no_more_than_it_uses(width: int, best: int) -> None:
    assert sectors(LANE * width, width) == best
    assert bytes_used(LANE * width, width) == best * SECTOR_BYTES


def test_a_column_moves_a_sector_for_every_lane() -> None:
    assert sectors(LANE * 128, 4) == 32
    assert bytes_used(LANE * 128, 4) == 128


def test_a_shifted_warp_moves_one_more() -> None:
    assert sectors(LANE * 4 + 4, 4) == 5


def test_a_broadcast_moves_one() -> None:
    assert sectors(np.full((2, 32), 4096), 4).tolist() == [1, 1]
    assert bytes_used(np.full(32, 4096), 4) == 4


def test_lanes_that_are_off_move_nothing() -> None:
    assert sectors(np.full(32, -1), 4) == 0
    assert sectors(np.where(LANE < 8, LANE * 4, -1), 4) == 1
    assert sectors(np.zeros((0, 32), int), 4).shape == (0,)


def test_device_addresses_are_not_cut_short() -> None:
    base = 0x7F_8000_0000
    assert sectors(base + LANE * (1 << 32), 4) == 32
    assert sectors(np.where(LANE % 2, base, base + (1 << 45)), 4) == 2


@given(st.sampled_from([1, 2, 4, 8, 16]), st.lists(st.integers(-1, 1 << 43), min_size=32, max_size=32))
def test_sectors_are_different_multiples_of_32(width: int, index: list[int]) -> None:
    addresses = [-1 if i < 0 else i * width for i in index]
    active = [a for a in addresses if a >= 0]
    assert sectors(addresses, width) == len({a // 32 for a in active})
    assert bytes_used(addresses, width) == len({a + i for a in active for i in range(width)})


@pytest.mark.parametrize(
    ("addresses", "width", "message"),
    [
        (LANE, 5, "a lane cannot access 5 bytes; the widths are 1, 2, 4, 8 and 16"),
        (LANE, 4, "lane 1: address 1 is not a multiple of 4, the width of the access"),
        (LANE - 5, 1, "lane 0: address -5 is negative; a lane that is off is -1"),
        (LANE[:8], 4, "addresses must have shape (..., 32), one per lane, not (8,)"),
    ],
)
def test_a_mistake_gets_one_clear_line(addresses: np.ndarray, width: int, message: str) -> None:
    for function in (sectors, bytes_used):
        with pytest.raises(InputError) as refusal:
            function(addresses, width)
        assert str(refusal.value) == message
