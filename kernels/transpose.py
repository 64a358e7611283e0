"""Transposing a matrix: by way of global memory alone, and by way of a tile.

Without a tile, either the loads or the stores walk down a column, and every lane moves a sector of its own. A tile
makes both walk along rows and pays in shared memory instead: its columns lie in one bank each, unless a row is padded
by one word or the column number is mixed with the row number.
"""

import numpy as np
from numba import cuda, float32

ROWS = 64
COLUMNS = 96
TILE = 32
PITCH = TILE + 1


@cuda.jit
def copy(out, matrix):
    """No transpose at all: what the traffic costs at least."""
    column, row = cuda.grid(2)
    if row < matrix.shape[0] and column < matrix.shape[1]:
        out[row, column] = matrix[row, column]


@cuda.jit
def load_rows_store_columns(out, matrix):
    """Neighbouring threads load neighbours and store far apart."""
    column, row = cuda.grid(2)
    if row < matrix.shape[0] and column < matrix.shape[1]:
        out[column, row] = matrix[row, column]


@cuda.jit
def load_columns_store_rows(out, matrix):
    """Neighbouring threads load far apart and store neighbours."""
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = matrix[column, row]


@cuda.jit
def tile(out, matrix):
    """By way of a tile: rows in global memory, columns in shared memory."""
    held = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    first_column = cuda.blockIdx.x * TILE
    first_row = cuda.blockIdx.y * TILE

    if first_row + ty < matrix.shape[0] and first_column + tx < matrix.shape[1]:
        held[ty, tx] = matrix[first_row + ty, first_column + tx]
    cuda.syncthreads()
    if first_column + ty < out.shape[0] and first_row + tx < out.shape[1]:
        out[first_column + ty, first_row + tx] = held[tx, ty]


@cuda.jit
def padded_tile(out, matrix):
    """The tile with one word more in each row than it needs."""
    held = cuda.shared.array((TILE, PITCH), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    first_column = cuda.blockIdx.x * TILE
    first_row = cuda.blockIdx.y * TILE

    if first_row + ty < matrix.shape[0] and first_column + tx < matrix.shape[1]:
        held[ty, tx] = matrix[first_row + ty, first_column + tx]
    cuda.syncthreads()
    if first_column + ty < out.shape[0] and first_row + tx < out.shape[1]:
        out[first_column + ty, first_row + tx] = held[tx, ty]


@cuda.jit
def swizzled_tile(out, matrix):
    """The tile with its columns mixed by row: no word more, and no conflict; TILE has to be a power of two."""
    held = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    first_column = cuda.blockIdx.x * TILE
    first_row = cuda.blockIdx.y * TILE

    if first_row + ty < matrix.shape[0] and first_column + tx < matrix.shape[1]:
        held[ty, tx ^ ty] = matrix[first_row + ty, first_column + tx]
    cuda.syncthreads()
    if first_column + ty < out.shape[0] and first_row + tx < out.shape[1]:
        out[first_column + ty, first_row + tx] = held[tx, ty ^ tx]


def main():
    """Transpose one matrix with every kernel and compare with NumPy."""
    assert TILE & (TILE - 1) == 0, "TILE has to be a power of two"
    matrix = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    on_device = cuda.to_device(matrix)
    block = (TILE, TILE)
    across = (COLUMNS + TILE - 1) // TILE
    down = (ROWS + TILE - 1) // TILE

    out = cuda.to_device(np.zeros((ROWS, COLUMNS), np.float32))
    copy[(across, down), block](out, on_device)
    assert np.array_equal(out.copy_to_host(), matrix), "copy gave something else"

    out = cuda.to_device(np.zeros((COLUMNS, ROWS), np.float32))
    load_rows_store_columns[(across, down), block](out, on_device)
    assert np.array_equal(out.copy_to_host(), matrix.T), "load_rows_store_columns gave something else"

    out = cuda.to_device(np.zeros((COLUMNS, ROWS), np.float32))
    load_columns_store_rows[(down, across), block](out, on_device)
    assert np.array_equal(out.copy_to_host(), matrix.T), "load_columns_store_rows gave something else"

    out = cuda.to_device(np.zeros((COLUMNS, ROWS), np.float32))
    tile[(across, down), block](out, on_device)
    assert np.array_equal(out.copy_to_host(), matrix.T), "tile gave something else"

    out = cuda.to_device(np.zeros((COLUMNS, ROWS), np.float32))
    padded_tile[(across, down), block](out, on_device)
    assert np.array_equal(out.copy_to_host(), matrix.T), "padded_tile gave something else"

    out = cuda.to_device(np.zeros((COLUMNS, ROWS), np.float32))
    swizzled_tile[(across, down), block](out, on_device)
    assert np.array_equal(out.copy_to_host(), matrix.T), "swizzled_tile gave something else"


if __name__ == "__main__":
    main()
    print("transpose.py: all six kernels agree with NumPy")
