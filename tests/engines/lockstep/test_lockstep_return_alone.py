"""Functions that return in a loop which threads run alone, one after the other."""

import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import WAYS, both_ways, run_few
from helpers.lockstep_text import launch_text

KERNEL = """
@cuda.jit
def kernel(out, real, seen):
    i = cuda.threadIdx.x
    s, x = cuda.shared.array(256, int32), 0
    s[i] = i
{body}
    seen[i] = x
    cuda.syncthreads()
    if i > 0:
        out[i] += s[i - 1]
"""
FUNCTION = """
@cuda.jit(device=True)
def function(real, s, i):
    x = 0
{body}
    s[i] += 7
    return {result}

@cuda.jit
def kernel(out, real, seen):
    i = cuda.threadIdx.x
    s = cuda.shared.array(256, int32)
    s[i] = i
    {names} = function(real, s, i)
    seen[i] = {names}
"""
RETURNS = {
    "found": """
for k in range(30):
    if real[(i * 7 + k) % 24] > 0.9:
        out[i] = k
        return
    x += k
""",
    "in every thread": """
for k in range(i, 30):
    s[i] += k
    if s[i] > 50:
        out[i] = k
        return
""",
    "with a condition": """
while x < 40:
    x += i % 5 + 1
    if x % 11 == 3:
        return
    s[i] += x
""",
    "at once in some": """
for k in range(i % 3, 20):
    if i % 4 == 1:
        return
    x += real[k]
""",
    "in two loops": """
for k in range(9):
    for m in range(2, 9):
        if (k + i) * m % 13 == 7:
            s[i] = m
            return
        x += real[m + k]
    out[i] += real[k]
""",
    "in one loop of three": """
for k in range(5):
    m = 0
    while m < k + i % 3:
        for j in range(3):
            s[i] += j
            if j == i % 5:
                break
        m += 1
        x += 1
        if x > 4 + i % 9:
            out[i] = m
            return
    else:
        x += real[k]
        if i % 7 == 6:
            return
    for j in range(m):
        out[i] += j
""",
    "over elements": """
for near in real:
    x += 1
    if near > i / 20:
        return
    s[i] -= x
""",
    "a loop in a loop that is interpreted": """
for turn in range(3):
    cuda.syncwarp()
    for k in range(20):
        x += real[k]
        if x + turn > 11 + i % 8:
            return
    out[i] += turn
""",
}
GIVES = {
    "a number": ("x", "at", "for k in range(30):\n    x += real[k % 24]\n    if k > i % 9:\n        return x"),
    "a number in two loops": (
        "-1",
        "at",
        "for k in range(9):\n    for m in range(9):\n        s[i] += m\n"
        "        if (k * m + i) % 7 == 5 and k > 2:\n            return k",
    ),
    "several types": (
        "1",
        "at",
        "while x < 40:\n    x += 1 + i % 3\n    if x % 7 == 5:\n        return 0.5\n    if x > i:\n        return x",
    ),
    "two numbers": (
        "x, 0.5",
        "seen[i], s[i]",
        "for k in range(20):\n    x += k\n    if x > i * 2:\n        return x, k\n    s[i] += 1",
    ),
    "nothing": ("", "at", "for k in range(20):\n    x += k\n    if x > i * 2:\n        return\n    s[i] += 1"),
}


def launch_of(text, block):
    def launch():
        out, real, seen = np.zeros(256), np.sin(np.arange(40)) ** 2, np.zeros(256)
        return launch_text(text, out, real.astype(np.float32), seen, block=block, harmless=True), out, seen

    return launch


def kernel(lines):
    return KERNEL.format(body=textwrap.indent(lines, "    "))


def function(result, names, lines):
    text = FUNCTION.format(body=textwrap.indent(lines, "    "), result=result, names=names)
    return text if result else text.replace("at = ", "").replace("seen[i] = at", "seen[i] += s[i]")


TEXTS = {name: kernel(lines) for name, lines in RETURNS.items()}
TEXTS |= {f"{name} is given": function(*given) for name, given in GIVES.items()}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("block", [1, 9, 40, 200])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_threads_return_in_a_loop_and_leave_the_same(monkeypatch, text, block, way):
    run_few(monkeypatch, way)

    alone, interpreted, ran = both_ways(monkeypatch, launch_of(text, block))

    assert alone == interpreted
    assert ran > 0 or block > 32


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_block_runs_long_loops_that_it_returns_in(monkeypatch, text):
    for old in ("range(30)", "range(9)", "range(20)"):
        text = text.replace(old, "range(600)")

    alone, interpreted, ran = both_ways(monkeypatch, launch_of(text, 30))

    assert alone == interpreted
    assert ran > 0
