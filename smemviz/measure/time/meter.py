"""Measuring one launch by replays of a graph of many, beside an empty kernel of the same shape."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle, islice
from typing import Any

import numpy as np
from numba import cuda

from smemviz.engines.launch_shape import Configuration
from smemviz.measure.time.conditions import conditions
from smemviz.measure.time.replays import Replay, fill
from smemviz.measure.time.statistics import Spread, sample_until_known, spread
from smemviz.messages import english
from smemviz.recordings.measured import Timing

MAX_NODES = 1000
_REPLAY_MICROSECONDS = 2_000.0  # a replay this long hides what starting a graph costs
_LONG_MICROSECONDS = 100_000.0
_STATIC_SHARED_LIMIT = 48 * 1024
_ADDRESSES = 50
_FLUSHED = english("cold: L2 is overwritten between launches, and that time is taken off")


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


Issue = Callable[[Sequence[Any], Any], None]


class Meter:
    """Measures launches, and remembers how long empty kernels take; ``cold``, none finds its arrays in L2."""

    def __init__(self, cold: bool) -> None:
        self._cold = cold
        self._floors: dict[tuple[Any, ...], float] = {}

    def copies(self, size: int) -> int:
        """Return how many copies of the arguments, of so many bytes, launches take in turn.

        Where a small array happens to lie in L2 moves a 1 us kernel by up to 10 % (seen on the H200); over many
        addresses that evens out. When cold, there are as many as it takes to push each other out of L2, or one if that
        is too many.
        """
        if self._cold:
            copies = math.ceil(2 * _l2_bytes() / size) + 1 if size else MAX_NODES + 1
            return copies if copies <= MAX_NODES else 1
        return _ADDRESSES if 0 < size * _ADDRESSES < _l2_bytes() // 4 else 1

    def timing(
        self,
        issue: Issue,
        sets: Sequence[Sequence[Any]],
        config: Configuration,
        static_shared: int,
        written: Sequence[str],
        notes: Sequence[str] = (),
    ) -> Timing:
        """Return the time of a launch that ``issue`` makes, with each of the sets of arguments in turn.

        ``written`` are the arrays that it reads and writes.
        """
        notes = list(notes)
        if written:
            names = ", ".join(written)
            notes.append(english("writes its input {names}: each replay sees what the last one left", names=names))
        flush = cuda.device_array(2 * _l2_bytes(), np.uint8) if self._cold and len(sets) == 1 else None
        if self._cold:
            turns = english("cold: {copies} copies of the arguments push each other out of L2", copies=len(sets))
            notes.append(turns if flush is None else _FLUSHED)
        result, samples, nodes = _measure(issue, sets, flush)
        if result.median > _LONG_MICROSECONDS:
            notes.append(english("too long to repeat often: few samples"))
        return Timing(
            median_us=result.median,
            low_us=result.low,
            high_us=result.high,
            p5_us=result.p5,
            p95_us=result.p95,
            floor_us=self._floor(config, static_shared),
            samples=len(samples),
            nodes=nodes,
            samples_us=tuple(round(sample, 4) for sample in samples),
            cold=self._cold,
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            conditions=conditions(),
            notes=tuple(notes),
        )

    def _floor(self, config: Configuration, static_shared: int) -> float:
        """Time an empty kernel of the same grid, block and shared size in the same graph form."""
        shared = min(config.dynamic_shared + static_shared, _STATIC_SHARED_LIMIT)
        key = (config.grid, config.block, shared)
        if key not in self._floors:

            def issue(values: Sequence[Any], stream: Any) -> None:
                _empty.configure(config.grid, config.block, stream, shared)()

            self._floors[key] = _measure(issue, [[]], None)[0].median
        return self._floors[key]


@cuda.jit  # type: ignore[untyped-decorator]
def _empty() -> None:
    pass


def _measure(issue: Issue, sets: Sequence[Sequence[Any]], flush: Any) -> tuple[Spread, list[float], int]:
    """Replay until the median is known well enough; return microseconds per launch."""
    issue(sets[0], cuda.default_stream())
    cuda.synchronize()
    nodes = _enough_nodes(issue, sets)
    replay = _replay(issue, sets, flush, nodes)
    empty = None if flush is None else _replay(lambda values, stream: None, sets, flush, nodes)

    def sample() -> float:
        microseconds = replay.microseconds()
        return (microseconds - empty.microseconds() if empty else microseconds) / nodes

    samples = sample_until_known(sample, time.monotonic)
    for graph in (replay, empty):
        if graph:
            graph.close()
    return spread(samples), samples, nodes


def _enough_nodes(issue: Issue, sets: Sequence[Sequence[Any]]) -> int:
    """Return how many launches make a replay long enough to hide what starting a graph costs."""
    nodes = len(sets)
    while nodes < MAX_NODES:
        pilot = _replay(issue, sets, None, nodes)
        microseconds = min(pilot.microseconds() for _ in range(3))
        pilot.close()
        if microseconds >= _REPLAY_MICROSECONDS:
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


def _l2_bytes() -> int:
    return int(cuda.get_current_device().L2_CACHE_SIZE)
