"""A transpose whose blocks have 32 x 8 threads, so that each moves four elements. Its tile may not grow by a word."""

import numpy as np
from numba import cuda, float32

SIZE = 64
TILE = 32
DEEP = 8


@cuda.jit
def transpose(out, matrix):
    """By way of a tile, four elements a thread."""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    first_column = cuda.blockIdx.x * TILE
    first_row = cuda.blockIdx.y * TILE

    for row in range(cuda.threadIdx.y, TILE, DEEP):
        tile[row, tx] = matrix[first_row + row, first_column + tx]
    cuda.syncthreads()
    for row in range(cuda.threadIdx.y, TILE, DEEP):
        out[first_column + row, first_row + tx] = tile[tx, row]


def main():
    """Launch it and compare with NumPy."""
    matrix = np.arange(SIZE * SIZE, dtype=np.float32).reshape(SIZE, SIZE)
    out = cuda.to_device(np.zeros((SIZE, SIZE), np.float32))
    transpose[(SIZE // TILE, SIZE // TILE), (TILE, DEEP)](out, cuda.to_device(matrix))
    assert np.array_equal(out.copy_to_host(), matrix.T), "transpose gave something else"
