"""What a compiler may do to the accesses of a thread, done to the requests that were recorded.

Between two barriers no other thread may change what a thread has loaded or stored, so a load of the same element can
be answered from a register and a store that is overwritten can be left out, or both be made once for all lanes, outside
a loop or a branch; neighbouring elements that lie in one aligned piece of 8 or 16 bytes can be moved by one wide
instruction, and of an element no more is loaded than is used. A loop that is unrolled is gone through by other lanes
together, and lanes that come to one place by different ways need not wait for each other there. Met on an H200 with
ptxas 13.0, each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.model.hardware.operations import Effect, effect_of
from smemviz.recordings.data import Launch

_LOAD, _STORE, _ATOMIC = range(3)
_KIND: dict[Effect, int] = {"load": _LOAD, "store": _STORE, "update": _ATOMIC}
_HASH_SEED = 2**61 - 1


@dataclass(frozen=True)
class Avoidable:
    """Which requests of a launch a compiler may leave out, each (n,) bool, and why.

    ``stored`` and ``loaded``: since the last barrier every lane stored, or loaded, what it now loads; ``overwritten``:
    every lane stores there again before it loads; ``unread``: a store to a shared array that nothing loads.
    """

    stored: NDArray[np.bool_]
    loaded: NDArray[np.bool_]
    overwritten: NDArray[np.bool_]
    unread: NDArray[np.bool_]

    @property
    def any(self) -> NDArray[np.bool_]:
        """Whether a request may be left out for one reason or another."""
        return self.stored | self.loaded | self.overwritten | self.unread


@dataclass(frozen=True)
class Stream:
    """Requests of one width in order: ``addresses`` (n, 32) and ``era`` (n,), which warp between which barriers."""

    addresses: NDArray[np.int64]
    era: NDArray[np.int64]
    width: int

    def select(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> Stream:
        """Return some of the requests."""
        return Stream(self.addresses[rows], self.era[rows], self.width)

    def halves(self) -> Stream:
        """Return each request as two of half the width, as a complex number is two of its parts."""
        half = self.width // 2
        second = np.where(self.addresses >= 0, self.addresses + half, -1)
        both = np.stack([self.addresses, second], axis=1).reshape(-1, self.addresses.shape[1])
        return Stream(both, np.repeat(self.era, 2), half)


def stream(launch: Launch, rows: NDArray[np.intp], width: int) -> Stream:
    """Return rows of a launch's log as a stream."""
    return Stream(launch.requests.addresses[rows], _eras(launch)[rows], width)


