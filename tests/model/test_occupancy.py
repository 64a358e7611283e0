"""Blocks per multiprocessor, against NVIDIA's own figures."""

from __future__ import annotations

import pytest

from smemviz.errors import InputError
from smemviz.model.hardware.compute_capability import KIB, ComputeCapability, blocks_per_multiprocessor, known


@pytest.mark.parametrize(
    ("shared_bytes", "cc", "threads", "blocks"),
    [
        (0, (9, 0), None, 32),
        (0, (9, 0), 1024, 2),
        (0, (9, 0), 33, 32),
        (0, (8, 6), 65, 16),
        (0, (8, 6), 97, 12),  # 4 warps of 48
        # 228 KiB, and 1 KiB is reserved in each block from 8.0 on.
        (227 * KIB, (9, 0), None, 1),
        (113 * KIB, (9, 0), None, 2),
        (113 * KIB + 1, (9, 0), None, 1),
        (37 * KIB, (9, 0), None, 6),
        (38 * KIB, (9, 0), None, 5),
        (227 * KIB + 1, (9, 0), None, 0),
        (100 * KIB, (8, 6), None, 0),
        (32 * KIB, (7, 0), None, 3),
        (32 * KIB + 1, (7, 0), None, 2),
        (16 * KIB, (7, 0), None, 6),
        (64 * KIB, (7, 5), None, 1),
        (48 * KIB, (3, 5), None, 1),
        (49 * KIB, (3, 7), None, 0),
        (32 * KIB, (3, 7), None, 3),
        (4 * KIB, (1, 0), 256, 3),
    ],
)
def test_as_many_blocks_fit_as_their_memory_and_threads_let(
    shared_bytes: int, cc: tuple[int, int], threads: int | None, blocks: int
) -> None:
    assert blocks_per_multiprocessor(shared_bytes, cc, threads) == blocks


def test_a_pad_can_cost_a_block() -> None:
    # 64 x 64 floats are 16 KiB; 17 KiB with what is reserved, of which 13 go into 228. A pad of 1 makes it 12.
    assert blocks_per_multiprocessor(64 * 64 * 4, (9, 0)) == 13
    assert blocks_per_multiprocessor(64 * 65 * 4, (9, 0)) == 13
    assert blocks_per_multiprocessor(64 * 69 * 4, (9, 0)) == 12


@pytest.mark.parametrize("row", known(), ids=lambda row: row.name)
def test_every_part_has_a_multiprocessor_that_takes_its_largest_block(row: ComputeCapability) -> None:
    found = row.multiprocessor
    assert found.shared_bytes >= row.opt_in_shared + row.reserved_shared
    assert blocks_per_multiprocessor(row.opt_in_shared, row.cc, row.max_threads) >= 1


def test_a_block_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="a block has 1 to 1024 threads, not 1025"):
        blocks_per_multiprocessor(0, (9, 0), 1025)
    with pytest.raises(InputError, match="a block cannot have -4 bytes"):
        blocks_per_multiprocessor(-4, (9, 0))
    with pytest.raises(InputError, match="is not in the table"):
        blocks_per_multiprocessor(0, (4, 0))
