"""A tile with 16 rows of 32 words, stored by rows and loaded by columns. A pad of one word is there already."""

import numpy as np
from numba import cuda, int32

COLUMNS = 32
ROWS = 16
PITCH = COLUMNS + 1


@cuda.jit
def turn(out):
    """Store by rows, load by columns."""
    tile = cuda.shared.array((ROWS, PITCH), int32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    i = ty * COLUMNS + tx
    row = i % ROWS
    column = i // ROWS

    tile[ty, tx] = i
    cuda.syncthreads()
    out[i] = tile[row, column]


def main():
    """Launch it and compare with NumPy."""
    out = cuda.to_device(np.zeros(ROWS * COLUMNS, np.int32))
    turn[1, (COLUMNS, ROWS)](out)
    expected = np.arange(ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS).T.ravel()
    assert np.array_equal(out.copy_to_host(), expected), "turn stored something else"
