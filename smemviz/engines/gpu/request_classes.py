"""What a request can cost, as one number: its class. A launch is counted as how many requests each site had of each.

The class of a global request is its sectors. That of a shared request is its degree where that tells everything: all
lanes are served as one group, so that there are as many wavefronts and one is ideal. Where a warp is served in several
groups the class holds ideal, degree and wavefronts, ``(ideal * 33 + degree) * 33 + wavefronts``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smemviz.model.counting.summary import TOTALS_FOR, totals_of
from smemviz.model.hardware.hardware import Hardware, rule_of
from smemviz.recordings.data import WARP_SIZE, Requests, Site, Totals

DEGREES = WAVEFRONTS = WARP_SIZE + 1  # 0 to 32 of each
_IDEALS = WARP_SIZE // min(TOTALS_FOR.row.phases.values()) + 1  # 0 to 4 groups

# Warps of one class meet at one counter, so there are copies of it; as many as fit this, or one for this many warps.
_BYTES = 32 * 1024 * 1024
_COPIES = 1024


class ServedAs(NamedTuple):
    """How the device serves a shared request: the rule of the model in terms of what one lane asks for.

    That is a piece of ``piece_bytes`` that lies in one of ``places``: banks, or groups of neighbouring banks. ``lanes``
    are served together, twice as many where ``merges`` and they pair up. Lanes on one piece count once if ``shares``.
    """

    piece_bytes: int
    places: int
    lanes: int
    merges: bool
    shares: bool


def served_as(op: str, width: int, hardware: Hardware = TOTALS_FOR) -> ServedAs:
    """Return how requests are served, for hardware whose banks hold one word of a lane each."""
    rule = rule_of(hardware.row, width, op, hardware.bank_bytes)
    return ServedAs(rule.words << rule.word_shift, rule.banks // rule.words, rule.phase_lanes, rule.merges, rule.shares)


def in_groups(site: Site) -> bool:
    """Tell whether lanes of a warp may be served in several groups: 8 and 16 bytes, but not by atomics."""
    return site.is_shared and served_as(site.op, site.width).lanes < WARP_SIZE


def shape_of_counts(sites: Sequence[Site]) -> tuple[int, int, int]:
    """Return how many copies, sites and classes the counts of a launch have."""
    classes = _IDEALS * DEGREES * WAVEFRONTS if any(map(in_groups, sites)) else DEGREES
    copy_bytes = 8 * classes * max(len(sites), 1)
    return max(1, min(_COPIES, _BYTES // copy_bytes)), max(len(sites), 1), classes


def totals(sites: Sequence[Site], counts: NDArray[np.int64]) -> Totals:
    """Return the totals of counts that are shaped (copies, sites, classes)."""
    summed = totals_of(sites, Requests.empty())
    for i, (site, requests) in enumerate(zip(sites, counts.sum(axis=0), strict=False)):
        number = np.flatnonzero(requests)
        of_it = requests[number]
        summed.requests[i] = of_it.sum()
        if site.space == "global":
            summed.sectors[i] = of_it @ number
            continue
        ideal, degree, wavefronts = np.ones_like(number), number, number
        if in_groups(site):
            ideal, degree = np.divmod(number // WAVEFRONTS, DEGREES)
            wavefronts = number % WAVEFRONTS
        summed.wavefronts[i] = of_it @ wavefronts
        summed.ideal[i] = of_it @ ideal
        np.add.at(summed.degrees[i], degree, of_it)
    return summed
