"""Kernel time of every launch of a kernel file: the clean kernel, by CUDA graph replay."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle, islice
from typing import Any

import numpy as np
from numba import cuda
from numba.cuda.dispatcher import CUDADispatcher

from smemviz.engines.gpu.passes import Arguments, arrays_in
from smemviz.engines.gpu.preflight import Preflight
from smemviz.engines.gpu.recorder import watch
from smemviz.engines.host import Configuration
from smemviz.engines.recorder import Progress
from smemviz.frontends.numba.functions import Function
from smemviz.frontends.numba.program import Program
from smemviz.measure.time.conditions import conditions
from smemviz.measure.time.graph import Replay, fill
from smemviz.measure.time.statistics import Spread, sample_until_known, spread
from smemviz.messages import said
from smemviz.recordings.data import Timing

MAX_NODES = 1000
_REPLAY_MICROSECONDS = 2_000.0  # a replay this long hides what starting a graph costs
_LONG_MICROSECONDS = 100_000.0
_STATIC_SHARED_LIMIT = 48 * 1024
_COMPARED_BYTES = 1 << 28
_ADDRESSES = 50
_FLUSHED = said("cold: L2 is overwritten between launches, and that time is taken off")


@dataclass(frozen=True)
class Timed:
    """The times of a kernel file's launches, in order, and the wall time of the whole job in seconds.

    ``first_seconds`` has start-up, compiling and copies in it, ``again_seconds`` copies and launches. A launch that may
    do harm does not happen and has no time; ``unsafe`` names the kernels of those.
    """

    kernels: tuple[str, ...]
    times: tuple[Timing, ...]
    first_seconds: float
    again_seconds: float
    unsafe: tuple[str, ...] = ()


def time_program(
    program: Program, cold: bool = False, progress: Progress | None = None, kernels: Collection[str] = ()
) -> Timed:
    """Time every launch of a kernel file.

    Args:
        program: the kernel file.
        cold: let no launch find its arrays in L2: arguments take turns, or L2 is overwritten between launches.
        progress: called as ``progress(done, total, text)``.
        kernels: names of the kernels to time; none means every kernel.

    Raises:
        MissingError: when there is no GPU.
    """
    walls = []
    for _ in range(2):
        start, careful = time.perf_counter(), _Careful()
        watch(program, careful)
        cuda.synchronize()
        walls.append(time.perf_counter() - start - careful.preflight.seconds)
    timer = _Timer(cold, progress, kernels)
    watch(program, timer)
    first, again = walls
    return Timed(tuple(timer.kernels), tuple(timer.times), first, again, tuple(timer.unsafe))


class _Careful:
    """Lets launches happen, but none that may change the memory of others or wait for ever."""

    def __init__(self) -> None:
        self.preflight = Preflight()

    def launch(
        self, dispatcher: CUDADispatcher, function: Function, config: Configuration, arguments: Sequence[Any]
    ) -> bool:
        """Tell whether the launch may happen."""
        return self.preflight.is_safe(function, config, arguments)


class _Timer(_Careful):
    """Times launches as they happen; each finds its arguments as ``main()`` left them, and leaves them so."""

    def __init__(self, cold: bool, progress: Progress | None, chosen: Collection[str] = ()) -> None:
        super().__init__()
        self.unsafe: list[str] = []
        self.cold = cold
        self.progress = progress
        self.chosen = chosen
        self.kernels: list[str] = []
        self.times: list[Timing] = []
        self._floors: dict[tuple[Any, ...], float] = {}

    def launch(
        self, dispatcher: CUDADispatcher, function: Function, config: Configuration, arguments: Sequence[Any]
    ) -> bool:
        """Time one launch, unless it may not happen."""
        if not super().launch(dispatcher, function, config, arguments):
            self.unsafe.append(function.name)
            return False
        if self.chosen and function.name not in self.chosen:
            return True
        if self.progress:
            self.progress(len(self.times), len(self.times) + 1, function.name)
        notes = []
        if config.stream:
            notes.append(said("launched on a stream by main(); timed alone on another"))
        with Arguments(arguments) as held:
            written = _written(dispatcher, config, held, function)
            if written:
                names = ", ".join(written)
                notes.append(said("writes its input {names}: each replay sees what the last one left", names=names))
            sets = _argument_sets(held.values, self.cold)
            flush = cuda.device_array(2 * _l2_bytes(), np.uint8) if self.cold and len(sets) == 1 else None
            if self.cold:
                turns = said("cold: {copies} copies of the arguments push each other out of L2", copies=len(sets))
                notes.append(turns if flush is None else _FLUSHED)

            def issue(values: Sequence[Any], stream: Any) -> None:
                dispatcher.configure(config.grid, config.block, stream, config.dynamic_shared)(*values)

            result, samples, nodes = _measure(issue, sets, flush)
            held.restore()
        if result.median > _LONG_MICROSECONDS:
            notes.append(said("too long to repeat often: few samples"))
        self.kernels.append(function.name)
        self.times.append(
            Timing(
                median_us=result.median,
                low_us=result.low,
                high_us=result.high,
                p5_us=result.p5,
                p95_us=result.p95,
                floor_us=self._floor(dispatcher, config, arguments),
                samples=len(samples),
                nodes=nodes,
                samples_us=tuple(round(sample, 4) for sample in samples),
                cold=self.cold,
                date=datetime.now(UTC).isoformat(timespec="seconds"),
                conditions=conditions(),
                notes=tuple(notes),
            )
        )
        return True

    def _floor(self, dispatcher: CUDADispatcher, config: Configuration, arguments: Sequence[Any]) -> float:
        """Time an empty kernel of the same grid, block and shared size in the same graph form."""
        static = max(int(kernel.shared_mem_per_block) for kernel in dispatcher.overloads.values())
        shared = min(config.dynamic_shared + static, _STATIC_SHARED_LIMIT)
        key = (config.grid, config.block, shared)
        if key not in self._floors:

            def issue(values: Sequence[Any], stream: Any) -> None:
                _empty.configure(config.grid, config.block, stream, shared)()

            self._floors[key] = _measure(issue, [[]], None)[0].median
        return self._floors[key]


@cuda.jit  # type: ignore[untyped-decorator]
def _empty() -> None:
    pass


Issue = Callable[[Sequence[Any], Any], None]


def _measure(issue: Issue, sets: Sequence[Sequence[Any]], flush: Any) -> tuple[Spread, list[float], int]:
    """Replay until the median is known well enough; return microseconds per launch."""
    issue(sets[0], cuda.default_stream())  # compiles
    cuda.synchronize()
    nodes = _enough_nodes(issue, sets)
    replay = _replay(issue, sets, flush, nodes)
    empty = None if flush is None else _replay(lambda values, stream: None, sets, flush, nodes)

    def sample() -> float:
        taken = replay.microseconds()
        return (taken - empty.microseconds() if empty else taken) / nodes

    samples = sample_until_known(sample, time.monotonic)
    for one in (replay, empty):
        if one:
            one.close()
    return spread(samples), samples, nodes


def _enough_nodes(issue: Issue, sets: Sequence[Sequence[Any]]) -> int:
    """Return how many launches make a replay long enough to hide what starting a graph costs."""
    nodes = len(sets)
    while nodes < MAX_NODES:
        pilot = _replay(issue, sets, None, nodes)
        taken = min(pilot.microseconds() for _ in range(3))
        pilot.close()
        if taken >= _REPLAY_MICROSECONDS:
            break
        nodes = min(10 * nodes, MAX_NODES)
    return nodes


def _replay(issue: Issue, sets: Sequence[Sequence[Any]], flush: Any, nodes: int) -> Replay:
    def work(stream: Any) -> None:
        for values in islice(cycle(sets), nodes):
            if flush is not None:
                fill(stream, flush)
            issue(values, stream)

    return Replay(work)


def _written(dispatcher: CUDADispatcher, config: Configuration, held: Arguments, function: Function) -> tuple[str, ...]:
    """Return the names of the arrays that a launch reads and writes: those whose second launch differs from the first.

    An array that a second launch leaves as the first made it is output only, or written the same way each time.
    """
    arrays = list(held.arrays_by_name(function))
    if sum(array.nbytes for _, array in arrays) > _COMPARED_BYTES:
        return ()
    results = []
    for _ in range(2):
        dispatcher.configure(config.grid, config.block, 0, config.dynamic_shared)(*held.values)
        results.append([array.copy_to_host() for _, array in arrays])
    held.restore()
    pairs = zip(arrays, *results, strict=True)
    return tuple(name for (name, _), one, other in pairs if one.tobytes() != other.tobytes())


def _argument_sets(values: Sequence[Any], cold: bool) -> list[Sequence[Any]]:
    """Return copies of the arguments at addresses of their own, which launches take in turn.

    Where a small array happens to lie in L2 moves a 1 us kernel by up to 10 % (seen on the H200); over many addresses
    that evens out. When cold, there are as many as it takes to push each other out of L2, or one if that is too many.
    """
    size = sum(array.nbytes for array in arrays_in(values))
    if cold:
        copies = math.ceil(2 * _l2_bytes() / size) + 1 if size else MAX_NODES + 1
        copies = copies if copies <= MAX_NODES else 1
    else:
        copies = _ADDRESSES if 0 < size * _ADDRESSES < _l2_bytes() // 4 else 1
    return [values, *([_copied(value) for value in values] for _ in range(copies - 1))]


def _copied(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_copied(item) for item in value)
    if not hasattr(value, "__cuda_array_interface__"):
        return value
    return cuda.to_device(value.copy_to_host())


def _l2_bytes() -> int:
    return int(cuda.get_current_device().L2_CACHE_SIZE)
