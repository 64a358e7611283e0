"""Loops that few threads run one after the other though they store: what they leave is what lockstep leaves."""

import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import both_ways
from helpers.lockstep_text import body
from helpers.same_launch import counted, recorded

from smemviz.engines.limits import Limits

pytestmark = pytest.mark.usefixtures("way")

HEAD = """
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    tile = cuda.shared.array(96, float32)
    mine = cuda.local.array(4, int32)
    mine[0] = mine[1] = mine[2] = mine[3] = i
    x = 0
"""
APART = {
    "a store": "for k in range(20):\n    out[g] = k * g",
    "a store now and then": """
        for k in range(20 + g):
            if (k + g) % 3 == 0:
                out[g] += k
            elif k > 9:
                x += real[k]
    """,
    "a stride": "for k in range(g, out.size, cuda.gridsize(1)):\n    out[k] = real[k % 50] + x\n    x += 1",
    "shared memory": "for k in range(9):\n    tile[i] = k % (i % 3 + 1)\n    x += tile[i] * k",
    "shared memory, element after element": "for k in range(3):\n    tile[3 * i + k] = k\n    x += tile[3 * i]",
    "local memory": "for k in range(9):\n    mine[k % 4] += k\n    x += mine[(k + g) % 4]",
    "a local array in the loop": """
        for k in range(9):
            own = cuda.local.array(4, float32)
            own[k % 4] += g + k
            out[g] += own[(k + g) % 4]
    """,
    "loops in loops": """
        for k in range(g % 3, 5):
            out[g] = k
            for m in range((g + k) % 4):
                if m == 2 and k > 2:
                    break
                out[g] += m
                for n in range(m):
                    x += real[n + g % 9]
            j = 0
            while real[j] < 0.5 and j < k:
                tile[i] = j
                j += 1
            if k % 2:
                continue
            x += j
    """,
    "leaving a loop": """
        k = 0
        while True:
            k += 1
            x += real[k]
            if real[k + g % 9] > 0.9:
                out[g] = k
                break
            elif k % 3 == g % 3:
                continue
            out[g] = -k
    """,
    "one or the other": """
        for k in range(9):
            x += real[k] if k % (g % 4 + 2) else real[k + g % 9]
            if x > 2 and out[g] < 3:
                out[g] += 1
    """,
    "a loop one way and an access the other": """
        for k in range(9):
            out[g] = k
            if i % 3 == 0:
                for m in range(4):
                    out[g] += m
            elif i % 3 == 1:
                x += real[g]
    """,
    "a loop before the next turn and an access otherwise": """
        for k in range(9):
            out[g] = k
            if i % 3 == 0:
                for m in range(4):
                    out[g] += m
                continue
            x += real[g]
    """,
    "before and behind a barrier": """
        for k in range(9):
            tile[i] = k
        cuda.syncthreads()
        for k in range(9):
            x += tile[k % 4] if i < 4 or cuda.blockDim.x > 4 else 0
        cuda.syncthreads()
        for k in range(9):
            tile[i] += k
    """,
}
MET = {
    "one element": "for k in range(9):\n    out[0] = g",
    "a neighbour's": "for k in range(9):\n    out[g] = k\n    x += out[g + 1]",
    "a neighbour's in shared memory": "tile[i] = 0\nfor k in range(9):\n    tile[i] = k\n    x += tile[i ^ 1]",
    "outside": "for k in range(9):\n    out[g] += 1\n    out[k * 60 + g] = 1",
    "from the end": "for k in range(9):\n    out[g] += 1\n    out[-1 - g] = k",
    "waiting": "while out[0] < 5:\n    out[g] += 1",
    "a step of nothing": "for k in range(3):\n    out[g] += 1\n    for m in range(0, 3, 2 - k - g):\n        x += m",
    "a barrier": "for k in range(3):\n    tile[i] = k\n    cuda.syncthreads()\n    x += tile[i ^ 1]",
    "an atomic": "for k in range(3):\n    cuda.atomic.add(out, k, 1)",
    "late": """
        for k in range(g % 5, 40 + g, 1 + g % 2):
            x = x * 0.5 + k if k % 3 else k
            out[g] = x
            if k > 30 and g == 2:
                out[1] += k
    """,
    "late, when some have left": """
        k = 0
        while k < 40 + g % 2:
            k += 1 + g % 2
            if k == 9 + g:
                y = k
                break
            for m in range(k % 4):
                x += out[g]
                out[g] += m
            if k > 20:
                tile[0] = k
                out[g] += tile[k % 2]
        x += k
    """,
    "late, in a loop in a loop": """
        for k in range(30):
            y = x
            for m in range((k + g) % 4):
                tile[i] = m
                y += tile[i]
                if m == 2 and k == 19 - g:
                    break
            x = y + k
            if k == 25:
                x += tile[i ^ 1]
    """,
    "in another loop": """
        for k in range(3):
            for m in range(9):
                out[g] = m
                x += tile[i ^ m]
            cuda.syncthreads()
    """,
}
SHAPES = [(1, 3), (2, 2), (5, 1), (1, 32), (1, 6)]


