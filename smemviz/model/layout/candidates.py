"""The layouts that are tried for an array: pads, XOR swizzles of its rows, and CuTe's of the array as a whole.

``Pad`` and ``Swizzle`` move the elements of an array that was recorded, whatever its strides; ``candidates`` are whole
layouts of an array that lies row by row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import InputError
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.layout.array_requests import ArrayRequests
from smemviz.model.layout.code import operations
from smemviz.model.layout.layouts import Layout
from smemviz.model.layout.operand_tiles import PIECE
from smemviz.model.layout.swizzles import Cute, Xor
from smemviz.recordings.data import ArrayInfo


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

    def is_of_copies(self, itemsize: int) -> bool:
        """Tell whether a tensor copy can store elements so: with the swizzle of 128 bytes, which takes any box."""
        power_of_two = not self.row & self.row - 1
        whole = (PIECE // itemsize).bit_length() - 1
        return power_of_two and self.cute == Cute(3, whole, 3)

    def place(self, element: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where elements go, counted from the first."""
        row, column = np.divmod(element, self.row)
        return Xor(self.bits, self.base, self.shift).place(row, column, self.row)

    def more_elements(self, elements: int) -> int:
        """Return by how many elements an array of so many grows: to whole groups of those that change places."""
        return -elements % (1 << self.bits + self.base)


LayoutChange = Pad | Swizzle


