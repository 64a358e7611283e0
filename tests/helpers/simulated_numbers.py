"""Loops with numbers, conditions, tuples and returns, as text, for ``simulated_loops``.

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
        "products": "for k in range(40):\n    c = c * c * complex128(0.7) - c",
        "sums": """
for k in range(40):
    c += complex128(k / 3)
    c = -c - u + f
    u -= +c
""",
        "conversions": """
for k in range(40):
    c = complex128(f) + complex128(k) + complex128(k > 3) + complex128(y * d)
    d += complex128(c) / 7 + complex(c)
    u += complex128(n + (1 << 60))
    n += k
""",
        "tests": """
for k in range(40):
    n += (c == c * c) + 2 * (d != c) + (not c) + (c == k) + (u == 0)
    c = complex(f - f, float64(k % 3))
""",
        "ways": """
for k in range(40):
    c = c if k % 3 else u
    if c:
        u = c * f
""",
        "conjugates": """
for k in range(40):
    d = (c.conjugate() * np.conjugate(d) + np.real(d) - np.imag(c)) / 9
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
EMPTY, PRIMES, PAIRS = (), (2, 3, 5, 7, 11), ((1, 2.5), (-3, 4.5), (5, -6.5))
THIRDS, FLAGS = np.arange(8, dtype=np.float64) / 3, np.array([[True, False], [False, True]])
NARROW, EVEN = tuple(np.int64(2 * k + 1) for k in range(4)), (0, 2, 4, 6)

class Colour(IntEnum):
    RED = 1

@cuda.jit(device=True)
def first(*numbers):
    return numbers[0] * len(numbers) + numbers[1]

@cuda.jit(device=True)
def longer(numbers, than):
    return 1 if len(numbers) > 5 and numbers.size > than else 0

@cuda.jit(device=True)
def weighted(x):
    return THIRDS[x % 8] * PRIMES[x % 5]

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
        "integers, floats and conditions": "if k % 3 and y and k > i or not x: y += 0.25",
        "a float that is no number": """
y = math.nan if k == 3 else y
if y and k: x += 1
if not y: x += 2
y = k - 2.0
""",
        "of which one loads": "if k % 3 and s[i] > 1 and real[k]: s[i] += 1",
        "until": "m = k % 4\nwhile m and x: m -= 1\nx += m + 1",
        "which number": "x += (k % 3 or 5) + (k % 3 and i)\ny += 0.0 or y * 0.5",
        "of two types": "y += k % 3 or 0.5",
        "nothing or more": "if missing is None or missing[k] > 1: x += 1\nif not (missing is None): x += missing[0]",
        "given in a row": "x += first(k, 1, i) + first(*(k, i)) + first(k, *(x, 3))",
        "lengths in a function": "x += longer(real[k:], 7) + longer(real, 39) + longer(s, 2) + longer(THIRDS[:k], i)",
        "texts": 'if MODE == "fast" and MODE in ("fast", "slow"): x += len(MODE)\nif MODE != "fast": x += 100',
        "one of two left out": "x += missing[k] if missing is not None else 2",
        "a tuple of the module": "x += PRIMES[k % 5] + PRIMES[-1] + len(PRIMES) + PRIMES[1:3][k % 2] + len(EMPTY)",
        "zeros of both signs": """
z = 0.0
if k % 3 == i % 3: z = -0.0
y += math.copysign(1.0, z) + math.copysign(2.0, -0.0 if (k + i) % 2 else 0.0)
""",
        "narrow integers": "for v in NARROW: y += ~v - v\ny += ~NARROW[k % 4]",
        "as far from each other": "x += EVEN[k % 4] + EVEN[::-1][i % 4]",
        "one of tuples": "if (k % 3, 1) in ((0, 1), (2, i)): x += 4",
        "compared": "if (k % 4, i) < (2, 5) and (k, 1) == (i, 1): x += 2\nif (k % 2, (i, 3)) != (1, (2, 3)): x += 3",
        "put together": "t = (k, 1) + (2, i)\nx += t[3] + t[1:][0] * t[::-1][1] + len((k, *(1, i)))",
        "the largest, and all": "x += max((k, 3, i)) - min((k, 3))\ny += sum((k, y, PRIMES[1])) / 9",
        "an array of the module, gone over": "for v in THIRDS: y += v",
        "rows of the module, gone over": "for row in FLAGS: x += row[k % 2]",
        "in a function": "y += weighted(k) + weighted(i)",
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
        "found": """
for k in range(30):
    if real[(i * 7 + k) % 24] > 0.9:
        out[i] = k
        return
    x += k
""",
        "in every thread": """
for k in range(i, 30):
    s[i] += k
    if s[i] > 50:
        out[i] = k
        return
""",
        "with a condition": """
while x < 40:
    x += i % 5 + 1
    if x % 11 == 3:
        return
    s[i] += x
""",
        "at once in some": """
for k in range(i % 3, 20):
    if i % 4 == 1:
        return
    x += real[k]
""",
        "in two loops": """
for k in range(9):
    for m in range(2, 9):
        if (k + i) * m % 13 == 7:
            s[i] = m
            return
        x += real[m + k]
    out[i] += real[k]
""",
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
        "over elements": """
for near in real:
    x += 1
    if near > i / 20:
        return
    s[i] -= x
""",
    },
)


