"""Two arrays, several blocks, two launches, a device function, an atomic, and a constant of every kind."""

import numpy as np
from numba import cuda, float32, float64

N = 64
DTYPE = float64
SCALE = 0.5
FLIP = True
HALF = N // 2


@cuda.jit(device=True)
def mirrored(row, i):
    return row[N - 1 - i]


@cuda.jit
def shuffle(out):
    """Store by thread, load mirrored."""
    row = cuda.shared.array(N, DTYPE)
    sums = cuda.shared.array(2, float32)
    i = cuda.threadIdx.x
    if i < 2:
        sums[i] = 0.0
    row[i] = i * SCALE
    cuda.syncthreads()
    value = mirrored(row, i) if FLIP else row[i]
    cuda.atomic.add(sums, i // HALF, value)
    cuda.syncthreads()
    for step in range(2):
        out[cuda.blockIdx.x * N + i] = row[(i * 2 + step) % N] + sums[step]


def main():
    out = cuda.to_device(np.zeros(3 * N))
    shuffle[3, N](out)
    shuffle[2, N](out)
