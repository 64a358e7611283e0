"""How the present request is served: every lane with its words, banks and wavefronts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smemviz.i18n import _
from smemviz.model.counting.service import serve
from smemviz.model.hardware.hardware import H200, Hardware, shared_rule
from smemviz.model.hardware.operations import unpredictable
from smemviz.model.playback.request_view import RequestView
from smemviz.recordings.data import Launch
from smemviz.recordings.vocabulary import MATRICES

_WIDEST = 16  # bytes, of which every width of a bank is a divisor


@dataclass(frozen=True)
class BankLayout:
    """Where a byte lies: ``banks`` banks of ``width`` bytes; rows and words are counted from byte ``origin``."""

    banks: int
    width: int
    origin: int

    def word(self, address: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the word that a byte belongs to."""
        return (address - self.origin) // self.width

    def bank(self, address: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the bank of the word that a byte belongs to."""
        return self.word(address) % self.banks


def bank_layout(launch: Launch, hardware: Hardware = H200, banks: int | None = None) -> BankLayout:
    """Lay out the shared memory of a launch, counted from the row of banks its first array starts in.

    With a number of banks other than the hardware's it is a drawing, and the first array starts in bank 0.
    """
    first = min((array.address for array in launch.shared_arrays), default=0)
    real = hardware.banks
    if banks is None or banks == real:
        return BankLayout(real, hardware.bank_bytes, first - first % (real * hardware.bank_bytes))
    return BankLayout(banks, hardware.bank_bytes, first)


@dataclass(frozen=True)
class BankService:
    """One request on shared memory, a row per lane and word it touches, in order of lanes; else no rows.

    ``address`` is the byte the row starts at, ``wavefront`` counts from 0 over the whole request, -1 where the
    addresses alone do not tell it. Rows of one ``phase`` are served together; ``conflict`` marks a row whose bank has
    other rows to serve in the same phase. ``reason`` says why there are no wavefronts.
    """

    width: int
    lane: NDArray[np.int64]
    address: NDArray[np.int64]
    word: NDArray[np.int64]
    bank: NDArray[np.int64]
    wavefront: NDArray[np.int64]
    phase: NDArray[np.int64]
    conflict: NDArray[np.bool_]
    reason: str | None = None

    def lanes(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return each active lane once: lane, the byte it starts at, whether any of its words is in conflict."""
        lane, first = np.unique(self.lane, return_index=True)
        conflict = np.zeros(len(lane), bool)
        np.logical_or.at(conflict, np.searchsorted(lane, self.lane), self.conflict)
        return lane, self.address[first], conflict

    def cells(self) -> Iterator[tuple[int, int, list[int], list[int]]]:
        """Yield every wavefront and bank that serve somebody, in order, with the lanes and the word of each."""
        for wavefront, bank in np.unique(np.stack([self.wavefront, self.bank]), axis=1).T.tolist():
            here = (self.wavefront == wavefront) & (self.bank == bank)
            yield wavefront, bank, self.lane[here].tolist(), self.word[here].tolist()

    @property
    def wavefronts(self) -> int:
        """How many wavefronts serve the request."""
        return int(self.wavefront.max(initial=-1)) + 1


def bank_service(now: RequestView, where: BankLayout, hardware: Hardware = H200) -> BankService:
    """Serve the present request; one on global memory, or none, gives no rows."""
    site = now.site
    if site is None or not site.is_shared:
        none = np.zeros(0, np.int64)
        return BankService(1, none, none, none, none, none, none, none.astype(bool))
    reason = unpredictable(site.op, site.dtype, hardware.cc)
    why = None if reason is None else _(reason)
    return serve_lanes(now.launch.requests.addresses[now.row], site.width, site.op, where, hardware, why)


def serve_lanes(
    addresses: NDArray[np.int64],
    width: int,
    op: str,
    where: BankLayout,
    hardware: Hardware = H200,
    reason: str | None = None,
) -> BankService:
    """Serve a request of (32,) byte addresses, -1 for a lane that is off; ``reason`` says why it cannot be told.

    In a drawing with fewer banks than lanes, as many lanes are served together as there are banks for, or else lanes
    would wait for each other in every layout.
    """
    words = max(1, width // where.width)
    looked_at = MATRICES[op] * 8 if op in MATRICES else len(addresses)
    lane = np.repeat(np.flatnonzero(addresses[:looked_at] >= 0), words)
    piece = np.tile(np.arange(words), len(lane) // words)
    address = addresses[lane] + piece * where.width
    word, bank = where.word(address), where.bank(address)
    if reason is not None:
        unknown = np.full(len(lane), -1)
        together, calm = np.zeros(len(lane), np.int64), np.zeros(len(lane), bool)
        return BankService(width, lane, address, word, bank, unknown, together, calm, reason)
    rule = shared_rule(width, op, hardware)
    if where.banks != rule.banks:
        lanes = min(rule.phase_lanes, max(1, where.banks // rule.phase_words))
        merges = rule.merges and lanes == rule.phase_lanes
        rule = rule._replace(banks=where.banks, row_shift=rule.word_shift, phase_lanes=lanes, merges=merges)
    # An index out of bounds may lie before the first array: whole rows of any bank mode change no bank.
    row = where.banks * _WIDEST
    origin = where.origin - -(-max(where.origin - int(address.min(initial=where.origin)), 0) // row) * row
    service = serve(np.where(addresses >= 0, addresses - origin, -1), rule, assign=True)
    wavefront = service.assignment[lane, piece]
    phase = lane // rule.phase_lanes * words + piece // rule.phase_words
    if service.ideal < len(np.unique(phase)):  # the phases of a wide load were served two by two
        phase = lane // (2 * rule.phase_lanes)
    crowded = _crowded(phase, bank, wavefront, where.banks)
    return BankService(width, lane, address, word, bank, wavefront, phase, crowded)


def _crowded(
    phase: NDArray[np.int64], bank: NDArray[np.int64], wavefront: NDArray[np.int64], banks: int
) -> NDArray[np.bool_]:
    """Tell which rows share their phase and bank with a row of another wavefront."""
    place, inverse = np.unique(phase * banks + bank, return_inverse=True)
    first = np.full(len(place), np.iinfo(np.int64).max)
    last = np.full(len(place), -1)
    np.minimum.at(first, inverse, wavefront)
    np.maximum.at(last, inverse, wavefront)
    return (last > first)[inverse]
