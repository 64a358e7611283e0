"""How many numbers the result of a call has, worked out from its arguments before it is made."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.device_array import DeviceArray

Sizer = Callable[..., int]

MANY = 1 << 27  # elements; beyond any limit on an array
_VISITS = 200_000


@dataclass(frozen=True)
class KnownFunction:
    """A function that text may call. ``size`` gives the elements of its result from its arguments.

    ``__module__`` and the name are those of the original, by which kernels find their rule for it.
    """

    name: str
    call: Callable[..., Any]
    size: Sizer
    module: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "__module__", self.module)
        object.__setattr__(self, "__qualname__", self.name)


def count(shape: Any) -> int:
    """Return the elements of a shape; a shape is an integer or integers."""
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    return math.prod(max(0, int(size)) for size in sizes)


def elements(value: Any) -> int:
    """Return how many numbers a value holds; ``MANY`` when lists hold each other so often that counting takes long."""
    total, visited, waiting = 0, 0, [value]
    while waiting:
        item = waiting.pop()
        visited += 1
        if visited > _VISITS:
            return MANY
        if isinstance(item, np.ndarray | DeviceArray):
            total += int(item.size)
        elif isinstance(item, tuple | list):
            total += 1
            waiting.extend(item)
        else:
            total += _length(item) if isinstance(item, range | str) else 1
    return min(total, MANY)


def _length(value: range | str) -> int:
    try:
        return len(value)
    except OverflowError:  # a range may have more than Python counts
        return MANY


def together(*arguments: Any, **options: Any) -> int:
    """Return the elements of arguments broadcast against each other, or one after the other where they do not."""
    shapes = [value.shape for value in (*arguments, *options.values()) if isinstance(value, np.ndarray)]
    apart = elements(arguments) + elements(list(options.values()))
    try:
        return max(apart, count(np.broadcast_shapes(*shapes)))
    except ValueError:
        return apart


def of_shape(shape: Any = 0, *arguments: Any, **options: Any) -> int:
    """Return the elements of a shape that comes first."""
    return count(options.get("shape", shape))


def of_arange(start: float = 0, stop: float | None = None, step: float = 1, *rest: Any, **options: Any) -> int:
    """Return the elements of ``arange``."""
    start, stop, step = options.get("start", start), options.get("stop", stop), options.get("step", step)
    first, last = (0, start) if stop is None else (start, stop)
    return max(0, math.ceil((last - first) / step)) if step else 0


def of_linspace(start: Any, stop: Any, num: int = 50, *rest: Any, **options: Any) -> int:
    """Return the elements of ``linspace``."""
    return int(options.get("num", num)) * max(elements(start), elements(stop))


def of_eye(rows: int, columns: int | None = None, *rest: Any, **options: Any) -> int:
    """Return the elements of ``eye``."""
    columns = options.get("M", columns)
    return int(rows) * int(rows if columns is None else columns)


def of_tile(array: Any, reps: Any = 1, **options: Any) -> int:
    """Return the elements of ``tile``."""
    return elements(array) * count(options.get("reps", reps))


def of_repeat(array: Any, repeats: Any = 1, *rest: Any, **options: Any) -> int:
    """Return the elements of ``repeat``, taking the largest of several counts."""
    repeats = options.get("repeats", repeats)
    return elements(array) * (int(np.max(repeats)) if elements(repeats) else 0)


def of_outer(left: Any, right: Any, *rest: Any, **options: Any) -> int:
    """Return the elements of an outer product."""
    return elements(left) * elements(right)


def product(left: Any, right: Any, *rest: Any, **options: Any) -> int:
    """Return the elements of a matrix product, or of its work where that is more than memory would show."""
    a, b = np.shape(left), np.shape(right)
    rows = count(a[:-1]) if a else 1
    columns = elements(right) // b[-2] if len(b) > 1 and b[-2] else 1
    inner = a[-1] if a else 1
    return max(rows * columns, rows * columns * inner // 256)


def of_bincount(values: Any, *rest: Any, **options: Any) -> int:
    """Return the elements of ``bincount``: up to the largest value."""
    return max(int(np.max(values)) + 1 if elements(values) else 0, int(options.get("minlength", 0)))


def of_histogram(values: Any, bins: Any = 10, *rest: Any, **options: Any) -> int:
    """Return the elements of ``histogram``: the work and the bins."""
    bins = options.get("bins", bins)
    return elements(values) + (elements(bins) if elements(bins) > 1 else int(bins))


def of_sizes(*shape: Any) -> int:
    """Return the elements of a shape given as several arguments."""
    return count(shape)


def sized(*before: str) -> Sizer:
    """Return the sizer of a random generator's method: its size comes after so many other arguments."""

    def size(*arguments: Any, **options: Any) -> int:
        shape = options.get("size", arguments[len(before)] if len(arguments) > len(before) else None)
        return 1 if shape is None else count(shape)

    return size


def of_pad(array: Any, width: Any = 0, *rest: Any, **options: Any) -> int:
    """Return the elements of ``pad``, every axis grown by twice the largest width."""
    width = options.get("pad_width", width)
    widest = int(np.max(width)) if elements(width) else 0
    return count([extent + 2 * max(0, widest) for extent in np.shape(array)])
