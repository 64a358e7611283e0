"""Timing work on a stream: launches captured into a graph, replayed until the median is known, with nothing of Python.

A launch from Numba takes about 40 us of the host's time, a small kernel 1 us of the GPU's: events around launches
would measure Python. Captured into a graph, hundreds of launches are one call.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cuda.bindings import driver
from numba import cuda

from smemviz.engines.gpu.ptx.driver import checked
from smemviz.measure.time.statistics import QUICK, Spread, sample_until_known, spread

_REPLAY_MICROSECONDS = 2_000.0  # a replay this long hides what starting a graph costs
_MAX_NODES = 1000

Issue = Callable[[Any], None]
Work = Callable[[Any], None]


@dataclass(frozen=True)
class ReplayTime:
    """Microseconds per launch: their spread, over how many samples of how many launches each."""

    spread: Spread
    samples: int
    nodes: int


def replayed(issue: Issue) -> ReplayTime:
    """Time what ``issue(stream)`` puts on a stream; it has been issued before, so that nothing is compiled here."""
    cuda.synchronize()
    pilot = Replay(issue)
    microseconds = min(pilot.microseconds() for _ in range(2))
    pilot.close()
    nodes = _enough(microseconds)

    def work(stream: Any) -> None:
        for _ in range(nodes):
            issue(stream)

    replay = Replay(work)
    samples = sample_until_known(lambda: replay.microseconds() / nodes, time.monotonic, QUICK)
    replay.close()
    return ReplayTime(spread(samples), len(samples), nodes)


def queued(issue: Issue) -> ReplayTime:
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
    samples = sample_until_known(lambda: microseconds(calls), time.monotonic, QUICK)
    return ReplayTime(spread(samples), len(samples), calls)


def _enough(microseconds: float) -> int:
    return min(max(math.ceil(_REPLAY_MICROSECONDS / max(microseconds, 0.1)), 1), _MAX_NODES)


class Replay:
    """A graph of work captured from a stream; ``work`` issues it on the stream it is given."""

    def __init__(self, work: Work) -> None:
        self.stream = cuda.stream()
        self._handle = int(self.stream)
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        checked(driver.cuStreamBeginCapture(self._handle, mode))
        try:
            work(self.stream)
        finally:
            graph = checked(driver.cuStreamEndCapture(self._handle))
        self._graph = checked(driver.cuGraphInstantiate(graph, 0))
        checked(driver.cuGraphDestroy(graph))
        self._start = checked(driver.cuEventCreate(0))
        self._end = checked(driver.cuEventCreate(0))

    def microseconds(self) -> float:
        """Replay once and return how long the GPU took."""
        checked(driver.cuEventRecord(self._start, self._handle))
        checked(driver.cuGraphLaunch(self._graph, self._handle))
        checked(driver.cuEventRecord(self._end, self._handle))
        checked(driver.cuEventSynchronize(self._end))
        return float(checked(driver.cuEventElapsedTime(self._start, self._end))) * 1000

    def close(self) -> None:
        """Free what the driver holds for the graph."""
        checked(driver.cuGraphExecDestroy(self._graph))
        checked(driver.cuEventDestroy(self._start))
        checked(driver.cuEventDestroy(self._end))


def fill(stream: Any, array: Any) -> None:
    """Write every byte of a device array, on a stream that may be under capture."""
    pointer = int(array.__cuda_array_interface__["data"][0])
    checked(driver.cuMemsetD8Async(pointer, 0, array.nbytes, int(stream)))
