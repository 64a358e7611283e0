"""A stencil that is right on most days: find out why, and mend it.

Each block loads its elements and a halo into shared memory, and each thread adds up what lies around its own.
"""

import numpy as np
from numba import cuda, int32

N = 512
THREADS = 128
RADIUS = 3
HELD = THREADS + 2 * RADIUS


@cuda.jit
def stencil(out, values):
    """Each result is the sum of the elements at most RADIUS away."""
    held = cuda.shared.array(HELD, int32)
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * THREADS

    held[t] = values[first + t]
    if t < 2 * RADIUS:
        held[THREADS + t] = values[first + THREADS + t]
    total = int32(0)
    for k in range(2 * RADIUS + 1):
        total += held[t + k]
    out[first + t] = total


def main():
    """Launch it and compare with NumPy."""
    values = np.arange(N + 2 * RADIUS, dtype=np.int32) % 100
    expected = np.zeros(N, np.int32)
    for k in range(2 * RADIUS + 1):
        expected += values[k : k + N]

    out = cuda.to_device(np.zeros(N, np.int32))
    stencil[N // THREADS, THREADS](out, cuda.to_device(values))
    assert np.array_equal(out.copy_to_host(), expected), "stencil added up something else"
