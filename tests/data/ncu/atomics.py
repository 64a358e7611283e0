"""Atomics on shared and on global memory, with and without a result."""

import numpy as np
from numba import cuda, float32, int32, uint64

N = 128
BINS = 16


@cuda.jit
def histogram(data, out):
    bins = cuda.shared.array(BINS, int32)
    tx = cuda.threadIdx.x
    if tx < BINS:
        bins[tx] = 0
    cuda.syncthreads()
    cuda.atomic.add(bins, data[tx] % BINS, 1)
    cuda.syncthreads()
    if tx < BINS:
        cuda.atomic.add(out, tx, bins[tx])


@cuda.jit
def returning(data, out):
    bins = cuda.shared.array(BINS, int32)
    tx = cuda.threadIdx.x
    if tx < BINS:
        bins[tx] = 0
    cuda.syncthreads()
    cuda.atomic.add(bins, data[tx] % BINS, data[tx])
    before = cuda.atomic.add(bins, tx % BINS, 3)
    most = cuda.atomic.max(bins, tx % BINS, data[tx])
    old = cuda.atomic.exch(bins, data[tx] % BINS, tx)
    cuda.syncthreads()
    out[tx] = before + most + old + bins[tx % BINS]
    cuda.atomic.max(out, tx % 3, 7)


@cuda.jit
def floats(data, out):
    sums = cuda.shared.array(BINS, float32)
    wide = cuda.shared.array(BINS, uint64)
    tx = cuda.threadIdx.x
    if tx < BINS:
        sums[tx] = 0
        wide[tx] = 0
    cuda.syncthreads()
    cuda.atomic.add(sums, data[tx] % BINS, float32(1.5))
    cuda.atomic.add(wide, data[tx] % BINS, uint64(3))
    cuda.syncthreads()
    if tx < BINS:
        cuda.atomic.add(out, tx, sums[tx] + wide[tx])


def main():
    data = cuda.to_device(np.arange(N, dtype=np.int32) * 7 % 61)
    histogram[1, N](data, cuda.to_device(np.zeros(BINS, np.int32)))
    returning[1, N](data, cuda.to_device(np.zeros(N, np.int32)))
    floats[1, N](data, cuda.to_device(np.zeros(BINS, np.float32)))
