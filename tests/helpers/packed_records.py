"""A kernel over records with and without ``align=True``, of which Numba loads the fields byte by byte or at once."""

import numpy as np
from numba import cuda

FIELDS = [("x", np.float32), ("n", np.int32), ("y", np.float64), ("h", np.int16), ("z", np.int16, (3,))]
PACKED, ALIGNED = np.dtype(FIELDS), np.dtype(FIELDS, align=True)  # 24 bytes both
THREADS = 64


@cuda.jit
def over_records(records, out):
    tile = cuda.shared.array(THREADS, records.dtype)
    i = cuda.threadIdx.x
    tile[i].x = records[i].x
    tile[i].n = i - 3
    tile[i]["y"] = records["y"][i]
    tile[i].h = -i
    tile[i].z[2] = i
    cuda.syncthreads()
    j = (7 * i) % THREADS
    tile[i].y += 0.5
    names = tile.n
    out[i] = tile[j].x + names[j] + tile[i].y + tile[j].h + tile[j].z[2]
    records[i].n = i + 1
    if i < 40:
        records.h[i] += 2


def records_of(dtype):
    """Return records to start from."""
    records = np.zeros(THREADS, dtype)
    records["x"], records["y"], records["h"] = np.arange(THREADS) / 4, np.arange(THREADS) * 1.5, np.arange(THREADS)
    return records
