"""Ranges of numbers that are kept as values: how many numbers they have, and which."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from smemviz.engines.lockstep.values.typing import INT64, INT64_MAX, INT64_MIN, Value


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

    def numbers(self) -> Iterator[tuple[Value, Value]]:
        if all(type(end) is int for end in self.ends):
            for number in range(*self.ends):
                yield True, number
            return
        number = self.start
        while True:
            yield np.where(np.asarray(self.step) > 0, number < self.stop, number > self.stop), number
            number = number + self.step


def slice_ends(part: slice) -> tuple[Value, Value, Value]:
    """Return start, stop and step of a slice as Numba holds them, where one is left out too."""
    step = 1 if part.step is None else part.step
    forward = not isinstance(step, int) or step > 0
    first, last = (0, INT64_MAX) if forward else (INT64_MAX, INT64_MIN)
    return first if part.start is None else part.start, last if part.stop is None else part.stop, step
