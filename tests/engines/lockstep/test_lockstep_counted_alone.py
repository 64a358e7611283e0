"""Loops of one thread whose requests are counted and not kept any more: nothing else is left of each of them."""

import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import both_ways, run_few
from helpers.lockstep_text import body
from helpers.same_launch import counted, recorded
from helpers.shared_loops import SORTS

from smemviz.engines.limits import Limits
from smemviz.engines.lockstep.log import ROW_BYTES, Log
from smemviz.engines.lockstep.python.one_thread import runner
from smemviz.engines.lockstep.python.one_thread.text import loops

LOOPS = {
    **SORTS,
    "read before it is written": "for k in range(40):\n    s[k % 24] += 1\n    x += stack[k // 4] if k > 30 else 0",
    "written late": """
        for k in range(40):
            x += s[k % 9]
            if k > 30:
                stack[k - 30] = k
                x += stack[k - 29]
    """,
    "from the end, and outside": "for k in range(30):\n    x += s[k - 3] + s[k % 4]\n    s[-k] = k\n    s[k % 5] += k",
    "an index that moves on": """
        for k in range(30):
            j = k % 20
            x += s[j] + s[j + 1]
            j += 1
            s[j - 1] = x % 30
            x += s[j] - s[5]
    """,
    "outside, and inside beside it": """
        for k in range(26):
            x += s[k - 2] + s[k - 1] + s[k] + s[k + 1] + s[30] + s[3]
            s[k - 1] += s[k]
    """,
    "a loop in a loop, with ways that part": """
        for k in range(12):
            j = k
            while j < 26 and s[j - 3] >= 0 and s[j % 24] > 2:
                if s[j] > x % 7:
                    s[j] -= 1
                    if x % 3 == 1:
                        j += 5
                        continue
                elif s[j - 1] < 4:
                    x += s[j - 2]
                else:
                    break
                j += 2
            x += s[k] + j
    """,
    "conditions that say what an index is at least": """
        for k in range(12):
            j = k % 5
            while j >= 0 and s[j] > -9:
                s[j] -= k % 3
                if s[j] % 2:
                    j -= 2
                    s[j] += 1
                    continue
                j -= 1
                x += s[j]
            while j > -5 and s[j] > -9:
                for n in range(2):
                    x += s[j - 1]
                    j -= 1
            while j > -9 and s[j] > -9:
                j -= 1
            s[j] += 1
    """,
    "a sum in a function that grows out of its array": """
        for k in range(20):
            j = 2
            while j > 0:
                s[j] = piled(j + s[0])
                j -= 1
    """,
    "safe for long, and then not": """
        for k in range(40):
            for j in range(6):
                x += s[k * j % 24]
                if k > 30:
                    x += stack[k - 31 + j]
                    stack[k - 30] = x % 50
    """,
    "two axes": """
        for k in range(25):
            for j in range(4):
                table[k % 3, j] = s[k % 9 + j] + k
                table[k // 8, j + 1] += table[k % 3, j]
                x += table[k // 6][j % 3] + table[1:][k % 2, j]
    """,
    "rows and slices": """
        for k in range(22):
            for j in range(5):
                s[k:k + 4][j] += s[k % 5:][j - 1] % 9
                x += stack[:k][j] + s[-3:][j % 3]
    """,
    "global memory": "for k in range(30):\n    out[k % 7] += real[k]\n    x += out[k]",
    "two widths": "for k in range(30):\n    wide[k % 4] = k\n    s[k % 24] += wide[k % 4]",
    "atomics": "for k in range(30):\n    cuda.atomic.add(s, k % 5, 1)\n    cuda.atomic.max(out, k % 3, k)",
}
PILED = """
@cuda.jit(device=True)
def piled(k):
    t = cuda.local.array(1, int32)
    s = 0
    for j in range(5):
        s += (k & 3) << 28
    t[0] = s
    return t[0]

"""
KERNEL = """
s = cuda.shared.array(24, int32)
stack = cuda.shared.array(16, int32)
table = cuda.shared.array((4, 6), int32)
wide = cuda.shared.array(4, int64)
x = 0
if cuda.threadIdx.x == 0:
    for k in range(24):
        s[k] = real[k + cuda.blockIdx.x]
{written}
{lines}
out[64 + cuda.grid(1)] = x
"""
ALL = """
for k in range(24):
    stack[k % 16] = wide[k % 4] = table[k // 6, k % 6] = 0
"""
# Rows, grid, block, and what is written before: each two of rows, shape and that occur together.
CASES = [
    pytest.param(
        rows, *shape, ("pass", ALL)[(k + j) % 2], marks=[pytest.mark.exhaustive] * (rows in (60, 100) or j == 1)
    )
    for k, rows in enumerate([5, 60, 100, 5000])
    for j, shape in enumerate([(1, 1), (3, 1), (1, 40)])
]


