"""The one search for a layout: what pads and swizzles of an array cost, all of them or the first that will do.

A layout moves elements; who asks for which, and when, stays. An array is written one way and read another, so every
access to it counts. Nothing is run again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import InputError
from smemviz.messages import english
from smemviz.model.counting.service import count
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.layout.accesses import addresses
from smemviz.model.layout.array_requests import ArrayRequests
from smemviz.model.layout.candidates import candidates
from smemviz.model.layout.code import operations
from smemviz.model.layout.layouts import Layout
from smemviz.recordings.data import ArrayInfo

Integers = NDArray[np.int64]

_BATCH = 1 << 20  # addresses at a time


class Placing(Protocol):
    """Where elements go."""

    def place(self, element: Integers) -> Integers:
        """Return where elements go, counted in elements from the first."""
        ...


class Growing(Placing, Protocol):
    """Where elements go, and how much more room they take there."""

    def more_elements(self, elements: int) -> int:
        """Return by how many elements an array of so many grows."""
        ...


P = TypeVar("P", bound=Placing)
L = TypeVar("L", bound=Growing)


class Score(NamedTuple):
    """What an access costs over all its requests: wavefronts, those in excess, and the worst degree."""

    wavefronts: int
    excess: int
    max_degree: int


Price = tuple[int, int, int]  # wavefronts, bytes, and instructions that an index takes more


@dataclass(frozen=True)
class LayoutFix(Generic[P]):
    """A layout with the scores of all accesses before and after, in their order, and the bytes it adds.

    ``operations`` is the instructions its index takes more than the plain array's, where the search asks for it.
    """

    layout: P
    before: tuple[Score, ...]
    after: tuple[Score, ...]
    more_bytes: int
    operations: int = 0

    @property
    def wavefronts(self) -> int:
        """Of all accesses together."""
        return sum(score.wavefronts for score in self.after)

    @property
    def excess(self) -> int:
        """Of all accesses together."""
        return sum(score.excess for score in self.after)

    @property
    def saved(self) -> int:
        """The wavefronts that it saves over all accesses."""
        return sum(score.wavefronts for score in self.before) - self.wavefronts

    @property
    def price(self) -> Price:
        """What the search orders by: wavefronts, then bytes, then instructions of the index."""
        return self.wavefronts, self.more_bytes, self.operations


def beats(price: Price, other: Price) -> bool:
    """Whether a price is nowhere higher than another one."""
    return all(mine <= theirs for mine, theirs in zip(price, other, strict=True))


class _AsRecorded:
    """Every element stays where it is."""

    def place(self, element: Integers) -> Integers:
        return element


def score(requests: ArrayRequests, itemsize: int, layout: Placing | None = None, hardware: Hardware = H200) -> Score:
    """Count an access to an array of elements of ``itemsize`` bytes in a layout, None for the one there is.

    Raises:
        InputError: when the layout leaves an access misaligned, or the hardware does not have it.
    """
    ((_, (only,)),) = _scored([requests], [layout or _AsRecorded()], itemsize, hardware)
    return only


def smallest_fix(
    array: ArrayInfo,
    accesses: Sequence[ArrayRequests],
    layouts: Iterator[L],
    passes: Callable[[Sequence[Score]], bool] | None = None,
    hardware: Hardware = H200,
    possible: Callable[[L], bool] | None = None,
) -> LayoutFix[L] | None:
    """Return the first layout whose scores pass, else the first that saves the most wavefronts, else None.

    Args:
        array: the array that is laid out anew.
        found: every access to it.
        layouts: in order of preference, as ``pads`` and ``swizzles`` give them.
        passes: of the scores of all accesses; left out, none may have any excess.
        hardware: whose rules count.
        possible: whether a layout may be taken; asked of those only that would be.
    """
    passes = passes or (lambda scores: all(score.excess == 0 for score in scores))
    elements = array.nbytes // array.itemsize
    before = tuple(score(access, array.itemsize, None, hardware) for access in accesses)
    best: LayoutFix[L] | None = None
    for layout, after in _scored(accesses, layouts, array.itemsize, hardware):
        fix = LayoutFix(layout, before, after, layout.more_elements(elements) * array.itemsize)
        enough = passes(after)
        if (enough or fix.saved > (best.saved if best else 0)) and (possible is None or possible(layout)):
            if enough:
                return fix
            best = fix
    return best


def search(
    layout: Layout, requests: Sequence[ArrayRequests], hardware: Hardware = H200, most_pad: int | None = None
) -> tuple[LayoutFix[Layout], ...]:
    """Score every layout of an array that keeps all accesses aligned, the cheapest first.

    Args:
        layout: of the array; its own pad and swizzle are no part of what is searched.
        wanted: all accesses to the array.
        hardware: whose rules count.
        most_pad: in elements; left out, up to where every row lies as without one.

    Returns:
        The plain array and all others, ordered by wavefronts, bytes and instructions of the index; of layouts alike
        in all of them, pads and simple swizzles first.

    Raises:
        InputError: without accesses, and when the plain array cannot be accessed so.
    """
    if not requests:
        raise InputError(english("a layout is searched for accesses; name at least one"))
    together = max(1, _BATCH // max(1, *(access.offsets.size for access in requests)))
    tried = candidates(layout.plain, requests, hardware, most_pad)
    scored = list(_scored(requests, tried, layout.itemsize, hardware, layout.base, together))
    before = scored[0][1]
    return tuple(sorted((_fix(layout, before, after) for layout, after in scored), key=lambda fix: fix.price))


def suggest(layout: Layout, requests: Sequence[ArrayRequests], hardware: Hardware = H200) -> LayoutFix[Layout]:
    """Return a layout as the search would: the one there is, to compare with, or one of one's own.

    Raises:
        InputError: when it misaligns or tears apart what a lane asks for, or the hardware has no such access.
    """
    for access in requests:
        addresses(np.where(access.offsets < 0, -1, access.offsets // layout.itemsize), access.width, layout)
    both = _scored(requests, [layout.plain, layout], layout.itemsize, hardware, layout.base)
    (_, before), (_, after) = both
    return _fix(layout, before, after)


def _fix(layout: Layout, before: tuple[Score, ...], after: tuple[Score, ...]) -> LayoutFix[Layout]:
    return LayoutFix(layout, before, after, layout.nbytes - layout.plain.nbytes, operations(layout))


def _scored(
    requests: Sequence[ArrayRequests],
    layouts: Iterable[P],
    itemsize: int,
    hardware: Hardware,
    base: int = 0,
    together: int = 1,
) -> Iterator[tuple[P, tuple[Score, ...]]]:
    """Give each layout with what every access costs in it, so many layouts being counted at once."""
    split = [np.divmod(np.maximum(access.offsets, 0), itemsize) for access in requests]
    elements, where = np.unique(np.concatenate([element.ravel() for element, _ in split]), return_inverse=True)
    starts = np.cumsum([0, *(access.offsets.size for access in requests)])
    rest = iter(layouts)
    while batch := list(islice(rest, together)):
        placed = np.stack([base + layout.place(elements) * itemsize for layout in batch])
        columns = []
        for access, (_, inside), start in zip(requests, split, starts, strict=False):
            lanes = where[start : start + access.offsets.size].reshape(access.offsets.shape)
            columns.append(_scores(access, np.where(access.offsets < 0, -1, placed[:, lanes] + inside), hardware))
        yield from zip(batch, zip(*columns, strict=True), strict=True)


def _scores(requests: ArrayRequests, elements: Integers, hardware: Hardware) -> list[Score]:
    """Count (layouts, n, 32) addresses."""
    counts = count(elements, requests.width, requests.op, hardware)
    wavefronts, ideal = counts.wavefronts @ requests.times, counts.ideal @ requests.times
    degrees = counts.degree.max(axis=1, initial=0)
    return [
        Score(int(all_), int(all_ - least), int(degree))
        for all_, least, degree in zip(wavefronts, ideal, degrees, strict=True)
    ]
