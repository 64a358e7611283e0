"""Loops of one thread and of few in shared memory: what is found of them is what is found access by access."""

import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import both_ways
from helpers.lockstep_text import body
from helpers.shared_loops import SORTS

from smemviz.engines.limits import Limits
from smemviz.engines.lockstep.hazards.hazards import Hazards

LOOPS = {
    **SORTS,
    "prefix sum": "for k in range(1, 24):\n    s[k] = s[k] + s[k - 1]",
    "prefix sum as far as it is written": "for k in range(1, 30):\n    s[k] += s[k - 1]",
    "table": """
        for k in range(24):
            table[0, k] = k
        for m in range(1, 3):
            for k in range(24):
                table[m, k] = max(table[m - 1, k], table[m, k - 1]) + s[k]
    """,
    "queue, some of it not written": """
        head = 0
        tail = 1
        while head < tail and tail < 16:
            n = stack[head]
            head += 1
            for k in range(2):
                stack[tail] = n + k
                tail += 1
    """,
    "values of eight bytes": """
        for k in range(24):
            wide[k % 4] = (1 << 60) + k % 3
            x += wide[k % 3]
    """,
    "bytes": "for k in range(24):\n    small[k % 5] = k\n    x += small[k % 7]",
    "atomics": "for k in range(9):\n    cuda.atomic.add(s, k % 4, 1)\n    cuda.atomic.exch(stack, k % 3, k)",
    "a barrier of the warp": "for k in range(5):\n    s[k] = k\n    cuda.syncwarp()\n    x += s[k + 1]",
}
KERNEL = """
i = cuda.threadIdx.x
s = cuda.shared.array(24, int32)
table = cuda.shared.array((3, 24), int32)
stack = cuda.shared.array(16, int32)
wide = cuda.shared.array(4, int64)
small = cuda.shared.array(8, int8)
x = 0
for k in range(i, 24, cuda.blockDim.x):
    s[k] = real[k]
{first}
if i {which}:
{lines}
{last}
out[i] = x
out[64 + i] = s[i % 24]
"""
WHICH = {"one": "== 0", "the last": "== cuda.blockDim.x - 1", "some": "% 33 == 0"}


def launch_of(lines, which="== 0", first="cuda.syncthreads()", last="cuda.syncthreads()", grid=1, block=40):
    indented = textwrap.indent(textwrap.dedent(lines).strip("\n"), "    ")
    text = KERNEL.format(first=first, which=which, lines=indented, last=last)

    def launch():
        out, real = np.zeros(128, np.int64), np.random.default_rng(3).integers(0, 30, 64)
        given = {"parameters": "out, real", "limits": Limits(iterations=4000), "harmless": True}
        return body(text, out, real, grid=grid, block=block, **given), out

    return launch


@pytest.mark.parametrize("lines", LOOPS.values(), ids=LOOPS)
@pytest.mark.parametrize("which", WHICH.values(), ids=WHICH)
@pytest.mark.parametrize("barriers", [("cuda.syncthreads()",) * 2, ("cuda.syncwarp()", "pass"), ("pass", "pass")])
@pytest.mark.parametrize(("grid", "block"), [(1, 40), (2, 1), (2, 34)])
def test_what_is_found_in_shared_memory_is_the_same(monkeypatch, lines, which, barriers, grid, block):
    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, which, *barriers, grid=grid, block=block))

    assert alone == interpreted
    assert ran > 0 or grid > 1 or which == WHICH["some"]


EACH = {
    "bins": "for k in range(20):\n    s[2 * i + k % 2] += real[k]",
    "one after the other, and others'": "for k in range(9):\n    s[2 * i] = k % 3\nx += s[2 * i + 1]",
    "values of eight bytes": "for k in range(9):\n    wide[i] = (1 << 60) + k % 3",
    "what others write": "for k in range(9):\n    x += s[k]",
    "not written": "for k in range(9):\n    x += stack[k] + table[i % 3, k]",
}


@pytest.mark.parametrize("lines", EACH.values(), ids=EACH)
@pytest.mark.parametrize("last", ["cuda.syncthreads()", "pass", "s[i] = 7\nx += wide[1]", "wide[1] = 1 << 60"])
@pytest.mark.parametrize("first", ["cuda.syncthreads()", "pass"])
def test_what_is_found_of_few_threads_is_the_same(monkeypatch, lines, first, last):
    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, "< 4", first, last, 2, 6))

    assert alone == interpreted
    assert ran > 0


def test_two_threads_that_store_numbers_far_from_0_race_where_a_bit_differs(monkeypatch):
    """2**60 and 2**60 + 1 are one number in double precision."""
    one = "if i == {}:\n    for k in range(5):\n        wide[0] = (1 << 60) + {}"

    launch = launch_of("pass", "< 0", one.format(0, "(k == 2)"), one.format(33, 0))
    alone, interpreted, ran = both_ways(monkeypatch, launch)

    assert alone == interpreted
    assert ran == 2
    assert ["wide[0]" in finding.message for finding in alone[1]].count(True) == 1


def test_shared_memory_is_not_looked_at_element_by_element(monkeypatch):
    told = []
    monkeypatch.setattr(Hazards, "add", lambda *given: told.append(given))
    launch_of("for k in range(24):\n    s[k] += 1", "== 0", block=1)()

    assert len(told) == 1  # the load behind the loops
