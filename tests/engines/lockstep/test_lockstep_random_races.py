"""Races in random sequences of accesses, against a comparison of every access with every other."""

from itertools import combinations

import numpy as np
from helpers.lockstep_text import START, body, launch_text
from hypothesis import given
from hypothesis import strategies as st

THREADS = 40  # a full warp and a part of one
ELEMENTS = 6

# An access: its kind, the threads that take part, and how thread and element go together.
access = st.tuples(
    st.sampled_from(["load", "store", "add"]),
    st.integers(0, THREADS - 1),
    st.integers(1, THREADS),
    st.integers(1, THREADS),
    st.integers(0, ELEMENTS - 1),
    st.integers(1, 40),
)
step = st.one_of(access, access, access, st.sampled_from(["syncwarp", "syncthreads"]))


def statements(steps):
    """Write steps as source; a step is one statement on a line of its own."""
    lines = ["held = cuda.shared.array(8, int32)", "t = cuda.threadIdx.x", f"held[t % {ELEMENTS}] = 0"]
    lines += ["cuda.syncthreads()"]
    for one in steps:
        if isinstance(one, str):
            lines += [f"cuda.{one}()"]
            continue
        kind, low, count, divisor, shift, values = one
        at = f"(t // {divisor} + {shift}) % {ELEMENTS}"
        does = {"load": f"x = held[{at}]", "store": f"held[{at}] = t // {values}"}
        lines += [f"if {low} <= t < {low + count}:"]
        lines += ["    " + does.get(kind, f"cuda.atomic.add(held, {at}, 1)")]
    return lines


