"""Loops in which few threads update the same elements, one after the other, where their order does not matter."""

import random
import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import both_ways
from helpers.lockstep_text import body
from helpers.same_launch import recorded

from smemviz.engines.limits import Limits

SEEDS = [pytest.param(seed, marks=[pytest.mark.exhaustive] * (seed % 3 > 0)) for seed in range(40)]


pytestmark = pytest.mark.usefixtures("way")

HEAD = """
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    s = cuda.shared.array(8, int32)
    f = cuda.shared.array((2, 4), float32)
    if i < 8:
        s[i] = 0
        f[i // 4, i % 4] = 0
    cuda.syncthreads()
"""
BEFORE = """
    TOP = 5

    @cuda.jit
    def count(bins, n):
        if n % 3:
            cuda.atomic.add(bins, n % 8, 1)

"""
IN_ANY_ORDER = {
    "a sum": "for k in range(9 + g):\n    cuda.atomic.add(out, (k * g) % 5, k - 3)",
    "now and then": """
        for k in range(20):
            if (k + g) % 3 == 0:
                cuda.atomic.add(out, k % 2, 1)
            x[g] = k
    """,
    "sums and differences": """
        for k in range(9):
            cuda.atomic.add(out, k % 3, k)
            cuda.atomic.sub(out, 2, k * g)
    """,
    "a sum that wraps": "for k in range(9):\n    cuda.atomic.add(out, 0, 2000000000 + g)",
    "a sum of 64 bits": "for k in range(9):\n    cuda.atomic.add(wide, k % 2, (1 << 62) + g)",
    "bits": """
        for k in range(9):
            cuda.atomic.or_(out, 0, 1 << (k * g) % 30)
            cuda.atomic.and_(out, 1, ~(k ^ g))
            cuda.atomic.xor(out, 2, k * g)
    """,
    "extremes": """
        for k in range(9):
            cuda.atomic.max(out, k % 2, k * g % 7)
            cuda.atomic.min(out, 2 + k % 2, -k * g % 7)
    """,
    "extremes of floats": """
        for k in range(9):
            cuda.atomic.max(x, 100 + k % 2, math.sqrt(k * g % 7 - 3.0))
            cuda.atomic.min(x, 102, k * g % 7 - 9.5)
    """,
    "counters": "for k in range(9):\n    cuda.atomic.inc(plain, 0, TOP + 2)\n    cuda.atomic.dec(plain, 1, TOP)",
    "counters of 64 bits": "for k in range(9):\n    cuda.atomic.inc(long, 0, 1 << 63)\n    cuda.atomic.dec(long, 1, 4)",
    "exchanges of one's own": "for k in range(9):\n    cuda.atomic.exch(out, 8 + g, k)\n    cuda.atomic.add(out, 0, 1)",
    "elements of one's own": "for k in range(9):\n    cuda.atomic.add(out, 8 + g, k)\n    out[8 + g] += k",
    "shared memory": "for k in range(9):\n    cuda.atomic.add(s, (k + i) % 8, 1)",
    "shared memory of two axes": "for k in range(9):\n    cuda.atomic.max(f, (k % 2, (k + i) % 4), k * 0.5)",
    "shared memory that nothing wrote": """
        t = cuda.shared.array(8, int32)
        for k in range(9):
            cuda.atomic.add(t, (k * i) % 7, 1)
    """,
    "a function": "for k in range(9):\n    count(out, k + g)\n    count(s, k + i)",
    "a loop in a loop": """
        for k in range(5):
            for m in range((k + g) % 3):
                cuda.atomic.add(out, m, k)
            j = 0
            while j < k:
                j += 1 + g % 2
                cuda.atomic.add(s, j, 1)
    """,
    "before and behind a barrier": """
        for k in range(9):
            cuda.atomic.add(s, k % 4, 1)
            cuda.atomic.add(out, k % 4, 1)
        cuda.syncthreads()
        x[g] = s[i % 4]
        cuda.syncthreads()
        for k in range(9):
            cuda.atomic.max(s, k % 4, k)
            cuda.atomic.max(out, k % 4, k)
    """,
    "kinds apart": "for k in range(9):\n    cuda.atomic.add(s, k % 4, 1)\n    cuda.atomic.max(s, 4 + k % 4, k)",
}
ONE_AFTER_THE_OTHER = {
    "two kinds": "for k in range(9):\n    cuda.atomic.add(out, 0, 1)\n    cuda.atomic.max(out, 0, k * g)",
    "two kinds in shared memory": "for k in range(9):\n    cuda.atomic.add(s, 0, 1)\n    cuda.atomic.xor(s, 0, k)",
    "a load beside": "for k in range(9):\n    cuda.atomic.add(out, 0, 1)\n    x[g] = out[0]",
    "a load beside in shared memory": "for k in range(9):\n    cuda.atomic.add(s, 0, 1)\n    x[g] += s[0]",
    "a store beside": "for k in range(9):\n    cuda.atomic.add(s, 0, 1)\n    if i == 2:\n        s[0] = k",
    "one in all": "for k in range(9):\n    cuda.atomic.add(s, i, k)\n    x[g] += s[i ^ 1]",
    "exchanges": "for k in range(9):\n    cuda.atomic.exch(out, 0, k + g)",
    "counters that begin again elsewhere": "for k in range(9):\n"
    "    cuda.atomic.inc(plain, 0, 4)\n    cuda.atomic.inc(plain, 0, 5)",
    "an element that is not there": "for k in range(9):\n    cuda.atomic.add(out, 200 * k + g, 1)",
    "what was stored before": "out[0] = g\nfor k in range(9):\n    cuda.atomic.add(out, 0, 1)",
    "sums of floats": "for k in range(9):\n    cuda.atomic.add(x, 0, 0.1 * k * g)",
    "counters up to a variable": "for k in range(9):\n    cuda.atomic.inc(plain, 0, g + 2)",
    "counters up to where a thread is": "for k in range(9):\n"
    "    cuda.atomic.inc(plain, 0, cuda.threadIdx.x)\n    cuda.atomic.dec(plain, 1, 5 - cuda.blockIdx.x)",
    "what was there": "for k in range(9):\n    x[g] += cuda.atomic.add(out, 0, 1)",
    "a swap": "for k in range(9):\n    cuda.atomic.cas(out, 0, k, k + g)",
}
SHAPES = [(1, 3), (2, 2), (1, 32), (2, 16), (1, 40)]


