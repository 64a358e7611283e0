"""Names that a loop gives to several arrays."""

import numpy as np

BLOCK = 9
KERNEL = """
@cuda.jit(device=True)
def total(a, n):
    s = 0
    for k in range(n):
        s += a[k]
    return s

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
"""
LINES = {
    "two local arrays": """
for k in range(20):
    for j in range(1, 6):
        own[j] = old[j - 1] + k
        x += own[j] % 7
    own, old = old, own
""",
    "by a third name": """
for k in range(20):
    own[k % 6] += old[(k + 1) % 6]
    rest = own
    own = old
    old = rest
""",
    "three of them": """
for k in range(20):
    own[k % 6] = old[(k + i) % 6] - third[k % 5]
    x += own[0] * 3 + old[k % 6]
    own, old, third = old, third, own
""",
    "shared memory": """
for k in range(n + 13):
    for j in range(1, 6):
        s[j, i] += t[j - 1, i]
    s, t = t, s
    x += s[0, i] + t.shape[0] - len(s)
""",
    "one of two": """
for k in range(20):
    row = given if k % 3 else other
    x += row[(k + i) % 20]
    if x > 90 + i:
        break
""",
    "one of two for a while": """
row = given
for k in range(20):
    if k % 4 == 3:
        row = other
    elif k % n == 0:
        row = given
    else:
        x += 1
    for j in range(k % 5):
        x += row[j + i] * 2
""",
    "functions of them": """
for k in range(20):
    row = third if k < 9 else own
    x += total(row, 4) + row.size
    own, old = old, own
    own[k % 6] = total(old, 6) % 99
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
    "behind a loop that was not left": """
for k in range(20):
    for j in range(1, 6):
        if own[j] > 9 + k:
            break
        own[j] += old[j - 1]
    else:
        x += old[k % 6]
    own, old = old, own
""",
    "one that is the same in all threads that go on": """
for k in range(30 - i):
    row = given if (k + i // 20) % 3 else other
    x += row[k]
""",
    "a tuple that is not the same": """
a, b = (i // 4, 2), (0, 2)
for k in range(6):
    if a == b:
        s, t = t, s
    s[0, i] = k
""",
    "an array and a number": "for k in range(9):\n    own, x = old, x + 1\n    x += own[k % 6]",
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
    "a number of turns for each": """
for k in range(5):
    for j in range((i + k) % 4):
        own[j] += old[k] + 1
        own, old = old, own
    x += own[0]
""",
    "turns that some skip": """
for k in range(20):
    if (k + i) % 3 == 0:
        continue
    x += own[k % 6]
    own, old = old, own
""",
    "read in a condition": """
while own[x % 6] < 9:
    own[x % 6] += 1 + old[0]
    x += 1
    own, old = old, own
""",
}


def arguments():
    """Return the arguments of a launch."""
    return np.zeros(64, np.int64), np.arange(32) % 7, np.arange(32) % 5, 3
