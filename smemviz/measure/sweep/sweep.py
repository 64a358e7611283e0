"""The matrix products of a kernel file over sizes: time, error, traffic; beside cuBLAS, NumPy and plain loops.

``main()`` says how each kernel is launched for a size. The launch is then repeated with matrices of our own, random
numbers instead of the small whole ones that make a check exact; ``main()`` finds its own arrays as it left them.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numba import cuda
from numba.cuda.dispatcher import CUDADispatcher

from smemviz.engines.backend import gpu_engine
from smemviz.engines.gpu.passes import Arguments, count, instrumented_kernel
from smemviz.engines.gpu.recorder import watch
from smemviz.engines.host import Configuration
from smemviz.engines.limits import LOG_BYTES
from smemviz.engines.recorder import Progress
from smemviz.errors import KernelFileError
from smemviz.frontends.numba.digests import digests
from smemviz.frontends.numba.functions import Function
from smemviz.frontends.numba.program import Program
from smemviz.measure.sweep.blas import MISSING, Blas, find_blas
from smemviz.measure.sweep.ceilings import measure_ceilings
from smemviz.measure.sweep.host_product import by_loops, by_numpy, describe_host, loops_expected
from smemviz.measure.sweep.matrices import Matrices
from smemviz.measure.time.conditions import conditions
from smemviz.measure.time.replays import Timed, queued, replayed
from smemviz.messages import said
from smemviz.model.counting.matmul import Counted, filled, scaled, traffic
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.sweep import CUBLAS, LOOPS, NUMPY, SIZE_CONSTANTS, Clocked, Point, Size, Sweep, Traffic
from smemviz.version import __version__

_LAUNCHES_OF_A_POINT = 6  # at the least: one to compile, the pilots, the samples
_LOG_NOTHING = 0
_LOGGED_OPERATIONS = 2 * 64**3
_LONG_MICROSECONDS = 50_000.0
_SMALL_SECONDS = 0.05  # what takes no longer tells nothing of how it grows
_FLOAT32 = np.dtype(np.float32)
_START_UP = """
import time
from numba import cuda
began = time.perf_counter()
cuda.current_context()
print(time.perf_counter() - began)
"""


def sweep(program: Program, sizes: Sequence[Size], limit_s: float, progress: Progress | None = None) -> Sweep:
    """Measure every kernel of a file at every size.

    Args:
        program: a kernel file with constants M, K and N, whose kernels take ``(c, a, b)``.
        sizes: what to multiply; the smallest is measured first, for the larger ones are foretold from it.
        limit_s: a point that is expected to take longer is skipped, and says so.
        progress: called as ``progress(done, total, text)``.

    Raises:
        MissingError: when there is no GPU.
    """
    card = gpu_engine().device()
    start_up = _start_up_seconds()
    blas = find_blas()
    ordered = sorted(set(sizes), key=lambda size: size.operations)
    job = _Job(limit_s, blas, progress, len(ordered) * (len(program.kernels) + 3) + 1)
    job.step("ceilings")
    ceilings = measure_ceilings()
    for size in ordered:
        job.measure(program, size)
    return Sweep(
        file=program.file,
        sha256=program.sha256,
        version=__version__,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        device=card,
        host=describe_host(),
        library=blas.name if blas else MISSING,
        start_up_s=start_up,
        limit_s=limit_s,
        conditions=conditions(),
        ceilings=ceilings,
        points=tuple(job.points),
        notes=tuple(job.notes),
        kernels=digests(program),
    )


def _start_up_seconds() -> float:
    """Return how long a fresh process takes to get hold of the card, Python's imports not counted."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", _START_UP], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


class _Job:
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

    def measure(self, program: Program, size: Size) -> None:
        """Measure everything at one size; a ``main()`` that fails is noted."""
        sized = program.with_constants(dict(zip(SIZE_CONSTANTS, (size.m, size.k, size.n), strict=True)))
        matrices = Matrices()
        try:
            watch(sized, _Watcher(self, sized, size, matrices))
        except KernelFileError as error:
            self.notes.append(f"{size.name}: {error.what}")
        self._cublas(size, matrices)
        self._host(size, matrices)

    def _cublas(self, size: Size, matrices: Matrices) -> None:
        self.step(f"{CUBLAS} {size.name}")
        if self.blas is None:
            return
        a, b = matrices.on_device((size.m, size.k), (size.k, size.n), _FLOAT32)
        c = cuda.device_array((size.m, size.n), _FLOAT32)
        multiply = self.blas.multiply
        began = time.perf_counter()
        multiply(c, a, b, cuda.default_stream())
        cuda.synchronize()
        first = time.perf_counter() - began
        stream = cuda.stream()  # cuBLAS takes its room for a stream at the first call on it, not under capture
        multiply(c, a, b, stream)
        timed = (replayed if self.blas.captured else queued)(lambda stream: multiply(c, a, b, stream))
        whole = _whole_us(lambda c, a, b: multiply(c, a, b, cuda.default_stream()), c, a, b)
        error, largest = matrices.error(c.copy_to_host(), a, b)
        self.points.append(Point(CUBLAS, size, None, "float32", _clocked(timed, whole, first), error, largest))

    def _host(self, size: Size, matrices: Matrices) -> None:
        a, b = matrices.on_host((size.m, size.k), (size.k, size.n), _FLOAT32)
        self.step(f"{NUMPY} {size.name}")
        taken, c = by_numpy(a, b)
        self.points.append(Point(NUMPY, size, None, "float32", taken, *matrices.error(c, a, b)))
        self.step(f"{LOOPS} {size.name}")
        expected = loops_expected(a, b)
        if expected > self.limit_s:
            self.points.append(Point(LOOPS, size, None, "float32", None, skipped=self.too_long(expected)))
            return
        taken, c = by_loops(a, b)
        self.points.append(Point(LOOPS, size, None, "float32", taken, *matrices.error(c, a, b)))

    def too_long(self, expected: float) -> str:
        """Say why something is skipped."""
        return said(
            "expected to take {expected:.3g} s, more than the limit of {limit:g} s",
            expected=expected,
            limit=self.limit_s,
        )


