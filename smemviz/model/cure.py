"""Another layout for a shared array, scored on the requests that were recorded: nothing is run again.

A layout moves elements; who asks for which element, and when, stays. A tile is written one way and read another,
so every access to the array counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from smemviz.model.banks import count
from smemviz.model.layouts import ROW_OF_BANKS
from smemviz.model.operations import unpredictable
from smemviz.model.relative import relative_addresses
from smemviz.model.swizzles import BANK_BITS, Xor
from smemviz.recording import ArrayInfo, Launch


class Access(NamedTuple):
    """The different requests of one site to one array: (n, 32) byte offsets from its first byte, -1 for a lane off.

    ``times`` (n,) is how many recorded requests were like each. ``site`` indexes the launch's sites.
    """

    site: int
    op: str
    width: int
    offsets: NDArray[np.int64]
    times: NDArray[np.int64]


class Score(NamedTuple):
    """What an access costs over all its requests: wavefronts, those in excess, and the worst degree."""

    wavefronts: int
    excess: int
    max_degree: int


@dataclass(frozen=True)
class Pad:
    """``pad`` unused elements after every ``row`` elements."""

    row: int
    pad: int

    def place(self, element: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where elements go, counted from the first."""
        return element + element // self.row * self.pad

    def more_elements(self, elements: int) -> int:
        """Return by how many elements an array of so many grows."""
        return -(-elements // self.row) * self.pad


@dataclass(frozen=True)
class Swizzle:
    """The column of an element, XOR ``bits`` bits of its row.

    Element c of row r, rows of ``row`` elements, goes to column ``c ^ ((r >> shift) % 2**bits << base)`` of its row.
    For rows of a power of two this is CuTe's ``Swizzle<bits, base, log2(row) + shift - base>``.
    """

    row: int
    bits: int
    base: int = 0
    shift: int = 0

    def place(self, element: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where elements go, counted from the first."""
        row, column = np.divmod(element, self.row)
        return Xor(self.bits, self.base, self.shift).place(row, column, self.row)

    def more_elements(self, elements: int) -> int:
        """Return by how many elements an array of so many grows: none."""
        return 0


Layout = Pad | Swizzle
L = TypeVar("L", bound=Pad | Swizzle)


@dataclass(frozen=True)
class Cure(Generic[L]):
    """A layout with the scores of all accesses before and after, in their order, and the bytes it adds."""

    layout: L
    before: tuple[Score, ...]
    after: tuple[Score, ...]
    more_bytes: int

    @property
    def saved(self) -> int:
        """The wavefronts that it saves over all accesses."""
        return sum(score.wavefronts for score in self.before) - sum(score.wavefronts for score in self.after)


def accesses(
    launch: Launch,
    array: int,
    cc: tuple[int, int] = (9, 0),
    relative: tuple[NDArray[np.int32], NDArray[np.int64]] | None = None,
) -> tuple[Access, ...]:
    """Return what was logged of the sites that touch ``launch.arrays[array]``, for sites that can be counted.

    ``relative`` is what ``relative_addresses`` gives for the launch, for whoever has it already.
    """
    which, offsets = relative or relative_addresses(launch)
    here = (which == array).any(axis=1)
    found = []
    for i, site in enumerate(launch.sites):
        rows = np.flatnonzero(here & (launch.requests.site == i))
        if len(rows) and site.space == "shared" and unpredictable(site.op, site.dtype, cc) is None:
            first, _, times = different(offsets[rows])
            found.append(Access(i, site.op, site.width, offsets[rows[first]], times))
    return tuple(found)


def different(rows: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Tell the different rows of (n, 32) integers: where each is first, which one each row is, how often it is."""
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, which, times = np.unique(whole, return_index=True, return_inverse=True, return_counts=True)
    return first, which.reshape(-1), times


def score(
    access: Access, itemsize: int, layout: Layout | None = None, cc: tuple[int, int] = (9, 0), bank_bytes: int = 4
) -> Score:
    """Count an access to an array of elements of ``itemsize`` bytes in a layout, None for the one recorded.

    Raises:
        InputError: when the layout leaves an access misaligned, or the compute capability does not have it.
    """
    offsets = access.offsets
    if layout is not None:
        element, inside = np.divmod(np.maximum(offsets, 0), itemsize)
        offsets = np.where(offsets < 0, -1, layout.place(element) * itemsize + inside)
    counts = count(offsets, access.width, access.op, cc, bank_bytes)
    wavefronts = int(counts.wavefronts @ access.times)
    return Score(wavefronts, wavefronts - int(counts.ideal @ access.times), int(counts.degree.max(initial=0)))


def pads(array: ArrayInfo, found: Sequence[Access]) -> Iterator[Pad]:
    """Give the pads that keep accesses aligned, the smallest first, and of one size those that cost least bytes."""
    step = max(1, max((access.width for access in found), default=1) // array.itemsize)
    for pad in range(step, max(ROW_OF_BANKS // array.itemsize, step + 1), step):
        for row in row_lengths(array, found):
            if row % step == 0:
                yield Pad(row, pad)


def swizzles(array: ArrayInfo, found: Sequence[Access]) -> Iterator[Swizzle]:
    """Give the XOR swizzles that keep accesses whole, those of the fewest bits first."""
    step = max(1, max((access.width for access in found), default=1) // array.itemsize)
    for bits in range(1, BANK_BITS + 1):
        for shift in range(BANK_BITS):
            for base in range(step.bit_length() - 1, ROW_OF_BANKS.bit_length()):
                for row in row_lengths(array, found):
                    if row % (1 << bits + base) == 0:
                        yield Swizzle(row, bits, base, shift)


def smallest_cure(
    array: ArrayInfo,
    found: Sequence[Access],
    layouts: Iterator[L],
    passes: Callable[[Sequence[Score]], bool] | None = None,
    cc: tuple[int, int] = (9, 0),
    bank_bytes: int = 4,
) -> Cure[L] | None:
    """Return the first layout whose scores pass, else the first that saves the most wavefronts, else None.

    Args:
        array: the array that is laid out anew.
        found: every access to it.
        layouts: in order of preference, as ``pads`` and ``swizzles`` give them.
        passes: of the scores of all accesses; left out, none may have any excess.
        cc: the compute capability that counts.
        bank_bytes: its bank mode.
    """
    passes = passes or no_excess
    elements = array.nbytes // array.itemsize
    counted = partial(score, itemsize=array.itemsize, cc=cc, bank_bytes=bank_bytes)
    before = tuple(counted(access) for access in found)
    best: Cure[L] | None = None
    for layout in layouts:
        after = tuple(counted(access, layout=layout) for access in found)
        cure = Cure(layout, before, after, layout.more_elements(elements) * array.itemsize)
        if passes(after):
            return cure
        if cure.saved > (best.saved if best else 0):
            best = cure
    return best


def no_excess(scores: Sequence[Score]) -> bool:
    """Whether no access takes a wavefront more than it need."""
    return all(score.excess == 0 for score in scores)


def row_lengths(array: ArrayInfo, found: Sequence[Access]) -> list[int]:
    """Return the lengths a row can be taken to have, in elements, the longest first.

    Of an array with several dimensions it is the pitch. One dimension has no rows; there it is a row of banks, or as
    many elements as lie between neighbouring lanes somewhere.
    """
    if len(array.shape) > 1:
        pitch, rest = divmod(array.strides[-2], array.itemsize)
        return [pitch] if pitch > 0 and rest == 0 else []
    lengths = {ROW_OF_BANKS // array.itemsize}
    for access in found:
        both = (access.offsets[:, :-1] >= 0) & (access.offsets[:, 1:] >= 0)
        between = np.unique(np.diff(access.offsets, axis=1)[both])
        if len(between) <= 4:  # more are no rows but what the data says
            lengths |= {int(abs(one)) // array.itemsize for one in between.tolist()}
    return sorted((n for n in lengths if 1 < n <= array.shape[0]), reverse=True)
