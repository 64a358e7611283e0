"""Loops that few threads run alone, one after the other."""

import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import both_ways
from helpers.lockstep_text import body, launch_text
from helpers.same_launch import counted, recorded
from helpers.typed_expressions import inputs
from helpers.typed_programs import RESULTS, TYPES, program
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from smemviz.engines.limits import Limits
from smemviz.engines.lockstep.log import Log
from smemviz.engines.lockstep.python.one_thread import accesses

pytestmark = pytest.mark.usefixtures("way")

COMPUTING = {
    "a number of turns for each": """
        n = i * 7 + 1
        x = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            x += 1
    """,
    "chaos": """
        x = 0.1 + i / 10
        for k in range(20 + i):
            x = 3.7 * x * (1.0 - x)
            if x > 0.9:
                break
    """,
    "single precision and integers that wrap": """
        x = float32(i) / float32(3)
        n = i + 1
        for k in range(i, 40, 3):
            n = n * 6364136223846793005 + 1442695040888963407
            x = x * float32(1.1) + (n >> 60) - math.sqrt(abs(x))
        x = x + n % 1000
    """,
    "what only some assign": """
        x = 5
        for k in range(i):
            y = k * 2
            if k > 2:
                x = y
            z = 0
            for m in range(k):
                z += m
        if i > 1:
            x += y + k + z
    """,
    "several types": """
        x = 2
        for k in range(3):
            if i + k > 3:
                x = x + 0.5
            else:
                x = x + 1
    """,
    "no end for one": """
        x = 1
        while i < 2 or x < 9:
            x += 1
    """,
}


@pytest.mark.parametrize("text", COMPUTING.values(), ids=COMPUTING)
@pytest.mark.parametrize("threads", [3, 30])
@pytest.mark.parametrize("block", [8, 40])
def test_a_loop_that_only_computes_leaves_the_same_in_few_threads(monkeypatch, text, threads, block):
    text = textwrap.indent(textwrap.dedent(text), "    ")
    text = f"i = cuda.threadIdx.x\nx = 99\nif i < {threads}:\n{text}\nout[i] = x"

    def launch():
        out = np.zeros(block)
        return body(text, out, block=block, limits=Limits(iterations=5000)), out

    alone, interpreted, _ = both_ways(monkeypatch, launch)

    assert alone == interpreted


LOADING = {
    "a row for each, as far as it goes": (
        """
        for k in range(i % 7, 20 + i % 5):
            x += real[k] * real[i + 2 * k] + given[i, k % 4]
        """,
        True,
    ),
    "until something is found": (
        """
        k = 0
        while k < 30:
            near = real[k + i]
            if near > 0.5 + i / 20:
                break
            x += given[k % 4, 1] * near
            k += 1
        """,
        True,
    ),
    "outside in some": (
        """
        for k in range(12):
            x += real[k * (i + 40)]
        """,
        False,
    ),
    "what others store": (
        """
        for k in range(12):
            x += out[i + k]
        """,
        True,
    ),
    "behind a loop that was not left": (
        """
        for k in range(i % 3, 9):
            for m in range(2, 6):
                if (k + i) % m == 0:
                    x += real[m]
                    break
            else:
                x += real[20 + k] + given[i % 4, k % 4]
                if k % 4 == 3:
                    continue
            m = 0
            while m < k:
                m += 1
                if real[m] > 0.8:
                    break
            else:
                y = real[k + i]
                for n in range(k % 3):
                    y += real[n]
                x += y
                if y > 1.8:
                    break
            x += given[k % 4, 2]
        """,
        True,
    ),
    "now and then": (
        """
        for k in range(20):
            if k % (i + 2) == 0:
                x += real[k]
        """,
        True,
    ),
    "all but some": (
        """
        for k in range(20):
            if k % (i + 2) == 0:
                continue
            x += real[k]
        """,
        True,
    ),
    "part of a condition": (
        """
        for k in range(20):
            if k > i and real[k] > 0.2:
                x += 1
        """,
        True,
    ),
    "loops in loops": (
        """
        for k in range(10):
            for m in range((i + k) % 4):
                x += real[k + m]
        """,
        True,
    ),
    "local memory": (
        """
        for k in range(20):
            x += real[(i + k) % 8] * mine[k % 2]
        """,
        True,
    ),
    "shared memory": (
        """
        for k in range(20):
            x += tile[(i + k) % 8]
        """,
        True,
    ),
}


@pytest.mark.parametrize(("text", "together"), LOADING.values(), ids=LOADING)
@pytest.mark.parametrize(
    "who", ["i < 3 and cuda.blockIdx.x == 1", "32 <= i < 64 and cuda.blockIdx.x == 0", "i % 20 == 1"]
)
@pytest.mark.parametrize("log_bytes", [1 << 27, 9000])
def test_a_loop_that_only_loads_leaves_the_same_in_few_threads(monkeypatch, text, together, who, log_bytes):
    head = """
        i = cuda.threadIdx.x
        tile = cuda.shared.array(8, float32)
        mine = cuda.local.array(2, float32)
        mine[0] = mine[1] = i
        if i < 8:
            tile[i] = i
        cuda.syncthreads()
        x = 0.5
    """
    text = f"{textwrap.dedent(head)}if {who}:\n{textwrap.indent(textwrap.dedent(text), '    ')}\nout[i] = x"

    def launch():
        rng = np.random.default_rng(1)
        out, real, given = np.zeros(96), rng.random(120, dtype=np.float32), np.arange(400).reshape(100, 4)
        options = {"parameters": "out, real, given", "grid": 2, "block": 70, "log_bytes": log_bytes}
        return body(text, out, real, given, harmless=True, **options), out

    whole = "%" not in who or log_bytes > 9000  # which requests of several warps are kept within a limit may differ
    alone, interpreted, ran = both_ways(monkeypatch, launch, recorded if whole else counted)

    assert alone == interpreted
    assert together or not ran


