"""A kernel launched many times, with another stride each time."""

import numpy as np
from numba import cuda, int32

N = 32
TIMES = 300


@cuda.jit
def turn(out, step):
    tile = cuda.shared.array(128, int32)
    i = cuda.threadIdx.x
    tile[i * step] = i
    cuda.syncthreads()
    out[i] = tile[i * step]


def main():
    out = cuda.to_device(np.zeros(N, np.int32))
    for i in range(TIMES):
        turn[1, N](out, (1, 4, 1, 2)[i % 4])
