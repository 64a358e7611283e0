"""Threads of a block that touch the same shared memory with no barrier between."""

import numpy as np
import pytest
from helpers.lockstep_text import HEAD, START, body, launch_text, what
from helpers.races_found import NEIGHBOUR, REVERSE, found

from smemviz.engines.lockstep import Limits
from smemviz.engines.lockstep.hazards import hazards
from smemviz.engines.lockstep.hazards.findings import Race


def line(text, part):
    """Return the line of the file where a part of a body stands."""
    lines = text.strip("\n").splitlines()
    (at,) = [i for i, one in enumerate(lines) if part in one]
    return START + 2 + at


def test_a_reverse_without_its_barrier_races():
    text = REVERSE.replace("BARRIER", "x = 0")
    _, (finding,) = body(text, np.zeros(64, np.int64), grid=3, block=64)

    assert (finding.kind, finding.kernel, finding.line) == ("race", "kernel", START + 6)
    assert finding.block == (0, 0, 0)
    assert finding.threads == ((63, 0, 0), (0, 0, 0))
    assert what(finding) == (
        f"held[63] is stored by thread (63, 0, 0) at line {START + 4} and loaded by thread (0, 0, 0) "
        f"at line {START + 6} with no barrier between"
    )


def test_a_reverse_with_its_barrier_does_not():
    assert found(REVERSE.replace("BARRIER", "cuda.syncthreads()"), grid=3, block=64) == []


def test_run_prints_a_race_and_exits_1(tmp_path, command):
    file = tmp_path / "reverse.py"
    kernel = "".join(f"    {one}\n" for one in REVERSE.replace("BARRIER", "x = 0").strip().splitlines())
    file.write_text(
        f"{HEAD}@cuda.jit\ndef reverse(out):\n{kernel}\n\ndef main():\n    reverse[1, 64](np.zeros(64, np.int64))\n"
    )

    before, _, _ = command("run", file, "--engine", "lockstep", code=1).out.rpartition("\n\n")
    assert before.endswith(
        f"reverse.py:{START + 6}: race in reverse, block (0, 0, 0), threads (63, 0, 0), (0, 0, 0): "
        f"held[63] is stored by thread (63, 0, 0) at line {START + 4} and loaded by thread (0, 0, 0) "
        f"at line {START + 6} with no barrier between. Put cuda.syncthreads() between them."
    )


PRODUCT = """
a_tile = cuda.shared.array((16, 16), float32)
b_tile = cuda.shared.array((16, 16), float32)
tx = cuda.threadIdx.x
ty = cuda.threadIdx.y
total = float32(0)
for step in range(3):
    a_tile[ty, tx] = step
    b_tile[tx, ty] = tx
    FIRST
    for k in range(16):
        total += a_tile[ty, k] * b_tile[tx, k]
    SECOND
out[ty * 16 + tx] = total
"""


def product(first="cuda.syncthreads()", second="cuda.syncthreads()"):
    return PRODUCT.replace("FIRST", first).replace("SECOND", second)


def test_a_tiled_product_with_both_barriers_is_free_of_races():
    assert found(product(), grid=(2, 2), block=(16, 16)) == []


def test_a_race_is_found_in_the_block_that_makes_it():
    text = """
        held = cuda.shared.array(64, int32)
        t = cuda.threadIdx.x
        held[t] = t
        if cuda.blockIdx.x != 2:
            cuda.syncthreads()
        out[t] = held[63 - t]
        """
    for threads in (1 << 15, 64):  # one batch, then a batch for each block
        _, (finding,) = body(
            text, np.zeros(64, np.int64), grid=(4, 2), block=64, limits=Limits(threads_at_once=threads)
        )

        assert (finding.kind, finding.block) == ("race", (2, 0, 0))


def test_every_thread_adding_to_one_element_races():
    text = "held = cuda.shared.array(1, int32)\nheld[0] = 0\ncuda.syncthreads()\nheld[0] += 1"
    at = line(text, "+=")

    assert found(text, block=64) == [
        f"held[0] is loaded by thread (0, 0, 0) at line {at} and stored by thread (63, 0, 0) at line {at} "
        "with no barrier between"
    ]


