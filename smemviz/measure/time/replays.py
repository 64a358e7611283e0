"""Timing work on a stream briefly: enough replays of a graph to know the median, bounded for launches of seconds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numba import cuda

from smemviz.measure.time.graph import Replay
from smemviz.measure.time.statistics import Spread, spread

_REPLAY_MICROSECONDS = 2_000.0  # a replay this long hides what starting a graph costs
_MAX_NODES = 1000
_MIN_SAMPLES, _MAX_SAMPLES = 3, 200
_SECONDS = 0.25  # of sampling, once there are _MIN_SAMPLES
_WIDTH = 0.002  # of the median, as in ``statistics``
_NARROW_ENOUGH = 20  # samples before the width is believed

Issue = Callable[[Any], None]


@dataclass(frozen=True)
class Timed:
    """Microseconds per launch: their spread, over how many samples of how many launches each."""

    spread: Spread
    samples: int
    nodes: int


def replayed(issue: Issue) -> Timed:
    """Time what ``issue(stream)`` puts on a stream; it has been issued before, so that nothing is compiled here."""
    cuda.synchronize()
    pilot = Replay(issue)
    taken = min(pilot.microseconds() for _ in range(2))
    pilot.close()
    nodes = _enough(taken)

    def work(stream: Any) -> None:
        for _ in range(nodes):
            issue(stream)

    replay = Replay(work)
    samples = _samples(lambda: replay.microseconds() / nodes)
    replay.close()
    return Timed(spread(samples), len(samples), nodes)


def queued(issue: Issue) -> Timed:
    """Time as ``replayed`` what cannot be captured: calls one after the other, between two events.

    Where a call takes the host longer than the device, this is the host's time.
    """
    stream = cuda.stream()
    start, end = cuda.event(), cuda.event()

    def microseconds(calls: int) -> float:
        start.record(stream)
        for _ in range(calls):
            issue(stream)
        end.record(stream)
        end.synchronize()
        return float(start.elapsed_time(end)) * 1000 / calls

    microseconds(1)
    calls = _enough(microseconds(1))
    samples = _samples(lambda: microseconds(calls))
    return Timed(spread(samples), len(samples), calls)


def _enough(microseconds: float) -> int:
    return min(max(math.ceil(_REPLAY_MICROSECONDS / max(microseconds, 0.1)), 1), _MAX_NODES)


def _samples(sample: Callable[[], float]) -> list[float]:
    """Take samples, after one that warms up, until the median is known or the time is up."""
    sample()
    samples: list[float] = []
    start = time.monotonic()
    while len(samples) < _MAX_SAMPLES:
        samples.append(sample())
        if len(samples) >= _NARROW_ENOUGH and spread(samples).relative_width <= _WIDTH:
            break
        if len(samples) >= _MIN_SAMPLES and time.monotonic() - start > _SECONDS:
            break
    return samples
