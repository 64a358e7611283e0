"""Swizzles: where the elements of a tile go when rows stay in place and columns change places.

Everywhere ``row`` and ``column`` are int64 arrays of one shape, ``pitch`` the elements from one row to the next, and a
place is counted in elements from the first. Every swizzle is a permutation; ``fits`` says of which tiles.
"""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import InputError
from smemviz.messages import english
from smemviz.model.layout.formulas import Formula, formula

Integers = NDArray[np.int64]

_BITS = 5  # of ``xor`` that names none: they tell 32 banks apart
_MOST_BITS = 18  # the largest array of bytes has fewer elements than 2**18


@dataclass(frozen=True)
class Xor:
    """``bits`` bits of the row, from bit ``shift`` on, flip as many bits of the column, from bit ``base`` on.

    Column c of row r goes to ``c ^ (r >> shift & 2**bits - 1) << base``.
    """

    bits: int
    base: int = 0
    shift: int = 0

    def __post_init__(self) -> None:
        _check_bits(self, bits=(1, self.bits), base=(0, self.base), shift=(0, self.shift))

    @property
    def text(self) -> str:
        """As ``swizzle_of`` reads it."""
        return f"xor {self.bits} {self.base} {self.shift}"

    def place(self, row: Integers, column: Integers, pitch: int) -> Integers:
        """Return where elements go."""
        return row * pitch + (column ^ (row >> self.shift & (1 << self.bits) - 1) << self.base)

    def room(self, columns: int, pitch: int, elements: int) -> int:
        """Return how many elements the array has to have.

        Raises:
            InputError: when columns would leave their row.
        """
        needed = _up(columns, 1 << self.bits + self.base)
        if needed > pitch:
            raise InputError(
                english(
                    "{swizzle} permutes {needed} columns, the row has room for {pitch}; use fewer bits",
                    swizzle=self.text,
                    needed=needed,
                    pitch=pitch,
                )
            )
        return elements


@dataclass(frozen=True)
class Cute:
    """CuTe's ``Swizzle<bits, base, shift>``, on the place an element would have without it.

    Bits ``base + shift`` and up of the place flip bits ``base`` and up, ``bits`` of them; for a negative shift it is
    the other way round. CuTe: ``cute/swizzle.hpp``.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        _check_bits(self, bits=(1, self.bits), base=(0, self.base), shift=(self.bits, abs(self.shift)))

    @property
    def text(self) -> str:
        """As ``swizzle_of`` reads it."""
        return f"Swizzle<{self.bits}, {self.base}, {self.shift}>"

    def place(self, row: Integers, column: Integers, pitch: int) -> Integers:
        """Return where elements go."""
        straight = row * pitch + column
        mask = (1 << self.bits) - 1
        if self.shift < 0:
            return straight ^ (straight >> self.base & mask) << self.base - self.shift
        return straight ^ (straight >> self.base + self.shift & mask) << self.base

    def room(self, columns: int, pitch: int, elements: int) -> int:
        """Return how many elements the array has to have: whole groups of those that change places."""
        return _up(elements, 1 << self.base + max(0, -self.shift) + self.bits)


@dataclass(frozen=True)
class Free:
    """The column an element goes to, as a formula in ``row`` and ``column``."""

    column: Formula

    @property
    def text(self) -> str:
        """As ``swizzle_of`` reads it."""
        return self.column.text

    def place(self, row: Integers, column: Integers, pitch: int) -> Integers:
        """Return where elements go."""
        (new,) = self.column.values({"row": row, "column": column})
        return row * pitch + new

    def room(self, columns: int, pitch: int, elements: int) -> int:
        """Return how many elements the array has to have.

        Raises:
            InputError: when an element would leave its row, or two would share a place.
        """
        rows = elements // pitch
        row, column = (index.astype(np.int64) for index in np.divmod(np.arange(rows * columns), columns))
        new = self.place(row, column, pitch) - row * pitch
        outside = np.flatnonzero((new < 0) | (new >= pitch))
        if len(outside):
            first = outside[0]
            raise InputError(
                english(
                    "{swizzle}: takes ({row}, {column}) to column {new}, outside of its row of {pitch}",
                    swizzle=self.text,
                    row=row[first],
                    column=column[first],
                    new=new[first],
                    pitch=pitch,
                )
            )
        _, first, which = np.unique(row * pitch + new, return_index=True, return_inverse=True)
        late = np.flatnonzero(first[which] != np.arange(len(which)))
        if len(late):
            first_row, other_row = int(first[which[late[0]]]), int(late[0])
            raise InputError(
                english(
                    "{swizzle}: puts {one} and {other} in one place; every column of a row needs a place of its own",
                    swizzle=self.text,
                    one=f"({row[first_row]}, {column[first_row]})",
                    other=f"({row[other_row]}, {column[other_row]})",
                )
            )
        return elements


Swizzle = Xor | Cute | Free


def swizzle_of(text: str) -> Swizzle:
    """Read a swizzle.

    ``xor BITS BASE SHIFT``, where five bits, 0 and 0 can be left out, ``Swizzle<B, M, S>``, or the new column as a
    formula: ``column ^ row``.

    Raises:
        InputError: saying what is wrong in one line.
    """
    if match := re.fullmatch(r"\s*xor((?:\s+\d{1,3}){0,3})\s*", text):
        return Xor(*map(int, match[1].split() or [_BITS]))
    if match := re.fullmatch(r"\s*Swizzle\s*<\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(-?\d{1,3})\s*>\s*", text):
        return Cute(*map(int, match.groups()))
    free = Free(formula(text))
    if len(free.column.values({"row": np.zeros(1, np.int64), "column": np.zeros(1, np.int64)})) != 1:
        raise InputError(english("{text}: a swizzle is one formula, the new column", text=text))
    return free


def _check_bits(swizzle: Xor | Cute, **bits: tuple[int, int]) -> None:
    for name, (least, value) in bits.items():
        if not least <= value <= _MOST_BITS:
            values = {"name": name, "value": value, "least": least, "most": _MOST_BITS}
            raise InputError(f"{swizzle.text}: " + english("{name} is {value}; it can be {least} to {most}", **values))


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
