"""A product of two square matrices by tiles in shared memory; of ``BLOCKS`` x ``BLOCKS`` blocks, all by default."""

import numpy as np
from numba import cuda, float32

N = 64
TILE = 16
BLOCKS = N // TILE


@cuda.jit
def product(a, b, c):
    """Multiply tile by tile; a thread computes one element."""
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for step in range(N // TILE):
        a_tile[ty, tx] = a[row, step * TILE + tx]
        b_tile[ty, tx] = b[step * TILE + ty, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()
    c[row, column] = total


def main():
    """Multiply; returns the product."""
    rng = np.random.default_rng(0)
    a = rng.random((N, N), dtype=np.float32)
    b = rng.random((N, N), dtype=np.float32)
    c = cuda.device_array((N, N), np.float32)
    product[(BLOCKS, BLOCKS), (TILE, TILE)](cuda.to_device(a), cuda.to_device(b), c)
    return c.copy_to_host()