# -- what is correct

REDUCTION = """
held = cuda.shared.array(128, int32)
t = cuda.threadIdx.x
held[t] = t
cuda.syncthreads()
s = 64
while s > 0:
    if t < s:
        held[t] += held[t + s]
    BARRIER
    s //= 2
if t == 0:
    out[0] = held[0]
"""


def test_a_reduction_with_barriers_is_free_of_races():
    assert found(REDUCTION.replace("BARRIER", "cuda.syncthreads()"), block=128, grid=2) == []


def test_a_reduction_without_barriers_races_between_warps():
    text = REDUCTION.replace("BARRIER", "x = 0")
    at = line(text, "held[t] +=")

    # Thread 32 adds 64 + 32 into held[32] while thread 0 reads it for s = 32.
    assert found(text, block=128) == [
        f"held[32] is stored by thread (32, 0, 0) at line {at} and loaded by thread (0, 0, 0) at line {at} "
        "with no barrier between"
    ]


def test_a_histogram_with_atomics_is_free_of_races():
    text = """
        counts = cuda.shared.array(16, int32)
        t = cuda.threadIdx.x
        if t < 16:
            counts[t] = 0
        cuda.syncthreads()
        cuda.atomic.add(counts, t * 7 % 16, 1)
        cuda.atomic.max(counts, t * 5 % 16, 1)
        cuda.syncthreads()
        if t < 16:
            cuda.atomic.add(out, t, counts[t])
        """

    assert found(text, block=128, grid=4) == []


def test_an_atomic_beside_a_plain_load_races():
    text = """
counts = cuda.shared.array(2, int32)
t = cuda.threadIdx.x
counts[t % 2] = 0
cuda.syncthreads()
cuda.atomic.add(counts, t % 2, 1)
out[t] = counts[0]
"""

    assert found(text, block=64) == [
        f"counts[0] is updated by thread (62, 0, 0) at line {line(text, 'atomic')} and loaded by thread (0, 0, 0) "
        f"at line {line(text, 'out[t]')} with no barrier between"
    ]


def test_a_single_buffer_in_place_of_two_races():
    text = """
held = cuda.shared.array(64, int32)
t = cuda.threadIdx.x
held[t] = t
cuda.syncthreads()
for k in range(5):
    held[t] = held[63 - t]
    cuda.syncthreads()
"""
    at = line(text, "held[63 - t]")

    assert found(text, block=64) == [
        f"held[63] is loaded by thread (0, 0, 0) at line {at} and stored by thread (63, 0, 0) at line {at} "
        "with no barrier between"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "out[t] = held[0]",  # a broadcast
        "out[t] = held[t] + held[63 - t]",
        "held[t] = held[t] + 1\nout[t] = held[t]",  # each thread its own element
        "held[0] = 7",  # the same value by all
        "if t == 3:\n    held[0] = 1\n    held[0] = 2\n    out[0] = held[0]",  # one thread
    ],
)
def test_what_no_order_can_change_is_no_race(text):
    head = "held = cuda.shared.array(64, int32)\nt = cuda.threadIdx.x\nheld[t] = 7\ncuda.syncthreads()\n"

    assert found(head + text, block=64, grid=2) == []


def test_stores_of_different_values_race():
    text = "held = cuda.shared.array(1, int32)\nheld[0] = cuda.threadIdx.x // 32"

    assert found(text, block=96) == [
        f"held[0] is stored by threads (0, 0, 0) and (95, 0, 0) at line {START + 3} with no barrier between"
    ]


def test_a_thread_that_stores_another_value_first_races_with_the_rest():
    text = "held = cuda.shared.array(1, int32)\nif cuda.threadIdx.x == 63:\n    held[0] = 5\nheld[0] = 1"

    assert found(text, block=64) == [
        f"held[0] is stored by thread (63, 0, 0) at line {START + 4} and stored by thread (0, 0, 0) "
        f"at line {START + 5} with no barrier between"
    ]


