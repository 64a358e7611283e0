"""One kernel for each thing CUDA has beyond loads and stores, with arguments; the last argument is what it computes."""

import math

import numpy as np
from numba import cuda, float32, int32, int64, uint32
from numba.cuda import libdevice
from numba.cuda.random import xoroshiro128p_dtype, xoroshiro128p_normal_float64, xoroshiro128p_uniform_float32
from numba.cuda.types import float16

FULL = 0xFFFFFFFF
TABLE = np.arange(8, dtype=np.float64) ** 2
RECORD = np.dtype([("x", np.float32), ("y", np.float64), ("z", np.int32, (3,))], align=True)


@cuda.jit
def shuffles(data, out):
    i = cuda.grid(1)
    x = data[i]
    out[0, i] = cuda.shfl_sync(FULL, x, 5)
    out[1, i] = cuda.shfl_up_sync(FULL, x, 3)
    out[2, i] = cuda.shfl_down_sync(FULL, x, 9)
    out[3, i] = cuda.shfl_xor_sync(FULL, x, 21)
    out[4, i] = cuda.shfl_sync(FULL, x, x)
    out[5, i] = cuda.shfl_down_sync(FULL, float(x) / 3, 1) * 3


@cuda.jit
def votes(data, out):
    i = cuda.grid(1)
    x = data[i]
    out[0, i] = cuda.ballot_sync(FULL, x > 4)
    out[1, i] = cuda.all_sync(FULL, x >= 0) + 2 * cuda.any_sync(FULL, x == 3) + 4 * cuda.eq_sync(FULL, x > 100)
    out[2, i] = cuda.match_any_sync(FULL, x)
    same, every = cuda.match_all_sync(FULL, x // 100)
    out[3, i] = same + every
    if x > 4:
        out[4, i] = cuda.activemask()
        out[5, i] = cuda.ballot_sync(cuda.activemask(), x > 6)
    out[6, i] = cuda.lanemask_lt() + cuda.laneid * cuda.warpsize
    out[8, i] = cuda.syncthreads_count(int32(x > 4))
    out[9, i] = cuda.syncthreads_and(int32(x)) + 2 * cuda.syncthreads_or(int32(x))


@cuda.jit
def bits(data, out):
    i = cuda.grid(1)
    x = data[i]
    out[0, i] = cuda.popc(x)
    out[1, i] = cuda.clz(x)
    out[2, i] = cuda.ffs(x)
    out[3, i] = cuda.brev(uint32(x))
    out[4, i] = cuda.selp(x > 5, x, int64(7))
    out[5, i] = libdevice.mulhi(int32(x), int32(123456789))
    out[6, i] = libdevice.float2int_rn(float32(x) / float32(3))


@cuda.jit
def floats(data, out):
    i = cuda.grid(1)
    x = data[i]
    out[0, i] = cuda.fma(x, x, -x)
    out[1, i] = cuda.cbrt(x)
    out[2, i] = libdevice.rsqrt(x + 1)
    out[3, i] = libdevice.fast_sinf(float32(x))
    sine, cosine = libdevice.sincos(x)
    out[4, i] = sine * 2 + cosine
    out[5, i] = round(x, 2)
    out[6, i] = math.erf(x) + math.hypot(x, 2.0)
    out[7, i] = float16(x) * float16(1.5)  # with a sum behind it the compiler would round once only
    out[8, i] = cuda.fp16.hfma(float16(x), float16(x), float16(-2))
    out[9, i] = np.arctan2(x, 2.0) + TABLE[i % 8]


@cuda.jit
def records(items, out):
    i = cuda.grid(1)
    items[i].x += items[i].z[1]
    items[i]["y"] = items[i].x * 2
    held = cuda.shared.array(64, RECORD_TYPE)
    held[cuda.threadIdx.x].y = items[i].y
    cuda.syncthreads()
    out[i] = held[63 - cuda.threadIdx.x].y


@cuda.jit
def uniform_numbers(states, out):
    i = cuda.grid(1)
    for k in range(4):
        out[k, i] = xoroshiro128p_uniform_float32(states, i)


@cuda.jit
def normal_numbers(states, out):
    i = cuda.grid(1)
    for k in range(4):
        out[k, i] = xoroshiro128p_normal_float64(states, i)


@cuda.jit
def loops(data, table, out):
    i = cuda.grid(1)
    total = 0
    for k, (x, y) in enumerate(zip(data, table[i % 4])):  # noqa: B905 - Numba knows no strict
        total += k * x + y
    for x in (1, 2, 3):
        total += x
    out[i] = total
    if i == 0:
        out[44:46] = 7


@cuda.jit
def complexes(data, out):
    i = cuda.grid(1)
    z = complex(data[i], 1.0)
    out[i] = z * z / (z + 2) + abs(z)


RECORD_TYPE = None


def cases():
    """Return kernels with a grid, a block and arguments."""
    global RECORD_TYPE
    from numba.np.numpy_support import from_dtype

    RECORD_TYPE = from_dtype(RECORD)
    rng = np.random.default_rng(3)
    small = rng.integers(0, 8, 64)
    wide = rng.integers(-(2**40), 2**40, 64)
    reals = np.concatenate([rng.normal(size=62), [0.0, 2.5]]) ** 2
    items = np.zeros(64, RECORD)
    items["x"], items["z"] = rng.normal(size=64), rng.integers(0, 9, (64, 3))
    states = np.zeros(64, xoroshiro128p_dtype)
    states["s0"], states["s1"] = rng.integers(1, 2**63, (2, 64), dtype=np.uint64)
    return [
        (shuffles, 1, 64, (small, np.zeros((6, 64)))),
        (votes, 1, 64, (small, np.zeros((10, 64), np.int64))),
        (bits, 1, 64, (wide, np.zeros((7, 64), np.int64))),
        (floats, 1, 64, (reals, np.zeros((10, 64)))),
        (records, 1, 64, (items, np.zeros(64))),
        (uniform_numbers, 1, 64, (states, np.zeros((4, 64)))),
        (normal_numbers, 1, 64, (states, np.zeros((4, 64)))),
        (loops, 1, 32, (np.arange(6), np.arange(24).reshape(4, 6), np.zeros(46, np.int64))),
        (complexes, 1, 64, (reals, np.zeros(64, np.complex128))),
    ]
