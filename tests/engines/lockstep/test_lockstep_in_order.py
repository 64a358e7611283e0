"""Loops whose threads meet, run in order in machine code: all of it is as when they are interpreted."""

import numpy as np
import pytest
from helpers.in_order import in_order_and_interpreted
from helpers.lockstep_text import body

from smemviz.engines.limits import Limits
from smemviz.engines.lockstep.python import loops
from smemviz.engines.lockstep.python.one_thread.in_order import run, threads

FUNCTIONS = """
    @cuda.jit(device=True)
    def root_of(out, k):
        while out[k] != k:
            out[k] = out[out[k]]
            k = out[k]
        return k

    @cuda.jit(device=True)
    def taken(counts, value):
        if value > 90:
            return -1
        return cuda.atomic.add(counts, 0, 1)

"""
MEETING = {
    "sets that are joined": """
        if i < 32:
            out[i] = i
        cuda.syncthreads()
        for k in range(i, 60, cuda.blockDim.x):
            a, b = values[k] % 32, values[k + 60] % 32
            while True:
                a, b = root_of(out, a), root_of(out, b)
                if a == b:
                    break
                if a < b:
                    a, b = b, a
                if cuda.atomic.cas(out, a, a, b) == a:
                    break
    """,
    "a table that is probed": """
        for k in range(i, 200, cuda.blockDim.x):
            at = values[k] % 300
            while True:
                old = cuda.atomic.cas(out, at, 0, values[k] + 1)
                if old == 0 or old == values[k] + 1:
                    break
                at = (at + 1) % 300
    """,
    "a counter that is tried again": """
        for k in range(5):
            while True:
                old = counts[0]
                if cuda.atomic.cas(counts, 0, old, old + 1) == old:
                    break
            out[i] += old
    """,
    "counters of some threads each": """
        for k in range(6):
            at = (i // 3 + k) % 5
            old = counts[at]
            while True:
                now = cuda.atomic.cas(counts, at, old, old + k)
                if now == old:
                    break
                old = now
            out[at] = old
    """,
    "neighbours that are only loaded": """
        out[i] = i
        for k in range(9):
            real[i] += out[(i + k // 3) % 50]
    """,
    "lists that grow": """
        for k in range(i, 100, cuda.blockDim.x):
            out[k] = cuda.atomic.exch(counts, values[k] % 7, k)
    """,
    "neighbours in shared memory": """
        s = cuda.shared.array(64, int32)
        s[cuda.threadIdx.x] = i
        for k in range(9):
            x = s[(cuda.threadIdx.x + 1) % 16]
            s[cuda.threadIdx.x] = x * 3 + k
        out[i] = s[cuda.threadIdx.x]
    """,
    "one row of shared memory": """
        s = cuda.shared.array(8, float32)
        for k in range(6):
            s[k] += float32(i) * float32(0.1)
            s[(i + k) % 8] = s[k] + real[i]
            real[i] -= s[(i + 1) % 8]
    """,
    "levels of a search": """
        if i == 0:
            out[0] = 1
        for level in range(1, 6):
            cuda.syncthreads()
            for k in range(i, 100, cuda.blockDim.x):
                if out[k] == level:
                    for m in range(values[k] % 4):
                        other = (3 * k + m) % 100
                        if out[other] == 0:
                            out[other] = level + 1
                            counts[1] = 1
    """,
    "the same value for all": """
        for k in range(4):
            counts[k % 2] = k
            if counts[(k + 1) % 2] == 0:
                counts[3] = 1
    """,
    "narrow elements": """
        for k in range(12):
            small[(i + k) % 20] += 3
            if small[k] > 7:
                small[k] = small[(i * 5) % 20]
    """,
    "ways that part": """
        for k in range(8):
            if values[i] % 3 == 0:
                continue
            if out[k] > 20:
                break
            out[k] += cuda.atomic.add(counts, k, i)
            if counts[k] % 5 == 4:
                return
        out[299] = i
    """,
    "a test of two parts": """
        for k in range(10):
            if out[k] % 2 == 0 and out[k + 1] % 3 != 1 or counts[1] > 4:
                out[k + 1] = out[k] + i
            x = counts[0] if out[k] > 3 else counts[1]
            counts[x % 4] = k
    """,
    "a function of what is taken": """
        for k in range(i, 300, cuda.blockDim.x):
            at = taken(counts, values[k])
            if at >= 0:
                out[at % 300] = k
    """,
    "elements that a loop goes over": """
        for value in values[:9]:
            out[value % 20] = out[(value + 1) % 20] + i
    """,
    "numbers that go down, as far as was stored": """
        for k in range(12 - out[i], i % 3, -2):
            out[k] = out[k - 1] + k
            for m in range(out[k] % 3):
                out[m] += 1
    """,
    "arrays of each thread's own": """
        own = cuda.local.array(4, int64)
        for k in range(7):
            own[k % 4] = counts[k % 3] + k
            counts[(k + 1) % 3] = own[(k + 2) % 4] % 50
        out[i] = own[1]
    """,
    "updates of every kind": """
        for k in range(6):
            x = cuda.atomic.max(counts, 0, values[k] + i) + cuda.atomic.min(counts, 1, i)
            x += cuda.atomic.sub(counts, 2, 3) ^ cuda.atomic.xor(counts, 3, i)
            x += cuda.atomic.or_(counts, 4, k) - cuda.atomic.and_(counts, 5, 7 * i)
            cuda.atomic.add(real, k, float32(x % 10) * float32(0.1))
            out[i] += x
            real[k] = cuda.atomic.exch(counts, 6, x % 30) * real[k + 1]
    """,
    "behind a barrier of a warp": """
        out[i] = i
        cuda.syncwarp()
        for k in range(6):
            out[(i + k) % 40] = out[(i + 2 * k) % 40] % 9
    """,
    "what was stored before a barrier": """
        out[(i + 1) % 40] = i
        cuda.syncthreads()
        for k in range(5):
            out[(i + k) % 50] = out[(i + 3 * k) % 50] % 11
    """,
    "what is kept of many": """
        for k in range(i, 100, cuda.blockDim.x):
            if values[k] % 3 == 0:
                at = cuda.atomic.add(counts, 0, 1)
                out[at] = values[k]
    """,
    "two counters": """
        for k in range(i, 100, cuda.blockDim.x):
            if values[k] < 50:
                out[cuda.atomic.add(counts, 0, 1)] = values[k]
            else:
                out[299 - cuda.atomic.add(counts, 1, 1)] = k
    """,
    "work that is taken": """
        while True:
            at = cuda.atomic.add(counts, 0, 1)
            if at >= 40:
                break
            total = i
            for k in range(values[at]):
                total += k * at
            out[at] = total
    """,
    "work that is taken in a condition": """
        at = i
        while cuda.atomic.inc(many, 3, 100) < 60:
            out[at] += 1
            at += cuda.blockDim.x
            if values[at % 300] % 2:
                continue
            real[i] += at
    """,
    "the one that comes first": """
        for k in range(i, 100, cuda.blockDim.x):
            out[k] = cuda.atomic.cas(counts, values[k] % 5, 0, k)
            k += cuda.atomic.exch(counts, 5, k)
            real[i] += k
    """,
    "sums of floats": """
        for k in range(i, 100, cuda.blockDim.x):
            cuda.atomic.add(real, 290 + k % 3, float32(0.1) * values[k])
            real[i] += cuda.atomic.add(real, 280, float32(values[k]) / float32(7))
    """,
    "the largest so far": """
        for k in range(i, 100, cuda.blockDim.x):
            out[k] = cuda.atomic.max(counts, 1, values[k]) + cuda.atomic.dec(many, 3, 9)
    """,
    "in shared memory": """
        taken_of = cuda.shared.array(2, int32)
        if i < 2:
            taken_of[i] = 0
        cuda.syncthreads()
        for k in range(i, 100, cuda.blockDim.x):
            at = cuda.atomic.add(taken_of, values[k] & 1, 1)
            out[k] = at
    """,
    "in a loop further in, which is begun again and again": """
        for k in range(4):
            for m in range(i % 3 + 20):
                real[i] += cuda.atomic.add(counts, 0, 1)
    """,
    "by some of the threads": """
        if i % 3 == 1:
            for k in range(i % 7 * 4):
                out[cuda.atomic.add(counts, 0, 1)] = i * 100 + k
    """,
    "one that is loaded as well": """
        while counts[0] < 50:
            out[cuda.atomic.add(counts, 0, 1)] = i
    """,
    "parts of arrays": """
        for k in range(20):
            at = cuda.atomic.add(counts, 0, 1) % 30
            out[at * 3 : at * 3 + i % 4] = k
            real[::-1][2:4] = (at, i)
            square = out.reshape(10, 30)
            for p, q in np.ndindex(2, i % 3 + 1):
                real[i] += square.T[p + at % 29, q] + square.flat[at]
            for v in square[1:].T[at]:
                real[i] += v
    """,
    "two of one element": """
        for k in range(i, 100, cuda.blockDim.x):
            out[k] = cuda.atomic.add(counts, 0, 1)
            out[k] -= cuda.atomic.add(counts, 0, 2)
    """,
}
LEFT = {
    "an element that is not there": """
        for k in range(i % 5 + 20):
            out[i] += out[(i + 1) % 32]
            if k == 20:
                out[280 + i] = k
    """,
    "a row that is not there": """
        own = cuda.local.array((4, 5), int32)
        for k in range(20):
            out[i] += out[(i + 1) % 32]
            own[k // 4, k % 4] = k
    """,
}
FENCED = {
    "what a thread told others before": """
        x = out[5]
        cuda.threadfence()
        if i == 0:
            cuda.atomic.add(counts, 0, 1)
        if i != 2:
            x += cuda.atomic.add(counts, 0, 1)
        for k in range(3):
            if i == 1:
                x += out[5]
            if i == 2 and k == 2:
                out[5] = 3
        out[20 + i] = x
    """,
    "behind a fence": """
        out[i] = i
        cuda.threadfence()
        cuda.atomic.add(counts, 1, 1)
        for k in range(5):
            real[(i + k) % 40] = out[(i + 1) % 40] + real[k]
    """,
}
PATHS = {"at once": {}, "in parts": {"_FIRST_PART": 2, "_ENOUGH": 1}}


