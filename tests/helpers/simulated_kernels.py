"""Small kernels with one difficulty each; run as a script, their results by whatever ``numba.cuda`` is there.

``python simulated_kernels.py OUT.npz`` with NUMBA_ENABLE_CUDASIM=1 writes what Numba's simulator computes. Numbers are
64 bits wide here, so that the simulator, which computes as NumPy does, and Numba agree on types.
"""

import math
import sys

import numpy as np
from numba import cuda, float64, int32, int64

TABLE = np.arange(10, dtype=np.int64) ** 2
SIZES = (4, 8)
BODY = np.dtype([("at", [("x", np.float64), ("y", np.float64)]), ("n", np.int64), ("v", np.int32, (3,))], align=True)


@cuda.jit(device=True)
def clamped(x, low=0, high=10):
    if x < low:
        return low
    if x > high:
        return high
    return x


@cuda.jit(device=True)
def swapped(a, b):
    return b, a


@cuda.jit(device=True)
def first_divisor(n):
    d = 2
    while d * d <= n:
        if n % d == 0:
            return d
        d += 1
    return n


@cuda.jit(device=True)
def add_into(a, i, x):
    a[i] += x
    return a[i]


@cuda.jit
def nested_branches(out):
    i = cuda.grid(1)
    if i % 2 == 0:
        if i % 3 == 0:
            out[i] = 6 * i
        else:
            out[i] = -i
    elif i % 5 == 0:
        out[i] = 5
    else:
        x = i * i
        out[i] = x + 1


@cuda.jit
def guarded(out, data):
    i = cuda.grid(1)
    if i >= out.size:
        return
    acc = 0
    for k in range(4):
        acc += data[i * 4 + k]
    out[i] = acc


@cuda.jit
def short_circuit(out, data):
    i = cuda.grid(1)
    inside = i < data.size and data[i] % 2 == 0
    either = i >= data.size or data[i] > 20
    chain = 3 <= i < data.size < 60
    out[i] = 4 * inside + 2 * either + chain


@cuda.jit
def device_functions(out):
    i = cuda.grid(1)
    a = clamped(i - 5)
    b = clamped(i, 4, 20)
    a, b = swapped(a, b)
    out[i] = 1000 * a + b + 100000 * first_divisor(i + 2)


@cuda.jit
def device_function_stores(out):
    i = cuda.grid(1)
    if i % 2:
        out[i] = add_into(out, i, 5) + add_into(out, i, i)


@cuda.jit
def transpose_in_shared(out, data):
    tile = cuda.shared.array((8, 9), float64)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    tile[y, x] = data[row, column]
    cuda.syncthreads()
    out[cuda.blockIdx.x * 8 + y, cuda.blockIdx.y * 8 + x] = tile[x, y]


@cuda.jit
def reduction(out, data):
    held = cuda.shared.array(64, int64)
    t = cuda.threadIdx.x
    held[t] = data[cuda.grid(1)]
    cuda.syncthreads()
    stride = 32
    while stride > 0:
        if t < stride:
            held[t] += held[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        out[cuda.blockIdx.x] = held[0]


@cuda.jit
def local_arrays(out):
    i = cuda.grid(1)
    digits = cuda.local.array(8, int32)
    n, count = i * 37, 0
    while n > 0:
        digits[count] = n % 10
        n //= 10
        count += 1
    total = 0
    for k in range(count):
        total = total * 10 + digits[k]
    matrix = cuda.local.array((2, 2), float64)
    matrix[0, 0] = total
    matrix[1, i % 2] = 1.5
    out[i] = total + matrix[0, 0] + matrix[1, i % 2]


@cuda.jit
def double_buffer(out):
    one = cuda.shared.array(32, int64)
    two = cuda.shared.array(32, int64)
    t = cuda.threadIdx.x
    source, target = one, two
    source[t] = t
    cuda.syncthreads()
    for k in range(5):
        target[t] = source[(t + k) % 32] + 1
        cuda.syncthreads()
        source, target = target, source
    out[t] = source[t]


@cuda.jit
def views(out, data):
    i = cuda.grid(1)
    row = data[i % 4]
    part = data[1:4, ::2]
    flat = data.reshape(32)
    out[i] = row[i % 8] + 10 * part[i % 3, i % 4] + 100 * data.T[i % 8, i % 4] + 1000 * flat[i % 32]
    out[i] += len(row) + part.shape[1] * 7 + data.ndim + flat.size


@cuda.jit
def slices_that_differ(out, data):
    i = cuda.grid(1)
    part = data[i % 5 : i]
    total = len(part) * 1000
    for k in range(len(part)):
        total += part[k]
    out[i] = total + data[-1 - i % 4]


@cuda.jit
def records(out):
    tile = cuda.shared.array(32, BODY)
    copies = cuda.shared.array(32, BODY)
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t]["n"] = i
    tile[t]["at"]["x"] = 2 * i
    tile[t]["at"]["y"] = 3 * i
    for k in range(3):
        tile[t]["v"][k] = 4 * i + k
    copies[t]["n"] = tile[t]["n"]
    copies[t]["at"]["y"] = tile[t]["at"]["y"]
    copies[t]["v"][2] = tile[t]["v"][2]
    cuda.syncthreads()
    mirrored = tile[31 - t]
    if t % 3 == 0:
        copies[t]["n"] = mirrored["n"]
    elif t % 3 == 1:
        copies[t]["v"][2] = mirrored["v"][2]
    out[i] = copies[t]["n"] + 1000 * copies[t]["at"]["y"] + 1000000 * copies[t]["v"][2]


