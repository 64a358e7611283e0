"""Layouts: where in shared memory the elements of an array lie.

Elements are numbered as the kernel means them, row by row and without gaps; a layout turns the number into a byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import InputError
from smemviz.messages import english
from smemviz.model.hardware.compute_capability import KIB, known
from smemviz.model.layout.swizzles import Swizzle, swizzle_of
from smemviz.recordings.vocabulary import DTYPES

Integers = NDArray[np.int64]

_ROW = 128  # bytes of a row of an array of one dimension that names none: of 32 banks
_MOST_BYTES = max(row.opt_in_shared for row in known())


@dataclass(frozen=True)
class Layout:
    """An array in shared memory.

    ``pitch`` is the elements from one row to the next, as many as a row has when left out; ``pad`` comes on top of it.
    ``base`` is the byte of the first element. All dimensions but the last count rows. An array of one dimension has
    rows of ``pitch`` elements, a row of banks when left out.

    Raises:
        InputError: for a shape, number or swizzle that makes no array.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    pitch: int | None = None
    pad: int = 0
    base: int = 0
    swizzle: Swizzle | None = None

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            dtype = repr(self.dtype)
            raise InputError(
                english("{dtype} is not a dtype; there are int32, float32, float64 and Numba's others", dtype=dtype)
            )
        if not 1 <= len(self.shape) <= 4 or min(self.shape) < 1:
            sizes = _sizes(self.shape) or "none"
            raise InputError(english("a shape has one to four sizes of at least 1, not {sizes}", sizes=sizes))
        if self.pitch is not None and self.pitch < (self.columns if len(self.shape) > 1 else 1):
            words = {"pitch": self.pitch, "columns": self.columns}
            raise InputError(
                english("pitch is {pitch}; a row has {columns} elements and cannot overlap the next", **words)
            )
        if self.pad < 0 or self.base < 0:
            raise InputError(english("pad and base cannot be negative: {n}", n=min(self.pad, self.base)))
        if self.base % self.itemsize:
            values = {"base": self.base, "dtype": self.dtype, "itemsize": self.itemsize}
            raise InputError(english("base is byte {base}; {dtype} starts at a multiple of {itemsize}", **values))
        if max(self.rows * self.stride * self.itemsize, self.base) > _MOST_BYTES or self.nbytes > _MOST_BYTES:
            what = english(
                "is larger than, or starts behind, the {most} KiB that any block has", most=_MOST_BYTES // KIB
            )
            raise InputError(f"{self.text}: {what}")

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return np.dtype(DTYPES[self.dtype]).itemsize

    @property
    def columns(self) -> int:
        """The elements of a row."""
        if len(self.shape) > 1:
            return self.shape[-1]
        return self.pitch or max(1, _ROW // self.itemsize)

    @property
    def rows(self) -> int:
        """The rows, of all planes together."""
        return prod(self.shape[:-1]) if len(self.shape) > 1 else -(-self.shape[0] // self.columns)

    @property
    def stride(self) -> int:
        """The elements from one row to the next, pad and all."""
        return (self.pitch or self.columns) + self.pad

    @property
    def elements(self) -> int:
        """The elements to declare, unused ones and all."""
        if len(self.shape) > 1 or self.swizzle:
            declared = self.rows * self.stride
        else:
            declared = self.shape[0] + -(-self.shape[0] // self.columns) * self.pad
        return self.swizzle.room(self.columns, self.stride, declared) if self.swizzle else declared

    @property
    def nbytes(self) -> int:
        """The bytes to declare."""
        return self.elements * self.itemsize

    @property
    def unused_bytes(self) -> int:
        """How many of them hold nothing."""
        return (self.elements - prod(self.shape)) * self.itemsize

    @property
    def plain(self) -> Layout:
        """The same array without pad and swizzle."""
        return replace(self, pad=0, swizzle=None)

    @property
    def text(self) -> str:
        """As ``layout_of`` reads it: ``64x64 float32; pad=1``."""
        parts = [f"{_sizes(self.shape)} {self.dtype}"]
        parts += [f"pitch={self.pitch}"] if self.pitch is not None else []
        parts += [f"pad={self.pad}"] if self.pad else []
        parts += [f"base={self.base}"] if self.base else []
        parts += [f"swizzle={self.swizzle.text}"] if self.swizzle else []
        return "; ".join(parts)

    def place(self, element: Integers) -> Integers:
        """Return where elements lie, counted in elements from the first; negative numbers stay."""
        row, column = np.divmod(np.maximum(element, 0), self.columns)
        place = self.swizzle.place(row, column, self.stride) if self.swizzle else row * self.stride + column
        return np.where(element < 0, element, place)

    def address(self, element: Integers) -> Integers:
        """Return the byte an element starts at, -1 for a negative number."""
        return np.where(element < 0, -1, self.base + self.place(element) * self.itemsize)

    def table(self) -> Integers:
        """Return the byte address of every element, shape (rows, columns); -1 past the end of one dimension."""
        element = np.arange(self.rows * self.columns)
        return self.address(np.where(element < prod(self.shape), element, -1)).reshape(self.rows, self.columns)


def layout_of(text: str) -> Layout:
    """Read a layout: ``64x64 float32; pitch=64; pad=1; base=0; swizzle=xor 5``; all but the shape may be left out.

    Raises:
        InputError: saying what is wrong in one line.
    """
    first, options = read_options(text, _OPTIONS)
    sizes, _, dtype = first.partition(" ")
    return Layout(_shape(sizes), dtype.strip() or "float32", **options)  # type: ignore[arg-type]


def _shape(text: str) -> tuple[int, ...]:
    sizes = text.lower().split("x")
    if not all(map(_is_whole, sizes)):
        raise InputError(
            english("{text} is not a shape; write whole numbers with x between them, as 32x33", text=repr(text))
        )
    return tuple(map(int, sizes))


Reader = Callable[[str, str], object]


def read_options(text: str, readers: Mapping[str, Reader]) -> tuple[str, dict[str, object]]:
    """Split ``first; name=value; name=value`` and read the values; a reader gets the name and the text.

    Raises:
        InputError: for a name that is not there or comes twice, and for what the readers refuse.
    """
    first, *rest = (part.strip() for part in text.split(";"))
    options: dict[str, object] = {}
    for part in filter(None, rest):
        name, equals, value = (side.strip() for side in part.partition("="))
        if not equals or name not in readers or name in options:
            raise InputError(
                english(
                    "{part} is not an option; write each once, as name=value: {known}",
                    part=repr(part),
                    known=", ".join(readers),
                )
            )
        options[name] = readers[name](name, value)
    return first, options


def whole(name: str, text: str) -> int:
    """Read a whole number; refuse anything else by name."""
    if not _is_whole(text):
        raise InputError(english("{name} is {text}; write a whole number", name=name, text=repr(text)))
    return int(text)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 8


def _sizes(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


_OPTIONS: Mapping[str, Reader] = {
    "pitch": whole,
    "pad": whole,
    "base": whole,
    "swizzle": lambda _, text: swizzle_of(text),
}
