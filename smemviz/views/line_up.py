"""The requests of a block one after the other, each as long as its wavefronts: what a timeline and a trace show."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smemviz.model.counting.costs import request_costs
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.recordings.data import Launch


@dataclass(frozen=True)
class Line:
    """Requests in the order they are played, each (n,): ``start`` and ``length`` in places.

    A wavefront takes a place, and so does a request whose wavefronts are not known: one to global memory, or one
    whose cost depends on the data. Those have -1 ``wavefronts`` and ``ideal``; ``sectors`` is -1 for shared memory.
    """

    rows: NDArray[np.intp]
    start: NDArray[np.int64]
    wavefronts: NDArray[np.int64]
    ideal: NDArray[np.int64]
    sectors: NDArray[np.int64]

    @property
    def length(self) -> NDArray[np.int64]:
        """The places each request takes, at least one."""
        return np.maximum(self.wavefronts, 1)


def line_up(launch: Launch, rows: NDArray[np.intp], hardware: Hardware = H200) -> Line:
    """Lay requests one after the other, in the order of ``rows``."""
    costs = request_costs(launch, rows, hardware)
    length = np.maximum(costs.wavefronts, 1)
    return Line(rows, np.cumsum(length) - length, costs.wavefronts, costs.ideal, costs.sectors)