_TUPLES = (
    9,
    """
@cuda.jit(device=True)
def moved(x, y, k):
    return 10.0 * (y - x), x + k

@cuda.jit(device=True)
def ordered(x, y):
    if x < y:
        return x, y
    return y, x

@cuda.jit(device=True)
def mixed(k):
    for j in range(k):
        if j * j > k:
            return j, 0.5
    return k, 2

@cuda.jit(device=True)
def single(x):
    return x * 2

@cuda.jit(device=True)
def turned(t):
    t = t[::-1]
    return t[0] * 5 + t[1] * 3

@cuda.jit(device=True)
def shifted(k):
    v = (1, 2, 3)
    for j in range(k):
        v = (j,) + v[:2]
    return v[0] + v[1] * 5 + v[2] * 100

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
        "of a function": """
for k in range(20):
    p = moved(y, z, k)
    y += p[0] / 100
    z = p[1] % 7
""",
        "written out": """
for k in range(20):
    p = (k, y + k, i)
    y += p[1] / 8
    x += p[-1] + p[0] * len(p)
""",
        "taken apart": """
for k in range(20):
    p = ordered(k, x)
    m, x = p
    x, m = m + 1, x % 9
    p = m, x
    q = p
    x, m = q
""",
        "an item of a result": "for k in range(20):\n    x += ordered(k, i)[1] + mixed(k)[0] + single(single(k))",
        "made of itself": """
for k in range(20):
    p = (k, i)
    p = p[::-1]
    x += p[0] * 5 + p[1] * 3
    p = (p[1], p[0])
    m += p[0] - p[1] * 3
    q = (k, i, 7)
    q = q[1:] + q[:1]
    y += q[0] * 5 + q[1] * 3 + q[2]
    a, q = q[0], q[1:] + q[:1]
    x += a + q[0] * 3 + turned((k, i)) + shifted(k % 5)
""",
        "crossed": """
for k in range(20):
    p, q = (k, i), (x % 9, 3)
    p, q = q, p
    x += p[0] - q[0] * 3 + p[1]
    p, q = (9, 8), p
    m += q[0] + q[1] * 3 + p[0]
    p, (a, b) = q, p
    x += p[0] * 10 + a + b * 3
""",
        "until a condition": """
p = (0, 1)
while p[0] < 90 + i:
    p = (p[1], p[0] + p[1])
x += p[1]
""",
        "an index from the last on": "for k in range(20):\n    x += given[k % 3]\n    if k == 9: m += given[k - 11]",
        "in the place of a number": """
for k in range(20):
    a = k
    x += a
    for j in range(3):
        a = (j, k)
        x += a[0] * a[1]
""",
    },
)

KINDS = {"complex_numbers": _COMPLEX_NUMBERS, "conditions": _CONDITIONS, "returns": _RETURNS, "tuples": _TUPLES}
