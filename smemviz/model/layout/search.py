"""The search for a layout: every pad up to a limit and every XOR and ``Swizzle<B, M, S>``, on all accesses at once.

An array is written one way and read another, so what counts is the sum. The accesses are given as elements, made up or
recorded: a layout moves elements, who asks for which stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import InputError
from smemviz.messages import said
from smemviz.model.counting.banks import count
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.hardware.occupancy import blocks_per_multiprocessor
from smemviz.model.layout import accesses as made_up
from smemviz.model.layout import layout_fix as cure
from smemviz.model.layout.code import Code, code, operations
from smemviz.model.layout.layout_fix import Score
from smemviz.model.layout.layouts import ROW_OF_BANKS, Layout
from smemviz.model.layout.swizzles import BANK_BITS, Cute, Swizzle, Xor
from smemviz.recordings.data import WARP_SIZE, ArrayInfo

Integers = NDArray[np.int64]

_BATCH = 1 << 20  # addresses at a time


@dataclass(frozen=True)
class Asked:
    """The different requests of one access: (n, 32) first elements, -1 for a lane off, and how often each came.

    ``inside`` is the byte of the element at which each lane begins, for accesses narrower than an element.
    """

    op: str
    width: int
    elements: Integers
    times: Integers
    inside: Integers | int = 0


@dataclass(frozen=True)
class Suggestion:
    """A layout with what every access costs in it, in the order they were given.

    ``operations`` is the instructions its index takes more than the plain array's.
    """

    layout: Layout
    scores: tuple[Score, ...]
    operations: int

    @property
    def wavefronts(self) -> int:
        """Of all accesses together."""
        return sum(score.wavefronts for score in self.scores)

    @property
    def excess(self) -> int:
        """Of all accesses together."""
        return sum(score.excess for score in self.scores)

    @property
    def price(self) -> tuple[int, int, int]:
        """What the suggestions are ordered by: wavefronts, then bytes, then instructions of the index."""
        return self.wavefronts, self.layout.nbytes, self.operations

    def code(self, name: str = "tile", indices: Sequence[str] | None = None) -> Code:
        """Return the declaration, a store and a load as Numba code."""
        return code(self.layout, name, indices)

    def blocks_per_multiprocessor(self, cc: tuple[int, int], threads: int | None = None, other_bytes: int = 0) -> int:
        """Return how many blocks fit, ``other_bytes`` being what other arrays of the block take."""
        return blocks_per_multiprocessor(self.layout.nbytes + other_bytes, cc, threads)


def asked(access: made_up.Access, layout: Layout) -> Asked:
    """Return what an access asks of an array, whatever the layout of the array.

    Raises:
        InputError: when the array cannot be accessed so.
    """
    elements = made_up.elements(access, layout).reshape(-1, WARP_SIZE)
    return Asked(access.op, access.bytes_per_lane(layout), elements, np.ones(len(elements), np.int64))


def recorded_layout(array: ArrayInfo) -> Layout:
    """Return the layout a recorded array has.

    Raises:
        InputError: when its elements do not lie row by row.
    """
    *shape, columns = array.shape
    pitch = array.strides[-2] // array.itemsize if shape else columns
    expected = [array.itemsize, pitch * array.itemsize]
    for size in shape[:0:-1]:
        expected.append(expected[-1] * size)
    if array.strides != tuple(expected[len(shape) :: -1]) or pitch < columns:
        raise InputError(
            said(
                "{array}: its strides are {strides} bytes; only arrays row by row are laid out",
                array=array.name,
                strides=array.strides,
            )
        )
    return Layout(array.shape, array.dtype, None if pitch == columns else pitch, base=array.address)


def recorded(found: cure.Access, layout: Layout) -> Asked:
    """Return what the recorded requests of a site ask of an array that lies in a plain layout."""
    place, inside = np.divmod(np.maximum(found.offsets, 0), layout.itemsize)
    row, column = np.divmod(place, layout.stride)
    element = np.where(found.offsets < 0, -1, row * layout.columns + column)
    return Asked(found.op, found.width, element, found.times, inside)


def score(wanted: Asked, layout: Layout, hardware: Hardware = H200) -> Score:
    """Count all requests of an access in a layout.

    Raises:
        InputError: when the layout misaligns or tears apart what a lane asks for, or the hardware has no such access.
    """
    first = made_up.addresses(wanted.elements, wanted.width, layout)
    return _scores(wanted, (first + np.where(first < 0, 0, wanted.inside))[None], hardware)[0]


def suggest(layout: Layout, wanted: Sequence[Asked], hardware: Hardware = H200) -> Suggestion:
    """Return a layout as a suggestion: the one there is, to compare with, or one of one's own."""
    scores = tuple(score(one, layout, hardware) for one in wanted)
    return Suggestion(layout, scores, operations(layout))


