"""Device functions called from two places, one of them in another file; and arrays that trade places."""

import numpy as np
from helpers import mirrored
from numba import cuda, int32

N = 64
WIDE = 2 * N


@cuda.jit(device=True)
def load(words, i):
    return words[i]


@cuda.jit
def two_calls(out):
    one = cuda.shared.array(N, int32)
    two = cuda.shared.array(WIDE, int32)
    tx = cuda.threadIdx.x
    one[tx] = tx
    two[2 * tx] = tx
    cuda.syncthreads()
    out[tx] = load(one, N - 1 - tx) + load(two, 2 * (N - 1 - tx)) + mirrored(one, tx ^ 1, N)


@cuda.jit
def traded(data, out):
    one = cuda.shared.array(N, int32)
    two = cuda.shared.array(N, int32)
    tx = cuda.threadIdx.x
    one[tx] = tx
    cuda.syncthreads()
    source = one
    target = two
    for _ in range(data[0]):
        target[tx] = source[N - 1 - tx] + 1
        cuda.syncthreads()
        source, target = target, source
    out[tx] = source[tx]


def main():
    out = cuda.to_device(np.zeros(N, np.int32))
    two_calls[1, N](out)
    traded[1, N](cuda.to_device(np.full(N, 5, np.int32)), out)
