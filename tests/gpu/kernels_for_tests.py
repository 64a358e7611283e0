"""Kernels that hold one difficulty each, as a user would write them."""

import numpy as np
from numba import cuda, float32, float64, int8, int32, int64

WIDTH = 32
PITCH = 33


@cuda.jit(device=True)
def load(a, i, j, k=0):
    return a[i, j] + k


@cuda.jit
def device_function_from_two_places(out):
    tile = cuda.shared.array((WIDTH, PITCH), float32)
    other = cuda.shared.array((WIDTH, WIDTH), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = x
    other[y, x] = y
    cuda.syncthreads()
    out[y, x] = load(tile, x, y) + load(other, x, y, k=2)


@cuda.jit
def divergence(out):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    tile[t] = t
    cuda.syncthreads()
    total = 0
    if t % 2 == 0:
        total += tile[t]
        if t % 4 == 0:
            total += tile[63 - t]
    else:
        total += tile[(t * 3) % 64]
    for i in range(t % 5):
        total += tile[(t + i) % 64]
    out[t] = total


@cuda.jit
def early_return(out, n):
    i = cuda.grid(1)
    if i >= n:
        return
    out[i] = 2 * i


@cuda.jit
def views_and_swaps(out):
    one = cuda.shared.array((2, 32), int32)
    two = cuda.shared.array((2, 32), int32)
    t = cuda.threadIdx.x
    row = one[1]
    row[t] = t
    source, target = one, two
    for _ in range(3):
        target[1, t] = source[1, 31 - t] + 1
        cuda.syncthreads()
        source, target = target, source
    out[t] = source[1][t]


@cuda.jit
def widths(out, data):
    narrow = cuda.shared.array(32, int8)
    wide = cuda.shared.array(32, float64)
    t = cuda.threadIdx.x
    narrow[t] = t
    wide[t] = data[31 - t]
    cuda.syncthreads()
    wide[t] += narrow[(5 * t) % 32]
    cuda.syncthreads()
    out[t] = wide[t // 2]


@cuda.jit
def two_views_of_dynamic_memory(out):
    whole = cuda.shared.array(0, int32)
    bytes_ = cuda.shared.array(0, int8)
    t = cuda.threadIdx.x
    whole[t] = t
    cuda.syncthreads()
    out[t] = bytes_[4 * t]


@cuda.jit
def updates(histogram, out):
    counts = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    counts[t % 32] = 0
    cuda.syncthreads()
    cuda.atomic.add(counts, t % 4, 1)
    cuda.atomic.add(counts, t % 8, 2)
    old = cuda.atomic.max(counts, 31, t)
    cuda.syncthreads()
    cuda.atomic.add(histogram, t % 4, 1)
    if old >= -1:
        out[t] = counts[t % 32]


@cuda.jit
def writes_its_input(data):
    t = cuda.grid(1)
    data[t] = data[t] * 2 + 1


@cuda.jit
def strided(out, data):
    x, y = cuda.grid(2)
    out[y, x] = data[x, y] + data[-1, y]


@cuda.jit
def swap_elements(data):
    t = cuda.threadIdx.x
    if t < 16:
        data[t], data[31 - t] = data[31 - t], data[t]


@cuda.jit
def three_dimensions(out):
    tile = cuda.shared.array((2, 4, 8), int64)
    x, y, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    tile[z, y, x] = 100 * z + 10 * y + x
    cuda.syncthreads()
    out[cuda.blockIdx.x, z, y, x] = tile[z, y, 7 - x]


def cases():
    """Return (kernel, grid, block, arguments, dynamic shared bytes) for each kernel."""
    float_grid = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    return [
        (device_function_from_two_places, 1, (32, 32), (np.zeros((32, 32), np.float32),), 0),
        (divergence, 1, 64, (np.zeros(64, np.int64),), 0),
        (early_return, 3, 48, (np.zeros(100, np.int32), 100), 0),
        (views_and_swaps, 1, 32, (np.zeros(32, np.int32),), 0),
        (widths, 1, 32, (np.zeros(32), np.arange(32.0)), 0),
        (two_views_of_dynamic_memory, 1, 64, (np.zeros(64, np.int32),), 256),
        (updates, 1, 64, (np.zeros(4, np.int32), np.zeros(64, np.int32)), 0),
        (writes_its_input, 4, 32, (np.arange(128, dtype=np.int32),), 0),
        (strided, (4, 4), (16, 16), (np.zeros((64, 64), np.float32), float_grid.T[::1, ::1]), 0),
        (swap_elements, 1, 32, (np.arange(32, dtype=np.int16),), 0),
        (three_dimensions, 3, (8, 4, 2), (np.zeros((3, 2, 4, 8), np.int64),), 0),
    ]
