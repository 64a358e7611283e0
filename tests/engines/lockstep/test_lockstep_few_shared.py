"""Loops in which few threads load and store where others did before: races and all else are found as one by one."""

import random
import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import both_ways
from helpers.lockstep_text import body
from helpers.same_launch import recorded

from smemviz.engines.limits import Limits
from smemviz.engines.lockstep.python.one_thread.runner import Runner

SEEDS = [pytest.param(seed, marks=[pytest.mark.exhaustive] * (seed % 5 > 0)) for seed in range(100)]


pytestmark = pytest.mark.usefixtures("way")

HEAD = """
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    n = cuda.gridsize(1)
    x = 0
"""
SHARED_OUT = """
    for k in range(9):
        out[k % 3 * n + g] = k * g
    cuda.syncthreads()
"""
AFTER_A_BARRIER = {
    "what the next one stored": "for k in range(9):\n    x += out[k % 3 * n + (g + 1) % n]",
    "what all stored": "for k in range(n):\n    x += out[k] + out[n + k]",
    "with a store of its own": "for k in range(9):\n    out[3 * n + g] = out[k % 3 * n + (g + k) % n]",
    "stores where others stored": "for k in range(3):\n    out[k * n + (g + 1) % n] = k",
    "updates where others stored": "for k in range(3):\n    out[k * n + (g + 1) % n] += k",
    "a step of a sort": """
        for k in range(g * 2 + 1, 3 * n - 1, 2 * n):
            if out[k] > out[k + 1]:
                out[k], out[k + 1] = out[k + 1], out[k]
    """,
    "arrays of two types": """
        for k in range(9):
            x += out[(g + k) % n] + wide[(g + k) % n]
            wide[n + g] = x
    """,
}


def _launched(text, grid, block, **options):
    def launch():
        out, wide = np.arange(200, dtype=np.int32), np.zeros(200)
        options_of_all = {"parameters": "out, wide", "grid": grid, "block": block, "harmless": True} | options
        return body(f"{textwrap.dedent(HEAD)}{text}\nwide[100 + g] = x", out, wide, **options_of_all), out, wide

    return launch


@pytest.mark.parametrize("text", AFTER_A_BARRIER.values(), ids=AFTER_A_BARRIER)
@pytest.mark.parametrize("block", [4, 32])
def test_few_threads_load_and_store_where_others_stored_before_a_barrier(monkeypatch, text, block):
    text = textwrap.dedent(SHARED_OUT) + textwrap.dedent(text)

    alone, interpreted, ran = both_ways(monkeypatch, _launched(text, 1, block))

    assert alone == interpreted
    assert alone[1] == ()
    assert ran == 2


@pytest.mark.parametrize("text", AFTER_A_BARRIER.values(), ids=AFTER_A_BARRIER)
def test_without_a_barrier_the_races_are_found(monkeypatch, text):
    text = textwrap.dedent(SHARED_OUT).replace("cuda.syncthreads()", "") + textwrap.dedent(text)

    alone, interpreted, _ = both_ways(monkeypatch, _launched(text, 1, 16))

    assert alone == interpreted
    assert alone[1]


def test_one_thread_that_meets_what_others_did_again_and_again_is_told_as_several_are(monkeypatch):
    text = textwrap.dedent(SHARED_OUT) + textwrap.dedent("""
        for m in range(5):
            if i == 0:
                for k in range(n):
                    x += out[k] * m
                    out[n + k] += m
            cuda.syncthreads()
    """)
    loads, load = [], Runner.load
    monkeypatch.setattr(Runner, "load", lambda *given: loads.append(given) or load(*given))

    alone, interpreted, ran = both_ways(monkeypatch, _launched(text, 1, 32))

    assert alone == interpreted
    assert ran == 6
    assert len(loads) <= 32


def _index(rng):
    place = rng.choice(["g", "i", "k", "(g + k)", "(g + 1)", "(i + k)", "(2 * g)", "3", "(g // 2)", "(i * 5 + k)"])
    return f"{place} % {rng.choice(['n', 'n', '5', '(n + 3)'])}"


def _statement(rng, depth=0):
    array = rng.choice(["out", "out", "wide"])
    kind = rng.randrange(8 if depth < 2 else 6)
    if kind < 2:
        return f"x += {array}[{_index(rng)}]"
    if kind == 2:
        return f"{array}[{_index(rng)}] = {rng.choice(['1', 'k', 'g', 'x % 3', '0'])}"
    if kind == 3:
        return f"{array}[{_index(rng)}] += {rng.choice(['0', '1', 'k % 2'])}"
    if kind == 4:
        return f"{array}[{_index(rng)}] = {array}[{_index(rng)}]"
    if kind == 5:
        return f"cuda.atomic.add({array}, {_index(rng)}, {rng.choice(['0', '1'])})"
    inner = "\n".join(_statement(rng, depth + 1) for _ in range(rng.randint(1, 2)))
    head = rng.choice(["if (i + k) % 2:", "if k > 1:", "if i == 1:", "for k in range(2):"])
    return f"{head}\n{textwrap.indent(inner, '    ')}"


def _phase(rng):
    lines = "\n".join(_statement(rng) for _ in range(rng.randint(1, 3)))
    text = f"for k in range({rng.choice(['1', '3', '6'])}):\n{textwrap.indent(lines, '    ')}"
    who = rng.choice(["", "", "if i == 0:", "if i % 2 == 0:", "if i < 3:"])
    text = f"{who}\n{textwrap.indent(text, '    ')}" if who else text
    orders = ["cuda.syncthreads()"] * 4 + ["cuda.syncwarp()", "cuda.threadfence()", "", ""]
    return f"{text}\n{rng.choice(orders)}"


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_few_threads_do_where_others_did_something_all_of_it_is_found(monkeypatch, seed):
    rng = random.Random(seed)
    grid, block = rng.choice([(1, 8), (1, 34), (2, 4), (1, 4), (3, 2)])
    text = "\n".join(_phase(rng) for _ in range(rng.randint(2, 6)))

    launch = _launched(text, grid, block, limits=Limits(iterations=2000))
    alone, interpreted, _ = both_ways(monkeypatch, launch, recorded)

    assert alone == interpreted, text
