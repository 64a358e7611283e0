"""A stencil along a line: each result is the sum of the elements at most RADIUS away.

Neighbouring threads want nearly the same elements. Without shared memory each of them loads all of its own from global
memory. With it a block loads what it needs once, its own elements and a halo of RADIUS at either end, and the threads
share them; between the stores and the loads stands a barrier, for the neighbours of an element are other threads'.
"""

import numpy as np
from numba import cuda, int32

N = 512
THREADS = 128
RADIUS = 3
HELD = THREADS + 2 * RADIUS


@cuda.jit
def from_global_memory(out, values):
    """Each thread loads every element that it adds; values begins RADIUS elements before out does."""
    i = cuda.grid(1)
    if i < out.shape[0]:
        total = int32(0)
        for k in range(2 * RADIUS + 1):
            total += values[i + k]
        out[i] = total


@cuda.jit
def from_shared_memory(out, values):
    """The block loads its elements and their halo once; its first threads load two."""
    held = cuda.shared.array(HELD, int32)
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * THREADS

    if first + t < values.shape[0]:
        held[t] = values[first + t]
    if t < 2 * RADIUS and first + THREADS + t < values.shape[0]:
        held[THREADS + t] = values[first + THREADS + t]
    cuda.syncthreads()
    if first + t < out.shape[0]:
        total = int32(0)
        for k in range(2 * RADIUS + 1):
            total += held[t + k]
        out[first + t] = total


def main():
    """Add up with both kernels and compare with NumPy."""
    assert 0 <= 2 * RADIUS <= THREADS <= 1024, "the halo is loaded by the threads of the block, one element each"
    blocks = (N + THREADS - 1) // THREADS
    values = np.arange(N + 2 * RADIUS, dtype=np.int32) % 100
    expected = np.zeros(N, np.int32)
    for k in range(2 * RADIUS + 1):
        expected += values[k : k + N]

    out = cuda.to_device(np.zeros(N, np.int32))
    from_global_memory[blocks, THREADS](out, cuda.to_device(values))
    assert np.array_equal(out.copy_to_host(), expected), "from_global_memory added up something else"

    out = cuda.to_device(np.zeros(N, np.int32))
    from_shared_memory[blocks, THREADS](out, cuda.to_device(values))
    assert np.array_equal(out.copy_to_host(), expected), "from_shared_memory added up something else"


if __name__ == "__main__":
    main()
    print("stencil.py: both kernels agree with NumPy")
