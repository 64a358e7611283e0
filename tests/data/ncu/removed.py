"""Accesses that the compiler answers from a register, does once, or leaves out."""

import numpy as np
from numba import cuda, int32

N = 64
WIDE = 2 * N
TURNS = 8


@cuda.jit
def forwarded(out):
    words = cuda.shared.array(N, int32)
    tx = cuda.threadIdx.x
    words[tx] = tx * 3
    own = words[tx]
    cuda.syncthreads()
    out[tx] = own + words[N - 1 - tx]


@cuda.jit
def added_twice(out):
    words = cuda.shared.array(N, int32)
    tx = cuda.threadIdx.x
    words[tx] = tx
    words[tx] += 5
    words[tx] += out[tx]
    cuda.syncthreads()
    out[tx] = words[N - 1 - tx]


@cuda.jit
def hoisted(data, out):
    words = cuda.shared.array(N, int32)
    tx = cuda.threadIdx.x
    words[tx] = data[tx]
    cuda.syncthreads()
    total = 0
    for turn in range(TURNS):
        total += words[N - 1 - tx] >> (turn + data[0])
    out[tx] = total


@cuda.jit
def twice_in_two_lines(out):
    words = cuda.shared.array(N, int32)
    tx = cuda.threadIdx.x
    words[tx] = tx
    cuda.syncthreads()
    one = words[N - 1 - tx]
    two = words[N - 1 - tx] * 3
    out[tx] = one * two


@cuda.jit
def with_barriers(out):
    words = cuda.shared.array(N, int32)
    tx = cuda.threadIdx.x
    words[tx] = tx
    total = 0
    for turn in range(TURNS):
        cuda.syncthreads()
        total += words[0]
        cuda.syncthreads()
        if tx == 0:
            words[0] = turn
    out[tx] = total


@cuda.jit
def never_read(out):
    words = cuda.shared.array(N, int32)
    tx = cuda.threadIdx.x
    words[tx] = out[tx]
    out[tx] = tx


@cuda.jit
def some_warps(data, out):
    words = cuda.shared.array(WIDE, int32)
    tx = cuda.threadIdx.x
    words[tx] = tx
    cuda.syncthreads()
    value = 0
    if tx < 40:
        value = words[WIDE - 1 - tx]
    if data[tx] > 2:
        words[tx] = value
        data[tx] = 1
    cuda.syncthreads()
    if tx % 2:
        out[tx] = words[tx ^ 1]
    else:
        out[tx] = words[tx ^ 3]


def main():
    out = cuda.to_device(np.arange(WIDE, dtype=np.int32))
    data = cuda.to_device(np.arange(WIDE, dtype=np.int32) % 7)
    forwarded[1, N](out)
    added_twice[1, N](out)
    hoisted[1, N](data, out)
    twice_in_two_lines[1, N](out)
    with_barriers[1, N](out)
    never_read[1, N](out)
    some_warps[1, WIDE](data, out)
