"""Kernels that return in a loop."""

import numpy as np

BLOCK = 9
KERNEL = """
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
"""
LINES = {
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
}


def arguments():
    """Return the arguments of a launch."""
    return np.zeros(256), np.sin(np.arange(40)) ** 2, np.zeros(256)