def launch_of(lines, rows, grid, block, written="pass"):
    lines, written = (textwrap.indent(textwrap.dedent(text).strip("\n"), "    ") for text in (lines, written))
    text = KERNEL.format(lines=lines, written=written)

    def launch():
        out, real = np.zeros(200, np.int64), np.random.default_rng(5).integers(0, 30, 64)
        given = {"before": PILED, "parameters": "out, real", "harmless": True, "log_bytes": rows * ROW_BYTES}
        return body(text, out, real, grid=grid, block=block, limits=Limits(iterations=5000), **given), out

    return launch


@pytest.fixture(params=["text in parts", "machine code in parts"], autouse=True)
def _handed_on_often(request, monkeypatch):
    run_few(monkeypatch, request.param)
    monkeypatch.setattr(runner, "OFTEN", 8)
    monkeypatch.setattr(loops, "OFTEN", 8)


@pytest.mark.parametrize("lines", LOOPS.values(), ids=LOOPS)
@pytest.mark.parametrize(("rows", "grid", "block", "written"), CASES)
def test_what_is_counted_is_the_same(monkeypatch, lines, rows, grid, block, written):
    launch = launch_of(lines, rows, grid, block, written)
    alone, interpreted, ran = both_ways(monkeypatch, launch, counted)

    assert alone == interpreted
    assert ran > 0

    (made, findings), out = launch()
    monkeypatch.setattr(Log, "keeps", lambda self, slot: True)
    (one_by_one, found), result = launch()
    assert recorded(made) == recorded(one_by_one)
    assert (findings, out.tobytes()) == (found, result.tobytes())


def test_shared_memory_that_is_never_written_is_found(monkeypatch):
    lines = "s = cuda.shared.array(8, int32)\nfor k in range(60):\n    out[k % 9] += real[k]\n"
    lines += "    if k % 40 == 3:\n        for j in range(4):\n            out[j] += s[k // 8]"

    def launch():
        out = np.zeros(200, np.int64)
        given = {"parameters": "out, real", "grid": 1, "block": 1, "log_bytes": 5 * ROW_BYTES}
        return body(lines, out, np.arange(64), **given), out

    alone, interpreted, ran = both_ways(monkeypatch, launch, counted)

    assert alone == interpreted
    assert ran > 0
    assert len(alone[1]) == 1


@pytest.mark.parametrize("name", ["bubble", "stack", "global memory"])
def test_requests_that_are_not_kept_are_not_looked_at_one_by_one(monkeypatch, name):
    only_counted, looked_at = [], []
    count, look = Log.count_alone, Log.add_alone
    monkeypatch.setattr(Log, "count_alone", lambda self, *g: only_counted.append(int(g[-1].sum())) or count(self, *g))
    monkeypatch.setattr(Log, "add_alone", lambda self, *g: looked_at.append(len(g[0])) or look(self, *g))
    serial = Log.add_serial
    monkeypatch.setattr(Log, "add_serial", lambda self, *g, **o: looked_at.append(len(g[0])) or serial(self, *g, **o))
    (made, _), _ = launch_of(LOOPS[name], 20, 1, 1)()

    assert sum(only_counted) > sum(looked_at)
    assert sum(only_counted) + sum(looked_at) + 1 == made.totals.requests.sum()  # and the store behind the loops
