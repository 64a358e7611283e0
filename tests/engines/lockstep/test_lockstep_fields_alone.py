"""Loops with fields of records that threads run alone, as text and in machine code, leave what lockstep leaves."""

import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import WAYS, both_ways, note_machine_code, run_few
from helpers.lockstep_text import body
from helpers.same_launch import counted

from smemviz.engines.lockstep.log import ROW_BYTES
from smemviz.engines.lockstep.python.one_thread import runner
from smemviz.engines.lockstep.python.one_thread.text import loops

RECORDS = """
PART = np.dtype([("x", np.float32), ("hits", np.int32), ("c", np.complex64), ("y", np.float64)], align={align})
NUMBERS = [("z", np.complex128), ("w", np.uint64), ("k", np.uint16), ("on", np.bool_), ("n", np.int8), ("r", np.int32)]
SMALL = np.dtype(NUMBERS, align={align})
"""
HEAD = """
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    s, m = cuda.shared.array(16, PART), cuda.local.array(4, SMALL)
    t = cuda.shared.array((2, 8), SMALL)
    for k in range(0, 16, 8):
        s[i + k].x, s[i + k].hits, s[i + k].c, s[i + k].y = i, k, complex64(1j), 0.1
    t[0, i].on, t[0, i].n, t[0, i].k, t[0, i].w, t[0, i].z = i > 1, i, 7, 9, complex(i, 1)
    m[1].n, m[3].z = i, 1j
    own, x = p[g], 0.0
"""
APART = {
    "fields": "for k in range(20):\n    p[g].x += p[g].hits * float32(0.01)\n    p[g].hits -= int32(p[g].x)",
    "fields now and then": "for k in range(20):\n"
    "    if p[g].x > k:\n        p[g].hits += 1\n    else:\n        p[g].x *= float32(2)\n    x += p[g].y",
    "wide fields": "for k in range(20):\n"
    "    p[g].y = p[g].y * 1.1 - k\n    p[g].c *= p[g].c + p[g].x\n    x += abs(p[g].c)",
    "narrow fields": "for k in range(20):\n"
    "    q[g].on = q[g].n > k\n    q[g].n -= 3\n    q[g].k = q[g].n * 5\n    x += q[g].on",
    "fields without a sign": "for k in range(20):\n    q[g].w = q[g].w * uint64(3) + uint64(k)\n    q[g].z *= 1j",
    "arrays of fields": "for k in range(20):\n    p.x[g] += p.y[g]\n    p['hits'][g] = k\n    x += p[g]['x']",
    "parts of an array of fields": "for k in range(20):\n"
    "    for y in p.y[k : k + 3]:\n        x += y\n    p.hits[g:][0] = k",
    "shared": "for k in range(20):\n    s[i].x += s[i + 8].y\n    s[i].hits = k % 3\n    s[i + 8].y = s[i].x / 3",
    "shared, complex": "for k in range(20):\n"
    "    s[i].c = s[i].c * s[i].x - 1\n    t[k % 2, i].z = s[i].c\n    x += abs(t[0, i].z)",
    "shared, narrow": "for k in range(20):\n"
    "    t[0, i].n += k\n    t[0, i].on = t[0, i].n > 9\n    t[0, i].w -= t[0, i].k",
    "shared, two axes": "for k in range(20):\n    t[k % 2, i].k = 3 * k\n    t.n[k % 2, i] = -k\n    x += t[0, i].n",
    "local": "for k in range(20):\n"
    "    m[k % 4].n += m[1].n\n    m[2].z = m[3].z * k\n    x += m[k % 4].z.real + m[0].n",
    "one record": "for k in range(20):\n    own.x = own.x * own.x + own.hits\n    own.hits += k\n    x += own.c.real",
    "what others load": "for k in range(20):\n    x += p[(g + k) % 16].y + s[(i + k) % cuda.blockDim.x].x",
    "a condition": "k = 0\nwhile k < 20 and p[g].x < 99:\n    p[g].x += p[g].x\n    k += 1",
    "a function": "for k in range(20):\n    moved(p, g)\n    x += p[g].x",
    "atomics": "for k in range(20):\n    cuda.atomic.add(p.hits, k % 16, 1)\n    cuda.atomic.max(s.hits, k % 8, k)",
    "several targets": "for k in range(20):\n    p[g].x = s[i].x = x = k + p[g].y\n    p[g].hits, x = k, p[g].hits",
}
WRONG = {
    "what nobody wrote": "for k in range(9):\n    x += t[1, i].n + t[1, i].z.real",
    "what others store": "for k in range(9):\n    p[(g + k) % 3].x = k\n    s[(i + k) % 8].hits += k",
    "another field": "for k in range(9):\n    p[(g + k) % 3].x = k\n    x += p[k].y",
    "what is not there": "for k in range(9):\n    p[g + 100 * k].x = s[i + 9 * k].y\n    t[k, i].n += 1",
    "the same as others behind it": "for k in range(9):\n    s[i].y = i\n    s[i].hits = 300 * i\n"
    "cuda.syncwarp()\ns[(i + 1) % 5].y = (i + 1) % 5\ns[(i + 1) % 5].hits = 300 * ((i + 1) % 5)",
    "another byte behind it": "for k in range(9):\n    s[i].y = i\n    s[i].hits = 300 * i\n"
    "j = (i + 1) % 5\ns[j].y = -j\ns[j].hits = 44 * j",
}
FUNCTION = """
@cuda.jit(device=True)
def moved(parts, i):
    parts[i].x += parts.hits[i]
    if parts[i].x > 9:
        parts[i].x = 0
"""


