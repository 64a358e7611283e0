"""Kernels as they are found in courses: a register-tiled product, a reduction, a scan, complex numbers, a stencil."""

import math

import numpy as np
from numba import complex64, cuda, float32, int32, int64

TILE = 32
N = 256
EDGE = N + 2


@cuda.jit
def four_by_thread(a, b, c):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    row = cuda.blockIdx.y * TILE
    column = cuda.blockIdx.x * TILE
    sums = cuda.local.array((2, 2), float32)
    for i in range(2):
        for j in range(2):
            sums[i, j] = 0
    for start in range(0, a.shape[1], TILE):
        for i in range(2):
            for j in range(2):
                left[ty + 16 * i, tx + 16 * j] = a[row + ty + 16 * i, start + tx + 16 * j]
                right[ty + 16 * i, tx + 16 * j] = b[start + ty + 16 * i, column + tx + 16 * j]
        cuda.syncthreads()
        for k in range(TILE):
            for i in range(2):
                for j in range(2):
                    sums[i, j] += left[ty + 16 * i, k] * right[k, tx + 16 * j]
        cuda.syncthreads()
    for i in range(2):
        for j in range(2):
            c[row + ty + 16 * i, column + tx + 16 * j] = sums[i, j]


@cuda.jit
def block_sum(data, out):
    words = cuda.shared.array(N, int64)
    tx = cuda.threadIdx.x
    words[tx] = data[cuda.blockIdx.x * N + tx]
    cuda.syncthreads()
    stride = N // 2
    while stride > 0:
        if tx < stride:
            words[tx] += words[tx + stride]
        cuda.syncthreads()
        stride //= 2
    if tx == 0:
        out[cuda.blockIdx.x] = words[0]


@cuda.jit
def scan(data, out):
    words = cuda.shared.array((2, N), int32)
    tx = cuda.threadIdx.x
    side = 0
    words[0, tx] = data[tx]
    cuda.syncthreads()
    distance = 1
    while distance < N:
        value = words[side, tx]
        if tx >= distance:
            value += words[side, tx - distance]
        side = 1 - side
        words[side, tx] = value
        cuda.syncthreads()
        distance *= 2
    out[tx] = words[side, tx]


@cuda.jit
def complex_transpose(source, target):
    tile = cuda.shared.array((16, 16), complex64)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    tile[ty, tx] = source[ty, tx]
    cuda.syncthreads()
    target[ty, tx] = tile[tx, ty] * 2


@cuda.jit
def stencil(data, out):
    words = cuda.shared.array(EDGE, float32)
    tx = cuda.threadIdx.x
    words[tx + 1] = data[tx]
    if tx == 0:
        words[0] = data[N - 1]
        words[N + 1] = data[0]
    cuda.syncthreads()
    out[tx] = words[tx] - 2 * words[tx + 1] + words[tx + 2] + math.sin(words[tx + 1])


def main():
    a = np.ones((64, 64), np.float32)
    c = cuda.device_array((64, 64), np.float32)
    four_by_thread[(2, 2), (16, 16)](cuda.to_device(a), cuda.to_device(a), c)
    data = cuda.to_device(np.arange(4 * N, dtype=np.int64))
    block_sum[4, N](data, cuda.device_array(4, np.int64))
    words = cuda.to_device(np.arange(N, dtype=np.int32))
    scan[1, N](words, cuda.device_array(N, np.int32))
    z = cuda.to_device(np.ones((16, 16), np.complex64))
    complex_transpose[1, (16, 16)](z, cuda.device_array((16, 16), np.complex64))
    x = cuda.to_device(np.linspace(0, 1e6, N).astype(np.float32))
    stencil[1, N](x, cuda.device_array(N, np.float32))