def launched(text, block, grid=1):
    """Launch lines on arrays of many types."""
    out, real, counts = np.zeros(300, np.int64), np.zeros(300, np.float32), np.zeros(8, np.int32)
    small, many, values = np.zeros(20, np.int8), np.zeros(8, np.uint32), (np.arange(300) * 37 % 101).astype(np.int32)
    lines = "i = cuda.grid(1)\n" + "\n".join(line[8:] for line in text.strip("\n").splitlines())
    arrays = out, real, counts, small, many, values
    parameters = "out, real, counts, small, many, values"
    made = body(lines, *arrays, before=FUNCTIONS, parameters=parameters, block=block, grid=grid)
    return made, *arrays


@pytest.mark.parametrize(("block", "grid", "path"), [(2, 1, "at once"), (16, 3, "in parts"), (40, 1, "at once")])
@pytest.mark.parametrize("text", MEETING.values(), ids=MEETING)
def test_what_threads_do_to_each_other_is_what_they_do_in_lockstep(monkeypatch, text, block, grid, path):
    for name, value in PATHS[path].items():
        monkeypatch.setattr(run, name, value)

    in_order, interpreted, left_over = in_order_and_interpreted(monkeypatch, lambda: launched(text, block, grid))

    assert in_order == interpreted
    assert left_over
    assert not any(left_over)