@pytest.fixture(params=WAYS, autouse=True)
def made(request, monkeypatch):
    """Whether loops are made machine code, one after the other; None where they are not to be."""
    run_few(monkeypatch, request.param)
    if "text" in request.param:
        return None
    return note_machine_code(monkeypatch)


def launch_of(lines, block, grid, align, **options):
    before = textwrap.dedent(RECORDS).format(align=align) + FUNCTION

    def launch():
        names = {}
        exec("import numpy as np\n" + before.partition("@")[0], names)
        p, q, out = np.zeros(40, names["PART"]), np.zeros(40, names["SMALL"]), np.zeros(16)
        p["x"], p["hits"], p["c"], p["y"] = 1.3, np.arange(40), 1 + 0.1j * np.arange(40), np.arange(40) / 7
        q["n"], q["w"], q["z"] = np.arange(40), 2**63 + 7, 1 - 2j
        text = f"{textwrap.dedent(HEAD)}{lines}\nout[g] = x + s[i].x + s[i].hits + s[i].y + m[2].z.imag + m[1].n"
        given = {"before": before, "parameters": "out, p, q", "grid": grid, "block": block, "harmless": True}
        made = body(text, out, p, q, **given, **options)
        return made, out, p, q

    return launch


@pytest.mark.parametrize("align", [True, False], ids=["aligned", "byte by byte"])
@pytest.mark.parametrize(("block", "grid"), [(1, 1), pytest.param(1, 2, marks=pytest.mark.exhaustive), (5, 2)])
@pytest.mark.parametrize("lines", APART.values(), ids=APART)
def test_fields(monkeypatch, made, lines, block, grid, align):
    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, block, grid, align))

    assert alone == interpreted
    assert ran > 0
    assert made is None or (made and all(made))


@pytest.mark.parametrize("align", [True, False], ids=["aligned", "byte by byte"])
@pytest.mark.parametrize("block", [1, 5])
@pytest.mark.parametrize("lines", WRONG.values(), ids=WRONG)
def test_fields_that_are_wrong(monkeypatch, made, lines, block, align):
    alone, interpreted, _ = both_ways(monkeypatch, launch_of(lines, block, 2, align))

    assert alone == interpreted
    assert interpreted[1] or block == 1


@pytest.mark.parametrize("align", [True, False], ids=["aligned", "byte by byte"])
@pytest.mark.parametrize(("rows", "grid"), [(5, 1), pytest.param(60, 3, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("lines", APART.values(), ids=APART)
def test_what_is_counted_and_not_kept_is_the_same(monkeypatch, lines, grid, rows, align):
    monkeypatch.setattr(runner, "OFTEN", 8)
    monkeypatch.setattr(loops, "OFTEN", 8)
    launch = launch_of(lines, 1, grid, align, log_bytes=rows * ROW_BYTES)
    alone, interpreted, ran = both_ways(monkeypatch, launch, counted)

    assert alone == interpreted
    assert ran > 0