def races(steps):
    """Return the pairs of lines that race, comparing access by access."""
    pairs = set()
    seen = []
    phase, line = 0, START + 2 + 4
    for one in [*steps, "syncthreads"]:
        if one == "syncthreads":
            for a, b in combinations(seen, 2):
                if racing(a, b):
                    pairs.add(frozenset((a[0], b[0])))
            seen = []
        elif one == "syncwarp":
            phase += 1
        else:
            kind, low, count, divisor, shift, values = one
            for t in range(low, min(low + count, THREADS)):
                value = t // values if kind == "store" else None
                seen.append((line + 1, kind, t, (t // divisor + shift) % ELEMENTS, phase, value))
        line += 1 if isinstance(one, str) else 2
    return pairs


def racing(a, b):
    (_, kind, t, element, phase, value), (_, other_kind, other_t, other_element, other_phase, other_value) = a, b
    if t == other_t or element != other_element:
        return False
    if "store" not in (kind, other_kind) and {kind, other_kind} != {"load", "add"}:
        return False
    if kind == other_kind == "store" and value == other_value:
        return False
    return t // 32 != other_t // 32 or phase == other_phase


@given(st.lists(step, max_size=8))
def test_blocks_race_exactly_when_two_of_their_accesses_do(steps):
    _, findings = body("\n".join(statements(steps)), np.zeros(1, np.int64), block=THREADS, grid=2)

    wanted = races(steps)
    assert bool(findings) == bool(wanted)
    for finding in findings:
        found = frozenset(int(word.split()[0].rstrip(",")) for word in finding.message.split("at line ")[1:])
        assert found in wanted
    if not any(isinstance(one, tuple) and one[0] == "store" for one in steps):
        assert len(findings) == len(wanted)


N = 64  # threads of a block: two warps

DOUBLE_BUFFER = """
@cuda.jit
def kernel(data, out):
    t = cuda.shared.array((2, 64), int32)
    i = cuda.threadIdx.x
    t[0, i] = data[i]
    cuda.syncthreads()
    for k in range(4):
        now = k % 2
        t[1 - now, i] = t[now, (i + 1) % 64] + 1
        cuda.syncthreads()
    out[i] = t[0, i]
"""
SINGLE_BUFFER = DOUBLE_BUFFER.replace("1 - now", "0").replace("now, (i", "0, (i")
UNEVEN_BUFFER = DOUBLE_BUFFER.replace("        cuda.syncthreads()\n", "        cuda.syncwarp()\n")

HISTOGRAM = """
@cuda.jit
def kernel(data, out):
    t = cuda.shared.array(8, int32)
    i, x = cuda.threadIdx.x, cuda.grid(1)
    if i < 8:
        t[i] = 0
    cuda.syncthreads()
    cuda.atomic.add(t, data[x % 64] % 8, 1)
    cuda.syncthreads()
    if i < 8:
        cuda.atomic.add(out, i, t[i])
"""
EARLY_HISTOGRAM = HISTOGRAM.replace("        t[i] = 0\n    cuda.syncthreads()\n", "        t[i] = 0\n")
SOON_HISTOGRAM = HISTOGRAM.replace(", 1)\n    cuda.syncthreads()\n", ", 1)\n")
PLAIN_HISTOGRAM = HISTOGRAM.replace("cuda.atomic.add(out, i, t[i])", "out[i] += t[i]")
PLAIN_SHARED_HISTOGRAM = HISTOGRAM.replace("cuda.atomic.add(t, data[x % 64] % 8, 1)", "t[data[x % 64] % 8] += 1")

LAST_BLOCK = """
@cuda.jit
def kernel(data, out):
    last = cuda.shared.array(1, int32)
    i, b = cuda.threadIdx.x, cuda.blockIdx.x
    if i == 0:
        out[1 + b] = data[b]
        cuda.threadfence()
        last[0] = cuda.atomic.add(out, 63, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0] and i == 0:
        total = 0
        for k in range(cuda.gridDim.x):
            total += out[1 + k]
        out[0] = total
"""
NO_FENCE = LAST_BLOCK.replace("        cuda.threadfence()\n", "")
NO_TICKET = LAST_BLOCK.replace("cuda.atomic.add(out, 63, 1) == cuda.gridDim.x - 1", "b == cuda.gridDim.x - 1")

FLAG = """
@cuda.jit
def kernel(data, out):
    i, b = cuda.threadIdx.x, cuda.blockIdx.x
    if b == 0:
        if i < 32:
            out[i] = data[i]
        cuda.threadfence()
        cuda.syncthreads()
        if i == 0:
            cuda.atomic.exch(out, 63, 1)
    else:
        if i == 0:
            while cuda.atomic.add(out, 63, 0) == 0:
                pass
        cuda.syncthreads()
        if i < 16:
            out[32 + i] = out[2 * i]
"""
NO_FLAG_FENCE = FLAG.replace("        cuda.threadfence()\n", "")
NO_WAIT = FLAG.replace(
    "            while cuda.atomic.add(out, 63, 0) == 0:\n                pass\n", "            pass\n"
)
PLAIN_FLAG = FLAG.replace("cuda.atomic.exch(out, 63, 1)", "out[63] = 1").replace(
    "cuda.atomic.add(out, 63, 0)", "out[63]"
)

WARP = """
@cuda.jit
def kernel(data, out):
    t = cuda.shared.array(64, int32)
    i = cuda.threadIdx.x
    lane = i % 32
    t[i] = data[i]
    cuda.syncwarp()
    for step in (16, 8, 4, 2, 1):
        if lane < step:
            t[i] += t[i + step]
        cuda.syncwarp()
    if lane == 0:
        out[i // 32] = t[i]
"""
NO_SYNCWARP = WARP.replace(
    "            t[i] += t[i + step]\n        cuda.syncwarp()\n", "            t[i] += t[i + step]\n"
)
ACROSS_WARPS = WARP.replace("(16, 8", "(32, 16, 8").replace("lane < step", "i < step")

SHUFFLE = """
@cuda.jit
def kernel(data, out):
    t = cuda.shared.array(2, int32)
    i = cuda.threadIdx.x
    x = data[i]
    for step in (16, 8, 4, 2, 1):
        x += cuda.shfl_down_sync(0xffffffff, x, step)
    if i % 32 == 0:
        t[i // 32] = x
    cuda.syncthreads()
    if i == 0:
        out[0] = t[0] + t[1]
"""
NO_BARRIER_SHUFFLE = SHUFFLE.replace("    cuda.syncthreads()\n", "")

GRID = """
@cuda.jit
def kernel(data, out):
    g = cuda.cg.this_grid()
    x = cuda.grid(1)
    if x < 32:
        out[x] = data[x]
    g.sync()
    if x >= 64 and x < 96:
        out[x - 32] = out[95 - x]
"""
NO_GRID_SYNC = GRID.replace("    g.sync()\n", "    cuda.syncthreads()\n")


def kinds(text, blocks):
    data, out = np.arange(N, dtype=np.int32) % 7, np.zeros(N, np.int32)
    _, findings = launch_text(text, data, out, grid=blocks, block=N)
    return {finding.kind for finding in findings}


RIGHT = {
    "double buffer": (DOUBLE_BUFFER, 1),
    "private histograms": (HISTOGRAM, 3),
    "the last block": (LAST_BLOCK, 3),
    "a flag": (FLAG, 2),
    "in a warp": (WARP, 1),
    "shuffles": (SHUFFLE, 1),
    "the whole grid": (GRID, 2),
}
WRONG = {
    "one buffer": (SINGLE_BUFFER, 1),
    "double buffer, warps only": (UNEVEN_BUFFER, 1),
    "counts before zeros": (EARLY_HISTOGRAM, 3),
    "added before counted": (SOON_HISTOGRAM, 3),
    "global counts without atomics": (PLAIN_HISTOGRAM, 3),
    "shared counts without atomics": (PLAIN_SHARED_HISTOGRAM, 3),
    "the last block without a fence": (NO_FENCE, 3),
    "the last block by its number": (NO_TICKET, 3),
    "a flag without a fence": (NO_FLAG_FENCE, 2),
    "a flag that nobody waits for": (NO_WAIT, 2),
    "a flag without atomics": (PLAIN_FLAG, 2),
    "in a warp without syncwarp": (NO_SYNCWARP, 1),
    "across warps with syncwarp": (ACROSS_WARPS, 1),
    "shuffles, then no barrier": (NO_BARRIER_SHUFFLE, 1),
    "the whole grid, barriers of blocks only": (NO_GRID_SYNC, 2),
}


def test_what_courses_teach_gives_no_finding():
    for name in RIGHT:
        assert kinds(*RIGHT[name]) == set()


def test_what_is_usually_wrong_with_it_gives_one():
    for name in WRONG:
        text, blocks = WRONG[name]
        assert text not in [right for right, _ in RIGHT.values()]
        assert "race" in kinds(text, blocks)