def test_more_than_can_be_kept_is_done_in_parts_or_left_to_the_interpreter(monkeypatch, way):
    def launch():
        out, real = np.zeros(4), np.arange(300.0)
        text = "x = 0\nfor k in range(200):\n    x += real[k + cuda.threadIdx.x]\nout[cuda.threadIdx.x] = x"
        return body(text, out, real, parameters="out, real", block=4), out

    assert both_ways(monkeypatch, launch)[2] == 1
    monkeypatch.setattr(accesses, "_MOST_TOGETHER", 700)
    alone, interpreted, ran = both_ways(monkeypatch, launch)

    assert alone == interpreted
    assert ran == ("parts" in way)


@pytest.mark.parametrize("first", ["k < 200 * i", "k < 9 + 200 * i", "(k < 200 or i > 4) and k < 300"])
@pytest.mark.parametrize("loop", ["", "for m in range(1):\n        "])
def test_a_thread_that_ends_early_does_not_keep_others_from_stopping(monkeypatch, way, first, loop):
    monkeypatch.setattr(accesses, "_MOST_TOGETHER", 700)
    text = f"i = cuda.threadIdx.x\nx = 0\nk = 0\nwhile {first}:\n    k += 1\n    {loop}x += real[k + i]\nout[i] = x"

    def launch():
        out, real = np.zeros(6), np.arange(1200.0)
        return body(text, out, real, parameters="out, real", block=6), out

    alone, interpreted, ran = both_ways(monkeypatch, launch)

    assert alone == interpreted
    if "parts" in way:
        assert ran == 1


LOOPED = """
@cuda.jit(device=True)
def total(a, n):
    s = 0.0
    for k in range(n):
        s += a[k]
    return s
"""
ABOUT = {
    "in a condition": "k = 0\nwhile total(real, k) < 20 + i and total(real, 2) < 9:\n    k += 1\n    x += real[k]",
    "in the end of a range": "for k in range(int(total(real, 7)) - i):\n    x += real[k * 9 if k == 13 + i else k]",
    "in the end of a range in a loop": "for m in range(3):\n    for k in range(int(total(real, m + 3))):\n"
    "        x += real[k] + total(real, m)",
    "in a tuple": "for m in range(3):\n    for v in (total(real, m), total(real, i)):\n        x += v",
}


@pytest.mark.parametrize("text", ABOUT.values(), ids=ABOUT)
def test_functions_with_loops_are_called_where_a_loop_begins(monkeypatch, text):
    text = f"i = cuda.threadIdx.x\nx = 0.0\n{text}\nout[i] = x"

    def launch():
        out, real = np.zeros(5), np.arange(0.5, 24)
        return body(text, out, real, parameters="out, real", before=LOOPED, block=5), out

    alone, interpreted, ran = both_ways(monkeypatch, launch)

    assert alone == interpreted
    assert ran


def test_few_threads_run_it_one_after_the_other(monkeypatch):
    def launch():
        out = np.zeros(4)
        return body(
            "x = 0\nfor k in range(cuda.threadIdx.x):\n    x += k\nout[cuda.threadIdx.x] = x", out, block=4
        ), out

    assert both_ways(monkeypatch, launch)[2] == 1


@pytest.mark.exhaustive
@settings(deadline=None, max_examples=15, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_random_programs_that_only_compute_leave_the_same_in_few_threads(seed):
    own = "".join(f"    p_{name} = a_{name}[i]\n" for name in TYPES)
    lines = [line.replace("a_", "p_").replace("[i]", "") for line in program(seed)]
    text = "".join(f"        {line}\n" for line in lines)
    stores = "".join(f"    out[{k}, i] = {result}\n" for k, result in enumerate(RESULTS))
    arrays = ", ".join(f"a_{name}" for name in TYPES)
    head = f"@cuda.jit\ndef kernel({arrays}, n, out):\n    i = cuda.grid(1)\n"
    code = f"{head}{own}    for turn in range(3):\n{text}{stores}"

    def launch():
        given = [np.clip(inputs(seed)[name][:6], -1000, 1000).astype(name) for name in TYPES]
        out = np.zeros((len(RESULTS), 6))
        return launch_text(code, *given, 2, out, block=6), out

    with pytest.MonkeyPatch.context() as patch:
        alone, interpreted, _ = both_ways(patch, launch)
    assert alone == interpreted


def test_what_one_thread_of_a_warp_does_is_counted_without_a_request_for_each_access(monkeypatch):
    text = """
        if cuda.threadIdx.x == 3:
            s = cuda.shared.array(40, int32)
            for k in range(2000):
                s[k * 7 % 40] = k
                s[k % 40] += 1
            for k in range(40):
                out[cuda.blockIdx.x * 40 + k] = s[k]
    """
    written = []
    add_serial = Log.add_serial
    monkeypatch.setattr(
        Log,
        "add_serial",
        lambda log, sites, *rest, **of: written.append(len(sites)) or add_serial(log, sites, *rest, **of),
    )

    def launch():
        out = np.zeros(240, np.int32)
        return body(text, out, grid=6, log_bytes=1000), out

    alone, interpreted, ran = both_ways(monkeypatch, launch, counted)

    assert alone == interpreted
    assert ran == 2
    assert 0 < sum(written) < 2 * 6080  # of six threads with so many each
