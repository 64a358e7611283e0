"""A rectangular tile in shared memory: twice as wide as it is high.

The coordinates of a thread cannot simply be swapped here, so the transposing kernels number the threads row by row
and divide by the other side of the tile. A column of 16 puts the 32 lanes of a warp into two banks, 16 wavefronts
for one request. IPAD = 2 moves the two halves of the warp to even and odd banks; with IPAD = 1 they still collide.
"""

import numpy as np
from numba import cuda, int32

BDIMX = 32
BDIMY = 16
IPAD = 2
PITCH = BDIMX + IPAD


@cuda.jit
def set_row_read_row(out):
    """Store by rows, load by rows."""
    tile = cuda.shared.array((BDIMY, BDIMX), int32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    idx = ty * BDIMX + tx

    tile[ty, tx] = idx
    cuda.syncthreads()
    out[idx] = tile[ty, tx]


@cuda.jit
def set_col_read_col(out):
    """Store by columns, load by columns, in a tile that stands upright."""
    tile = cuda.shared.array((BDIMX, BDIMY), int32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    idx = ty * BDIMX + tx

    tile[tx, ty] = idx
    cuda.syncthreads()
    out[idx] = tile[tx, ty]


@cuda.jit
def set_row_read_col(out):
    """Store by rows, load by columns: a transpose."""
    tile = cuda.shared.array((BDIMY, BDIMX), int32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    idx = ty * BDIMX + tx
    irow = idx // BDIMY
    icol = idx % BDIMY

    tile[ty, tx] = idx
    cuda.syncthreads()
    out[idx] = tile[icol, irow]


@cuda.jit
def set_row_read_col_dyn(out):
    """The transpose in dynamic shared memory, which has one dimension only."""
    tile = cuda.shared.array(0, int32)
    idx = cuda.threadIdx.y * BDIMX + cuda.threadIdx.x
    irow = idx // BDIMY
    icol = idx % BDIMY
    col_idx = icol * BDIMX + irow

    tile[idx] = idx
    cuda.syncthreads()
    out[idx] = tile[col_idx]


@cuda.jit
def set_row_read_col_pad(out):
    """The transpose with IPAD unused elements at the end of each row."""
    tile = cuda.shared.array((BDIMY, PITCH), int32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    idx = ty * BDIMX + tx
    irow = idx // BDIMY
    icol = idx % BDIMY

    tile[ty, tx] = idx
    cuda.syncthreads()
    out[idx] = tile[icol, irow]


@cuda.jit
def set_row_read_col_dyn_pad(out):
    """The padded transpose in dynamic shared memory; the output has no padding, so it takes a third index."""
    tile = cuda.shared.array(0, int32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    idx = ty * BDIMX + tx
    irow = idx // BDIMY
    icol = idx % BDIMY
    row_idx = ty * PITCH + tx
    col_idx = icol * PITCH + irow

    tile[row_idx] = idx
    cuda.syncthreads()
    out[idx] = tile[col_idx]


def main():
    """Launch every kernel on one block and compare what it stored with NumPy."""
    block = (BDIMX, BDIMY)
    by_rows = np.arange(BDIMX * BDIMY, dtype=np.int32)
    by_columns = by_rows.reshape(BDIMY, BDIMX).T.ravel()
    tile_bytes = BDIMY * BDIMX * 4
    padded_bytes = BDIMY * PITCH * 4

    out = cuda.to_device(np.zeros_like(by_rows))
    set_row_read_row[1, block](out)
    assert np.array_equal(out.copy_to_host(), by_rows), "set_row_read_row stored something else"

    out = cuda.to_device(np.zeros_like(by_rows))
    set_col_read_col[1, block](out)
    assert np.array_equal(out.copy_to_host(), by_rows), "set_col_read_col stored something else"

    out = cuda.to_device(np.zeros_like(by_rows))
    set_row_read_col[1, block](out)
    assert np.array_equal(out.copy_to_host(), by_columns), "set_row_read_col stored something else"

    out = cuda.to_device(np.zeros_like(by_rows))
    set_row_read_col_dyn[1, block, 0, tile_bytes](out)
    assert np.array_equal(out.copy_to_host(), by_columns), "set_row_read_col_dyn stored something else"

    out = cuda.to_device(np.zeros_like(by_rows))
    set_row_read_col_pad[1, block](out)
    assert np.array_equal(out.copy_to_host(), by_columns), "set_row_read_col_pad stored something else"

    out = cuda.to_device(np.zeros_like(by_rows))
    set_row_read_col_dyn_pad[1, block, 0, padded_bytes](out)
    assert np.array_equal(out.copy_to_host(), by_columns), "set_row_read_col_dyn_pad stored something else"


if __name__ == "__main__":
    main()
    print("rectangle.py: all six kernels agree with NumPy")
