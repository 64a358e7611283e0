"""Threads of a block, or of a warp, that touch the same shared memory with nothing that orders them."""

import numpy as np
import pytest
from helpers.lockstep_text import HEAD, START, body, launch_text, what
from helpers.races_found import NEIGHBOUR, REVERSE, found

from smemviz.engines.lockstep import Limits
from smemviz.engines.lockstep.hazards import hazards
from smemviz.engines.lockstep.hazards.findings import Race


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


# What is said of each is of the lines of the file that end in these comments.
NO_BARRIER = "with no barrier between"
NO_SYNCWARP = "both of one warp, with no syncwarp between"
HEAD_OF = "held = cuda.shared.array(64, int32)\nt = cuda.threadIdx.x\n"
RACES = {
    "every thread adds to one element": (
        "held = cuda.shared.array(1, int32)\nheld[0] = 0\ncuda.syncthreads()\nheld[0] += 1  # A",
        {"block": 64},
        f"held[0] is loaded by thread (0, 0, 0) at line A and stored by thread (63, 0, 0) at line A {NO_BARRIER}",
    ),
    "a reduction without barriers": (  # thread 32 adds 64 + 32 into held[32] while thread 0 reads it for s = 32
        REDUCTION.replace("BARRIER", "x = 0").replace("held[t + s]", "held[t + s]  # A"),
        {"block": 128},
        f"held[32] is stored by thread (32, 0, 0) at line A and loaded by thread (0, 0, 0) at line A {NO_BARRIER}",
    ),
    "an atomic beside a plain load": (
        f"{HEAD_OF}held[t % 2] = 0\ncuda.syncthreads()\ncuda.atomic.add(held, t % 2, 1)  # A\nout[t] = held[0]  # B",
        {"block": 64},
        f"held[0] is updated by thread (62, 0, 0) at line A and loaded by thread (0, 0, 0) at line B {NO_BARRIER}",
    ),
    "a single buffer in place of two": (
        f"{HEAD_OF}held[t] = t\ncuda.syncthreads()\n"
        "for k in range(5):\n    held[t] = held[63 - t]  # A\n    cuda.syncthreads()",
        {"block": 64},
        f"held[63] is loaded by thread (0, 0, 0) at line A and stored by thread (63, 0, 0) at line A {NO_BARRIER}",
    ),
    "stores of different values": (
        f"{HEAD_OF}held[0] = t // 32  # A",
        {"block": 96},
        f"held[0] is stored by threads (0, 0, 0) and (95, 0, 0) at line A {NO_BARRIER}",
    ),
    "another value first": (
        f"{HEAD_OF}if t == 63:\n    held[0] = 5  # A\nheld[0] = 1  # B",
        {"block": 64},
        f"held[0] is stored by thread (63, 0, 0) at line A and stored by thread (0, 0, 0) at line B {NO_BARRIER}",
    ),
    "a syncwarp between two warps": (
        f"{HEAD_OF}held[t] = t  # A\ncuda.syncwarp()\nout[t] = held[63 - t]  # B",
        {"block": 64},
        f"held[63] is stored by thread (63, 0, 0) at line A and loaded by thread (0, 0, 0) at line B {NO_BARRIER}",
    ),
    "branches of one warp": (
        f"{HEAD_OF}held[t] = 0\ncuda.syncthreads()\nif t < 16:\n    held[t] = t  # A\n"
        "else:\n    out[t] = held[t - 16]  # B",
        {},
        f"held[0] is stored by thread (0, 0, 0) at line A and loaded by thread (16, 0, 0) at line B {NO_BARRIER}",
    ),
    "a syncwarp that the other thread does not reach": (
        f"{HEAD_OF}held[t] = 0\ncuda.syncthreads()\nif t < 16:\n    held[t] = t  # A\n"
        "if t < 8:\n    cuda.syncwarp(0xFF)\nif t >= 16:\n    out[t] = held[t - 16]  # B",
        {},
        f"held[0] is stored by thread (0, 0, 0) at line A and loaded by thread (16, 0, 0) at line B, {NO_SYNCWARP}",
    ),
    "two lanes store different values at once": (
        f"{HEAD_OF}held[t // 2] = t  # A",
        {},
        "held[0] is stored by threads (0, 0, 0) and (1, 0, 0) at line A in one request with different values",
    ),
    "views of dynamic memory that share bytes": (  # wide[31] lies on words[62] and words[63]
        "words = cuda.shared.array(0, int32)\nwide = cuda.shared.array(0, float64)\nt = cuda.threadIdx.x\n"
        "words[t] = t  # A\nout[t] = wide[31 - t // 2]  # B",
        {"block": 64, "dynamic": 256},
        f"wide[31] is stored by thread (62, 0, 0) at line A and loaded by thread (0, 0, 0) at line B {NO_BARRIER}",
    ),
    "complex elements of sixteen bytes": (
        "held = cuda.shared.array(64, complex128)\nt = cuda.threadIdx.x\n"
        "held[t] = t * 1j  # A\nout[t] = int(held[63 - t].imag)  # B",
        {"block": 64},
        f"held[63] is stored by thread (63, 0, 0) at line A and loaded by thread (0, 0, 0) at line B {NO_BARRIER}",
    ),
    "a last warp that is part of one": (
        f"{HEAD_OF}held[t] = t  # A\nout[t] = held[39 - t]  # B",
        {"block": 40, "grid": 3},
        f"held[39] is stored by thread (39, 0, 0) at line A and loaded by thread (0, 0, 0) at line B {NO_BARRIER}",
    ),
}
ORDERED = {
    "a reverse": (REVERSE.replace("BARRIER", "cuda.syncthreads()"), {"grid": 3, "block": 64}),
    "a tiled product with both barriers": (product(), {"grid": (2, 2), "block": (16, 16)}),
    "a reduction": (REDUCTION.replace("BARRIER", "cuda.syncthreads()"), {"block": 128, "grid": 2}),
    "a histogram with atomics": (
        "counts = cuda.shared.array(16, int32)\nt = cuda.threadIdx.x\nif t < 16:\n    counts[t] = 0\n"
        "cuda.syncthreads()\n"
        "cuda.atomic.add(counts, t * 7 % 16, 1)\ncuda.atomic.max(counts, t * 5 % 16, 1)\ncuda.syncthreads()\n"
        "if t < 16:\n    cuda.atomic.add(out, t, counts[t])",
        {"block": 128, "grid": 4},
    ),
    "warps that synchronize themselves": (NEIGHBOUR.replace("BARRIER", "cuda.syncwarp()"), {"block": 96, "grid": 3}),
    "branches of one warp that meet in a syncwarp": (
        f"{HEAD_OF}held[t] = 0\ncuda.syncthreads()\nif t < 16:\n    held[t] = t\n    cuda.syncwarp()\n"
        "else:\n    cuda.syncwarp()\n    out[t] = held[t - 16]",
        {},
    ),
    "bytes of one word": (
        "held = cuda.shared.array(64, uint8)\nt = cuda.threadIdx.x\nheld[t] = t\nout[t] = held[t]",
        {"block": 64},
    ),
    "a last warp that is part of one": (
        f"{HEAD_OF}held[t] = t\ncuda.syncthreads()\nout[t] = held[39 - t]",
        {"block": 40, "grid": 3},
    ),
}


