"""Loops with one difficulty each, as text, for ``simulated_loops``.

Of each kind: the threads of its block, the kernel around a loop, the arguments, and the loops by name.
"""

import numpy as np

_COMPLEX_NUMBERS = (
    5,
    """
@cuda.jit
def kernel(out):
    i = cuda.threadIdx.x
    f, y = float64(i + 0.3), 0.1
    c, d = complex128(complex(i + 0.7, -1 / 3)), complex(0.3, i)
    u, n = complex128(0), 0
    {body}
    out[8 * i], out[8 * i + 1] = y + n, f
    out[8 * i + 2], out[8 * i + 3], out[8 * i + 4] = c.real, c.imag, d.real
    out[8 * i + 5], out[8 * i + 6], out[8 * i + 7] = d.imag, u.real, u.imag
""",
    lambda: (np.zeros(40),),
    {
        "conversions": """
for k in range(40):
    c = complex128(f) + complex128(k) + complex128(k > 3) + complex128(y * d)
    d += complex128(c) / 7 + complex(c)
    u += complex128(n + (1 << 60))
    n += k
""",
        "conjugates": """
for k in range(40):
    d = (c.conjugate() * np.conjugate(d) + d.real - c.imag) / 9
    c *= np.conjugate(c)
""",
        "a condition": """
k = 0
while k < 50 and abs(c) < 9:
    c = c * c + complex128(0.1j)
    k += 1
""",
    },
)


_CONDITIONS = (
    9,
    """
from enum import IntEnum

MODE = "fast"
FLAGS = np.array([[True, False], [False, True]])

class Colour(IntEnum):
    RED = 1

@cuda.jit
def kernel(out, real, n):
    i = cuda.threadIdx.x
    missing = None
    s = cuda.shared.array(64, float64)
    s[i] = i
    x, y = i + 1, 0.5
    for k in range(20):
        {body}
    out[i] += x + y + s[i]
""",
    lambda: (np.zeros(64), np.sin(np.arange(40)).round(1), 4),
    {
        "texts": 'if MODE == "fast" and MODE in ("fast", "slow"): x += len(MODE)\nif MODE != "fast": x += 100',
        "one of two left out": "x += missing[k] if missing is not None else 2",
        "zeros of both signs": """
z = 0.0
if k % 3 == i % 3: z = -0.0
y += math.copysign(1.0, z) + math.copysign(2.0, -0.0 if (k + i) % 2 else 0.0)
""",
        "compared": "if (k % 4, i) < (2, 5) and (k, 1) == (i, 1): x += 2\nif (k % 2, (i, 3)) != (1, (2, 3)): x += 3",
        "rows of the module, gone over": "for row in FLAGS: x += row[k % 2]",
        "of an enumeration": "if k % 3 == Colour.RED: x += Colour.RED.value",
        "asserted": "assert k >= 0\nassert i < 64, 'no'\nx += 1",
    },
)


_RETURNS = (
    9,
    """
@cuda.jit
def kernel(out, real, seen):
    i = cuda.threadIdx.x
    s, x = cuda.shared.array(256, int64), 0
    s[i] = i
    {body}
    seen[i] = x
    cuda.syncthreads()
    if i > 0:
        out[i] += s[i - 1]
""",
    lambda: (np.zeros(256), np.sin(np.arange(40)) ** 2, np.zeros(256)),
    {
        "in one loop of three": """
for k in range(5):
    m = 0
    while m < k + i % 3:
        for j in range(3):
            s[i] += j
            if j == i % 5:
                break
        m += 1
        x += 1
        if x > 4 + i % 9:
            out[i] = m
            return
    else:
        x += real[k]
        if i % 7 == 6:
            return
    for j in range(m):
        out[i] += j
""",
    },
)


_TUPLES = (
    9,
    """
@cuda.jit
def kernel(out, real, n, square):
    i = cuda.threadIdx.x
    s = cuda.shared.array(64, float64)
    s[i] = i
    x, y, z, m = i + 1, 0.5, 0.25 * i, 0
    given = (3, int64(i), n)
    {body}
    out[i] += x + y + z + m + s[i]
""",
    lambda: (np.zeros(64), np.sin(np.arange(40)), 4, np.ones((4, 12))),
    {
        "written out": """
for k in range(20):
    p = (k, y + k, i)
    y += p[1] / 8
    x += p[-1] + p[0] * len(p)
""",
        "until a condition": """
p = (0, 1)
while p[0] < 90 + i:
    p = (p[1], p[0] + p[1])
x += p[1]
""",
        "an index from the last on": "for k in range(20):\n    x += given[k % 3]\n    if k == 9: m += given[k - 11]",
    },
)


