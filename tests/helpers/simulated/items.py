"""Loops over arrays, tuples and what is made of them."""

import numpy as np

BLOCK = 8
KERNEL = """
TURNS = (-1, 0, 1)
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1))
SHARES = (0.5, 0.25, -0.125, 0.0625, 3.0)
NARROW = (np.float64(0.1), np.float64(0.7))
FEW = np.arange(1.0, 6.0)

@cuda.jit(device=True)
def total(items, k):
    s = 0.0
    for x in items:
        if x > k:
            return s
        s += x
    return s + len(items)

@cuda.jit(device=True)
def near(k):
    n = 0
    for step in TURNS:
        n += k * step
    for step in (k, n + 1):
        n += step
    return n

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
"""
LINES = {
    "numbers that are written out": "for s in (3, 1, 4, 1, 5):\n    x += s * i",
    "numbers at even distances": "for s in (-1, 0, 1):\n    y += real[5 + s + i]",
    "numbers that go down": "for s in (9, 6, 3, 0):\n    y += real[s]",
    "one number again and again": """
for s in (2, 2, 2):
    x += s
for s in (4,):
    x += s
""",
    "floats": "for s in (0.5, -0.25, 0.5):\n    y = y * s + i",
    "truths": "for on in (True, False, True, True):\n    if on: x += i + 1",
    "numbers that are not known before": """
for k in range(3):
    for s in (i, m, i + m):
        x += s
        m += 1
""",
    "numbers that are loaded": "for k in range(3):\n    for s in (real[k], real[k + i]):\n        y += s",
    "numbers of the module": "for s in TURNS:\n    for w in SHARES:\n        y += s * w * real[i + 1 + s]",
    "floats of the module": "for w in NARROW:\n    y += w * float64(i)",
    "a tuple that a name stands for": """
for s in pair:
    x += s
    for a, b in ways:
        x += a * s - b
""",
    "pairs of numbers": "for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):\n    x += dx * i - 2 * dy",
    "pairs of the module": "for dx, dy in SIDES:\n    y += given[2 + dy, 1 + dx] * (i + 1)",
    "pairs in pairs": "for (a, b), c in (((1, 2.0), 3), ((4, 5.5), 6)):\n    y += a * b - c * i",
    "an array in global memory": "for v in real:\n    y += v * (i + 1)",
    "an array in local memory": "for v in mine:\n    y += v * v",
    "an array of constants": "for v in const:\n    y += v / (i + 1)",
    "a part of an array": """
for v in real[i : 2 * i + 3]:
    y += v
for v in real[5:]:
    y -= v
""",
    "a part that is beyond the end": "for v in real[20 : 30 + i]:\n    y += v",
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
    "what is unpacked": """
for a, b in zip(SHARES, iter(other[1:])):
    y += a * b
for k, m, n in given[:, i % 2 : i % 2 + 3]:
    x += k * m - n * i
""",
    "what is unpacked and numbered": "for k, (a, (b, c)) in enumerate(zip(other, pairs), i):\n    y += a * b - c * k",
    "nothing": """
for k in range(3):
    for v in real[i + 3 : i + k]:
        y += v
    for k, v in enumerate(empty):
        x += k
    else:
        x += 5
""",
    "as many as each has": "for v in real[: i % 4 + 1]:\n    y += v",
    "rows": """
for row in given:
    y += row[1] * row[i % 4]
    for k in range(len(row)):
        x += row[k]
""",
    "rows of a row": """
for plane in cube:
    for row in plane:
        for v in row:
            y += v * (i + 1)
""",
    "rows in a function": "for row in given:\n    y += total(row, 7 + i)",
    "a row by its number": "for k in range(4):\n    for v in given[k]:\n        y += v * k",
    "elements that do not follow each other": "for k in range(4):\n    for v in given[:, k]:\n        y += v * i",
    "elements and their numbers": "for k, v in enumerate(real):\n    y += k * v",
    "numbers from somewhere on": "for k, v in enumerate(real[:9], i + 2):\n    y += k * v",
    "numbers in numbers": "for k, (n, v) in enumerate(enumerate(real, -3), 5):\n    y += k * n * v",
    "numbers of rows": "for k, row in enumerate(given):\n    y += k * row[3]",
    "two arrays": "for v, w in zip(real, other):\n    y += v * w\n    x += 1",
    "two parts": "for v, w in zip(real[i:], other[: i + 2]):\n    y += v * w\n    x += 1",
    "one array twice": "for v, w in zip(real, real[1:]):\n    y += v * w + i",
    "an array and numbers": "for v, k, s in zip(real, range(i, 40, 2), SHARES):\n    y += v * k * s\n    x += k",
    "numbers that run down": "for k, v in zip(range(9, -9, -m), other):\n    y += v * k\n    x += k",
    "numbers of a range": "for k, n in enumerate(range(3, 20 - i, 4), i):\n    x += k * n",
    "numbers that are far from each other": """
n = (1 << 62) + i
for k, v in zip(range(-n, n, 1 << 59), real):
    x ^= k
    y += v
""",
    "through an iterator": "for k, v in iter(enumerate(iter(real))):\n    y += k * v",
    "one alone": "for (v,) in zip(real):\n    y += v",
    "what is stored on the way": "for k, v in enumerate(mine):\n    if k < 4: mine[k + 1] = v + k\n    y += v",
    "a target that is assigned again": "for v in real:\n    v = v * 2 + i\n    y += v",
    "a number that is assigned again": "for k, v in enumerate(real):\n    k = k * 2 + i\n    x += k",
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
    "all but some": "for k, v in enumerate(real):\n    if k % 3 == i % 3: continue\n    y += v",
    "behind what was not left": """
for q in range(4):
    for s in (1, 3, 5):
        if s == q + i: break
        x += s
    else:
        y += real[q]
""",
    "targets of two types": """
for v in (1, 2):
    x += v
for v in real:
    y += v
for v in (i, 3):
    x += v
""",
    "a function that goes over an array": """
for k in range(6):
    y += total(real[k : k + 8], 5 + i)
    y += total(real, k)
""",
    "a function that goes over numbers": "for k in range(6):\n    x += near(k + i)",
}


def arguments():
    """Return the arguments of a launch."""
    rng = np.random.default_rng(3)
    given, cube = rng.integers(-9, 9, (5, 4)), rng.random((2, 3, 2))
    return np.zeros(8), np.arange(0.5, 24), rng.random(9), given, cube, np.zeros(0), rng.random((7, 2))