@pytest.mark.parametrize("text", [*MEETING.values(), *LEFT.values()], ids=[*MEETING, *LEFT])
def test_a_loop_that_was_begun_is_gone_on_with(monkeypatch, text):
    monkeypatch.setattr(run, "_FIRST_PART", 3)

    in_order, interpreted, _ = in_order_and_interpreted(monkeypatch, lambda: launched(text, 33), after=3)

    assert in_order == interpreted


@pytest.mark.parametrize("text", LEFT.values(), ids=LEFT)
def test_what_cannot_be_done_is_left_to_the_interpreter(monkeypatch, text):
    monkeypatch.setattr(run, "_FIRST_PART", 4)

    in_order, interpreted, left_over = in_order_and_interpreted(monkeypatch, lambda: launched(text, 33))

    assert in_order == interpreted
    assert any(left_over)


def test_there_is_room_for_more_events_than_expected(monkeypatch):
    monkeypatch.setattr(threads, "_EVENTS", 50)
    text = MEETING["sets that are joined"]

    in_order, interpreted, left_over = in_order_and_interpreted(monkeypatch, lambda: launched(text, 40))

    assert in_order == interpreted
    assert left_over


def test_no_event_is_written_where_there_is_no_room(monkeypatch):
    monkeypatch.setattr(threads, "_EVENTS", 50)
    full, make_room = [], threads.Threads.make_room
    monkeypatch.setattr(
        threads.Threads, "make_room", lambda own: full.append((own.many, len(own._events))) or make_room(own)
    )

    in_order, interpreted, left_over = in_order_and_interpreted(
        monkeypatch, lambda: launched("        for k in range(90 - i):\n            out[0] = k\n", 64)
    )

    assert in_order == interpreted
    assert left_over
    assert len(full) > 2
    assert all(many <= room for many, room in full)


def test_what_is_handed_back_has_one_number_where_there_was_one(monkeypatch):
    monkeypatch.setattr(run, "_FIRST_PART", 3)
    text = """
        rows = out[:200], out[50:]
        for n in range(80):
            out[63 - n] += out[i % 60] + n
        out[i] += rows[n - 79][2]
    """

    in_order, interpreted, left_over = in_order_and_interpreted(monkeypatch, lambda: launched(text, 33))

    assert in_order == interpreted
    assert any(left_over)