class _Watcher:
    """Measures each kernel as ``main()`` launches it, with matrices of its own."""

    def __init__(self, job: _Job, program: Program, size: Size, matrices: Matrices) -> None:
        self.job = job
        self.program = program
        self.size = size
        self.matrices = matrices

    def launch(
        self, dispatcher: CUDADispatcher, function: Function, config: Configuration, arguments: Sequence[Any]
    ) -> None:
        """Measure one launch."""
        self.job.step(f"{function.name} {self.size.name}")
        expected = _LAUNCHES_OF_A_POINT * self.job.predicted(function.name, "launch", self.size)
        if expected > self.job.limit_s:
            self.job.points.append(
                self._point(function.name, arguments, None, skipped=self.job.too_long(expected), grid=config.grid)
            )
            return
        with Arguments(arguments[:1]) as held:
            c = held.values[0]
            a, b = self.matrices.on_device(arguments[1].shape, arguments[2].shape, arguments[1].dtype)

            def launch(c: Any, a: Any, b: Any, stream: Any = 0) -> None:
                dispatcher.configure(config.grid, config.block, stream, config.dynamic_shared)(c, a, b)

            began = time.perf_counter()
            launch(c, a, b)
            cuda.synchronize()
            first = time.perf_counter() - began
            timed = replayed(lambda stream: launch(c, a, b, stream))
            self.job.learn(function.name, "launch", self.size, timed.spread.median * 1e-6)
            whole = _whole_us(launch, c, a, b)
            error, largest = self.matrices.error(c.copy_to_host(), a, b)
            moved = self._count(function, config, (c, a, b))
            held.restore()
        self.job.points.append(
            self._point(
                function.name, arguments, _clocked(timed, whole, first), error, largest, moved, grid=config.grid
            )
        )

    def _point(self, kernel: str, arguments: Sequence[Any], time: Clocked | None, *more: Any, **named: Any) -> Point:
        tile = self.program.values.get("TILE")
        named["filled"] = filled(self.size, arguments[1].shape, arguments[2].shape)
        tile = tile if isinstance(tile, int) else None
        return Point(kernel, self.size, tile, arguments[1].dtype.name, time, *more, **named)

    def _count(self, function: Function, config: Configuration, arguments: Sequence[Any]) -> Traffic | None:
        """Count what the launch moves, unless that follows from a smaller size, or is expected to take too long."""
        known = self.job.counted.get(function.name)
        if known and scaled(known, self.size, config.grid):
            return None
        if self.job.predicted(function.name, "count", self.size) > self.job.limit_s:
            return None
        instrumented = instrumented_kernel(function, arguments, math.prod(config.block))
        count(function, instrumented, config, arguments, _LOG_NOTHING)  # compiles
        began = time.perf_counter()
        launch = count(function, instrumented, config, arguments, _LOG_NOTHING)
        self.job.learn(function.name, "count", self.size, time.perf_counter() - began)
        if self.size.operations <= _LOGGED_OPERATIONS:  # the lanes of logged requests tell how many elements they load
            launch = count(function, instrumented, config, arguments, LOG_BYTES)
        moved = traffic(launch, Hardware.on(gpu_engine().device()))
        self.job.counted.setdefault(function.name, Counted(self.size, config.grid, moved))
        return moved


def _clocked(timed: Timed, whole_us: float, first_s: float) -> Clocked:
    found = timed.spread
    compiling = round(max(first_s - found.median * 1e-6, 0.0), 4)
    return Clocked(found.median, found.low, found.high, timed.samples, timed.nodes, whole_us, compiling)


def _whole_us(launch: Callable[[Any, Any, Any], None], c: Any, a: Any, b: Any) -> float:
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
