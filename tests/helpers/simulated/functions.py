"""Functions that a loop calls, with rows and slices."""

import numpy as np

BLOCK = 1
KERNEL = """
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
def pair_above(a, least):
    for k in range(LIMIT):
        j = 0
        while j < len(a):
            if a[j] + k > least and j > k:
                return k, j
            j += 1
            if j > 40:
                continue
    return -1, 0.5

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

@cuda.jit("float64(float64, int64)", device=True)
def typed(x, n):
    return x / 3 + n

@cuda.jit(device=True)
def looped(x, n):
    s = 0
    for k in range(n):
        if k % 3 == 2:
            continue
        s += x * k
    return s

@cuda.jit(device=True)
def changed(x, k):
    x += k
    k = x * 1.5
    return x, k

@cuda.jit(device=True)
def own(k):
    t = cuda.local.array(3, int64)
    t[k % 3] = k
    return t[1]

@cuda.jit(device=True)
def fill(t, k):
    for j in range(len(t)):
        t[j] += j * k

@cuda.jit(device=True)
def filled(k):
    t = cuda.local.array((2, 3), float64)
    s = cuda.local.array(4, int64)
    if k > 4:
        return t[1, 2]
    t[k % 2, k % 3] = k
    s[k % 5] = 1
    fill(s, k)
    return t[0, 0] + t[1, 1] * s[3] + s[-1]

@cuda.jit(device=True)
def some(k):
    if k > 3:
        t = cuda.local.array(3, int64)
        t[k % 3] = k
        return t[1]
    return 0

@cuda.jit(device=True)
def kept(a, i, x):
    a[i] = x
    return x

@cuda.jit(device=True)
def sizes(a, b, k):
    for j in range(a.shape[0]):
        a[j] = len(a) * 100 + len(b) * 10 + k

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
"""
LINES = {
    "one expression, twice": "out[k] = twice(k) + twice(twice(k) + 1)",
    "two returns": "x = step(x)\nout[k] = x",
    "returns of three types": "out[k] = 10 * mixed(k)",
    "a return in a loop": "out[k] = first_above(real, k / 10)",
    "a return in two loops, of two numbers": "y, z = pair_above(real, k * 0.3)\nout[k] = y + 8 * z",
    "no value": "put(out, k - 3, x)",
    "stores, loads from the end, and a call in a call": "x = shifted(out, real, k)",
    "a loop": "out[k] = looped(k, k + 2)",
    "parameters that change": "y, z = changed(x, k)\nx += 1\nout[k] = y + z * 2",
    "functions in functions": "out[k] = deep(real, k)",
    "in conditions": "if twice(k) > 5 and step(k) != 4:\n    out[k] = step(k) if k % 3 else first_above(real, 0.5)",
    "as an argument and an index": "out[step(k) % 20] = max(twice(k), looped(2, k))",
    "a nested loop": """
for j in range(3):
    if step(j) > 4:
        break
    x += looped(j, 3)
out[k] = x
""",
    "sizes": "n, m = square.shape\nout[k] = corner(square, k) + corner(square[1:, k % 3:], k) + n * m",
    "a place in the grid": "y, z = cuda.grid(2)\nn, m = cuda.gridsize(2)\nout[k] = y + 3 * z + n * m * k",
    "a row": "out[k] = first_above(square[k % 4], 3)",
    "a row, whole and sorted": "square[k % 4, k % 3] = k % 5\nsort(square[k % 4])\nsort(square[k % 4, :])",
    "a column": "sort(square[:, k % 4])",
    "rows of rows": "spread(square, k)\nspread(square[1:3, :2], k)",
    "rows of local arrays": "out[k] = spread_own(k)",
    "slices": """
sort(out[k:k + 4])
sort(out[:k])
sort(out[20 - k:])
sort(out[:])
""",
    "slices of several sizes": "sizes(out[k:2 * k], real[k:], k)\nx += out[k]",
    "slices cut off at the ends": "sizes(out[k + 12:k + 18], real[-k:22], k)\nsizes(out[9 - k:k], real[k:-3], k)",
    "a row by name": """
row = square[k % 4]
sort(row)
x += row[k % 5 - 1] + row.shape[0]
row[0] = x % 5
""",
    "a row by name, in loops": """
row = square[k % 4, 1:]
for j in range(3):
    row[j] += j
    for n in range(2):
        x += row[j - n] + first_above(row[n:], 2)
""",
    "a row by name, by indices that change": """
row = square[x % 5, k % 3:]
x += 1
k = x
x += row[k % 5 - 2] + row.size
""",
    "a row by name that functions name too": "row = square[k % 4]\nspread(square[row[1] % 3:], k)\nput(row, k, x)",
    "every second element": "sort(out[k::2])",
    "a transposed array": "sort(square.T[k % 4])",
    "the largest size of a row by name": "row = square[k % 4]\nout[k] = max(row.shape) + row[1:][0]",
    "two rows by one name": """
row = square[0]
if k > 3:
    row = square[k % 4]
x += row[1]
""",
}


def arguments():
    """Return the arguments of a launch."""
    return np.arange(24) % 7, np.linspace(0, 1, 24), np.arange(16).reshape(4, 4), np.zeros((2, 0))