def launch_of(lines, grid, block, **options):
    text = textwrap.dedent(HEAD) + textwrap.dedent(lines).strip("\n") + "\nif i < 8:\n    last[g] = s[i]"

    def launch():
        out, wide, x, last = (np.arange(200, dtype=kind) for kind in (np.int32, np.int64, np.float64, np.int32))
        plain, long = (np.arange(4, dtype=kind) for kind in (np.uint32, np.uint64))
        given = {"parameters": "out, wide, x, last, plain, long", "limits": Limits(iterations=3000), **options}
        arrays = out, wide, x, last, plain, long
        made = body(text, *arrays, before=textwrap.dedent(BEFORE), grid=grid, block=block, harmless=True, **given)
        return made, *arrays

    return launch


@pytest.mark.parametrize("lines", IN_ANY_ORDER.values(), ids=IN_ANY_ORDER)
@pytest.mark.parametrize(("grid", "block"), SHAPES)
def test_what_threads_update_in_any_order_is_left_the_same(monkeypatch, lines, grid, block):
    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, grid, block))

    assert alone == interpreted
    assert ran > 0


@pytest.mark.parametrize("lines", ONE_AFTER_THE_OTHER.values(), ids=ONE_AFTER_THE_OTHER)
@pytest.mark.parametrize(("grid", "block"), [(1, 3), (2, 16)])
def test_where_the_order_of_updates_matters_threads_run_in_lockstep(monkeypatch, lines, grid, block):
    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, grid, block))

    assert alone == interpreted
    assert ran == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_races_with_what_is_updated_in_a_loop_are_found_alike(monkeypatch, seed):
    draw = random.Random(seed)
    statements = [
        "for k in range(7):\n    cuda.atomic.add(out, (k * {a} + g) % {b}, 1)",
        "for k in range(7):\n    if k % 3 == g % 3:\n        cuda.atomic.add(out, {a} + k % {b}, 1)",
        "for k in range(7):\n    cuda.atomic.max(out, (k + i) % {b}, k)\n    cuda.atomic.max(s, (k * {a} + i) % 8, k)",
        "for k in range(7):\n    x[g] += cuda.atomic.add(out, (k + {a}) % {b}, 1)",
        "for k in range(7):\n    x[g] += cuda.atomic.cas(s, (k + i) % {b}, {a} + k, i)",
        "cuda.atomic.add(out, (g + {a}) % {b}, 1)",
        "x[g] = out[(i + {a}) % {b}]",
        "if g == {a}:\n    out[{b}] = 9",
        "cuda.syncthreads()",
        "cuda.syncwarp()",
        "cuda.threadfence()",
    ]
    weights = [5, 3, 3, 4, 3, 2, 2, 1, 3, 1, 1]
    several = draw.choices(statements, weights, k=7)
    lines = "\n".join(one.format(a=draw.randrange(4), b=draw.randrange(1, 6)) for one in several)
    grid, block = draw.choice([(1, 3), (2, 3), (3, 2), (1, 34)])

    alone, interpreted, _ = both_ways(monkeypatch, launch_of(lines, grid, block), recorded)

    assert alone == interpreted


@pytest.mark.parametrize(
    ("lines", "grid"),
    [
        (
            """
            if i == 0 or i == 5:
                cuda.atomic.add(out, 0, 1)
            cuda.syncthreads()
            if i == 2 or i == 3:
                for k in range(9):
                    cuda.atomic.add(out, 0, 1)
            if i == 4:
                x[g] = out[0]
            """,
            1,
        ),
        (
            """
            if g == 0:
                out[0] = 1
            cuda.syncthreads()
            if 0 < g < 6:
                for k in range(9):
                    cuda.atomic.add(out, 0, 1)
            cuda.syncthreads()
            if g == 6:
                x[g] = out[0]
            """,
            2,
        ),
    ],
    ids=["updated since", "stored by another block"],
)
def test_what_was_done_before_is_known_behind_a_loop_of_updates(monkeypatch, lines, grid):
    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, grid, 6))

    assert alone == interpreted
    assert "out[0] is" in str(alone[1])
    assert ran == 1


@pytest.mark.parametrize("used", ["", "_ = "])
def test_an_extreme_that_is_as_large_changes_no_sign_of_a_zero(used):
    x = np.array([0.0, -0.0, -1.0, 1.0])
    lines = f"""
        {used}cuda.atomic.min(x, 0, -0.0)
        {used}cuda.atomic.max(x, 1, 0.0)
        {used}cuda.atomic.max(x, 2, -0.0 if i else 0.0)
        {used}cuda.atomic.min(x, 3, 0.0 if i else -0.0)
    """

    body(textwrap.dedent(HEAD) + textwrap.dedent(lines), x, parameters="x", block=9, harmless=True)

    assert x.tolist() == [0.0] * 4
    assert np.signbit(x).tolist() == [False, True, False, True]
