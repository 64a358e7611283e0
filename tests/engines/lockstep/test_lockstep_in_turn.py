"""Atomics whose order matters, in loops that threads run one after the other, turn by turn."""

import numpy as np
import pytest
from helpers.alone_both_ways import WAYS, both_ways, run_few
from helpers.lockstep_text import body

from smemviz.engines.lockstep.python.one_thread import run


@pytest.fixture(params=WAYS, autouse=True)
def way(request, monkeypatch):
    run_few(monkeypatch, request.param)
    if "parts" in request.param:
        monkeypatch.setattr(run, "_FIRST_PART", 64)
    return request.param


TAKEN = {
    "what is kept of many": """
        for k in range(i, 300, cuda.blockDim.x):
            if values[k] % 3 == 0:
                at = cuda.atomic.add(counts, 0, 1)
                out[at] = values[k]
    """,
    "two counters": """
        for k in range(i, 300, cuda.blockDim.x):
            if values[k] < 50:
                out[cuda.atomic.add(counts, 0, 1)] = values[k]
            else:
                out[299 - cuda.atomic.add(counts, 1, 1)] = k
    """,
    "work that is taken": """
        while True:
            at = cuda.atomic.add(counts, 0, 1)
            if at >= 90:
                break
            total = i
            for k in range(values[at]):
                total += k * at
            out[at] = total
    """,
    "work that is taken in a condition": """
        at = i
        while cuda.atomic.inc(counts, 3, 1000) < 200:
            out[at] += 1
            at += cuda.blockDim.x
            if values[at % 300] % 2:
                continue
            real[i] += at
    """,
    "the one that comes first": """
        for k in range(i, 300, cuda.blockDim.x):
            out[k] = cuda.atomic.cas(counts, values[k] % 5, 0, k)
            k += cuda.atomic.exch(counts, 5, k)
            real[i] += k
    """,
    "sums of floats": """
        for k in range(i, 300, cuda.blockDim.x):
            cuda.atomic.add(real, 290 + k % 3, float32(0.1) * values[k])
            real[i] += cuda.atomic.add(real, 280, float32(values[k]) / float32(7))
    """,
    "the largest so far": """
        for k in range(i, 300, cuda.blockDim.x):
            out[k] = cuda.atomic.max(counts, 1, values[k]) + cuda.atomic.dec(counts, 3, 9)
    """,
    "in shared memory": """
        many = cuda.shared.array(2, int32)
        if i < 2:
            many[i] = 0
        cuda.syncthreads()
        for k in range(i, 300, cuda.blockDim.x):
            at = cuda.atomic.add(many, values[k] & 1, 1)
            out[k] = at
    """,
    "in a function": """
        for k in range(i, 300, cuda.blockDim.x):
            at = taken(counts, values[k])
            if at >= 0:
                out[at] = k
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
}
LEFT = {
    "one that is loaded as well": """
        while counts[0] < 90:
            out[cuda.atomic.add(counts, 0, 1)] = i
    """,
    "two of one element": """
        for k in range(i, 300, cuda.blockDim.x):
            out[k] = cuda.atomic.add(counts, 0, 1)
            out[k] -= cuda.atomic.add(counts, 0, 2)
    """,
}
TAKING = """
    @cuda.jit(device=True)
    def taken(counts, value):
        if value > 90:
            return -1
        return cuda.atomic.add(counts, 0, 1)

"""


def updated(text, block, grid=1):
    out, real, counts = np.zeros(300, np.int64), np.zeros(300, np.float32), np.zeros(8, np.uint32)
    values = (np.arange(300) * 37 % 101).astype(np.int32)
    indented = "i = cuda.threadIdx.x\n" + "\n".join(line[8:] for line in text.strip("\n").splitlines())
    parameters = "out, real, counts, values"
    made = body(indented, out, real, counts, values, before=TAKING, parameters=parameters, block=block, grid=grid)
    return made, out, real, counts


@pytest.mark.parametrize("block", [2, 32, 50])
@pytest.mark.parametrize("text", TAKEN.values(), ids=TAKEN)
def test_what_threads_take_in_turn_is_what_they_take_in_lockstep(text, block, monkeypatch):
    alone, interpreted, ran = both_ways(monkeypatch, lambda: updated(text, block))
    assert alone == interpreted
    assert ran


def test_threads_of_several_blocks_take_their_turns(monkeypatch):
    alone, interpreted, ran = both_ways(monkeypatch, lambda: updated(TAKEN["work that is taken"], 16, grid=3))
    assert alone == interpreted
    assert ran


@pytest.mark.parametrize("text", LEFT.values(), ids=LEFT)
def test_where_turns_do_not_tell_the_order_nothing_is_done(text, monkeypatch):
    alone, interpreted, ran = both_ways(monkeypatch, lambda: updated(text, 32))
    assert alone == interpreted
    assert not ran


def test_one_thread_takes_its_turns_alone(monkeypatch):
    alone, interpreted, ran = both_ways(monkeypatch, lambda: updated(TAKEN["what is kept of many"], 1))
    assert alone == interpreted
    assert ran
