"""Loops with parts and other views of arrays."""

import numpy as np

BLOCK = 5
KERNEL = """
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
"""
LINES = {
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
    "arrays of the module": "x += TABLE[k % 3, i % 4] + TABLE[1][k % 4] + cuda.const.array_like(TABLE)[i % 3, k % 4]",
    "arrays in tuples": "x += both[0][k % 8] + both[1].T[k % 2, 1]\nboth[0][i + 8] = x",
    "all elements of a part": """
s[i, :] = k
m[:] = x
m[1:3] = i
a[i % 4, i // 4 :: 2] = 3
c[k % 2] = k * 1j
c[:, 1] = 1
x += s[i, k % 6] + m[k % 6] + c[1, k % 3].imag + abs(c[0, 1])
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
    "elements together": """
p, q, r, t, _ = a[k % 4]
x += p - q * t
u, v = s[i, 2:4]
x += u + v
""",
    "a name for several": """
v = a[k % 4]
x += v[1] * i
if k > i:
    v = a[i % 4, 1:]
    x += v[2] * k
for u in a: x += u[i % 5]
for w, u in enumerate(a[1:]): x += u[w]
""",
    "a name for what was before": """
v = a[k % 4]
if k > i:
    v = a[i % 4]
x += v[1] * i
""",
    "records": """
r = parts[(i + k) % 9]
x += r.y + r.v[k % 2] + parts[k % 9].v[1]
q = own[i]
q.y = k
q.v[1] = x
""",
    "records in functions": "r = own[i]\nx += moved(r, k) + weight(parts[k % 9]) + moved(own[i], i)",
    "sums": "x += a[i % 4].sum() + real[k:].argmax() + cube.mean() + a.argmin() + a[k % 4, 1:3].prod() + real.var()",
    "sizes": "x += a.nbytes + a.strides[0] + a.itemsize + len(a[1:]) + a[1, 2:].size + a[k % 4, 1].item()",
    "a function": "x += ends(a[k % 4], i) + ends(real[::3], k) + ends(a.T[1], 2) + part_of(x) + part_of(k + 1j)",
}


def arguments():
    """Return the arguments of a launch."""
    rng = np.random.default_rng(3)
    record = np.dtype([("y", np.float64), ("v", np.float64, 2)], align=True)
    parts, own, both = np.ones(9, record), np.zeros(8, record), (rng.random(16), rng.random((2, 2)))
    parts["v"] = rng.random((9, 2))
    return np.zeros(8), rng.integers(1, 9, (4, 5)), rng.random((2, 3, 2)), np.arange(0.5, 24), both, parts, own
