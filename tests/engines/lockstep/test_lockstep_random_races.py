"""Races in random sequences of accesses, against a comparison of every access with every other."""

from itertools import combinations

import numpy as np
from helpers.lockstep_text import START, body
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