def pads(array: ArrayInfo, accesses: Sequence[ArrayRequests], hardware: Hardware = H200) -> Iterator[Pad]:
    """Give the pads that keep accesses aligned, those of the fewest bytes first, and of them the smallest."""
    step, elements = _piece(array.itemsize, accesses), array.nbytes // array.itemsize
    lengths = [row for row in row_lengths(array, accesses, hardware) if row % step == 0]
    sizes = range(step, max(hardware.row_bytes // array.itemsize, step + 1), step)
    return iter(
        sorted((Pad(row, pad) for pad in sizes for row in lengths), key=lambda pad: pad.more_elements(elements))
    )


def swizzles(array: ArrayInfo, accesses: Sequence[ArrayRequests], hardware: Hardware = H200) -> Iterator[Swizzle]:
    """Give the swizzles that keep accesses whole, those of the fewest bytes and instructions first.

    Of those alike the ones within the array's own rows come first, then CuTe's on the array as a whole.
    """
    bases, bits = _bases(array.itemsize, _piece(array.itemsize, accesses), hardware), _bits(hardware)
    rows = row_lengths(array, accesses, hardware)
    elements = array.nbytes // array.itemsize
    price: dict[Swizzle, tuple[int, int]] = {}
    seen: set[Swizzle | Cute] = set()
    for swizzle in chain(_of_rows(rows, bases, bits), _of_all(array, bases, bits)):
        same = swizzle if swizzle.row & swizzle.row - 1 else swizzle.cute
        if same in seen:
            continue
        seen.add(same)
        try:
            price[swizzle] = swizzle.more_elements(elements), operations(laid_out(array, swizzle))
        except InputError:  # no block has the memory, or the search does not know such arrays
            continue
    return iter(sorted(price, key=price.__getitem__))


def _of_rows(rows: Sequence[int], bases: range, most: int) -> Iterator[Swizzle]:
    """Give the XOR swizzles of rows, those of the fewest bits first."""
    for bits in range(1, most + 1):
        for shift in range(most):
            for base in bases:
                for row in rows:
                    if row % (1 << bits + base) == 0:
                        yield Swizzle(row, bits, base, shift)


def _of_all(array: ArrayInfo, bases: range, most: int) -> Iterator[Swizzle]:
    """Give ``Swizzle<bits, base, shift>`` of the elements numbered in one line: rows of a power of two."""
    last = array.nbytes // array.itemsize - 1
    for base in bases:
        for bits in range(1, most + 1):
            for shift in range(bits, last.bit_length() - base - bits + 1):
                yield Swizzle(1 << base + shift, bits, base)


def laid_out(array: ArrayInfo, change: LayoutChange) -> Layout:
    """Return an array with its elements moved as the layout lab has it, to be written as code.

    Raises:
        InputError: when there can be no such array.
    """
    pitch = array.strides[-2] // array.itemsize if len(array.shape) > 1 else change.row
    plain = Layout(array.shape, array.dtype, pitch)
    if isinstance(change, Pad):
        return replace(plain, pad=change.pad)
    if change.row == pitch:
        return replace(plain, swizzle=Xor(change.bits, change.base, change.shift))
    return replace(plain, swizzle=change.cute)


def _piece(itemsize: int, accesses: Sequence[ArrayRequests]) -> int:
    """Return how many elements have to stay together and in line."""
    return max(1, max((access.width for access in accesses), default=1) // itemsize)


def _bases(itemsize: int, piece: int, hardware: Hardware) -> range:
    """Return which bits of a place a swizzle may change first: none inside of a piece, none beyond a row of banks."""
    return range(piece.bit_length() - 1, max(1, hardware.row_bytes // itemsize).bit_length())


def _bits(hardware: Hardware) -> int:
    """Return how many bits tell banks apart; a swizzle of more gains nothing."""
    return hardware.banks.bit_length() - 1


def row_lengths(array: ArrayInfo, accesses: Sequence[ArrayRequests], hardware: Hardware = H200) -> list[int]:
    """Return the lengths a row can be taken to have, in elements, the longest first.

    Of an array with several dimensions it is the pitch. One dimension has no rows; there it is a row of banks, or as
    many elements as lie between neighbouring lanes somewhere.
    """
    if len(array.shape) > 1:
        pitch, rest = divmod(array.strides[-2], array.itemsize)
        return [pitch] if pitch > 0 and rest == 0 else []
    lengths = {hardware.row_bytes // array.itemsize}
    for access in accesses:
        both = (access.offsets[:, :-1] >= 0) & (access.offsets[:, 1:] >= 0)
        between = np.unique(np.diff(access.offsets, axis=1)[both])
        if len(between) <= 4:  # more are no rows but what the data says
            lengths |= {int(abs(distance)) // array.itemsize for distance in between.tolist()}
    return sorted((n for n in lengths if 1 < n <= array.shape[0]), reverse=True)


def candidates(
    plain: Layout, accesses: Sequence[ArrayRequests], hardware: Hardware = H200, most_pad: int | None = None
) -> Iterator[Layout]:
    """Give a plain layout, then every other that keeps accesses aligned: pads of up to ``most_pad``, and swizzles."""
    yield plain
    piece = _piece(plain.itemsize, accesses)
    period = max(1, hardware.row_bytes // plain.itemsize)  # a pad of so many puts every row back where it was
    yield from _padded(plain, piece, period - 1 if most_pad is None else most_pad)
    indices = np.arange(plain.rows * plain.columns, dtype=np.int64)
    seen = {_digest(plain.place(indices))}
    for swizzle in _swizzled(plain, piece, _bases(plain.itemsize, piece, hardware), _bits(hardware)):
        mixed = _fitting(plain, swizzle)
        if mixed is not None and (key := _digest(mixed.place(indices))) not in seen:
            seen.add(key)
            yield mixed


def _padded(row: Layout, piece: int, most: int) -> Iterator[Layout]:
    if row.stride % piece or row.rows < 2:
        return
    for pad in range(piece, most + 1, piece):
        padded = _fitting(row, None, pad)
        if padded is not None:
            yield padded


def _swizzled(row: Layout, piece: int, bases: range, most: int) -> Iterator[Xor | Cute]:
    """Give swizzles of pieces: those of whole rows first, the simplest first."""
    if row.stride % piece:
        return
    for base in bases:
        for shift in range(max(1, (row.rows - 1).bit_length())):
            for bits in range(1, most + 1):
                if row.stride % (1 << bits + base) == 0:
                    yield Xor(bits, base, shift)
    for base in bases:
        for bits in range(1, most + 1):
            for shift in range(bits, (row.rows * row.stride - 1).bit_length() - base):
                yield Cute(bits, base, shift)


def _digest(places: NDArray[np.int64]) -> bytes:
    return blake2b(places.tobytes(), digest_size=16).digest()


def _fitting(row: Layout, swizzle: Xor | Cute | None, pad: int = 0) -> Layout | None:
    """Return the layout, None when no block has the memory or the swizzle would move what is not there."""
    try:
        return replace(row, swizzle=swizzle, pad=pad)
    except InputError:
        return None