# -- what ends them


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        # within a warp alone, up a loop
        (
            "held = cuda.shared.array(32, int32)\nt = cuda.threadIdx.x\nx = 0\nfor k in range(3):\n"
            "    held[t] = t + k\n    cuda.syncwarp()\n    x += held[31 - t]",
            f"Put cuda.syncwarp() at the end of the loop of line {START + 5}.",
        ),
        # of nested loops the one that both lines are in
        (
            "held = cuda.shared.array(64, int32)\nt = cuda.threadIdx.x\nx = 0\nfor k in range(3):\n"
            "    held[t] = t + k\n    cuda.syncthreads()\n    for j in range(2):\n        x += held[63 - t]",
            f"Put cuda.syncthreads() at the end of the loop of line {START + 5}.",
        ),
        # a store that the next round loads in the same line
        (REDUCTION.replace("BARRIER", "x = 0"), f"Put cuda.syncthreads() at the end of the loop of line {START + 7}."),
        # down the text
        (REVERSE.replace("BARRIER", "x = 0"), "Put cuda.syncthreads() between them."),
    ],
)
def test_a_barrier_is_advised_where_it_ends_the_race(text, remedy):
    _, (finding,) = body(text, np.zeros(4096, np.int64), block=128 if "128" in text else 64 if "64" in text else 32)
    assert finding.message.partition(". ")[2] == remedy


def test_a_warp_that_races_where_two_do_is_advised_the_barrier_of_both():
    text = """
held = cuda.shared.array(64, int32)
t = cuda.threadIdx.x
held[t] = t
x = held[63 - t]
x += held[t // 32 * 32 + 31 - t % 32]
out[t] = x
"""
    _, findings = body(text, np.zeros(64, np.int64), block=64)
    assert [finding.message.partition(". ")[2] for finding in findings] == ["Put cuda.syncthreads() between them."] * 2
    assert "both of one warp" in findings[1].message


def test_a_site_in_a_device_function_is_named_by_its_own_line():
    text = """
        @cuda.jit(device=True)
        def put(a, i, x):
            a[i] = x
        @cuda.jit
        def kernel(out):
            held = cuda.shared.array(64, int32)
            t = cuda.threadIdx.x
            put(held, t, t)
            out[t] = held[63 - t]
        """
    _, (finding,) = launch_text(text, np.zeros(64, np.int64), block=64)

    assert what(finding) == (
        f"held[63] is stored by thread (63, 0, 0) at line {START + 2} and loaded by thread (0, 0, 0) "
        f"at line {START + 8} with no barrier between"
    )


LONG = """
held = cuda.shared.array(64, int32)
t = cuda.threadIdx.x
held[t] = t
cuda.syncthreads()
for k in range(20):
    out[cuda.grid(1)] = held[(t + k) % 64]
BARRIER
held[t] = 1
"""


@pytest.mark.parametrize("kept", [1 << 22, 200, 1], ids=["in one piece", "in several", "one by one"])
def test_a_long_interval_is_followed_in_pieces(kept, monkeypatch):
    monkeypatch.setattr(hazards, "_KEPT", kept)

    assert found(LONG.replace("BARRIER", "cuda.syncthreads()"), block=64, grid=2) == []
    (message,) = found(LONG.replace("BARRIER", "x = 0"), block=64, grid=2)
    assert f"at line {START + 7} and stored by thread" in message
    assert found(NEIGHBOUR.replace("BARRIER", "cuda.syncwarp()"), block=96) == []
    assert len(found(product(second="x = 0"), block=(16, 16))) == 2
    assert found(product(), block=(16, 16)) == []
    assert len(found(REDUCTION.replace("BARRIER", "x = 0"), block=128)) == 1


def test_what_is_said_of_a_race_is_made_up_once_however_many_there_are(monkeypatch):
    """A kernel of 40 lines that race with each other took minutes when each new race changed what all others say."""
    said = []
    original = Race.facts
    monkeypatch.setattr(Race, "facts", lambda race, **more: said.append(race) or original(race, **more))
    stores = "".join(f"held[(t + {k}) % 64] += {k}\n" for k in range(1, 12))
    _, findings = body(
        f"held = cuda.shared.array(64, int32)\nt = cuda.threadIdx.x\n{stores}", np.zeros(64, np.int64), block=64
    )
    assert len(findings) > 10
    assert len(said) < 4 * len(findings)
