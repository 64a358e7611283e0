"""One block that transposes a 32 x 32 tile, as ``set_row_read_col`` of the gallery does."""

import numpy as np
from numba import cuda, int32

BDIMX = 32
BDIMY = 32


@cuda.jit
def set_row_read_col(out):
    tile = cuda.shared.array((BDIMY, BDIMX), int32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    idx = ty * BDIMX + tx

    tile[ty, tx] = idx
    cuda.syncthreads()
    out[idx] = tile[tx, ty]


def main():
    """Launch the kernel; returns what it stored."""
    out = cuda.to_device(np.zeros(BDIMX * BDIMY, np.int32))
    set_row_read_col[1, (BDIMX, BDIMY)](out)
    return out.copy_to_host()
