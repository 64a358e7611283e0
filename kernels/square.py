"""A square tile in shared memory, filled and emptied by rows or by columns.

A warp that walks along a row finds every lane in a bank of its own; a warp that walks down a column of 32 finds
all its lanes in one bank, 32 wavefronts for one request. One unused element at the end of each row (IPAD) turns
the column into a diagonal, and the conflict is gone.
"""

import numpy as np
from numba import cuda, int32

BDIMX = 32
BDIMY = BDIMX
IPAD = 1
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
    """Store by columns, load by columns."""
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

    tile[ty, tx] = idx
    cuda.syncthreads()
    out[idx] = tile[tx, ty]


@cuda.jit
def set_row_read_col_dyn(out):
    """The transpose in dynamic shared memory, which has one dimension only."""
    tile = cuda.shared.array(0, int32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    row_idx = ty * BDIMX + tx
    col_idx = tx * BDIMY + ty

    tile[row_idx] = row_idx
    cuda.syncthreads()
    out[row_idx] = tile[col_idx]


@cuda.jit
def set_row_read_col_pad(out):
    """The transpose with IPAD unused elements at the end of each row."""
    tile = cuda.shared.array((BDIMY, PITCH), int32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    idx = ty * BDIMX + tx

    tile[ty, tx] = idx
    cuda.syncthreads()
    out[idx] = tile[tx, ty]


@cuda.jit
def set_row_read_col_dyn_pad(out):
    """The padded transpose in dynamic shared memory; the output has no padding, so it takes a third index."""
    tile = cuda.shared.array(0, int32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    row_idx = ty * PITCH + tx
    col_idx = tx * PITCH + ty
    idx = ty * BDIMX + tx

    tile[row_idx] = idx
    cuda.syncthreads()
    out[idx] = tile[col_idx]


def main():
    """Launch every kernel on one block and compare what it stored with NumPy."""
    square = BDIMX == BDIMY  # a transpose of anything else leaves its tile: rectangle.py is right for any two
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
    assert not square or np.array_equal(out.copy_to_host(), by_columns), "set_row_read_col stored something else"

    out = cuda.to_device(np.zeros_like(by_rows))
    set_row_read_col_dyn[1, block, 0, tile_bytes](out)
    assert not square or np.array_equal(out.copy_to_host(), by_columns), "set_row_read_col_dyn stored something else"

    out = cuda.to_device(np.zeros_like(by_rows))
    set_row_read_col_pad[1, block](out)
    assert not square or np.array_equal(out.copy_to_host(), by_columns), "set_row_read_col_pad stored something else"

    out = cuda.to_device(np.zeros_like(by_rows))
    set_row_read_col_dyn_pad[1, block, 0, padded_bytes](out)
    found = out.copy_to_host()
    assert not square or np.array_equal(found, by_columns), "set_row_read_col_dyn_pad stored something else"


if __name__ == "__main__":
    main()
    print("square.py: all six kernels agree with NumPy")
