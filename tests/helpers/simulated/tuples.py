"""Tuples in loops."""

import numpy as np

BLOCK = 9
KERNEL = """
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
def again(k):
    pair = mixed(k + 1)
    if k > 4:
        return pair
    return mixed(k)

@cuda.jit(device=True)
def total(pair, k):
    s = pair[0] - k
    for x in pair:
        s += x
    return s + pair[-1] * len(pair)

@cuda.jit(device=True)
def swapped(pair):
    pair = (pair[1], pair[0])
    return pair

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

@cuda.jit(device=True)
def loaded(a, k):
    return k, a[k]

@cuda.jit(device=True)
def raised(a, k):
    a[k] += 1
    return a[k]

@cuda.jit
def kernel(out, real, n, square):
    i = cuda.threadIdx.x
    s = cuda.shared.array(64, float64)
    s[i] = i
    x, y, z, m = i + 1, 0.5, 0.25 * i, 0
    given = (3, int64(i), n)
    {body}
    out[i] += x + y + z + m + s[i]
"""
LINES = {
    "of a function": """
for k in range(20):
    p = moved(y, z, k)
    y += p[0] / 100
    z = p[1] % 7
""",
    "stages": """
for k in range(20):
    p = moved(y, z, 1)
    q = moved(y + p[0] * 0.01, z + p[1] * 0.01, 2)
    r = moved(y + q[0] * 0.01, z - q[1] * 0.01, x)
    y += (p[0] + 2 * q[0] + r[0]) * 0.001
    z += (p[1] + 2 * q[1] + r[1]) * 0.001
""",
    "of one of two returns": "for k in range(20):\n    p = ordered(k * 7 % 5, i)\n    x += p[0] * 10 + p[1]",
    "of several types": """
for k in range(20):
    p = mixed(k + i)
    x += p[0]
    y += p[1]
    p = again(k)
    m += p[0]
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
    "from before the loop": "for k in range(20):\n    x += given[0] * k + given[1]\n    m += given[-1]",
    "from before the loop, replaced": """
for k in range(20):
    x += given[k % 3 * 0]
    given = (x % 5, given[2], given[1] + k)
x += given[2]
""",
    "an index that varies": "for k in range(20):\n    for j in range(3):\n        x += given[j] * k + (j, 5, k)[j]",
    "gone over": """
for k in range(20):
    p = (k, i)
    for v in p:
        x += v
        p = (x % 3, v)
    m += p[0]
""",
    "given to functions": """
for k in range(20):
    p = ordered(k, i)
    x += total(p, k) + total(swapped(p), 2) + total((k, i, 3), k)
""",
    "an item of what is returned": "for k in range(20):\n    x += ordered(k, i)[1] + mixed(k)[0] + single(single(k))",
    "for some threads or turns": """
for k in range(20):
    if (k + i) % 3:
        p = (k, y)
        m += p[0]
if i > 2:
    x += p[0]
    y += p[1] / 9
""",
    "of numbers that are loaded": """
for k in range(20):
    p = (real[k], s[i])
    s[i] = p[0] * 2 - p[1]
    z += p[0]
""",
    "returned": """
for k in range(20):
    p = moved(y, z, k)
    s[i] += p[1]
    if p[1] > 3 + i:
        out[i] = p[0]
        return
""",
    "a part of one": """
for k in range(20):
    p = (k, i, x)
    q = p[1:]
    x += q[0]
""",
    "compared": """
for k in range(20):
    p = (k % 3, i)
    if p == (1, 2):
        x += 1
""",
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
    "in another": "for k in range(20):\n    p = (k, (i, 2))\n    x += p[1][0]",
    "an index from the last on": "for k in range(20):\n    x += given[k % 3]\n    if k == 9: m += given[k - 11]",
    "compared with what a function returns": """
for k in range(20):
    if (k, s[i]) == loaded(s, i): x += 1
    if loaded(s, i) < (k, s[i]): x += 2
    p = (1, s[i]) + loaded(s, i)
    y += p[1] - p[3]
""",
    "in the place of a number": """
for k in range(20):
    a = k
    x += a
    for j in range(3):
        a = (j, k)
        x += a[0] * a[1]
""",
    "then a number": """
for k in range(20):
    for j in range(2):
        a = (0, k)
        x += a[1]
    for j in range(2):
        a = j
        if a: x += 1
""",
    "in the place of a part of an array": """
for k in range(20):
    for j in range(3):
        a = j
        y += a
    for j in range(3):
        a = real[j:]
        y += a[k % 4]
""",
}


def arguments():
    """Return the arguments of a launch."""
    return np.zeros(64), np.sin(np.arange(40)), 4, np.ones((4, 12))
