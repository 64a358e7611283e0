"""Loops with arrays, parts of them, names for them and functions over them, as text, for ``simulated_loops``.

Of each kind: the threads of its block, the kernel around a loop, the arguments, and the loops by name.
"""

import numpy as np

_FUNCTIONS = (
    1,
    """
LIMIT = 3

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
def mixed(x):
    if x > 3:
        return 1
    elif x == 2:
        return 0.5
    return float64(x)

@cuda.jit(device=True)
def first_above(a, least):
    for k in range(a.size):
        if a[k] > least:
            return k
    return -1

@cuda.jit(device=True)
def put(a, i, x):
    if i < 0:
        return
    a[i % a.shape[0]] = x
    cuda.atomic.add(a, 0, 1)

@cuda.jit(device=True)
def shifted(a, b, i):
    x = a[i - 2]
    x += twice(b[i])
    a[i] = x
    return x

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
def corner(a, k):
    n, m = a.shape
    sizes = a.shape
    return a[k % n, k % m] + sizes[1] * len(sizes)

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
        "returns of three types": "out[k] = 10 * mixed(k)",
        "stores, loads from the end, and a call in a call": "x = shifted(out, real, k)",
        "a loop": "out[k] = looped(k, k + 2)",
        "functions in functions": "out[k] = deep(real, k)",
        "as an argument and an index": "out[step(k) % 20] = max(twice(k), looped(2, k))",
        "sizes": "n, m = square.shape\nout[k] = corner(square, k) + corner(square[1:, k % 3:], k) + n * m",
        "a place in the grid": "y, z = cuda.grid(2)\nn, m = cuda.gridsize(2)\nout[k] = y + 3 * z + n * m * k",
        "rows of local arrays": "out[k] = spread_own(k)",
        "a row by name": """
row = square[k % 4]
sort(row)
x += row[k % 5 - 1] + row.shape[0]
row[0] = x % 5
""",
        "a row by name that functions name too": "row = square[k % 4]\nspread(square[row[1] % 3:], k)\nput(row, k, x)",
    },
)


def _items():
    rng = np.random.default_rng(3)
    given, cube = rng.integers(-9, 9, (5, 4)), rng.random((2, 3, 2))
    return np.zeros(8), np.arange(0.5, 24), rng.random(9), given, cube, np.zeros(0), rng.random((7, 2))


_ITEMS = (
    8,
    """
TURNS = (-1, 0, 1)
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1))
SHARES = (0.5, 0.25, -0.125, 0.0625, 3.0)
NARROW = (np.float64(0.1), np.float64(0.7))
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
        "ends that count from the last": """
for k in range(-30, 30, 7):
    for v in real[-4 - i :]:
        y += v
    for v in real[i - 3 : -i]:
        y += v * k
    for v in real[k : k + 9]:
        y += v
    for v in real[:k]:
        y -= v
""",
        "unpacked and numbered": "for k, (a, (b, c)) in enumerate(zip(other, pairs), i):\n    y += a * b - c * k",
        "numbers that are far from each other": """
n = (1 << 62) + i
for k, v in zip(range(-n, n, 1 << 59), real):
    x ^= k
    y += v
""",
        "through an iterator": "for k, v in iter(enumerate(iter(real))):\n    y += k * v",
        "what the loop has assigned since": """
n = 5
for q in range(2):
    for v in real[:n]:
        n += 1
        y += v
""",
        "a target after the loop": """
v = float64(1.5)
for k, v in enumerate(real[: i + 1]):
    y += v
y += v + k
""",
        "until something is found": """
for k, v in enumerate(real):
    if v > i + 2.5: break
    y += v
y += k
""",
        "behind what was not left": """
for q in range(4):
    for s in (1, 3, 5):
        if s == q + i: break
        x += s
    else:
        y += real[q]
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
        "two local arrays": """
for k in range(20):
    for j in range(1, 6):
        own[j] = old[j - 1] + k
        x += own[j] % 7
    own, old = old, own
""",
        "shared memory": """
for k in range(n + 13):
    for j in range(1, 6):
        s[j, i] += t[j - 1, i]
    s, t = t, s
    x += s[0, i] + t.shape[0] - len(s)
""",
        "in two loops": """
for k in range(5):
    for j in range(n):
        own[j % 6] += old[(j + k) % 6]
        own, old = old, own
    x += own[k % 6]
    if x % 11 == i % 11:
        own[1] = 5
        return
""",
        "one that is the same in all threads that go on": """
for k in range(30 - i):
    row = given if (k + i // 20) % 3 else other
    x += row[k]
""",
        "several at once": """
for k in range(9):
    own, old = old, own
    row = given if k % 2 else other
    line = own if k % 3 else old
    third, part = line, third
    x += part[0] + row[k]
""",
        "as many turns as there are, in each thread": """
while x < 50 + 20 * i:
    x += own[x % 6] + 2
    own, old = old, own
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
TABLE = np.arange(12.0).reshape(3, 4)

@cuda.jit(device=True)
def ends(a, k):
    n = a.shape[0]
    return a[k % n] * 2 + a[::-1][0] + TABLE.T[k & 3, 1]

@cuda.jit(device=True)
def moved(part, k):
    part.y += k
    return weight(part) * part.v[k % 2]

@cuda.jit(device=True)
def weight(part):
    return part.y + part["v"][0]

@cuda.jit(device=True)
def part_of(x):
    return x.real + x.imag

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
        "other types": "x += real.view(np.int64)[k % 9 + 9] & 255\nreal.view(np.int64)[2 * i] = k\nx += real[i + 9]",
        "steps": """
x += a[::2, 1][k % 2] + real[20 - i : i : -2][k % 4] + real[::-1][k] + a[k % 4, -1::-3][i % 2]
x += real[i + 30 :: -1].size + real[5 : i - 30 : 2].size + s[i, 4:1:-1][k % 3]
""",
        "dots": """
x += cube[k % 2, ..., 1][i % 3] + cube[..., i % 2][1, k % 3] + a[..., 2][k % 4]
m[...] = k
x += m[i % 6]
""",
        "a tuple in a part": """
m[1:3] = (k, i)
s[i, ::3] = k, i
m[:1] = (7.5,)
x += m[k % 3] + s[i, 3]
""",
        "every index": """
for p, q in np.ndindex(2, i % 3):
    x += p * q + a[p, q]
for at in np.ndindex(cube.shape):
    x += cube[at]
for one in np.ndindex(i):
    x += real[one] + one[0]
""",
        "elements with their indices": """
for (p, q), v in np.ndenumerate(a):
    x += v * p - q
for at, v in np.ndenumerate(real[i : i + 3]):
    x += v + at[0]
""",
        "records": """
r = parts[(i + k) % 9]
x += r.y + r.v[k % 2] + parts[k % 9].v[1]
q = own[i]
q.y = k
q.v[1] = x
""",
        "records in functions": "r = own[i]\nx += moved(r, k) + weight(parts[k % 9]) + moved(own[i], i)",
        "sums": "x += a[i % 4].sum() + real[k:].argmax() + real.var()\nx += a.argmin() + cube.mean() - a[0].prod()",
        "sizes": "x += a.nbytes + a.strides[0] + a.itemsize + len(a[1:]) + a[1, 2:].size + a[k % 4, 1].item()",
        "a function": "x += ends(a[k % 4], i) + ends(real[::3], k) + ends(a.T[1], 2) + part_of(x) + part_of(k + 1j)",
    },
)

KINDS = {"functions": _FUNCTIONS, "items": _ITEMS, "names": _NAMES, "parts": _PARTS}
