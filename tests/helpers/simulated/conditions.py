"""Conditions, and what the module has, in loops."""

import numpy as np

BLOCK = 9
KERNEL = """
from enum import IntEnum

MODE = "fast"
EMPTY, PRIMES, PAIRS = (), (2, 3, 5, 7, 11), ((1, 2.5), (-3, 4.5), (5, -6.5))
THIRDS, FLAGS = np.arange(8, dtype=np.float64) / 3, np.array([[True, False], [False, True]])
NARROW, EVEN = tuple(np.int64(2 * k + 1) for k in range(4)), (0, 2, 4, 6)

class Colour(IntEnum):
    RED = 1

@cuda.jit(device=True)
def moved(x, by=3, other=None):
    if other is None:
        return x + by
    return x - other[x % 4]

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
"""
LINES = {
    "integers": "if k & 1 and i & 1: x += 1\nif k & 2 or i & 2: x += 2\nif not (k & 1 and i): x += 3",
    "integers, floats and conditions": "if k % 3 and y and k > i or not x: y += 0.25",
    "a float that is no number": """
y = math.nan if k == 3 else y
if y and k: x += 1
if not y: x += 2
y = k - 2.0
""",
    "of which one loads": "if k % 3 and s[i] > 1 and real[k]: s[i] += 1",
    "in a choice": "x += 1 if k & 1 and i else 2\nx += (3 if not k % 4 else 4) if i or k else 5",
    "until": "m = k % 4\nwhile m and x: m -= 1\nx += m + 1",
    "which number": "x += (k % 3 or 5) + (k % 3 and i)\ny += 0.0 or y * 0.5",
    "which number, loaded": "y += real[k] or real[k % 7] or real[i]\ns[i] += real[i] and real[k]",
    "of two types": "y += k % 3 or 0.5",
    "nothing": "if missing is None: x += 1\nelse: x += missing[k]\nif real is not None and k > 3: y += real[k]",
    "nothing or more": "if missing is None or missing[k] > 1: x += 1\nif not (missing is None): x += missing[0]",
    "nothing behind what loads": """
if s[i] > k or missing is None: x += 1
if real is None and s[k % 7] or i: x += 2
x += 1 if s[i] > 2 and real[k] > 0 or missing is None else 2
""",
    "given in a row": "x += first(k, 1, i) + first(*(k, i)) + first(k, *(x, 3))",
    "lengths in a function": "x += longer(real[k:], 7) + longer(real, 39) + longer(s, 2) + longer(THIRDS[:k], i)",
    "texts": 'if MODE == "fast" and MODE in ("fast", "slow"): x += len(MODE)\nif MODE != "fast": x += 100',
    "left out": "if False: x += missing[k]\nx += 1",
    "one of two left out": "x += missing[k] if missing is not None else 2",
    "a tuple of the module": "x += PRIMES[k % 5] + PRIMES[-1] + len(PRIMES) + PRIMES[1:3][k % 2] + len(EMPTY)",
    "tuples in one": "y += PAIRS[k % 3][1] + PAIRS[0][0]\nfor pair in PAIRS: y += pair[0] * pair[1]",
    "zeros of both signs": """
z = 0.0
if k % 3 == i % 3: z = -0.0
y += math.copysign(1.0, z) + math.copysign(2.0, -0.0 if (k + i) % 2 else 0.0)
""",
    "narrow integers": "for v in NARROW: y += ~v - v\ny += ~NARROW[k % 4]",
    "as far from each other": "x += EVEN[k % 4] + EVEN[::-1][i % 4]",
    "one of a tuple": "if k in PRIMES: x += 1\nif k % 5 not in (0, 2, i): x += 2",
    "one of tuples": "if (k % 3, 1) in ((0, 1), (2, i)): x += 4",
    "none of a tuple": "if k in EMPTY: x += 1\nif k not in EMPTY: x += 2",
    "compared": "if (k % 4, i) < (2, 5) and (k, 1) == (i, 1): x += 2\nif (k % 2, (i, 3)) != (1, (2, 3)): x += 3",
    "of other lengths": "if (k % 2, 1) < (1, 1, i): x += 1\nif (k, 1) == (k, 1, 2) or (k, 1, 2) >= (k, 1): x += 4",
    "taken apart": """
(a, b), c = (k, i), 3
x += a * b - c
a, (b, c) = b, (c, a)
x += a - b * c
""",
    "put together": "t = (k, 1) + (2, i)\nx += t[3] + t[1:][0] * t[::-1][1] + len((k, *(1, i)))",
    "the largest, and all": "x += max((k, 3, i)) - min((k, 3))\ny += sum((k, y, PRIMES[1])) / 9",
    "arrays of the module": "y += THIRDS[k % 8] * THIRDS[-1] + FLAGS.shape[1]\nif FLAGS[k % 2, i % 2]: x += 1",
    "an array of the module, gone over": "for v in THIRDS: y += v",
    "rows of the module, gone over": "for row in FLAGS: x += row[k % 2]",
    "in a function": "y += weighted(k) + weighted(i)",
    "of an enumeration": "if k % 3 == Colour.RED: x += Colour.RED.value",
    "asserted": "assert k >= 0\nassert i < 64, 'no'\nx += 1",
}


def arguments():
    """Return the arguments of a launch."""
    return np.zeros(64), np.sin(np.arange(40)).round(1), 4
