"""Loops with complex numbers that threads run alone, as text and in machine code, leave what lockstep leaves."""

import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import WAYS, both_ways, note_machine_code, run_few
from helpers.lockstep_text import body
from helpers.same_launch import counted

from smemviz.engines.lockstep.log import ROW_BYTES
from smemviz.engines.lockstep.python.one_thread import runner
from smemviz.engines.lockstep.python.one_thread.text import loops

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
    return note_machine_code(monkeypatch)


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


ARRAYS = """
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    s, w = cuda.shared.array((4, 8), complex64), cuda.shared.array(32, complex128)
    m, l = cuda.local.array(4, complex64), cuda.local.array(4, complex128)
    s[0, i], s[1, i], w[i], w[8 + i] = complex64(1j), complex64(i), complex(i, -1), complex(0.1, i)
    for k in range(4):
        m[k], l[k] = complex64(k), complex(k)
    f, x = float32(i + 0.3), 0.1
"""
APART = {
    "shared": "for k in range(20):\n    s[k % 2, i] += s[(k + 1) % 2, i] * f\n    x += s[0, i].real",
    "shared, wide": "for k in range(20):\n    w[i] -= w[i + 8] / (k + 1)\n    w[i + 8] = w[i].conjugate()",
    "shared, both": "for k in range(20):\n    s[k % 4, i] = w[i] * k\n    w[i] += s[k % 4, i]",
    "shared, again the same": "for k in range(20):\n    w[i] = complex(k % 3, 1)\n    s[2, i] = complex64(k % 4 // 2)",
    "local": "for k in range(20):\n    m[k % 4] = m[(k + 1) % 4] * m[2] - f\n    l[k % 3] *= l[3] + m[k % 4]",
    "global": "for k in range(20):\n    z[g] = z[g] * z[g] + c[k]\n    x += abs(z[g])",
    "global, wide": "for k in range(20):\n    c[40 + g] += c[k] * 0.5 + z[100 + k]\n    x += c[40 + g].imag",
    "halves": "for k in range(20):\n    z.imag[g] += z.real[g] * float32(0.1)\n    c.real[40 + g] = k\n"
    "    s.real[k % 4, i] = k\n    x += w.imag[i] + s[k % 4, i].real",
    "a stride": "for k in range(i, 32, cuda.blockDim.x):\n    z[32 * cuda.blockIdx.x + k] += c[k] / 3",
    "what is too large": "for k in range(20):\n    s[k % 2, i] *= s[k % 2, i] * 1e30\n    z[g] += c[k] * 1e40",
    "rows": "row = s[1]\nfor k in range(20):\n    row[i] = row[i] * complex64(1j)\n    x += row[i].imag",
    "a condition": "k = 0\nwhile k < 20 and abs(w[i]) < 99:\n    w[i] = w[i] * w[i] + c[k]\n    k += 1",
    "what others load": "for k in range(20):\n"
    "    x += w[(i + k) % cuda.blockDim.x].imag + s[1, k % cuda.blockDim.x].real",
}
WRONG = {
    "what nobody wrote": "for k in range(9):\n    x += s[k % 4, i].real + w[16 + i].imag",
    "what others store": "for k in range(9):\n    w[(i + k) % 8] = w[i] + k\n    x += s[1, (i + k) % 3].real",
    "halves of what others store": "for k in range(9):\n"
    "    w[0] = complex(3, i)\n    s[0, 1] = complex64(complex(i, 1))",
    "what others store in global memory": "for k in range(9):\n    z[k % 3] = z[3] + k\n    c[g // 2] = x",
    "the same as others behind it": "for k in range(9):\n"
    "    w[i] = complex(3, i)\n    s[0, i] = complex64(complex(i, 1))\n"
    "j = (i + 1) % 5\nw[j] = complex(3, j)\ns[0, j] = complex64(complex(j, 1))",
    "another half behind it": "for k in range(9):\n"
    "    w[i] = complex(3, i)\n    s[0, i] = complex64(complex(i, 1))\n"
    "j = (i + 1) % 5\nw[j] = complex(3, 9)\ns[0, j] = complex64(complex(j, 2))",
    "what is not there": "for k in range(9):\n    s[k % 4, i] = w[i + 4 * k]\n    z[g + 100 * k] = c[i]",
}
MIXED = "h = cuda.shared.array(8, float32)\nh[i] = i\n"


def arrays_of(lines, block, grid=2, before="", **options):
    def launch():
        given = np.arange(1, 201)
        z, c, out = (given * (1 - 0.5j)).astype(np.complex64), given / (3 + 1j), np.zeros(16)
        text = f"{textwrap.dedent(ARRAYS)}{before}{lines}\nout[g] = x + m[0].real + l[1].imag"
        given = {"parameters": "out, z, c", "grid": grid, "block": block, "harmless": True}
        return body(text, out, z, c, **given, **options), out, z, c

    return launch


@pytest.mark.parametrize("before", ["", MIXED], ids=["", "beside narrow ones"])
@pytest.mark.parametrize(("block", "grid"), [(1, 1), (1, 2), (5, 2)])
@pytest.mark.parametrize("lines", APART.values(), ids=APART)
def test_complex_elements(monkeypatch, made, lines, block, grid, before):
    alone, interpreted, ran = both_ways(monkeypatch, arrays_of(lines, block, grid, before))

    assert alone == interpreted
    assert ran > 0
    assert made is None or (made and all(made))


@pytest.mark.parametrize("before", ["", MIXED], ids=["", "beside narrow ones"])
@pytest.mark.parametrize("block", [1, 5])
@pytest.mark.parametrize("lines", WRONG.values(), ids=WRONG)
def test_complex_elements_that_are_wrong(monkeypatch, made, lines, block, before):
    alone, interpreted, _ = both_ways(monkeypatch, arrays_of(lines, block, before=before))

    assert alone == interpreted
    assert interpreted[1] or block == 1


@pytest.mark.parametrize(("rows", "grid"), [(5, 1), (60, 3)])
@pytest.mark.parametrize("lines", APART.values(), ids=APART)
def test_what_is_counted_and_not_kept_is_the_same(monkeypatch, lines, grid, rows):
    monkeypatch.setattr(runner, "OFTEN", 8)
    monkeypatch.setattr(loops, "OFTEN", 8)
    launch = arrays_of(lines, 1, grid, log_bytes=rows * ROW_BYTES)
    alone, interpreted, ran = both_ways(monkeypatch, launch, counted)

    assert alone == interpreted
    assert ran > 0
