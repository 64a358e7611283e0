"""One request in the life of a block: which is shown, what came before it, and which bank serves whom when.

The log says what each warp did in turn, not how the warps took turns. Between two barriers any order is one the
hardware could have chosen; shown is one step of every warp after the other. The request that wastes the most is shown
first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from smemviz.i18n import _
from smemviz.languages import PYTHON, Spelling, spelling_of
from smemviz.model.counting.costs import excess_at
from smemviz.model.counting.service import serve
from smemviz.model.hardware.hardware import H200, Hardware, shared_rule
from smemviz.model.hardware.operations import unpredictable
from smemviz.recordings.data import ArrayInfo, Launch, Site
from smemviz.recordings.recording import Recording
from smemviz.recordings.vocabulary import MATRICES


@dataclass(frozen=True)
class RequestView:
    """One block of a launch, ``rows`` its requests in playback order, ``position`` the one being served.

    ``position`` is -1 when the block logged no request; ``spelling`` is how the kernel's language writes elements.
    """

    launch: Launch
    block: int
    rows: NDArray[np.intp]
    position: int
    spelling: Spelling = PYTHON.spelling

    def spelled(self, recording: Recording) -> RequestView:
        """Return it with elements written as the file of its kernel writes them."""
        return replace(self, spelling=spelling_of(recording.file_of(self.launch)))

    @property
    def row(self) -> int | None:
        """The row, in the launch's requests, of the request being served."""
        return int(self.rows[self.position]) if self.position >= 0 else None

    @property
    def site(self) -> Site | None:
        """The site that makes the request being served."""
        return None if self.row is None else self.launch.sites[self.launch.requests.site[self.row]]

    @property
    def past(self) -> NDArray[np.intp]:
        """The rows of what has been served, the present request included."""
        return self.rows[: self.position + 1]


def blocks(launch: Launch) -> list[int]:
    """Return the linear indices of the blocks whose requests are logged."""
    return [int(block) for block in np.unique(launch.requests.block)]


def playback_order(launch: Launch, block: int) -> NDArray[np.intp]:
    """Return the rows of a block's requests ordered by epoch, step and warp."""
    requests = launch.requests
    rows = np.flatnonzero(requests.block == block)
    order = np.lexsort((requests.warp[rows], requests.step[rows], requests.epoch[rows]))
    return rows[order]


def request_view(
    launch: Launch,
    block: int | None = None,
    warp: int | None = None,
    step: int | None = None,
    site: int | None = None,
) -> RequestView:
    """Find the request that is meant; what does not exist (any more) gives way, the last named last.

    A warp and step name a request. Without a step it is the first request of the warp at the site, without a warp
    the first one at the site, and without a site the first request of the block.
    """
    logged = blocks(launch)
    if not logged:
        return RequestView(launch, 0, np.zeros(0, np.intp), -1)
    chosen = block if block in logged else logged[0]
    rows = playback_order(launch, chosen)
    requests = launch.requests
    at_site = requests.site[rows] == site if site is not None else np.ones(len(rows), bool)
    of_warp = requests.warp[rows] == warp
    at_step = requests.step[rows] == step
    for match in (at_site & of_warp & at_step, at_site & of_warp, at_site, of_warp & at_step, of_warp):
        if match.any():
            return RequestView(launch, chosen, rows, int(np.argmax(match)))
    return RequestView(launch, chosen, rows, 0)


@dataclass(frozen=True)
class Contents:
    """What the elements of a shared array hold: value, and the thread (linear in its block) that stored it.

    Both have one entry per element, in the order of ``element_addresses``; NaN and -1 where nothing was stored.
    """

    values: NDArray[np.float64]
    threads: NDArray[np.int64]


def element_addresses(array: ArrayInfo) -> NDArray[np.int64]:
    """Return the byte address of every element, in row-major order of the indices."""
    offsets = np.zeros((), np.int64)
    for size, stride in zip(array.shape, array.strides, strict=True):
        offsets = offsets[..., np.newaxis] + np.arange(size, dtype=np.int64) * stride
    return array.address + offsets.ravel()


def contents(now: RequestView, array: ArrayInfo) -> Contents:
    """Replay the stores up to and including the present request; the last one to an element stays."""
    requests = now.launch.requests
    addresses = element_addresses(array)
    values = np.full(len(addresses), np.nan)
    threads = np.full(len(addresses), -1, np.int64)
    rows = now.past
    stored = ~np.isnan(requests.values[rows])
    which, lane = np.nonzero(stored)
    target = requests.addresses[rows][which, lane]
    order = np.argsort(addresses, kind="stable")
    place = np.searchsorted(addresses, target, sorter=order)
    place = order[np.minimum(place, len(order) - 1)]
    hit = addresses[place] == target
    values[place[hit]] = requests.values[rows][which, lane][hit]
    threads[place[hit]] = (requests.warp[rows][which].astype(np.int64) * 32 + lane)[hit]
    return Contents(values, threads)


def worst_request(
    launch: Launch, hardware: Hardware = H200, block: int | None = None, site: int | None = None
) -> RequestView:
    """Return the first request with the most excess, of the launch, of one of its blocks, or of one of its sites.

    Without any excess it is the first request on shared memory at the site whose lanes lie farthest apart, which is
    where a pad or a swizzle does its work; in a launch that uses none, the first with the most sectors beyond those
    that would do.
    """
    row, most = None, 0
    space = "shared" if launch.sites_in("shared") else "global"
    looked_at = np.ones(len(launch.requests), bool) if block is None else launch.requests.block == block
    for i, candidate in enumerate(launch.sites):
        rows = np.flatnonzero(looked_at & (launch.requests.site == i))
        if (candidate.space == space if site is None else i == site) and len(rows):
            excess = excess_at(candidate, launch.requests.addresses[rows], hardware)
            if excess.max() > most:
                row, most = int(rows[np.argmax(excess)]), int(excess.max())
    if row is None:
        return request_view(launch, block, site=_widest(launch, looked_at) if site is None else site)
    requests = launch.requests
    return request_view(
        launch, int(requests.block[row]), int(requests.warp[row]), int(requests.step[row]), int(requests.site[row])
    )


def _widest(launch: Launch, looked_at: NDArray[np.bool_]) -> int | None:
    """Return the shared site with the request whose lanes lie farthest apart, the first of those that are equal."""
    widest, most = None, -1
    for i in launch.sites_in("shared"):
        addresses = launch.requests.addresses[looked_at & (launch.requests.site == i)]
        on = addresses >= 0  # -1 is a lane that is off
        lowest = np.where(on, addresses, np.iinfo(np.int64).max).min(axis=1)
        apart = int(np.where(on.any(axis=1), addresses.max(axis=1) - lowest, 0).max(initial=0))
        if apart > most:
            widest, most = i, apart
    return widest


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
