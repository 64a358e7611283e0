"""Loops with complex numbers."""

import numpy as np

BLOCK = 5
KERNEL = """
@cuda.jit(device=True)
def turned(z, x):
    if x > z.real:
        return z * x
    return z * z

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
"""
LINES = {
    "products": "for k in range(40):\n    c = c * c * complex128(0.7) - c",
    "sums": """
for k in range(40):
    c += complex128(k / 3)
    c = -c - u + f
    u -= +c
""",
    "what is too large": """
for k in range(40):
    c = c * c
    u += complex128(d)
    d *= 1e9
""",
    "quotients": "for k in range(40):\n    c = complex128(1j) / (c + complex128(k)) - c\n    d = d / (c + k)",
    "a number beside": "for k in range(40):\n    c = c + f * float64(k)\n    d += c * k - c / 3 + 2j * c",
    "conversions": """
for k in range(40):
    c = complex128(f) + complex128(k) + complex128(k > 3) + complex128(y * d)
    d += complex128(c) / 7 + complex(c)
    u += complex128(n + (1 << 60))
    n += k
""",
    "parts": """
for k in range(40):
    c = complex(f, c.real) + complex(c.imag)
    y += complex(f, y).imag + c.imag / 7
    f = (c * c).real / f
""",
    "sizes": """
for k in range(40):
    f += abs(c) / abs(c + u)
    y += abs(d) + abs(c * d)
    c *= complex128(1j)
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
    "functions of NumPy": """
for k in range(40):
    c = np.sin(c) + np.log(c + complex128(k))
    d = np.divide(np.tanh(d), d)
""",
    "a condition": """
k = 0
while k < 50 and abs(c) < 9:
    c = c * c + complex128(0.1j)
    k += 1
""",
    "a function": "for k in range(40):\n    c = turned(c, f)\n    d = turned(d, y)",
}


def arguments():
    """Return the arguments of a launch."""
    return (np.zeros(40),)
