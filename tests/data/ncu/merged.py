"""Neighbouring accesses that the compiler puts into one wide instruction."""

import numpy as np
from numba import cuda, float32, float64, int8

TILE = 16
PITCH = TILE + 1
QUADS = 4 * TILE


@cuda.jit
def product(a, b, c):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    left[ty, tx] = a[ty, tx]
    right[ty, tx] = b[ty, tx]
    cuda.syncthreads()
    total = float32(0)
    for k in range(TILE):
        total += left[ty, k] * right[k, tx]
    c[ty, tx] = total


@cuda.jit
def padded_product(a, b, c):
    left = cuda.shared.array((TILE, PITCH), float32)
    right = cuda.shared.array((TILE, PITCH), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    left[ty, tx] = a[ty, tx]
    right[ty, tx] = b[ty, tx]
    cuda.syncthreads()
    total = float32(0)
    for k in range(TILE):
        total += left[ty, k] * right[k, tx]
    c[ty, tx] = total


@cuda.jit
def four_sites(out):
    words = cuda.shared.array(QUADS, float32)
    tx = cuda.threadIdx.x
    if tx < TILE:
        words[4 * tx] = tx
        words[4 * tx + 1] = tx + 1
        words[4 * tx + 2] = tx + 2
        words[4 * tx + 3] = tx + 3
    cuda.syncthreads()
    i = 4 * (TILE - 1 - tx % TILE)
    out[tx] = words[i] + words[i + 1] + words[i + 2] + words[i + 3]


@cuda.jit
def doubles(out):
    words = cuda.shared.array((TILE, TILE), float64)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    words[ty, tx] = tx * ty
    cuda.syncthreads()
    total = float64(0)
    for k in range(TILE):
        total += words[tx, k]
    out[ty, tx] = total


@cuda.jit
def bytes_in_a_row(out):
    cells = cuda.shared.array((32, 8), int8)
    tx = cuda.threadIdx.x
    for k in range(8):
        cells[tx, k] = tx + k
    cuda.syncthreads()
    total = 0
    for k in range(8):
        total += cells[31 - tx, k]
    out[tx] = total


def main():
    a = np.arange(TILE * TILE, dtype=np.float32).reshape(TILE, TILE)
    c = cuda.device_array((TILE, TILE), np.float32)
    product[1, (TILE, TILE)](cuda.to_device(a), cuda.to_device(a), c)
    padded_product[1, (TILE, TILE)](cuda.to_device(a), cuda.to_device(a), c)
    four_sites[1, 64](cuda.device_array(64, np.float32))
    doubles[1, (TILE, TILE)](cuda.device_array((TILE, TILE), np.float64))
    bytes_in_a_row[1, 32](cuda.device_array(32, np.int64))
    product[1, (TILE, TILE)](cuda.to_device(a), cuda.to_device(a), c)
