"""A transpose of many blocks: shared and global traffic compete for the pipe."""

import numpy as np
from numba import cuda, float32

SIZE = 512
TILE = 32


@cuda.jit
def transpose(source, target):
    tile = cuda.shared.array((TILE, TILE), float32)
    x = cuda.blockIdx.x * TILE + cuda.threadIdx.x
    y = cuda.blockIdx.y * TILE + cuda.threadIdx.y
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = source[y, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * TILE + cuda.threadIdx.x
    y = cuda.blockIdx.x * TILE + cuda.threadIdx.y
    target[y, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


@cuda.jit
def product(a, b, c):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    row = cuda.blockIdx.y * TILE + ty
    column = cuda.blockIdx.x * TILE + tx
    total = float32(0)
    for step in range((a.shape[1] + TILE - 1) // TILE):
        left[ty, tx] = a[row, step * TILE + tx] if row < a.shape[0] and step * TILE + tx < a.shape[1] else 0
        right[ty, tx] = b[step * TILE + ty, column] if step * TILE + ty < b.shape[0] and column < b.shape[1] else 0
        cuda.syncthreads()
        for k in range(TILE):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def main():
    source = cuda.to_device(np.zeros((SIZE, SIZE), np.float32))
    transpose[(SIZE // TILE, SIZE // TILE), (TILE, TILE)](source, cuda.device_array_like(source))
    a = cuda.to_device(np.zeros((75, 70), np.float32))
    b = cuda.to_device(np.zeros((70, 50), np.float32))
    product[(2, 3), (TILE, TILE)](a, b, cuda.device_array((75, 50), np.float32))
