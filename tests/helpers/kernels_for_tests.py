"""Kernels that hold one difficulty each, as a user would write them."""

import numpy as np
from numba import complex128, cuda, float32, float64, int8, int32, int64, uint8
from numba.cuda.random import xoroshiro128p_uniform_float32

PARTICLE = np.dtype([("x", np.float64), ("mass", np.float32), ("charge", np.int32), ("y", np.float64)], align=True)
STATE = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
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


@cuda.jit
def early_return_before_a_barrier(out, n):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    tile[t] = 3 * t
    if t >= n:
        return
    out[t] = tile[t]
    cuda.syncthreads()
    for k in range(3):
        out[t] += tile[(t * (k + 1)) % n]


@cuda.jit
def wide_patterns(out, index):
    eight = cuda.shared.array(128, float64)
    other = cuda.shared.array(128, float64)
    sixteen = cuda.shared.array(128, complex128)
    t = cuda.threadIdx.x
    for i in range(4):
        eight[t + 32 * i] = t
        sixteen[t + 32 * i] = t
    cuda.syncthreads()
    total = 0.0
    for k in range(12):
        total += eight[(index[k] * t + k) % 128] + eight[t // 2 + k] + eight[(t // 16) * 16 + k]
        if (t + k) % 3 != 0:
            total += sixteen[(index[k] * t + k) % 128].real + sixteen[t // 4 * 2 + k].real
            other[(t * index[11 - k]) % 128] = k
    out[t] = total


@cuda.jit
def moving_by_bytes(out, data):
    tile = cuda.shared.array(96, int8)
    t = cuda.threadIdx.x
    for i in range(3):
        tile[t + 32 * i] = data[t + i]
    cuda.syncthreads()
    total = 0
    for k in range(40):
        total += tile[t + k % 60] + tile[2 * t + k % 7] + data[3 * t + k] + data[k] + data[(31 - t) * 4 + k]
    out[t] = total


@cuda.jit
def data_dependent(out, keys):
    counts = cuda.shared.array(64, int32)
    steps = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    counts[t] = 0
    steps[t] = keys[t]
    cuda.syncthreads()
    for i in range(keys.size // 64):
        key = keys[i * 64 + t]
        cuda.atomic.add(counts, key, 1)
        if key % 3 == 0:
            cuda.atomic.max(out, key, t)
            while key > 40:
                key -= steps[key] % 2 + 7
                cuda.atomic.add(out, 128 + key, 1)
    cuda.syncthreads()
    out[64 + t] = counts[t]


@cuda.jit
def cache_hints(out, data):
    t = cuda.grid(1)
    cuda.stcg(out, t, cuda.ldcg(data, 2 * t) + cuda.ldca(data, 63 - t))


@cuda.jit
def fields(out, particles):
    near = cuda.shared.array(64, PARTICLE)
    t = cuda.threadIdx.x
    near[t].mass = particles[t].mass
    near[t]["x"] = particles[63 - t]["x"]
    cuda.syncthreads()
    near[t].x += near[t ^ 3].mass
    cuda.syncthreads()
    out[t] = near[t // 2].x
    particles[t].mass = t


@cuda.jit
def random_numbers(out, states):
    t = cuda.grid(1)
    out[t] = xoroshiro128p_uniform_float32(states, t)


@cuda.jit
def barriers_that_count(out, data):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    tile[t] = data[t]
    total = cuda.syncthreads_count(tile[t] % 3)
    if cuda.syncthreads_or(tile[63 - t] - total):
        out[t] = tile[t ^ 1]


@cuda.jit
def far_apart(out, data):
    t = cuda.grid(1)
    total = 0
    for k in range(4):
        total += data[(k % 2) * 16, t] + data[t % 17, 7 * k]
    out[t] = total


@cuda.jit(device=True)
def back_and_forth(tile, t):
    if t % 5 == 0:
        return tile[63 - t]
    return tile[t]


@cuda.jit
def the_same_place_with_other_masks(out):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    tile[t] = t
    cuda.syncthreads()
    total = 0
    for k in range(20):
        if t & k:
            total += tile[(t * k) % 64]
        if k > 15 and t > 40:
            break
        total += back_and_forth(tile, t) + back_and_forth(tile, 63 - t)
    out[t] = total


@cuda.jit(device=True)
def sum_of_row(tile, warp, row, n):
    total = 0
    for k in range(n):
        total += tile[warp, row, k]
    return total


@cuda.jit
def product_of_rows(out, rounds):
    """One loop of rounds that cost the same, and one that some lanes leave early."""
    tile = cuda.shared.array((16, PITCH), float32)
    t = cuda.threadIdx.x
    for k in range(16):
        tile[k, t % 32] = k + t % 32
    cuda.syncthreads()
    total = float32(0)
    for k in range(rounds):
        total += tile[t % 16, k] * tile[k, t % 32]
    for k in range(t % 32, 32):
        total += tile[2, k]
    out[t] = total


@cuda.jit
def below_zero(out, data, rounds, first):
    """Indices that begin below 0, where they count from the end, and grow."""
    tile = cuda.shared.array(65, float32)
    t = cuda.threadIdx.x
    tile[t], tile[t + 32], tile[64] = t, t, 1
    cuda.syncthreads()
    total = float32(0)
    for k in range(rounds):
        total += tile[first + t + k] + data[first + 8 * k, t]
    out[t] = total


@cuda.jit
def loops_of_all_kinds(out, rounds):
    """Rounds that cost the same, and rounds that only look so: fewer lanes, other distances, less than a word."""
    tile = cuda.shared.array((2, 16, PITCH), int32)
    small = cuda.shared.array(256, uint8)
    pairs = cuda.shared.array((16, 8), float64)
    t = cuda.threadIdx.x
    warp, lane = t // 32, t % 32
    for k in range(16):
        tile[warp, k, lane] = 3 * k + lane
    for k in range(4):
        small[4 * t + k] = t + k
    for k in range(2):
        pairs[t // 4, t % 4 + 4 * k] = t
    cuda.syncthreads()
    total = 0
    for k in range(rounds):
        total += tile[warp, k, lane] * tile[warp, 15 - k, 2 * k] + tile[warp, 3, k + lane % 7]
    for k in range(warp * rounds):  # the first warp not at all
        total += tile[0, k, lane]
    for k in range(-3, 5):  # from the end to the beginning
        total += tile[warp, k, lane]
    for k in range(8):  # lanes move apart
        total += tile[warp, k, (k * lane) % 32] + tile[warp, lane % 16, (lane % 4) * k]
    for k in range(4):  # four rounds in one word
        total += small[4 * t + k] + small[16 * k + lane]
    for k in range(8):
        total += int(pairs[t // 4, k])
    if lane < 20:
        for k in range(rounds):
            total += tile[warp, k, 31 - lane]
    for row in range(warp, 16, 5):
        total += tile[warp, row, lane]
    for k in range(rounds):
        if k > 4:
            total += tile[warp, k, lane]
    out[t] = total + sum_of_row(tile, warp, lane % 16, rounds)
    for k in range(t % 5, rounds):  # some lanes begin later
        total += tile[warp, k, lane]
    for k in range(lane):  # and some go on longer
        total += tile[warp, 3, k]
    if total < 0:
        out[t] = total


@cuda.jit(device=True, inline="always")
def counted_from(a, start):
    a[start] += 1
    return a[start:]


@cuda.jit
def a_part_that_a_function_returns(out):
    tile = cuda.shared.array(64, int64)
    t = cuda.threadIdx.x
    tile[t] = t
    cuda.syncthreads()
    if t < 32:
        out[t] = counted_from(tile, t)[0] + counted_from(tile, 63 - t)[0]


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
        (early_return_before_a_barrier, 2, 64, (np.zeros(64, np.int32), 41), 0),
        (wide_patterns, 1, 32, (np.zeros(32), np.array([1, 2, 3, 4, 8, 16, 0, 5, 7, 32, 1, 1])), 0),
        (moving_by_bytes, 1, 32, (np.zeros(32, np.int64), (np.arange(256) % 90).astype(np.int8)), 0),
        (data_dependent, 1, 64, (np.zeros(192, np.int32), np.random.default_rng(0).integers(0, 64, 1024)), 0),
        (cache_hints, 1, 32, (np.zeros(32, np.int64), np.arange(64)), 0),
        (fields, 1, 64, (np.zeros(64), np.arange(192.0).view(PARTICLE)), 0),
        (random_numbers, 2, 32, (np.zeros(64, np.float32), np.arange(1, 129, dtype=np.uint64).view(STATE)), 0),
        (barriers_that_count, 1, 64, (np.zeros(64, np.int32), np.arange(64, dtype=np.int32)), 0),
        (far_apart, 2, 64, (np.zeros(128, np.int64), np.ones((17, 2048), np.int32)), 0),
        (the_same_place_with_other_masks, 1, 64, (np.zeros(64, np.int64),), 0),
        (below_zero, 1, 32, (np.zeros(32, np.float32), np.ones((301, 33), np.float32), 13, -1), 0),
        (product_of_rows, 2, 32, (np.zeros(64, np.float32), 16), 0),
        (loops_of_all_kinds, 1, 64, (np.zeros(64, np.int64), 16), 0),
        (three_dimensions, 3, (8, 4, 2), (np.zeros((3, 2, 4, 8), np.int64),), 0),
        (a_part_that_a_function_returns, 1, 64, (np.zeros(64, np.int64),), 0),
    ]
