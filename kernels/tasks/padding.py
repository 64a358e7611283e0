"""A transpose by way of a tile: right, coalesced, and slow in shared memory. Rid it of its conflicts."""

import numpy as np
from numba import cuda, float32

SIZE = 64
TILE = 32
PITCH = TILE


@cuda.jit
def transpose(out, matrix):
    """By way of a tile."""
    tile = cuda.shared.array((TILE, PITCH), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    first_column = cuda.blockIdx.x * TILE
    first_row = cuda.blockIdx.y * TILE

    tile[ty, tx] = matrix[first_row + ty, first_column + tx]
    cuda.syncthreads()
    out[first_column + ty, first_row + tx] = tile[tx, ty]


def main():
    """Launch it and compare with NumPy."""
    matrix = np.arange(SIZE * SIZE, dtype=np.float32).reshape(SIZE, SIZE)
    out = cuda.to_device(np.zeros((SIZE, SIZE), np.float32))
    transpose[(SIZE // TILE, SIZE // TILE), (TILE, TILE)](out, cuda.to_device(matrix))
    assert np.array_equal(out.copy_to_host(), matrix.T), "transpose gave something else"