def launch_of(lines, grid, block, **options):
    text = textwrap.dedent(HEAD) + textwrap.dedent(lines).strip("\n") + "\nout[60 + g] = x"

    def launch():
        out, real = np.zeros(400), np.random.default_rng(1).random(200, dtype=np.float32)
        given = {"parameters": "out, real", "limits": Limits(iterations=3000), **options}
        return body(text, out, real, grid=grid, block=block, harmless=True, **given), out

    return launch


@pytest.mark.parametrize("lines", APART.values(), ids=APART)
@pytest.mark.parametrize(("grid", "block"), SHAPES)
@pytest.mark.parametrize("log_bytes", [1 << 27, 9000])
def test_a_loop_that_stores_leaves_the_same_in_few_threads(monkeypatch, lines, grid, block, log_bytes):
    launch = launch_of(lines, grid, block, log_bytes=log_bytes)
    whole = grid == 1 or log_bytes > 9000  # which requests of several warps are kept within a limit may differ
    alone, interpreted, ran = both_ways(monkeypatch, launch, recorded if whole else counted)

    assert alone == interpreted
    assert ran > 0


@pytest.mark.parametrize("lines", MET.values(), ids=MET)
@pytest.mark.parametrize(("grid", "block"), SHAPES)
def test_where_threads_meet_they_run_in_lockstep(monkeypatch, lines, grid, block):
    alone, interpreted, _ = both_ways(monkeypatch, launch_of(lines, grid, block))

    assert alone == interpreted


@pytest.mark.parametrize("barrier", ["cuda.syncthreads()", "pass"])
@pytest.mark.parametrize("late", ["out[g ^ 1] = 7", "tile[i ^ 1] = 7", "x += out[g + 1] + tile[i ^ 1]"])
def test_races_with_what_was_stored_in_a_loop_are_found_alike(monkeypatch, barrier, late):
    lines = f"for k in range(9):\n    out[g] = k\n    tile[i] = k % 3\n{barrier}\n{late}"

    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, 1, 6))

    assert alone == interpreted
    assert ran > 0


@pytest.mark.parametrize("value", ["1 if (1 + 2j) > y else 2", "y @ 2"])
@pytest.mark.parametrize(("grid", "block"), [(1, 1), (2, 1), (1, 2), (2, 2), (1, 40)])
def test_an_error_tells_of_the_mistakes_met_before_it(monkeypatch, grid, block, value):
    lines = (
        f"y = 0.0\nfor k in range(9):\n    y += out[0]\n    if k == 7:\n        out[0] = g\n        out[g] = {value}"
    )

    alone, interpreted, _ = both_ways(monkeypatch, launch_of(lines, grid, block))

    assert alone == interpreted
    assert len(alone) == 2  # the error, and what it tells
    assert (alone[1] == []) == (grid * block == 1)
