"""Another layout for a shared array, scored on the requests that were recorded: nothing is run again.

A layout moves elements; who asks for which element, and when, stays. A tile is written one way and read another,
so every access to the array counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import InputError
from smemviz.model.counting.banks import count
from smemviz.model.counting.relative import relative_addresses
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.hardware.operations import unpredictable
from smemviz.model.layout import layouts
from smemviz.model.layout.code import operations
from smemviz.model.layout.layouts import ROW_OF_BANKS
from smemviz.model.layout.swizzles import BANK_BITS, Cute, Xor
from smemviz.recordings.data import ArrayInfo, Launch


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
    For rows of a power of two this is CuTe's ``Swizzle<bits, base, log2(row) + shift - base>``, whatever the rows of
    the array are that it is applied to.
    """

    row: int
    bits: int
    base: int = 0
    shift: int = 0

    @property
    def cute(self) -> Cute:
        """The same as CuTe has it, for rows of a power of two."""
        return Cute(self.bits, self.base, self.row.bit_length() - 1 + self.shift - self.base)

    def place(self, element: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where elements go, counted from the first."""
        row, column = np.divmod(element, self.row)
        return Xor(self.bits, self.base, self.shift).place(row, column, self.row)

    def more_elements(self, elements: int) -> int:
        """Return by how many elements an array of so many grows: to whole groups of those that change places."""
        return -elements % (1 << self.bits + self.base)


Layout = Pad | Swizzle
L = TypeVar("L", bound=Pad | Swizzle)


@dataclass(frozen=True)
class LayoutFix(Generic[L]):
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
    hardware: Hardware = H200,
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
        if len(rows) and site.space == "shared" and unpredictable(site.op, site.dtype, hardware.cc) is None:
            first, _, times = different(offsets[rows])
            found.append(Access(i, site.op, site.width, offsets[rows[first]], times))
    return tuple(found)


def different(rows: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Tell the different rows of (n, 32) integers: where each is first, which one each row is, how often it is."""
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, which, times = np.unique(whole, return_index=True, return_inverse=True, return_counts=True)
    return first, which.reshape(-1), times


def score(access: Access, itemsize: int, layout: Layout | None = None, hardware: Hardware = H200) -> Score:
    """Count an access to an array of elements of ``itemsize`` bytes in a layout, None for the one recorded.

    Raises:
        InputError: when the layout leaves an access misaligned, or the hardware does not have it.
    """
    offsets = access.offsets
    if layout is not None:
        element, inside = np.divmod(np.maximum(offsets, 0), itemsize)
        offsets = np.where(offsets < 0, -1, layout.place(element) * itemsize + inside)
    counts = count(offsets, access.width, access.op, hardware)
    wavefronts = int(counts.wavefronts @ access.times)
    return Score(wavefronts, wavefronts - int(counts.ideal @ access.times), int(counts.degree.max(initial=0)))


def pads(array: ArrayInfo, found: Sequence[Access]) -> Iterator[Pad]:
    """Give the pads that keep accesses aligned, those of the fewest bytes first, and of them the smallest."""
    step, elements = _piece(array, found), array.nbytes // array.itemsize
    lengths = [row for row in row_lengths(array, found) if row % step == 0]
    sizes = range(step, max(ROW_OF_BANKS // array.itemsize, step + 1), step)
    return iter(
        sorted((Pad(row, pad) for pad in sizes for row in lengths), key=lambda one: one.more_elements(elements))
    )


def swizzles(array: ArrayInfo, found: Sequence[Access]) -> Iterator[Swizzle]:
    """Give the swizzles that keep accesses whole, those of the fewest bytes and instructions first.

    Of those alike the ones within the array's own rows come first, then CuTe's on the array as a whole.
    """
    bases = range(_piece(array, found).bit_length() - 1, (ROW_OF_BANKS // array.itemsize).bit_length())
    elements = array.nbytes // array.itemsize
    price: dict[Swizzle, tuple[int, int]] = {}
    seen: set[Swizzle | Cute] = set()
    for swizzle in chain(_of_rows(array, found, bases), _of_all(array, bases)):
        same = swizzle if swizzle.row & swizzle.row - 1 else swizzle.cute
        if same in seen:
            continue
        seen.add(same)
        try:
            price[swizzle] = swizzle.more_elements(elements), operations(laid_out(array, swizzle))
        except InputError:  # no block has the memory, or the search does not know such arrays
            continue
    return iter(sorted(price, key=price.__getitem__))


def _of_rows(array: ArrayInfo, found: Sequence[Access], bases: range) -> Iterator[Swizzle]:
    """Give the XOR swizzles of rows, those of the fewest bits first."""
    for bits in range(1, BANK_BITS + 1):
        for shift in range(BANK_BITS):
            for base in bases:
                for row in row_lengths(array, found):
                    if row % (1 << bits + base) == 0:
                        yield Swizzle(row, bits, base, shift)


def _of_all(array: ArrayInfo, bases: range) -> Iterator[Swizzle]:
    """Give ``Swizzle<bits, base, shift>`` of the elements numbered in one line: rows of a power of two."""
    last = array.nbytes // array.itemsize - 1
    for base in bases:
        for bits in range(1, BANK_BITS + 1):
            for shift in range(bits, last.bit_length() - base - bits + 1):
                yield Swizzle(1 << base + shift, bits, base)


def laid_out(array: ArrayInfo, layout: Layout) -> layouts.Layout:
    """Return an array with a layout as the layout lab has it, to be written as code.

    Raises:
        InputError: when there can be no such array.
    """
    pitch = array.strides[-2] // array.itemsize if len(array.shape) > 1 else layout.row
    plain = layouts.Layout(array.shape, array.dtype, pitch)
    if isinstance(layout, Pad):
        return replace(plain, pad=layout.pad)
    if layout.row == pitch:
        return replace(plain, swizzle=Xor(layout.bits, layout.base, layout.shift))
    return replace(plain, swizzle=layout.cute)


def _piece(array: ArrayInfo, found: Sequence[Access]) -> int:
    """Return how many elements have to stay together and in line."""
    return max(1, max((access.width for access in found), default=1) // array.itemsize)


def smallest_fix(
    array: ArrayInfo,
    found: Sequence[Access],
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
    passes = passes or no_excess
    elements = array.nbytes // array.itemsize
    counted = partial(score, itemsize=array.itemsize, hardware=hardware)
    before = tuple(counted(access) for access in found)
    best: LayoutFix[L] | None = None
    for layout in layouts:
        after = tuple(counted(access, layout=layout) for access in found)
        cure = LayoutFix(layout, before, after, layout.more_elements(elements) * array.itemsize)
        enough = passes(after)
        if (enough or cure.saved > (best.saved if best else 0)) and (possible is None or possible(layout)):
            if enough:
                return cure
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
