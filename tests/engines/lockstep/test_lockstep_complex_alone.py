"""Loops with complex numbers that threads run alone, as text and in machine code, leave what lockstep leaves."""

import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import WAYS, both_ways, run_few
from helpers.lockstep_text import body

from smemviz.engines.lockstep.python.one_thread.native import compiled

HEAD = """
    i = cuda.threadIdx.x
    f, y = float32(i + 0.3), 0.1
    c, d = complex64(complex(i + 0.7, -1 / 3)), complex(0.3, i)
    u, n = complex64(0), 0
"""
NUMBERS = {
    "products": "for k in range(40):\n    c = c * c * complex64(0.7) - c",
    "sums": "for k in range(40):\n    c += complex64(k / 3)\n    c = -c - u + f\n    u -= +c",
    "what is too large": "for k in range(40):\n    c = c * c\n    u += complex64(d)\n    d *= 1e9",
    "quotients": "for k in range(40):\n    c = complex64(1j) / (c + complex64(k)) - c\n    d = d / (c + k)",
    "a number beside": "for k in range(40):\n    c = c + f * float32(k)\n    d += c * k - c / 3 + 2j * c",
    "conversions": "for k in range(40):\n"
    "    c = complex64(f) + complex64(k) + complex64(k > 3) + complex64(y * d)\n"
    "    d += complex128(c) / 7 + complex(c)\n    u += complex64(n + (1 << 60))\n    n += k",
    "parts": "for k in range(40):\n"
    "    c = complex(f, c.real) + complex(c.imag)\n    y += complex(f, y).imag + c.imag / 7\n    f = (c * c).real / f",
    "sizes": "for k in range(40):\n    f += abs(c) / abs(c + u)\n    y += abs(d) + abs(c * d)\n    c *= complex64(1j)",
    "tests": "for k in range(40):\n"
    "    n += (c == c * c) + 2 * (d != c) + (not c) + (c == k) + (u == 0)\n    c = complex(f - f, float32(k % 3))",
    "ways": "for k in range(40):\n    c = c if k % 3 else u\n    if c:\n        u = c * f",
    "conjugates": "for k in range(40):\n"
    "    d = (c.conjugate() * np.conjugate(d) + np.real(d) - np.imag(c)) / 9\n    c *= np.conjugate(c)",
    "functions": "for k in range(40):\n"
    "    c = complex64(cmath.exp(c) * cmath.sqrt(u - k) + cmath.sin(c))\n    d = cmath.cos(d) + cmath.tanh(f)\n"
    "    n += cmath.isnan(c) + cmath.isinf(d)",
    "powers of e": "for k in range(40):\n"
    "    d = cmath.exp(complex(-1e308 * (1 + k % 3 * 10), 1e308 * (k % 2 * 10)))\n    c = cmath.exp(complex64(d))",
    "functions of NumPy": "for k in range(40):\n"
    "    c = np.sin(c) + np.log(c + complex64(k))\n    d = np.divide(np.tanh(d), d)",
    "a condition": "k = 0\nwhile k < 50 and abs(c) < 9:\n    c = c * c + complex64(0.1j)\n    k += 1",
    "a function": "for k in range(40):\n    c = turned(c, f)\n    d = turned(d, y)",
}
FUNCTION = """
import cmath
@cuda.jit(device=True)
def turned(z, x):
    if x > z.real:
        return z * x
    return z * z
"""


@pytest.fixture(params=WAYS, autouse=True)
def made(request, monkeypatch):
    """Whether loops are made machine code, one after the other; None where they are not to be."""
    run_few(monkeypatch, request.param)
    if "text" in request.param:
        return None
    found, native_of = [], compiled.native_of

    def noted(*text):
        native = native_of(*text)
        found.append(native is not None)
        return native

    monkeypatch.setattr(compiled, "native_of", noted)
    return found


def launch_of(lines, block):
    ends = "out[8 * i] = y + n\nout[8 * i + 1] = f"
    ends += "".join(f"\nout[8 * i + {2 + k}] = {part}" for k, part in enumerate(("c.real", "c.imag", "d.real")))
    ends += "\nout[8 * i + 5] = d.imag\nout[8 * i + 6] = u.real\nout[8 * i + 7] = u.imag"

    def launch():
        out = np.zeros(8 * block)
        return body(f"{textwrap.dedent(HEAD)}{lines}\n{ends}", out, before=FUNCTION, block=block), out

    return launch


@pytest.mark.parametrize("block", [1, 5])
@pytest.mark.parametrize("lines", NUMBERS.values(), ids=NUMBERS)
def test_complex_numbers(monkeypatch, made, lines, block):
    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, block))

    assert alone == interpreted
    assert ran > 0
    assert made is None or (made and all(made))