def search(
    layout: Layout,
    wanted: Sequence[Asked],
    hardware: Hardware = H200,
    most_pad: int | None = None,
    row_lengths: Sequence[int] | None = None,
) -> tuple[Suggestion, ...]:
    """Score every layout of an array that keeps all accesses aligned, the cheapest first.

    Args:
        layout: of the array; its own pad and swizzle are no part of what is searched.
        wanted: all accesses to the array.
        hardware: whose rules count.
        most_pad: in elements; left out, up to where every row lies as without one.
        row_lengths: of an array of one dimension, what can be taken for a row; such as
            ``cure.row_lengths`` finds; left out, its pitch.

    Returns:
        The plain array and all others, ordered by wavefronts, bytes and instructions of the index; of layouts alike
        in all of them, pads and simple swizzles first.

    Raises:
        InputError: without accesses, and when the plain array cannot be accessed so.
    """
    if not wanted:
        raise InputError(said("a layout is searched for accesses; name at least one"))
    layouts = list(_candidates(layout.plain, wanted, most_pad, row_lengths))
    scores = _score_all(wanted, layouts, hardware)
    found = [Suggestion(one, scored, operations(one)) for one, scored in zip(layouts, scores, strict=True)]
    return tuple(sorted(found, key=lambda one: one.price))


def _candidates(
    plain: Layout, wanted: Sequence[Asked], most_pad: int | None, row_lengths: Sequence[int] | None
) -> Iterator[Layout]:
    """Give the plain layout, then every other that is aligned."""
    yield plain
    # Pieces of so many elements stay together and in line.
    piece = max(1, max(one.width for one in wanted) // plain.itemsize)
    for length in row_lengths or (None,):
        row = replace(plain, pitch=length) if length and len(plain.shape) == 1 else plain
        yield from _pads(row, piece, most_pad)
        probe = np.arange(row.rows * row.columns, dtype=np.int64)
        seen = {_digest(row.place(probe))}
        for swizzle in _swizzles(row, piece):
            one = _fitting(row, swizzle)
            if one is not None and (key := _digest(one.place(probe))) not in seen:
                seen.add(key)
                yield one


def _pads(row: Layout, piece: int, most_pad: int | None) -> Iterator[Layout]:
    if row.stride % piece or row.rows < 2:
        return
    period = max(1, ROW_OF_BANKS // row.itemsize)
    for pad in range(piece, (period - 1 if most_pad is None else most_pad) + 1, piece):
        padded = _fitting(row, None, pad)
        if padded is not None:
            yield padded


def _swizzles(row: Layout, piece: int) -> Iterator[Swizzle]:
    """Give swizzles of pieces: those of whole rows first, the simplest first."""
    bases = range(piece.bit_length() - 1, max(1, ROW_OF_BANKS // row.itemsize).bit_length())
    if row.stride % piece:
        return
    for base in bases:
        for shift in range(max(1, (row.rows - 1).bit_length())):
            for bits in range(1, BANK_BITS + 1):
                if row.stride % (1 << bits + base) == 0:
                    yield Xor(bits, base, shift)
    for base in bases:
        for bits in range(1, BANK_BITS + 1):
            for shift in range(bits, (row.rows * row.stride - 1).bit_length() - base):
                yield Cute(bits, base, shift)


def _digest(places: Integers) -> bytes:
    return blake2b(places.tobytes(), digest_size=16).digest()


def _fitting(row: Layout, swizzle: Swizzle | None, pad: int = 0) -> Layout | None:
    """Return the layout, None when no block has the memory or the swizzle would move what is not there."""
    try:
        return replace(row, swizzle=swizzle, pad=pad)
    except InputError:
        return None


def _score_all(wanted: Sequence[Asked], layouts: Sequence[Layout], hardware: Hardware) -> Iterator[tuple[Score, ...]]:
    """Count every access in every layout; gives the scores of all accesses, layout by layout."""
    element = np.arange(1 + max(int(one.elements.max(initial=0)) for one in wanted))
    together = max(1, _BATCH // max(1, *(one.elements.size for one in wanted)))
    for start in range(0, len(layouts), together):
        # Of a lane that is off the element is -1, which is the last of the table.
        tables = [np.append(layout.address(element), -1) for layout in layouts[start : start + together]]
        columns = []
        for one in wanted:
            first = np.stack([table[one.elements] for table in tables])
            columns.append(_scores(one, first + np.where(first < 0, 0, one.inside), hardware))
        yield from zip(*columns, strict=True)


def _scores(wanted: Asked, addresses: Integers, hardware: Hardware) -> list[Score]:
    """Count (layouts, n, 32) addresses."""
    counts = count(addresses, wanted.width, wanted.op, hardware)
    wavefronts, ideal = counts.wavefronts @ wanted.times, counts.ideal @ wanted.times
    degrees = counts.degree.max(axis=1, initial=0)
    return [
        Score(int(all_), int(all_ - least), int(degree))
        for all_, least, degree in zip(wavefronts, ideal, degrees, strict=True)
    ]
