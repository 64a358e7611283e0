"""The loops over requests, as Python runs them; ``jit`` compiles the same.

On arrays of Python's integers where numbers may grow.
"""

import numpy as np
from numpy.typing import NDArray

from smemviz.model.hardware.hardware import Rule

MISTAKE = -1
PATTERNS = 64  # rows that are remembered, as most requests are like one before that lies elsewhere

_SLOTS = 512  # of a hash table that holds the words of a phase: at most 4 for each lane of a warp
_NEW_ROWS = 64  # rows in vain, more than not, before none is kept any more


def lanes_pair_up(row: NDArray[np.int64], distance: int) -> bool:
    """Whether every active lane has an inactive partner at ``lane ^ distance``, or one with its address."""
    for lane in range(32):
        address = row[lane]
        partner = row[lane ^ distance]
        if address >= 0 and partner >= 0 and address != partner:
            return False
    return True


def first_active(row: NDArray[np.int64]) -> int:
    """Return the address of the first lane that is on, -1 where all are off."""
    for lane in range(32):
        if row[lane] >= 0:
            return int(row[lane])
    return -1


def slot_of(row: NDArray[np.int64], start: int, unit: int) -> int:
    """Return where a row would be kept, the same for one that lies as far from whole units elsewhere."""
    slot = start & ((1 << unit) - 1)
    for lane in (1, 7, 31):
        if row[lane] >= 0:
            slot = 5 * slot + row[lane] - start
    return int((slot ^ slot >> 5) & (PATTERNS - 1))


def is_moved(row: NDArray[np.int64], known: NDArray[np.int64], by: int, lanes: int) -> bool:
    """Whether a row is another one, all of whose addresses are so much higher."""
    other = 0
    for lane in range(lanes):  # without a way out, so that it becomes vector code
        a, b = row[lane], known[lane]
        other |= (a - b != by) | ((a ^ b) < 0) if (a & b) >= 0 else 0
    return other == 0


def unit_of(rule: Rule) -> int:
    """Return the power of two of the bytes that a request may move by and cost the same."""
    return rule.word_shift if (rule.banks << rule.word_shift) == (1 << rule.row_shift) else rule.row_shift


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

    A row that is one of those remembered, moved by whole words, takes as much: every bank becomes another. Where words
    of several rows of banks are served together it has to be moved by as much as these.
    """
    power_of_two = rule.banks & (rule.banks - 1) == 0  # a division is slow, and only a drawing needs it
    keep = assignment.size > 0
    known = np.zeros((PATTERNS, 32), np.int64)
    known_first = np.full(PATTERNS, -1, np.int64)
    known_at = np.zeros(PATTERNS, np.int64)
    memory = _NEW_ROWS if power_of_two and not keep else 0
    unit = unit_of(rule)
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
        start = first_active(row)
        if memory > 0 and start >= 0:
            slot = slot_of(row, start, unit)
            by = start - known_first[slot]
            if known_first[slot] >= 0 and by & ((1 << unit) - 1) == 0 and is_moved(row, known[slot], by, rule.lanes):
                at = known_at[slot]
                wavefronts[r], ideal[r], degree[r] = wavefronts[at], ideal[at], degree[at]
                memory = min(memory + 1, _NEW_ROWS)
                continue
            known_first[slot] = start
            known_at[slot] = r
            for lane in range(32):  # as one assignment it takes three seconds longer to compile
                known[slot, lane] = row[lane]
            memory -= 1
        lanes = rule.phase_lanes
        if rule.merges and (lanes_pair_up(row, 1) or lanes_pair_up(row, 2)):
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
