"""The compiled loop over requests; the only module of the model that imports Numba, so import it late."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from smemviz.model.hardware.rules import Rule

MISTAKE = -1

_SLOTS = 512  # of a hash table that holds the words of a phase: at most 4 for each lane of a warp

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
def serve_rows(
    rows: NDArray[np.int64],
    rule: Rule,
    wavefronts: NDArray[np.int64],
    ideal: NDArray[np.int64],
    degree: NDArray[np.int64],
    assignment: NDArray[np.int64],
) -> None:
    """Serve each row of 32 addresses, phase by phase, and fill in what it took.

    A row with a negative or misaligned address gets ``MISTAKE`` wavefronts. ``assignment`` is (n, 32, words) filled
    with -1, or empty when nobody asks for it. A wavefront that a phase takes more has, by convention, the second half
    of what its last lanes ask for.
    """
    power_of_two = rule.banks & (rule.banks - 1) == 0  # a division is slow, and only a drawing needs it
    keep = assignment.size > 0
    keys = np.zeros(_SLOTS, np.int64)
    phase_of = np.zeros(_SLOTS, np.int64)
    turn = np.zeros(_SLOTS, np.int64)
    queue = np.zeros(rule.banks, np.int64)
    phase = 0
    for r in range(rows.shape[0]):
        row = rows[r]
        lowest = 0
        bits = 0
        for lane in range(rule.lanes):
            lowest = min(lowest, row[lane])
            bits |= max(0, row[lane])
        if lowest < -1 or bits & (rule.width - 1):
            wavefronts[r] = MISTAKE
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
                for lane in range(first_lane, min(first_lane + lanes, rule.lanes)):
                    first = row[lane]
                    if first < 0:
                        continue
                    for word in range(first_word, first_word + rule.phase_words):
                        address = first + (word << rule.word_shift)
                        bank = address >> rule.word_shift
                        bank = bank & (rule.banks - 1) if power_of_two else bank % rule.banks
                        key = (address >> rule.row_shift) * rule.banks + bank
                        slot = ((key * 0x9E3779B1) >> 16) & (_SLOTS - 1)
                        new = True
                        if rule.shares:
                            while phase_of[slot] == phase:
                                if keys[slot] == key:
                                    new = False
                                    break
                                slot = (slot + 1) & (_SLOTS - 1)
                        if new:
                            keys[slot] = key
                            phase_of[slot] = phase
                            turn[slot] = queue[bank]
                            queue[bank] += 1
                            longest = max(longest, queue[bank])
                        if keep:
                            assignment[r, lane, word] = total + turn[slot]
                if longest == 0:
                    continue
                if keep and rule.more_ways:
                    last = total + longest - 1
                    for lane in range(first_lane, first_lane + lanes):
                        for word in range(rule.words // 2, rule.words):
                            if assignment[r, lane, word] == last:
                                assignment[r, lane, word] += rule.more_ways
                longest += rule.more_ways
                total += longest
                most = max(most, longest)
                phases += 1 + rule.more_ways
        wavefronts[r] = total
        ideal[r] = phases
        degree[r] = most
