"""Access patterns that tell one rule of shared memory from another; pure arrays, no GPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smemviz.recordings.data import WARP_SIZE

ROW_BYTES = 128
WINDOW_BYTES = 32 * 1024
LANES = np.arange(WARP_SIZE)


@dataclass(frozen=True)
class Pattern:
    """One request: what it asks, the operation, its width in bytes, and 32 byte offsets, -1 for a lane that is off."""

    asks: str
    op: str
    width: int
    addresses: NDArray[np.int64]


def strides(op: str, width: int) -> list[Pattern]:
    """Return degrees 1, 2, 4, 8, 16 and 32 of one operation: lanes a power of two of elements apart."""
    steps = [1 << k for k in range(6)]
    return [Pattern(f"stride {step}", op, width, LANES * max(width, 4) * step % WINDOW_BYTES) for step in steps]


def bank_search() -> list[Pattern]:
    """Return 4-byte loads with lanes 1 to 64 words apart; the first stride of the highest cost is the bank count."""
    return [Pattern(f"stride {step}", "load", 4, LANES * 4 * step) for step in range(1, 65)]


def bank_width_search() -> list[Pattern]:
    """Return byte loads with lanes a row and 0 to 8 bytes apart; the first that costs one wavefront is a bank wide."""
    return [Pattern(f"row + {extra}", "load", 1, LANES * (ROW_BYTES + extra)) for extra in range(9)]


def phase_search(op: str, width: int) -> list[Pattern]:
    """Return a request whose lane 0 has its banks to itself, then one for each other lane that wants them too.

    That costs a wavefront more when the two lanes are served in the same phase. All other lanes share one word.
    """
    shared = np.full(WARP_SIZE, ROW_BYTES // 2)
    shared[0] = 0
    patterns = [Pattern("lane 0 alone", op, width, shared)]
    for other in range(1, WARP_SIZE):
        addresses = shared.copy()
        addresses[other] = 8 * ROW_BYTES
        patterns.append(Pattern(f"lane {other} against lane 0", op, width, addresses))
    return patterns


def merge_search(op: str, width: int) -> list[Pattern]:
    """Return requests whose lanes pair up with the lane 1 or 2 away, over the whole warp or half and half."""
    by_one, by_two = LANES // 2, (LANES // 4) * 2 + LANES % 2
    half = np.where(LANES < WARP_SIZE // 2, by_one, by_two)
    even, some = np.where(LANES % 2, -1, LANES), np.where(LANES % 4 < 2, LANES, -1)
    kinds = {
        "pairs ^1": by_one,
        "pairs ^2": by_two,
        "^1 and ^2 by halves": half,
        "even lanes": even,
        "lanes 0, 1 of 4": some,
    }
    return [Pattern(name, op, width, np.where(units < 0, -1, units * width)) for name, units in kinds.items()]


def random_requests(op: str, width: int, count: int) -> list[Pattern]:
    """Return requests of every kind of disorder: few or many rows, shared words, lanes off; the same each time."""
    random = np.random.default_rng(width * 1000 + len(op))
    patterns = []
    for index in range(count):
        units = random.integers(0, [8, 64, 512, WINDOW_BYTES // width][index % 4], WARP_SIZE)
        off = random.random(WARP_SIZE) < [0.0, 0.0, 0.3][index % 3]
        off[random.integers(WARP_SIZE)] = False
        patterns.append(Pattern(f"random {index}", op, width, np.where(off, -1, units * width)))
    return patterns
