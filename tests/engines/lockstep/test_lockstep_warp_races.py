"""Threads of one warp that touch the same shared memory, and what two accesses have in common: bytes, views, words."""

import numpy as np
import pytest
from helpers.lockstep_text import START, body
from helpers.races_found import NEIGHBOUR, REVERSE, found


def test_warps_that_synchronize_themselves_are_free_of_races():
    assert found(NEIGHBOUR.replace("BARRIER", "cuda.syncwarp()"), block=96, grid=3) == []


def test_the_order_of_instructions_is_no_order_between_lanes():
    text = NEIGHBOUR.replace("BARRIER", "y = 0")

    assert found(text, block=96) == [
        f"held[1] is stored by thread (1, 0, 0) at line {START + 6} and loaded by thread (0, 0, 0) at line "
        f"{START + 8}, both of one warp, with no syncwarp between",
        f"held[1] is loaded by thread (0, 0, 0) at line {START + 8} and stored by thread (1, 0, 0) at line "
        f"{START + 10}, both of one warp, with no syncwarp between",
    ]


def test_a_syncwarp_does_not_order_two_warps():
    text = REVERSE.replace("BARRIER", "cuda.syncwarp()")

    assert found(text, block=64) == [
        f"held[63] is stored by thread (63, 0, 0) at line {START + 4} and loaded by thread (0, 0, 0) "
        f"at line {START + 6} with no barrier between"
    ]


def test_branches_of_one_warp_are_not_ordered_by_running_one_after_the_other():
    text = """
held = cuda.shared.array(32, int32)
t = cuda.threadIdx.x
held[t] = 0
cuda.syncthreads()
if t < 16:
    held[t] = t
    WAIT
else:
    WAIT
    out[t] = held[t - 16]
"""

    assert found(text.replace("WAIT", "cuda.syncwarp()")) == []
    assert found(text.replace("WAIT", "x = 0")) == [
        f"held[0] is stored by thread (0, 0, 0) at line {START + 7} and loaded by thread (16, 0, 0) "
        f"at line {START + 11} with no barrier between"
    ]


@pytest.mark.parametrize(
    ("block", "uses", "barrier"),
    [
        (32, "t", "cuda.syncthreads()"),  # a block may grow
        ((4, 8), "t", "cuda.syncthreads()"),
        (64, "t", "cuda.syncwarp()"),  # each warp has elements of its own, whatever the block
        (32, "cuda.laneid", "cuda.syncwarp()"),
        (32, "t % cuda.warpsize", "cuda.syncwarp()"),
        (32, "cuda.shfl_sync(0xffffffff, t, 0)", "cuda.syncwarp()"),
        (32, "in_function()", "cuda.syncwarp()"),
    ],
)
def test_the_barrier_of_a_warp_is_advised_where_the_kernel_is_one_of_warps(block, uses, barrier):
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


def test_a_syncwarp_that_the_other_thread_does_not_reach_orders_nothing():
    text = """
        held = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        held[t] = 0
        cuda.syncthreads()
        if t < 16:
            held[t] = t
        if t < 8:
            cuda.syncwarp(0xFF)
        if t >= 16:
            out[t] = held[t - 16]
        """

    (message,) = found(text)
    assert "held[0] is stored by thread (0, 0, 0)" in message
    assert message.endswith("loaded by thread (16, 0, 0) at line 17, both of one warp, with no syncwarp between")


def test_two_lanes_that_store_different_values_at_once_race():
    text = "held = cuda.shared.array(16, int32)\nheld[cuda.threadIdx.x // 2] = cuda.threadIdx.x"

    assert found(text) == [
        f"held[0] is stored by threads (0, 0, 0) and (1, 0, 0) at line {START + 3} in one request with different values"
    ]


# -- bytes, blocks, lengths


def test_views_of_dynamic_memory_that_share_bytes_race():
    text = """
words = cuda.shared.array(0, int32)
wide = cuda.shared.array(0, float64)
t = cuda.threadIdx.x
words[t] = t
out[t] = wide[31 - t // 2]
"""

    # wide[31] lies on words[62] and words[63].
    assert found(text, block=64, dynamic=256) == [
        f"wide[31] is stored by thread (62, 0, 0) at line {START + 5} and loaded by thread (0, 0, 0) "
        f"at line {START + 6} with no barrier between"
    ]


def test_bytes_of_one_word_do_not_race():
    text = """
        held = cuda.shared.array(64, uint8)
        t = cuda.threadIdx.x
        held[t] = t
        out[t] = held[t]
        """

    assert found(text, block=64) == []


def test_complex_elements_of_sixteen_bytes_race_like_others():
    text = """
        held = cuda.shared.array(64, complex128)
        t = cuda.threadIdx.x
        held[t] = t * 1j
        out[t] = int(held[63 - t].imag)
        """

    (message,) = found(text, block=64)
    assert message.startswith("held[63] is stored by thread (63, 0, 0)")


def test_a_block_whose_last_warp_is_part_of_one_is_followed():
    text = """
        held = cuda.shared.array(40, int32)
        t = cuda.threadIdx.x
        held[t] = t
        BARRIER
        out[t] = held[39 - t]
        """

    assert found(text.replace("BARRIER", "cuda.syncthreads()"), block=40, grid=3) == []
    (message,) = found(text.replace("BARRIER", "x = 0"), block=40, grid=3)
    assert message.startswith("held[39] is stored by thread (39, 0, 0)")