@pytest.mark.parametrize("text", FENCED.values(), ids=FENCED)
def test_behind_a_fence_threads_are_interpreted(monkeypatch, text):
    in_order, interpreted, left_over = in_order_and_interpreted(monkeypatch, lambda: launched(text, 40))

    assert in_order == interpreted
    assert not left_over


def test_a_lock_may_be_released_by_a_function_of_another_file(monkeypatch, tmp_path):
    function = "@cuda.jit(device=True)\ndef unlock(s):\n    cuda.threadfence()\n    cuda.atomic.exch(s, 0, 0)\n"
    (tmp_path / "releasing.py").write_text(f"from numba import cuda\n\n\n{function}")
    monkeypatch.syspath_prepend(tmp_path)
    lines = """\
i = cuda.grid(1)
s, d = cuda.shared.array(1, int32), cuda.shared.array(1, int32)
if i == 0:
    s[0] = d[0] = 0
cuda.syncthreads()
got = False
for t in range(6):
    if not got and cuda.atomic.cas(s, 0, 0, 1) == 0:
        got = True
        d[0] += i
if got:
    unlock(s)
else:
    for t in range(6):
        if not got and cuda.atomic.cas(s, 0, 0, 1) == 0:
            got = True
            d[0] += i
    if got:
        unlock(s)
out[i] = d[0]
"""

    def launch():
        out = np.zeros(8, np.int32)
        return body(lines, out, before="from releasing import unlock\n", parameters="out", block=4), out

    in_order, interpreted, _ = in_order_and_interpreted(monkeypatch, launch)

    assert in_order == interpreted
    assert len(in_order) == 3  # no error


def test_a_loop_of_too_many_events_is_interpreted(monkeypatch):
    monkeypatch.setattr(threads, "_EVENTS", 50)
    monkeypatch.setattr(run, "_MOST_EVENTS", 60)
    text = MEETING["narrow elements"]

    in_order, interpreted, left_over = in_order_and_interpreted(monkeypatch, lambda: launched(text, 40))

    assert in_order == interpreted
    assert not left_over


def test_a_loop_that_never_ends_is_given_up_as_ever(monkeypatch):
    out = np.zeros(300, np.int64)

    def launch():
        lines = "i = cuda.grid(1)\nwhile out[0] == 0:\n    out[i + 1] += out[i + 2] + 1"
        return body(lines, out, parameters="out", limits=Limits(iterations=500)), out

    in_order, interpreted, _ = in_order_and_interpreted(monkeypatch, launch)

    assert "ran 500 iterations" in in_order[0]
    assert in_order == interpreted


def test_loops_of_many_turns_are_run_in_order_without_being_asked(monkeypatch):
    noted, in_order = [], loops.go_on_in_order
    monkeypatch.setattr(loops, "go_on_in_order", lambda *loop: noted.append(in_order(*loop)) or noted[-1])
    out = np.zeros(64, np.int64)

    body("i = cuda.grid(1)\nfor k in range(400):\n    out[i] = out[(i + 1) % 64] + k", out, parameters="out", block=64)

    assert [made.count for made in noted] == [64]


COUNTED = """
for k in range(20):
    old = out[cuda.blockIdx.x]
    while True:
        now = cuda.atomic.cas(out, cuda.blockIdx.x, old, old + 1)
        if now == old:
            break
        old = now
"""


@pytest.mark.parametrize(
    ("lines", "grid", "times"),
    [
        (COUNTED, 16, 1),
        ("for k in range(200):\n    out[i] = out[(i + 1) % 64] + k", 16, 0),
        ("for k in range(200):\n    out[i] = out[(i + 1) % 64] + k", 4, 1),
    ],
    ids=["few of many threads in a turn", "many threads in each turn", "fewer threads"],
)
def test_many_threads_go_on_in_order_if_few_take_part_in_a_turn(monkeypatch, lines, grid, times):
    noted, in_order = [], loops.go_on_in_order
    monkeypatch.setattr(loops, "go_on_in_order", lambda *loop: noted.append(in_order(*loop)) or noted[-1])

    body(f"i = cuda.grid(1)\n{lines}", np.zeros(1024, np.int64), parameters="out", block=64, grid=grid)

    assert [made.count for made in noted] == times * [64 * grid]


@pytest.mark.parametrize("statement", ["cuda.syncthreads()", "print(k)", "while out[1] == 1: pass"])
def test_what_has_to_be_interpreted_is(monkeypatch, statement):
    text = f"        for k in range(5):\n            out[0] = out[i]\n            {statement}"
    _, _, left_over = in_order_and_interpreted(monkeypatch, lambda: launched(text, 8))
    assert not left_over
