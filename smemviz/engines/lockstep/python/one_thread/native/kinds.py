"""Kinds of numbers in the text of a loop, and its variables, in LLVM's language.

A number is an integer of 64 bits, a double or a bool; a range is three integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir

INT, REAL, BIT, SINGLE = ir.IntType(64), ir.DoubleType(), ir.IntType(1), ir.FloatType()
_LEAST, _MOST = -(2**63), 2**63 - 1


class NotNativeError(Exception):
    """A text that has to be left to Python."""


class Range:
    """The kind of a range: its first number, how many there are, and the step."""


@dataclass(frozen=True)
class Made:
    """What an expression is worth: its kind, and its value, or those of a range."""

    kind: Any
    value: ir.Value = None
    parts: tuple[ir.Value, ...] = ()


@dataclass
class Cells:
    """The variables of a text: each in as many cells as it has parts, and the last is whether it is assigned.

    ``dtypes`` are the types of arrays by their names, ``constants`` what names stand for throughout. ``state`` is the
    address of what a thread keeps from one call to the next.
    """

    constants: Mapping[str, Any]
    dtypes: Mapping[str, np.dtype[Any]]
    kinds: dict[str, Any] = field(default_factory=dict)
    cells: dict[str, tuple[ir.Value, ...]] = field(default_factory=dict)
    builder: ir.IRBuilder = None
    allocas: ir.IRBuilder = None
    module: ir.Module = None
    state: ir.Value = None

    def variable(self, name: str, kind: Any) -> tuple[ir.Value, ...]:
        """Return the cells of a variable, which has one kind throughout."""
        if self.kinds.setdefault(name, kind) is not kind:
            raise NotNativeError
        if name not in self.cells:
            types = [INT] * 3 if kind is Range else [kind]
            self.cells[name] = tuple(self.allocas.alloca(each) for each in (*types, BIT))
        return self.cells[name]

    def assign(self, name: str, made: Made) -> None:
        """Give a variable a value."""
        *cells, is_assigned = self.variable(name, made.kind)
        for cell, value in zip(cells, made.parts or (made.value,), strict=True):
            self.builder.store(value, cell)
        self.builder.store(ir.Constant(BIT, 1), is_assigned)

    def read(self, name: str) -> Made:
        """Return what a variable, or a constant, is worth."""
        if name in self.constants:
            return self.literal(self.constants[name])
        if name not in self.cells:
            raise NotNativeError
        kind, (*cells, _) = self.kinds[name], self.cells[name]
        values = tuple(self.builder.load(cell) for cell in cells)
        return Made(kind, parts=values) if kind is Range else Made(kind, values[0])

    def slot(self, builder: ir.IRBuilder, number: int) -> ir.Value:
        """Return the address of a place in what a thread keeps."""
        return builder.gep(self.state, [ir.Constant(INT, number)])

    def as_integer(self, made: Made) -> ir.Value:
        """Return an integer, or a truth as one."""
        if made.kind is BIT:
            return self.builder.zext(made.value, INT)
        if made.kind is not INT:
            raise NotNativeError
        return made.value

    def as_real(self, made: Made) -> ir.Value:
        """Return a number as a double."""
        if made.kind is REAL:
            return made.value
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
        number = made.parts[1] if made.kind is Range else made.value
        return self.builder.icmp_signed("!=", number, ir.Constant(INT, 0))

    def literal(self, value: object) -> Made:
        """Return a number that is written out."""
        if isinstance(value, bool | np.bool_):
            return Made(BIT, ir.Constant(BIT, int(value)))
        if isinstance(value, int | np.integer) and _LEAST <= int(value) <= _MOST:
            return Made(INT, ir.Constant(INT, int(value)))
        if isinstance(value, float | np.float32):
            return Made(REAL, ir.Constant(REAL, float(value)))
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

    def wrapped(self, number: ir.Value, width: int, *, is_signed: bool) -> ir.Value:
        """Return the lower bits of an integer as a number of so many."""
        if width == INT.width:
            return number
        narrow = self.builder.trunc(number, ir.IntType(width))
        return (self.builder.sext if is_signed else self.builder.zext)(narrow, INT)
