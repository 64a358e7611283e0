"""Kinds of numbers in the text of a loop, and its variables, in LLVM's language.

A number is an integer of 64 bits, a double, a bool, or a complex number of two doubles; a range is three integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir

from smemviz.engines.lockstep.python.one_thread.native.board import FIRST
from smemviz.engines.lockstep.python.one_thread.native.half import HALF, of_half, to_half
from smemviz.engines.lockstep.values.typing import FLOAT16, UINT64

INT, REAL, BIT, SINGLE = ir.IntType(64), ir.DoubleType(), ir.IntType(1), ir.FloatType()
_LEAST, _MOST = -(2**63), 2**63 - 1
_FLOATS = {
    "float16": HALF,
    "float32": SINGLE,
    "float64": REAL,
    "complex64": ir.ArrayType(SINGLE, 2),
    "complex128": ir.ArrayType(REAL, 2),
}


class NotNativeError(Exception):
    """A text that has to be left to Python."""


class Range:
    """The kind of a range: its first number, how many there are, and the step."""


class Unsigned:
    """The kind of an integer of 64 bits without a sign."""


class Complex:
    """The kind of a complex number: its real and its imaginary part."""


_IN_CELLS: dict[Any, list[ir.Type]] = {Range: [INT] * 3, Unsigned: [INT], Complex: [REAL] * 2}


@dataclass(frozen=True)
class Made:
    """What an expression is worth: its kind, and its value, or those of a range."""

    kind: Any
    value: ir.Value = None
    parts: tuple[ir.Value, ...] = ()

    @property
    def values(self) -> tuple[ir.Value, ...]:
        """All of its parts."""
        return self.parts or (self.value,)


def made_of(kind: Any, values: Sequence[ir.Value]) -> Made:
    """Return what has these parts."""
    return Made(kind, values[0]) if len(values) == 1 else Made(kind, parts=tuple(values))


def cells_of(kind: Any) -> list[ir.Type]:
    """Return the types of the parts of what is of a kind."""
    return _IN_CELLS.get(kind, [kind])


@dataclass
class Cells:
    """The variables of a text: each in as many cells as it has parts, and the last is whether it is assigned.

    ``dtypes`` are the types of arrays by their names, ``constants`` what names stand for throughout. ``state`` is the
    address of what a thread keeps from one call to the next, where variables have ``places``, and so many ``size``
    numbers in all. Where ``deep`` is not 0 threads wait for each other, so often that their variables stay there: so
    many numbers tell when an access comes.
    """

    constants: Mapping[str, Any]
    dtypes: Mapping[str, np.dtype[Any]]
    kinds: dict[str, Any] = field(default_factory=dict)
    cells: dict[str, tuple[ir.Value, ...]] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    size: int = FIRST
    deep: int = 0
    builder: ir.IRBuilder = None
    allocas: ir.IRBuilder = None
    module: ir.Module = None
    state: ir.Value = None

    def variable(self, name: str, kind: Any) -> tuple[ir.Value, ...]:
        """Return the cells of a variable, which has one kind throughout."""
        if self.kinds.setdefault(name, kind) is not kind:
            raise NotNativeError
        if name not in self.cells:
            types = *cells_of(kind), BIT
            self.places[name], self.size = self.size, self.size + len(types)
            self.cells[name] = tuple(self._cell(self.places[name] + at, each) for at, each in enumerate(types))
        return self.cells[name]

    def _cell(self, place: int, kind: ir.Type) -> ir.Value:
        """Return where a part of a variable is while the code runs, which has a place in what a thread keeps."""
        builder = self.allocas
        return builder.bitcast(self.slot(builder, place), kind.as_pointer()) if self.deep else builder.alloca(kind)

    def assign(self, name: str, made: Made) -> None:
        """Give a variable a value."""
        if self.kinds.get(name) is Unsigned:
            made = as_unsigned(made)
        *cells, is_assigned = self.variable(name, made.kind)
        for cell, value in zip(cells, made.values, strict=True):
            self.builder.store(value, cell)
        self.builder.store(ir.Constant(BIT, 1), is_assigned)

    def read(self, name: str) -> Made:
        """Return what a variable, or a constant, is worth."""
        if name in self.constants:
            return self.literal(self.constants[name])
        if name not in self.cells:
            raise NotNativeError
        kind, (*cells, _) = self.kinds[name], self.cells[name]
        return made_of(kind, [self.builder.load(cell) for cell in cells])

    def settle(self, name: str, made: Made) -> None:
        """Give a variable that was just assigned another value for it, which may be of another kind."""
        if self.kinds[name] is not made.kind:
            del self.kinds[name], self.cells[name], self.places[name]
        self.assign(name, made)

    def slot(self, builder: ir.IRBuilder, number: int) -> ir.Value:
        """Return the address of a place in what a thread keeps."""
        return builder.gep(self.state, [ir.Constant(INT, number)])

    def as_integer(self, made: Made) -> ir.Value:
        """Return the 64 bits of an integer, or of a truth as one."""
        if made.kind is BIT:
            return self.builder.zext(made.value, INT)
        if made.kind not in (INT, Unsigned):
            raise NotNativeError
        return made.value

    def as_real(self, made: Made) -> ir.Value:
        """Return a number as a double."""
        if made.kind is REAL:
            return made.value
        if made.kind is Unsigned:
            return self.builder.uitofp(made.value, REAL)
        return self.builder.sitofp(self.as_integer(made), REAL)

    def as_whole(self, made: Made) -> ir.Value:
        """Return the 64 bits of an integer, 0 of any other number."""
        return ir.Constant(INT, 0) if made.kind is REAL else self.as_integer(made)

    def as_truth(self, made: Made) -> ir.Value:
        """Return what a number, or a range, is as a condition."""
        if made.kind is BIT:
            return made.value
        if made.kind is REAL:
            return self.builder.fcmp_unordered("!=", made.value, ir.Constant(REAL, 0.0))
        if made.kind is Complex:
            real, imaginary = (self.as_truth(Made(REAL, part)) for part in made.parts)
            return self.builder.or_(real, imaginary)
        number = made.parts[1] if made.kind is Range else made.value
        return self.builder.icmp_signed("!=", number, ir.Constant(INT, 0))

    def literal(self, value: object) -> Made:
        """Return a number that is written out."""
        if isinstance(value, bool | np.bool_):
            return Made(BIT, ir.Constant(BIT, int(value)))
        if isinstance(value, int | np.integer) and _LEAST <= int(value) <= 2 * _MOST + 1:
            return Made(INT if value <= _MOST else Unsigned, ir.Constant(INT, int(value)))
        if isinstance(value, float | np.float32):
            return Made(REAL, ir.Constant(REAL, float(value)))
        if isinstance(value, complex):
            return Made(Complex, parts=tuple(ir.Constant(REAL, part) for part in (value.real, value.imag)))
        raise NotNativeError

    def as_kind(self, builder: ir.IRBuilder, number: ir.Value, cell: ir.Value) -> ir.Value:
        """Return 64 bits as what a cell holds."""
        kind = cell.type.pointee
        if kind is REAL:
            return builder.bitcast(number, REAL)
        return builder.trunc(number, BIT) if kind is BIT else number

    def as_int(self, builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
        """Return what a cell holds as 64 bits."""
        if value.type is REAL:
            return builder.bitcast(value, INT)
        return builder.zext(value, INT) if value.type is BIT else value

    def loaded(self, number: ir.Value, dtype: np.dtype[Any]) -> Made:
        """Return what a number in memory is worth."""
        if dtype.kind == "f":
            if dtype == FLOAT16:
                return Made(REAL, of_half(self.builder, number))
            return Made(REAL, number if dtype.itemsize == 8 else self.builder.fpext(number, REAL))
        if dtype.kind == "b":
            return Made(BIT, self.builder.icmp_signed("!=", number, ir.Constant(number.type, 0)))
        if dtype.kind == "c":
            halves = [self.builder.extract_value(number, half) for half in range(2)]
            return Made(Complex, parts=tuple(self.loaded(half, part_type(dtype)).value for half in halves))
        if dtype.itemsize == 8:
            return Made(INT if dtype.kind == "i" else Unsigned, number)
        return Made(INT, (self.builder.sext if dtype.kind == "i" else self.builder.zext)(number, INT))

    def stored(self, made: Made, dtype: np.dtype[Any]) -> ir.Value:
        """Return what a number is in memory."""
        if dtype.kind == "f":
            number = self.as_real(made)
            if dtype == FLOAT16:
                return to_half(self.builder, number)
            return number if dtype.itemsize == 8 else self.builder.fptrunc(number, SINGLE)
        if dtype.kind == "c" and made.kind is Complex:
            number = ir.Constant(in_memory(dtype), ir.Undefined)
            for place, part in enumerate(made.parts):
                half = self.stored(Made(REAL, part), part_type(dtype))
                number = self.builder.insert_value(number, half, place)
            return number
        number = self.builder.zext(self.as_truth(made), INT) if dtype.kind == "b" else self.as_integer(made)
        return number if dtype.itemsize == 8 else self.builder.trunc(number, in_memory(dtype))

    def wrapped(self, number: ir.Value, width: int, *, is_signed: bool) -> ir.Value:
        """Return the lower bits of an integer as a number of so many."""
        if width == INT.width:
            return number
        narrow = self.builder.trunc(number, ir.IntType(width))
        return (self.builder.sext if is_signed else self.builder.zext)(narrow, INT)


def in_memory(dtype: np.dtype[Any]) -> Any:
    """Return how LLVM calls a number that is in memory.

    Raises:
        NotNativeError: for what is left to Python.
    """
    if dtype.kind in "biu":
        return ir.IntType(8 * dtype.itemsize)
    if dtype.name not in _FLOATS:
        raise NotNativeError
    return _FLOATS[dtype.name]


def part_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of the parts of a complex number."""
    return np.dtype(f"f{dtype.itemsize // 2}")


def kind_of(dtype: np.dtype[Any]) -> Any:
    """Return the kind of numbers of a type that is known."""
    if dtype.kind in "iu":
        return Unsigned if dtype == UINT64 else INT
    return {"b": BIT, "f": REAL, "c": Complex}[dtype.kind]


def as_unsigned(made: Made) -> Made:
    """Return an integer that is written out as one without a sign, anything else as it is."""
    is_number = made.kind is INT and isinstance(made.value, ir.Constant) and made.value.constant >= 0
    return Made(Unsigned, made.value) if is_number else made
