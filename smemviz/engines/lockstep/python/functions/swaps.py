"""Compare and swap by threads that do so one after the other; this imports Numba, so import it late."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from smemviz.model.counting.jit import compiled

Bits = NDArray[Any]


@compiled
def swap(elements: Bits, at: Bits, expected: Bits, value: Bits, old: Bits) -> None:
    """Store ``value`` in the elements ``at`` places that are as ``expected``, all (k,); ``old`` is what was there."""
    for k in range(len(at)):
        old[k] = elements[at[k]]
        if old[k] == expected[k]:
            elements[at[k]] = value[k]
