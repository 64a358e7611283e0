"""Counting values into bins: conflicts that depend on the data.

Each kernel is launched on evenly spread and on skewed values. Adding the constant 1 lets lanes of the same bin go
together, so only different bins of one bank collide. Adding a weight does not: lanes of the same bin queue up.
"""

import numpy as np
from numba import cuda, int32

N = 4096
BINS = 256
THREADS = 256


@cuda.jit
def count_in_global_memory(counts, values):
    """One atomic update of global memory per value."""
    i = cuda.grid(1)
    if i < values.shape[0]:
        cuda.atomic.add(counts, values[i], 1)


@cuda.jit
def count_in_shared_memory(counts, values):
    """A histogram per block in shared memory, added to the one in global memory at the end."""
    held = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    for b in range(t, BINS, THREADS):
        held[b] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < values.shape[0]:
        cuda.atomic.add(held, values[i], 1)
    cuda.syncthreads()
    for b in range(t, BINS, THREADS):
        cuda.atomic.add(counts, b, held[b])


@cuda.jit
def weigh_in_shared_memory(counts, values, weights):
    """The same with a weight for each value, which keeps lanes of one bin apart."""
    held = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    for b in range(t, BINS, THREADS):
        held[b] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < values.shape[0]:
        cuda.atomic.add(held, values[i], weights[i])
    cuda.syncthreads()
    for b in range(t, BINS, THREADS):
        cuda.atomic.add(counts, b, held[b])


def main():
    """Count evenly spread and skewed values with every kernel and compare with NumPy."""
    random = np.random.default_rng(1)
    even = random.integers(0, BINS, N).astype(np.int32)
    skewed = np.minimum(random.geometric(0.2, N) - 1, BINS - 1).astype(np.int32)
    weights = random.integers(1, 10, N).astype(np.int32)
    blocks = (N + THREADS - 1) // THREADS

    for name, values in (("even", even), ("skewed", skewed)):
        on_device = cuda.to_device(values)
        expected = np.bincount(values, minlength=BINS)

        counts = cuda.to_device(np.zeros(BINS, np.int32))
        count_in_global_memory[blocks, THREADS](counts, on_device)
        assert np.array_equal(counts.copy_to_host(), expected), f"count_in_global_memory miscounted {name} values"

        counts = cuda.to_device(np.zeros(BINS, np.int32))
        count_in_shared_memory[blocks, THREADS](counts, on_device)
        assert np.array_equal(counts.copy_to_host(), expected), f"count_in_shared_memory miscounted {name} values"

        counts = cuda.to_device(np.zeros(BINS, np.int32))
        weigh_in_shared_memory[blocks, THREADS](counts, on_device, cuda.to_device(weights))
        weighed = np.bincount(values, weights, BINS)
        assert np.array_equal(counts.copy_to_host(), weighed), f"weigh_in_shared_memory miscounted {name} values"


if __name__ == "__main__":
    main()
    print("histogram.py: all three kernels agree with NumPy")