@cuda.jit
def constants(out):
    i = cuda.grid(1)
    squares = cuda.const.array_like(TABLE)
    a, b = SIZES
    out[i] = TABLE[i % 10] + squares[(i + 1) % 10] * a + SIZES[1] + b


@cuda.jit
def conditional_expressions(out):
    i = cuda.grid(1)
    x = i if i % 3 else -i
    y = max(x, 4, -i) - min(i, 7)
    z = x * y
    if z > 20:
        out[i] = z
    else:
        out[i] = abs(x) + (1 if i > 40 else 2 if i > 20 else 3)


@cuda.jit
def bits(out):
    i = cuda.grid(1)
    x = (i << 3) ^ (i >> 1) | 1
    x &= ~4
    out[i] = x - (-i // 4) * 7 + (-i % 5) + (not i)


@cuda.jit
def mathematics(out):
    i = cuda.grid(1)
    x = 0.25 * i + 0.5
    y = math.sqrt(x) + math.exp(-x) * math.log(x) + math.sin(x) / math.pi + math.atan2(x, 2.0) + math.hypot(x, 1.0)
    if math.isnan(y) or math.isinf(x):
        y = -1.0
    out[i] = y + math.fabs(-x) ** 1.5 + float64(i) / 3


@cuda.jit
def tuple_arguments(out, pair, scale):
    i = cuda.grid(1)
    one, two = pair
    out[i] = (one[i] + pair[1][i]) * scale
    for a in (1, 2, 3):
        out[i] += a * two[i]


@cuda.jit
def three_dimensions(out):
    x, y, z = cuda.grid(3)
    sx, sy, sz = cuda.gridsize(3)
    out[z, y, x] = x + sx * (y + sy * z) + 10000 * cuda.blockDim.z + cuda.gridDim.y * 100000 + sz


@cuda.jit
def same_element(out):
    i = cuda.grid(1)
    cuda.atomic.add(out, i % 4, i)
    cuda.atomic.max(out, 4, (i * 7) % 61)
    cuda.atomic.min(out, 5, -i)
    cuda.atomic.sub(out, 6, 2)
    cuda.atomic.or_(out, 7, 1 << (i % 8))
    cuda.atomic.and_(out, 8, ~(1 << (i % 4)))
    cuda.atomic.xor(out, 9, i)


def cases():
    """Return (kernel, grid, block, arguments): everything that is an array is compared afterwards."""

    def out(n=64):
        return np.zeros(n, np.int64)

    data = (np.arange(128, dtype=np.int64) * 37) % 101
    matrix = np.arange(32, dtype=np.int64).reshape(4, 8)
    return [
        (nested_branches, 2, 32, (out(),)),
        (guarded, 3, 16, (out(27), data)),
        (short_circuit, 2, 32, (out(), data[:50])),
        (device_functions, 2, 32, (out(),)),
        (device_function_stores, 2, 32, (out(),)),
        (transpose_in_shared, (2, 3), (8, 8), (np.zeros((16, 24)), np.arange(384.0).reshape(24, 16))),
        (reduction, 2, 64, (out(2), data)),
        (local_arrays, 2, 20, (np.zeros(64),)),
        (double_buffer, 1, 32, (out(),)),
        (views, 2, 32, (out(), matrix)),
        (slices_that_differ, 1, 32, (out(), data)),
        (records, 2, 32, (out(),)),
        (constants, 2, 32, (out(),)),
        (conditional_expressions, 2, 32, (out(),)),
        (bits, 2, 32, (out(),)),
        (mathematics, 2, 32, (np.zeros(64),)),
        (tuple_arguments, 2, 32, (np.zeros(64), (np.arange(64.0), np.ones(64)), 2.5)),
        (three_dimensions, (2, 3, 2), (4, 2, 3), (np.zeros((6, 6, 8), np.int64),)),
        (same_element, 3, 40, (np.full(10, 15, np.int64),)),
    ]


def arrays(arguments):
    """Return the arrays among arguments."""
    return [a for a in arguments if isinstance(a, np.ndarray)]


def main(path):
    """Run every case and write its arrays."""
    results = {}
    for kernel, grid, block, arguments in cases():
        kernel[grid, block](*arguments)
        for k, array in enumerate(arrays(arguments)):
            results[f"{kernel.fn.__name__ if hasattr(kernel, 'fn') else kernel.py_func.__name__}_{k}"] = array
    np.savez(path, **results)


if __name__ == "__main__":
    main(sys.argv[1])
