"""The compiled loop over requests; the only module of the model that imports Numba, so import it late."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from smemviz.model.rules import Rule

NEGATIVE = -1
MISALIGNED = -2

_SLOTS = 256  # of a hash table that holds the at most 64 words of a phase

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile without holding the GIL, and keep the machine code on disk where there is a place for it.

    Threads of our own then do what ``parallel=True`` would at a fifth of the compile time, and without its
    thread pool, which must not be entered from two threads of a web server at once.
    """
    try:
        return cast(F, numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:  # neither the package's directory nor the user's cache can be written
        return cast(F, numba.njit(nogil=True)(function))


@compiled
def _lanes_pair_up(row: NDArray[np.int64], distance: int) -> bool:
    """Whether every active lane has an inactive partner at ``lane ^ distance``, or one with its address."""
    for lane in range(32):
        address = row[lane]
        partner = row[lane ^ distance]
        if address >= 0 and partner >= 0 and address != partner:
            return False
    return True


@compiled
def _mistake(row: NDArray[np.int64], rule: Rule) -> int:
    """Return 0, or which mistake is in the addresses of one request."""
    mistake = 0
    for lane in range(rule.lanes):
        address = row[lane]
        if address < -1:
            mistake = NEGATIVE
        elif address >= 0 and address & (rule.width - 1):
            mistake = MISALIGNED
    return mistake


@compiled
def serve_rows(
    rows: NDArray[np.int64],
    rule: Rule,
    wavefronts: NDArray[np.int64],
    ideal: NDArray[np.int64],
    degree: NDArray[np.int64],
    assignment: NDArray[np.int64],
) -> None:
    """Serve each row of 32 addresses, phase by phase, and fill in what it took.

    A row with a mistake gets its (negative) number as wavefronts. ``assignment`` is (n, 32, words) filled with -1, or
    empty when nobody asks for it.
    """
    keep = assignment.size > 0
    keys = np.zeros(_SLOTS, np.int64)
    phase_of = np.zeros(_SLOTS, np.int64)
    turn = np.zeros(_SLOTS, np.int64)
    queue = np.zeros(rule.banks, np.int64)
    phase = 0
    for r in range(rows.shape[0]):
        row = rows[r]
        mistake = _mistake(row, rule)
        if mistake != 0:
            wavefronts[r] = mistake
            continue
        lanes = rule.phase_lanes
        if rule.merges and (_lanes_pair_up(row, 1) or _lanes_pair_up(row, 2)):
            lanes *= 2
        total = 0
        phases = 0
        most = 0
        for first_word in range(0, rule.words, rule.phase_words):
            for first_lane in range(0, rule.lanes, lanes):
                phase += 1
                queue[:] = 0
                longest = 0
                for lane in range(first_lane, first_lane + lanes):
                    if row[lane] < 0:
                        continue
                    for word in range(first_word, first_word + rule.phase_words):
                        address = row[lane] + (word << rule.word_shift)
                        bank = (address >> rule.word_shift) % rule.banks
                        key = (address >> rule.row_shift) * rule.banks + bank
                        slot = ((key * 0x9E3779B1) >> 16) & (_SLOTS - 1)
                        waiting = False
                        while rule.shares and not waiting and phase_of[slot] == phase:
                            if keys[slot] == key:
                                waiting = True
                            else:
                                slot = (slot + 1) & (_SLOTS - 1)
                        if not waiting:
                            keys[slot] = key
                            phase_of[slot] = phase
                            turn[slot] = queue[bank]
                            queue[bank] += 1
                            longest = max(longest, queue[bank])
                        if keep:
                            assignment[r, lane, word] = total + turn[slot]
                total += longest
                most = max(most, longest)
                phases += longest > 0
        wavefronts[r] = total
        ideal[r] = phases
        degree[r] = most