def merge(accesses: Stream, wide: int) -> Iterator[Stream]:
    """Put neighbouring requests of a warp into wide ones wherever a whole aligned piece of ``wide`` bytes is accessed.

    What does not fill such a piece is tried at half of it, down to the requests as they were. Yields each width's.
    """
    if wide == accesses.width or not len(accesses.era):
        yield accesses
        return
    active = accesses.addresses >= 0
    leader = accesses.addresses[np.arange(len(active)), active.argmax(axis=1)]
    offset = leader % wide
    base = np.where(active, accesses.addresses - offset[:, None], -1)
    aligned = np.all((base % wide == 0) | ~active, axis=1)
    piece = np.unique(_hash(np.column_stack([accesses.era, base])), return_inverse=True)[1]
    # The same element of the same piece again belongs to the next wide request there.
    turn = _occurrence(piece * wide + offset)
    cluster = np.unique(np.column_stack([piece, turn]), axis=0, return_inverse=True)[1].ravel()
    full = aligned & (np.bincount(cluster[aligned], minlength=len(cluster))[cluster] == wide // accesses.width)
    _, first = np.unique(cluster[full], return_index=True)
    if len(first):
        yield Stream(base[full][first], accesses.era[full][first], wide)
    if not full.all():
        yield from merge(accesses.select(~full), wide // 2)


def joined(accesses: Stream) -> Stream | None:
    """Put what each lane accesses last between two barriers into one request of its warp.

    None where a lane accesses several places, or no request is saved.
    """
    eras, first, era = np.unique(accesses.era, return_index=True, return_inverse=True)
    if len(eras) == len(era):
        return None
    highest = np.full((len(eras), accesses.addresses.shape[1]), -1, np.int64)
    np.maximum.at(highest, era, accesses.addresses)
    if np.any((accesses.addresses >= 0) & (accesses.addresses != highest[era])):
        return None
    return Stream(highest, accesses.era[first], accesses.width)


def chosen(accesses: Stream) -> Stream:
    """Put requests one after the other together of which no lane makes two, as those of the sides of a choice."""
    active = accesses.addresses >= 0
    masks = [int(mask) for mask in (active << np.arange(active.shape[1])).sum(axis=1)]
    begins: list[int] = []
    taken = 0
    for row, mask in enumerate(masks):
        if mask & taken or not begins or accesses.era[row] != accesses.era[row - 1]:
            begins.append(row)
            taken = 0
        taken |= mask
    return Stream(np.maximum.reduceat(accesses.addresses, begins), accesses.era[begins], accesses.width)


def unrolled(accesses: Stream, times: int, peeled: int, rest_first: bool) -> Stream:
    """Put the rounds of loops together as they are where so many at a time are one text.

    Some may be ``peeled`` and go before those, and what is left of a lane's rounds is made before or after them: lanes
    that leave a loop after different numbers of rounds then make others together than in the loop as written.
    """
    active = accesses.addresses >= 0
    goes_on = (accesses.era[1:] == accesses.era[:-1]) & ~np.any(active[1:] & ~active[:-1], axis=1)
    begins = np.flatnonzero(np.concatenate([[True], ~goes_on]))
    loop = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(active))))
    row, lane = np.nonzero(active)
    rounds = np.add.reduceat(active.astype(np.int64), begins)[loop[row], lane]  # of each access, its lane's in the loop
    turn = row - begins[loop[row]] - peeled
    whole = np.maximum(rounds - peeled, 0) // times * times
    bound = rounds - peeled - whole if rest_first else whole
    part = np.where(turn < 0, 0, np.where(turn < bound, 1, 2))
    place = np.where(part == 2, turn - bound, turn)
    longest = len(active) + peeled  # a peeled round has a place below 0
    key = (3 * loop[row] + part) * longest + place + peeled
    requests, number = np.unique(key, return_inverse=True)
    addresses = np.full((len(requests), active.shape[1]), -1, np.int64)
    addresses[number, lane] = accesses.addresses[row, lane]
    return Stream(addresses, accesses.era[begins][requests // longest // 3], accesses.width)


def parted(launch: Launch, rows: NDArray[np.intp], meetings: int, accesses: Stream) -> Stream:
    """Put each request, of a row of a launch's log, apart by the ways on which its lanes came.

    They are told apart by the requests that not all of them made since they last made one together, or since they did
    so for the last time but ``meetings``.
    """
    active = launch.requests.addresses >= 0
    masks = [int(mask) for mask in (active << np.arange(active.shape[1])).sum(axis=1)]
    eras = _eras(launch)
    own: list[int] = []
    groups: list[int] = []
    for row in rows:
        ways, left, before = [masks[row]], meetings, int(row) - 1
        while before >= 0 and eras[before] == eras[row]:
            if masks[row] & ~masks[before]:
                ways = [part for way in ways for part in (way & masks[before], way & ~masks[before]) if part]
            elif left:
                left -= 1
            else:
                break
            before -= 1
        own += [row] * len(ways)
        groups += ways
    apart = np.array(groups, np.int64)[:, None] >> np.arange(active.shape[1]) & 1
    return Stream(np.where(apart, launch.requests.addresses[own], -1), eras[own], accesses.width)


def avoidable(launch: Launch) -> Avoidable:
    """Tell which logged requests of a launch a compiler may leave out."""
    requests = launch.requests
    site_kind = np.array([_KIND[effect_of(site.op)] for site in launch.sites], np.int8)
    kind, n = site_kind[requests.site], len(requests)
    width = np.array([site.width for site in launch.sites], np.int64)[requests.site]
    shared = launch.in_shared[requests.site]
    row, lane = np.nonzero(requests.addresses >= 0)
    element = requests.addresses[row, lane] * 2 + shared[row]
    place = (_eras(launch)[row] << 5) | lane

    def every(entries: NDArray[np.bool_], rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        some = np.bincount(rows, minlength=n) > 0
        return np.asarray(some & (np.bincount(rows[~entries], minlength=n) == 0))

    # Rows are in order of time within a warp, and lexsort keeps that order inside a thread's accesses of an element.
    order = np.lexsort((element, place))
    row, element, place = row[order], element[order], place[order]
    before = np.full(len(row), _ATOMIC, np.int8)
    before[1:] = np.where(_same(element, place, width[row]), kind[row[:-1]], _ATOMIC)
    answered = every(before != _ATOMIC, row) & (kind == _LOAD)
    stored = answered & every(before == _STORE, row)

    left = ~answered[row]
    row, element, place = row[left], element[left], place[left]
    after = np.full(len(row), _LOAD, np.int8)
    after[:-1] = np.where(_same(element, place, width[row]), kind[row[1:]], _LOAD)
    overwritten = every(after == _STORE, row) & (kind == _STORE)
    return Avoidable(stored, answered & ~stored, overwritten, _unread(launch, kind, answered))


def _same(*columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell for each entry but the first whether it equals the one before it in every column."""
    return np.asarray(np.logical_and.reduce([column[1:] == column[:-1] for column in columns]))


def _unread(launch: Launch, kind: NDArray[Any], answered: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which requests store to a shared array whose elements no instruction loads or updates."""
    sites = launch.requests.site
    reading = np.unique(sites[(kind != _STORE) & ~answered])
    read = {name for i in reading for name in launch.sites[i].array.split(" or ")}
    unread = [
        site.is_shared and site.op == "store" and not read.intersection(site.array.split(" or "))
        for site in launch.sites
    ]
    return np.array(unread, bool)[sites]


def _eras(launch: Launch) -> NDArray[np.int64]:
    requests = launch.requests
    epochs = int(requests.epoch.max(initial=0)) + 1
    return (requests.block * launch.warps_per_block + requests.warp) * epochs + requests.epoch


def _hash(rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return 64 bits for each row; among a million rows two share them by chance once in 10 million runs."""
    odd = np.random.default_rng(_HASH_SEED).integers(0, 2**63, rows.shape[1], np.uint64) * np.uint64(2) + np.uint64(1)
    mixed = rows.astype(np.uint64) * odd
    mixed ^= mixed >> np.uint64(29)
    return np.asarray((mixed * odd[::-1]).sum(axis=1, dtype=np.uint64))


def _occurrence(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each entry how many of the same key stand before it."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    start = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    rank = np.arange(len(keys)) - np.repeat(start, np.diff(np.append(start, len(keys))))
    occurrence = np.empty(len(keys), np.int64)
    occurrence[order] = rank
    return occurrence
