"""Ranges of numbers that are kept as values: how many numbers they have, and which."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from smemviz.engines.lockstep.values.operators import binary
from smemviz.engines.lockstep.values.typing import INT64, INT64_MAX, INT64_MIN, Value, cast, dtype_of


@dataclass(frozen=True)
class Range:
    """``range(start, stop, step)``; each is a number, or one of each thread."""

    start: Value
    stop: Value
    step: Value

    @property
    def ends(self) -> tuple[Value, Value, Value]:
        return self.start, self.stop, self.step

    @property
    def length(self) -> Value:
        if all(type(end) is int for end in self.ends):
            return len(range(*self.ends))
        start, stop, step = (np.asarray(end, INT64) for end in self.ends)
        return np.maximum(-((start - stop) // step), 0)[()]

    @property
    def last(self) -> Value:
        return binary(ast.Add, self.start, binary(ast.Mult, binary(ast.Sub, self.length, 1), self.step))

    @property
    def total(self) -> Value:
        """The sum of its numbers, in 64 bits."""
        odd = self.length % 2
        pairs = binary(ast.Mult, (self.length - odd) // 2, self.length - 1 + odd)  # n * (n - 1) / 2
        return binary(ast.Add, binary(ast.Mult, self.length, self.start), binary(ast.Mult, pairs, self.step))

    def numbers(self) -> Iterator[tuple[Value, Value]]:
        if all(type(end) is int for end in self.ends):
            for number in range(*self.ends):
                yield True, number
            return
        number = self.start
        while True:
            yield np.where(np.asarray(self.step) > 0, number < self.stop, number > self.stop), number
            number = number + self.step

    def has(self, value: Value) -> Value:
        """Tell whether a number is one of its numbers; a float is where it is whole."""
        if dtype_of(value).kind == "f":
            whole = binary(ast.Eq, binary(ast.Mod, value, 1), 0)
            return np.logical_and(whole, self.has(cast(value, INT64)))[()]
        value, (start, stop, step) = np.asarray(cast(value, INT64)), (np.asarray(end, INT64) for end in self.ends)
        inside = np.where(step > 0, (value >= start) & (value < stop), (value <= start) & (value > stop))
        return (inside & ((value - start) % step == 0))[()]


def slice_ends(part: slice) -> tuple[Value, Value, Value]:
    """Return start, stop and step of a slice as Numba holds them, where one is left out too."""
    step = 1 if part.step is None else part.step
    forward = not isinstance(step, int) or step > 0
    first, last = (0, INT64_MAX) if forward else (INT64_MAX, INT64_MIN)
    return first if part.start is None else part.start, last if part.stop is None else part.stop, step