_FUNCTIONS = (
    1,
    """
@cuda.jit(device=True)
def twice(x):
    return x * 2

@cuda.jit(device=True)
def step(x):
    "Go on."
    if x % 2 == 0:
        return x // 2
    return 3 * x + 1

@cuda.jit(device=True)
def first_above(a, least):
    for k in range(a.size):
        if a[k] > least:
            return k
    return -1

@cuda.jit(device=True)
def looped(x, n):
    s = 0
    for k in range(n):
        if k % 3 == 2:
            continue
        s += x * k
    return s

@cuda.jit(device=True)
def exchange(a, i, j):
    t = a[i]
    a[i] = a[j]
    a[j] = t

@cuda.jit(device=True)
def sort(a):
    for i in range(1, a.size):
        j = i
        while j > 0 and a[j - 1] > a[j]:
            exchange(a, j, j - 1)
            j -= 1

@cuda.jit(device=True)
def spread(a, k):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] += i + a.ndim + a.size
        sort(a[i])
    exchange(a[:, k % a.shape[1]], 0, 1)
    a[1:][0, k % 2] += a[0][1]

@cuda.jit(device=True)
def spread_own(k):
    t = cuda.local.array((3, 4), int64)
    for i in range(3):
        for j in range(4):
            t[i, j] = (i * 5 + j * 3 + k) % 7
    spread(t, k)
    spread(t[1:], k)
    return t[0, 0] + 10 * t[1, 2] + 100 * t[2, 3]

@cuda.jit(device=True)
def deep(a, k):
    return step(looped(twice(k), 3)) + first_above(a, k) + cuda.blockDim.x

@cuda.jit
def kernel(out, real, square, none):
    x = 12
    for k in range(10):
        {body}
    out[0] += x
""",
    lambda: (np.arange(24) % 7, np.linspace(0, 1, 24), np.arange(16).reshape(4, 4), np.zeros((2, 0))),
    {
        "functions in functions": "out[k] = deep(real, k)",
        "rows of local arrays": "out[k] = spread_own(k)",
    },
)


def _items():
    rng = np.random.default_rng(3)
    given, cube = rng.integers(-9, 9, (5, 4)), rng.random((2, 3, 2))
    return np.zeros(8), np.arange(0.5, 24), rng.random(9), given, cube, np.zeros(0), rng.random((7, 2))


_ITEMS = (
    8,
    """
FEW = np.arange(1.0, 6.0)

@cuda.jit
def kernel(out, real, other, given, cube, empty, pairs):
    i = cuda.threadIdx.x
    tile = cuda.shared.array((8, 8), float64)
    flags = cuda.shared.array(8, boolean)
    mine = cuda.local.array(5, float64)
    const = cuda.const.array_like(FEW)
    mine[0] = mine[2] = mine[3] = mine[4] = i
    mine[1] = 0.5
    tile[0, i] = tile[2, 7 - i] = i
    flags[i] = i % 3 == 0
    cuda.syncthreads()
    pair = (i, 7)
    ways = ((i, -1), (2, i + 1))
    m, x, y = 3, 0, 0.5
    {body}
    out[i] = x + y
""",
    _items,
    {
        "unpacked and numbered": "for k, (a, (b, c)) in enumerate(zip(other, pairs), i):\n    y += a * b - c * k",
        "a target after the loop": """
v = float64(1.5)
for k, v in enumerate(real[: i + 1]):
    y += v
y += v + k
""",
    },
)


_NAMES = (
    9,
    """
@cuda.jit
def kernel(out, given, other, n):
    i = cuda.threadIdx.x
    own, old, third = (cuda.local.array(6, int64), cuda.local.array(6, int64), cuda.local.array(6, int64))
    s = cuda.shared.array((6, 64), int64)
    t = cuda.shared.array((6, 64), int64)  # the simulator tells arrays apart by lines
    x = 0
    for k in range(6):
        own[k], old[k], third[k] = k, i, 1
        s[k, i], t[k, i] = k, i
    {body}
    out[i] += x + own[0] * 100 + old[1] * 1000 + own[2]
    cuda.syncthreads()
    if i > 0:
        out[i] += s[1, i - 1] + t[2, i - 1]
""",
    lambda: (np.zeros(64, np.int64), np.arange(32) % 7, np.arange(32) % 5, 3),
    {
        "one that is the same in all threads that go on": """
for k in range(30 - i):
    row = given if (k + i // 20) % 3 else other
    x += row[k]
""",
    },
)


def _parts():
    rng = np.random.default_rng(3)
    record = np.dtype([("y", np.float64), ("v", np.float64, 2)], align=True)
    parts, own, both = np.ones(9, record), np.zeros(8, record), (rng.random(16), rng.random((2, 2)))
    parts["v"] = rng.random((9, 2))
    return np.zeros(8), rng.integers(1, 9, (4, 5)), rng.random((2, 3, 2)), np.arange(0.5, 24), both, parts, own


_PARTS = (
    5,
    """
@cuda.jit
def kernel(out, a, cube, real, both, parts, own):
    i = cuda.threadIdx.x
    s, m, c = cuda.shared.array((8, 6), int64), cuda.local.array(6, float64), cuda.local.array((2, 3), complex128)
    for k in range(6):
        s[i, k], m[k], c[k % 2, k % 3] = k * i, k, complex128(1j * k)
    x = 0.0
    for k in range(20):
        {body}
    out[i] = x
""",
    _parts,
    {
        "other shapes": """
x += a.reshape(20)[k % 20] + a.reshape(2, -1)[i % 2, k % 10] + s.reshape(s.size)[6 * i + k % 6]
m.reshape((3, 2))[k % 3, 1] = k
""",
    },
)

KINDS = {
    "complex_numbers": _COMPLEX_NUMBERS,
    "conditions": _CONDITIONS,
    "returns": _RETURNS,
    "tuples": _TUPLES,
    "functions": _FUNCTIONS,
    "items": _ITEMS,
    "names": _NAMES,
    "parts": _PARTS,
}
