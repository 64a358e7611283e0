"""Replaying launches as a CUDA graph, with nothing of Python between them.

A launch from Numba takes about 40 us of the host's time, a small kernel 1 us of the GPU's: events around launches
would measure Python. Captured into a graph, hundreds of launches are one call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuda.bindings import driver
from numba import cuda

Work = Callable[[Any], None]


class Replay:
    """A graph of work captured from a stream; ``work`` issues it on the stream it is given."""

    def __init__(self, work: Work) -> None:
        self.stream = cuda.stream()
        self._handle = int(self.stream)
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        _check(driver.cuStreamBeginCapture(self._handle, mode))
        try:
            work(self.stream)
        finally:
            graph = _check(driver.cuStreamEndCapture(self._handle))
        self._graph = _check(driver.cuGraphInstantiate(graph, 0))
        _check(driver.cuGraphDestroy(graph))
        self._start = _check(driver.cuEventCreate(0))
        self._end = _check(driver.cuEventCreate(0))

    def microseconds(self) -> float:
        """Replay once and return how long the GPU took."""
        _check(driver.cuEventRecord(self._start, self._handle))
        _check(driver.cuGraphLaunch(self._graph, self._handle))
        _check(driver.cuEventRecord(self._end, self._handle))
        _check(driver.cuEventSynchronize(self._end))
        return float(_check(driver.cuEventElapsedTime(self._start, self._end))) * 1000

    def close(self) -> None:
        """Free what the driver holds for the graph."""
        _check(driver.cuGraphExecDestroy(self._graph))
        _check(driver.cuEventDestroy(self._start))
        _check(driver.cuEventDestroy(self._end))


def fill(stream: Any, array: Any) -> None:
    """Write every byte of a device array, on a stream that may be under capture."""
    pointer = int(array.__cuda_array_interface__["data"][0])
    _check(driver.cuMemsetD8Async(pointer, 0, array.nbytes, int(stream)))


def _check(result: tuple[Any, ...]) -> Any:
    error, *rest = result
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"CUDA driver: {error.name}")
    return rest[0] if rest else None
