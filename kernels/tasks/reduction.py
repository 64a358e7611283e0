"""A sum per block. The threads that work are close together, and their elements lie ever further apart."""

import numpy as np
from numba import cuda, int32

N = 1024
THREADS = 256


@cuda.jit
def add_up(sums, values):
    """Neighbours first, in the first threads."""
    held = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    held[t] = values[cuda.blockIdx.x * THREADS + t]
    cuda.syncthreads()
    step = 1
    while step < THREADS:
        i = 2 * step * t
        if i < THREADS:
            held[i] += held[i + step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        sums[cuda.blockIdx.x] = held[0]


def main():
    """Launch it and compare with NumPy."""
    values = np.arange(N, dtype=np.int32)
    sums = cuda.to_device(np.zeros(N // THREADS, np.int32))
    add_up[N // THREADS, THREADS](sums, cuda.to_device(values))
    assert np.array_equal(sums.copy_to_host(), values.reshape(N // THREADS, THREADS).sum(axis=1)), "another sum"
