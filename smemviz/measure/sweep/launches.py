"""The launches of one size, and its matrices: each timed, held against the product in float64, its traffic counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from smemviz.engines.backend import gpu_engine
from smemviz.engines.launch_shape import Configuration
from smemviz.engines.options import LOG_BYTES, Progress
from smemviz.frontends.program import Program
from smemviz.measure.sweep.blas import Blas
from smemviz.measure.time.replays import ReplayTime, replayed
from smemviz.messages import english
from smemviz.model.counting.matmul import Counted, filled, scaled, traffic
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.data import Launch
from smemviz.recordings.sweep import Clocked, Point, Size, Traffic

LOG_NOTHING = 0
_LAUNCHES_OF_A_POINT = 6  # at the least: one to compile, the pilots, the samples
_LOGGED_OPERATIONS = 2 * 64**3
_LONG_MICROSECONDS = 50_000.0
_SMALL_SECONDS = 0.05  # what takes no longer tells nothing of how it grows

Multiply = Callable[..., None]  # of c, a, b and perhaps a stream
Counter = Callable[[Sequence[Any]], Callable[[int], Launch]]
_SEED = 0
_LARGEST_INTEGER = 8

Shape = tuple[int, ...]


class Job:
    """What is measured so far, and how long launches took, from which the next size is foretold."""

    def __init__(self, limit_s: float, blas: Blas | None, progress: Progress | None, total: int) -> None:
        self.limit_s = limit_s
        self.blas = blas
        self.points: list[Point] = []
        self.notes: list[str] = []
        self.counted: dict[str, Counted] = {}  # the first size of each kernel
        self._progress = progress
        self._total = total
        self._done = 0
        self._known: dict[tuple[str, str], tuple[Size, float]] = {}  # (kernel, what is done) -> seconds at a size

    def step(self, text: str) -> None:
        """Say what comes next."""
        if self._progress:
            self._progress(min(self._done, self._total), self._total, text)
        self._done += 1

    def predicted(self, kernel: str, what: str, size: Size) -> float:
        """Return how many seconds something will take, by its number of operations; 0 where too little is known."""
        before, seconds = self._known.get((kernel, what), (size, 0.0))
        return seconds * size.operations / before.operations if seconds > _SMALL_SECONDS else 0.0

    def learn(self, kernel: str, what: str, size: Size, seconds: float) -> None:
        """Keep how long something took."""
        self._known[kernel, what] = (size, seconds)

    def taken(self, kernel: str, what: str, size: Size) -> float | None:
        """Return how many seconds something took at a size, None where that was not done or not kept."""
        before, seconds = self._known.get((kernel, what), (None, None))
        return seconds if before == size else None

    def too_long(self, expected: float) -> str:
        """Say why something is skipped."""
        return english(
            "expected to take {expected:.3g} s, more than the limit of {limit:g} s",
            expected=expected,
            limit=self.limit_s,
        )


@dataclass(eq=False)
class Measure:
    """Measures the kernels of a file at one size, with matrices of its own."""

    job: Job
    program: Program
    size: Size
    matrices: Matrices

    def takes(self, kernel: str, config: Configuration, arguments: Sequence[Any]) -> bool:
        """Tell whether a launch is measured; one that is expected to take too long is not."""
        self.job.step(f"{kernel} {self.size.name}")
        expected = _LAUNCHES_OF_A_POINT * self.job.predicted(kernel, "launch", self.size)
        if expected > self.job.limit_s:
            skipped = self.job.too_long(expected)
            self.job.points.append(self._point(kernel, arguments, None, skipped=skipped, grid=config.grid))
            return False
        return True

    def launch(
        self, kernel: str, config: Configuration, arguments: Sequence[Any], c: Any, launch: Multiply, counter: Counter
    ) -> None:
        """Measure one launch of ``(c, a, b)``; ``counter`` is given these and returns what counts it."""
        a, b = self.matrices.on_device(arguments[1].shape, arguments[2].shape, arguments[1].dtype)
        began = time.perf_counter()
        launch(c, a, b)
        cuda.synchronize()
        first = time.perf_counter() - began
        timed = replayed(lambda stream: launch(c, a, b, stream))
        self.job.learn(kernel, "launch", self.size, timed.spread.median * 1e-6)
        whole = whole_us(launch, c, a, b)
        error, largest = self.matrices.error(c.copy_to_host(), a, b)
        moved = self._count(kernel, config, counter, (c, a, b))
        self.job.points.append(
            self._point(kernel, arguments, clocked(timed, whole, first), error, largest, moved, grid=config.grid)
        )

    def _point(self, kernel: str, arguments: Sequence[Any], time: Clocked | None, *more: Any, **kwargs: Any) -> Point:
        tile = self.program.values.get("TILE")
        kwargs["filled"] = filled(self.size, arguments[1].shape, arguments[2].shape)
        kwargs["count_s"] = self.job.taken(kernel, "count", self.size)
        tile = tile if isinstance(tile, int) else None
        return Point(kernel, self.size, tile, arguments[1].dtype.name, time, *more, **kwargs)

    def _count(self, kernel: str, config: Configuration, counter: Counter, arguments: Sequence[Any]) -> Traffic | None:
        """Count what the launch moves, unless that follows from a smaller size, or is expected to take too long."""
        known = self.job.counted.get(kernel)
        if known and scaled(known, self.size, config.grid):
            return None
        if self.job.predicted(kernel, "count", self.size) > self.job.limit_s:
            return None
        count_with = counter(arguments)
        began = time.perf_counter()
        launch = count_with(LOG_NOTHING)
        self.job.learn(kernel, "count", self.size, time.perf_counter() - began)
        if self.size.operations <= _LOGGED_OPERATIONS:  # the lanes of logged requests tell how many elements they load
            launch = count_with(LOG_BYTES)
        moved = traffic(launch, Hardware.on(gpu_engine().device()))
        self.job.counted.setdefault(kernel, Counted(self.size, config.grid, moved))
        return moved


def clocked(timed: ReplayTime, whole_us: float, first_s: float) -> Clocked:
    """Return what was timed, with the wall time of launch and copies, and that of compiling in the first launch."""
    spread = timed.spread
    compiling = round(max(first_s - spread.median * 1e-6, 0.0), 4)
    return Clocked(spread.median, spread.low, spread.high, timed.samples, timed.nodes, whole_us, compiling)


def whole_us(launch: Callable[[Any, Any, Any], None], c: Any, a: Any, b: Any) -> float:
    """Return the least wall time of a few tries to copy both matrices there, launch, and copy the result back."""
    there = a.copy_to_host(), b.copy_to_host()
    back = c.copy_to_host()

    def once() -> float:
        began = time.perf_counter()
        for array, values in zip((a, b), there, strict=True):
            array.copy_to_device(values)
        launch(c, a, b)
        c.copy_to_host(back)
        return (time.perf_counter() - began) * 1e6

    first = once()
    return first if first > _LONG_MICROSECONDS else min(first, once(), once())


class Matrices:
    """Random factors by shape and type: numbers from -1 to 1, or whole ones from -8 to 8 for integers."""

    def __init__(self) -> None:
        self.on_host = cache(self._on_host)
        self.on_device = cache(self._on_device)
        self._product = cache(self._in_float64)

    def error(self, c: NDArray[Any], a: Any, b: Any) -> tuple[float, float]:
        """Return the largest difference of ``c`` from ``a b`` in float64, and the largest element of that."""
        exact = self._product(tuple(a.shape), tuple(b.shape), a.dtype)
        difference = c - exact[: c.shape[0], : c.shape[1]]
        return float(np.abs(difference).max()), float(np.abs(exact).max())

    def _on_host(self, a: Shape, b: Shape, dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        rng = np.random.default_rng(_SEED)
        return _random(rng, a, np.dtype(dtype)), _random(rng, b, np.dtype(dtype))

    def _on_device(self, a: Shape, b: Shape, dtype: Any) -> tuple[Any, Any]:
        first, second = self.on_host(a, b, dtype)
        return cuda.to_device(first), cuda.to_device(second)

    def _in_float64(self, a: Shape, b: Shape, dtype: Any) -> NDArray[np.float64]:
        first, second = self.on_host(a, b, dtype)
        product: NDArray[np.float64] = first.astype(np.float64) @ second.astype(np.float64)
        return product


def _random(rng: np.random.Generator, shape: Shape, dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype.kind in "iu":
        low = -_LARGEST_INTEGER if dtype.kind == "i" else 0
        return rng.integers(low, _LARGEST_INTEGER, shape, dtype=np.int8, endpoint=True).astype(dtype)
    return (2 * rng.random(shape, dtype=np.float32) - 1).astype(dtype)