def test_a_race_is_named_with_its_threads_and_lines():
    for text, options, message in RACES.values():
        lines = text.strip("\n").splitlines()
        for mark in "AB":
            at = [START + 2 + number for number, one in enumerate(lines) if one.endswith(f"# {mark}")]
            message = message.replace(f"line {mark}", f"line {at[0]}") if at else message
        assert found(text, **options) == [message]


def test_what_is_ordered_does_not_race():
    for text, options in ORDERED.values():
        assert found(text, **options) == []


def test_what_no_order_can_change_is_no_race():
    for text in [
        "out[t] = held[0]",  # a broadcast
        "out[t] = held[t] + held[63 - t]",
        "held[t] = held[t] + 1\nout[t] = held[t]",  # each thread its own element
        "held[0] = 7",  # the same value by all
        "if t == 3:\n    held[0] = 1\n    held[0] = 2\n    out[0] = held[0]",  # one thread
    ]:
        head = "held = cuda.shared.array(64, int32)\nt = cuda.threadIdx.x\nheld[t] = 7\ncuda.syncthreads()\n"

        assert found(head + text, block=64, grid=2) == []


# -- what ends them


def test_a_barrier_is_advised_where_it_ends_the_race():
    for text, remedy in [
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
    ]:
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


def test_the_order_of_instructions_is_no_order_between_lanes():
    text = NEIGHBOUR.replace("BARRIER", "y = 0")

    assert found(text, block=96) == [
        f"held[1] is stored by thread (1, 0, 0) at line {START + 6} and loaded by thread (0, 0, 0) at line "
        f"{START + 8}, both of one warp, with no syncwarp between",
        f"held[1] is loaded by thread (0, 0, 0) at line {START + 8} and stored by thread (1, 0, 0) at line "
        f"{START + 10}, both of one warp, with no syncwarp between",
    ]


def test_the_barrier_of_a_warp_is_advised_where_the_kernel_is_one_of_warps():
    for block, uses, barrier in [
        (32, "t", "cuda.syncthreads()"),  # a block may grow
        ((4, 8), "t", "cuda.syncthreads()"),
        (64, "t", "cuda.syncwarp()"),  # each warp has elements of its own, whatever the block
        (32, "cuda.laneid", "cuda.syncwarp()"),
        (32, "t % cuda.warpsize", "cuda.syncwarp()"),
        (32, "cuda.shfl_sync(0xffffffff, t, 0)", "cuda.syncwarp()"),
        (32, "in_function()", "cuda.syncwarp()"),
    ]:
        before = "@cuda.jit(device=True)\ndef in_function():\n    return cuda.laneid\n"
        text = f"""
        held = cuda.shared.array(128, int32)
        t = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x
        out[t] = {uses}
        held[t] = t
        out[t] = held[t ^ 1]
    """
        _, (finding,) = body(text, np.zeros(64, np.int64), before=before, block=block)
        between = "both of one warp, with no syncwarp between" if "warp" in barrier else "with no barrier between"
        assert finding.message.endswith(f"{between}. Put {barrier} between them.")
