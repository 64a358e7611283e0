"""``numba.cuda.random`` on the host: making the generators that kernels draw from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smemviz.engines.lockstep.memory.device_array import DeviceArray
from smemviz.frontends.numba import xoroshiro


class Random:
    """The module; its device functions are those of ``smemviz.frontends.numba.xoroshiro``."""

    xoroshiro128p_dtype = xoroshiro.DTYPE
    xoroshiro128p_type = xoroshiro.DTYPE

    def __init__(self, to_device: Callable[[Any], DeviceArray]) -> None:
        self._to_device = to_device
        vars(self).update(xoroshiro.DEVICE)

    def create_xoroshiro128p_states(
        self, n: int, seed: int, subsequence_start: int = 0, stream: Any = 0
    ) -> DeviceArray:
        """Return an array of n generators, 2**64 numbers apart."""
        return self._to_device(xoroshiro.states(int(n), int(seed), int(subsequence_start)))

    def init_xoroshiro128p_states_cpu(self, states: Any, seed: int, subsequence_start: int) -> None:
        """Set an array of generators on the host."""
        states[:] = xoroshiro.states(len(states), int(seed), int(subsequence_start))

    def init_xoroshiro128p_states(
        self, states: DeviceArray, seed: int, subsequence_start: int = 0, stream: Any = 0
    ) -> None:
        """Set an array of generators."""
        states.copy_to_device(xoroshiro.states(states.shape[0], int(seed), int(subsequence_start)))
