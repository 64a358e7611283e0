"""What the threads of a warp tell each other, against the definitions in the CUDA programming guide."""

import numpy as np
import pytest
from helpers.lockstep_text import PLACE, START, body, result

from smemviz.engines.lockstep.python.functions.warp import CALLS
from smemviz.errors import UnsupportedError

LANES = np.arange(32)
FULL = "0xFFFFFFFF"
VALUES = np.array([3, 7, 3, 3, -1, 7, 0, 2] * 8, np.int64) << 33  # differs in the upper 32 bits only


def shuffled(call, dtype="int64"):
    return result(f"out[cuda.grid(1)] = {call}", dtype=dtype, block=64, n=64).reshape(2, 32)


def test_shuffle_gives_the_value_of_the_lane_it_names():
    for call, source in [
        (f"cuda.shfl_sync({FULL}, cuda.grid(1), 5)", np.full(32, 5)),
        (f"cuda.shfl_sync({FULL}, cuda.grid(1), 37)", np.full(32, 5)),  # the lane is taken modulo 32
        (f"cuda.shfl_sync({FULL}, cuda.grid(1), cuda.laneid // 4)", LANES // 4),
        (f"cuda.shfl_up_sync({FULL}, cuda.grid(1), 4)", np.where(LANES < 4, LANES, LANES - 4)),
        (f"cuda.shfl_down_sync({FULL}, cuda.grid(1), 4)", np.where(LANES > 27, LANES, LANES + 4)),
        (f"cuda.shfl_xor_sync({FULL}, cuda.grid(1), 16)", LANES ^ 16),
        ("cuda.shfl_xor_sync(-1, cuda.grid(1), 1)", LANES ^ 1),
    ]:
        assert shuffled(call).tolist() == [source.tolist(), (source + 32).tolist()]


def test_shuffle_keeps_the_type():
    assert (shuffled(f"cuda.shfl_sync({FULL}, float32(1 / 3), 0) * int8(3) == 1", "bool")).all()
    assert (shuffled(f"cuda.shfl_sync({FULL}, int32(cuda.laneid) << 31, 31)") == 31 << 31).all()


def test_butterfly_of_shuffles_sums_a_warp():
    text = f"""
    total = float32(cuda.threadIdx.x)
    k = 16
    while k > 0:
        total += cuda.shfl_xor_sync({FULL}, total, k)
        k //= 2
    out[cuda.threadIdx.x] = total
    """
    assert result(text, dtype="float32", block=64, n=64).tolist() == [496.0] * 32 + [1520.0] * 32


def test_shuffle_refuses_the_types_that_numba_refuses():
    for kind in ["uint32", "float16", "boolean", "uint64", "int16"]:
        with pytest.raises(UnsupportedError, match=r"int32, int64, float32 and float64 only"):
            result(f"out[0] = cuda.shfl_sync({FULL}, {kind}(cuda.laneid), 0)")


def test_votes_of_a_whole_warp():
    for call, wanted in [
        (f"cuda.ballot_sync({FULL}, cuda.laneid % 2)", 0xAAAAAAAA - 2**32),
        (f"cuda.ballot_sync({FULL}, cuda.laneid < 31)", 0x7FFFFFFF),
        (f"cuda.ballot_sync({FULL}, True)", -1),
        ("cuda.ballot_sync(0xFF, cuda.laneid > 3)", 0xF0),
        (f"cuda.all_sync({FULL}, cuda.laneid < 32)", 1),
        (f"cuda.all_sync({FULL}, cuda.laneid < 31)", 0),
        ("cuda.all_sync(0x7FFFFFFF, cuda.laneid < 31)", 1),
        (f"cuda.any_sync({FULL}, cuda.laneid == 7)", 1),
        (f"cuda.any_sync({FULL}, 0)", 0),
        (f"cuda.eq_sync({FULL}, cuda.laneid == 7)", 0),
        (f"cuda.eq_sync({FULL}, 5)", 1),
        ("cuda.eq_sync(0xF, cuda.laneid > 3)", 1),
        ("cuda.activemask()", 2**32 - 1),
        (f"cuda.match_all_sync({FULL}, 1)[0]", -1),
        (f"cuda.match_all_sync({FULL}, cuda.laneid // 31)[0]", 0),
        (f"cuda.match_all_sync({FULL}, cuda.laneid // 31)[1]", 0),
    ]:
        assert (shuffled(call) == wanted).all()


def test_match_any_groups_lanes_of_equal_value_in_all_64_bits():
    out = np.zeros(64, np.int64)
    body(f"out[cuda.grid(1)] = cuda.match_any_sync({FULL}, given[cuda.grid(1)])", out, VALUES,
         parameters="out, given", block=64)  # fmt: skip
    wanted = [sum(1 << k for k in range(32) if VALUES[k] == VALUES[lane]) for lane in range(32)]
    signed = np.array(wanted, np.uint32).astype(np.int32)
    assert out.reshape(2, 32).tolist() == [signed.tolist()] * 2


def test_match_any_tells_minus_zero_from_zero_and_nan_by_their_bits():
    text = f"out[cuda.laneid] = cuda.match_any_sync({FULL}, math.nan if cuda.laneid > 1 else -0.0 * cuda.laneid + 0.0)"
    assert result(text).tolist() == [3, 3] + [-4] * 30
    text = f"out[cuda.laneid] = cuda.match_any_sync({FULL}, math.copysign(0.0, cuda.laneid - 1))"
    assert result(text).tolist() == [1] + [-2] * 31


def test_votes_in_branches_see_the_lanes_that_are_there():
    """numba-cuda's own test_independent_scheduling."""
    text = """
    i = cuda.threadIdx.x
    if i % 4 == 0:
        ballot = cuda.ballot_sync(0x11111111, True)
    elif i % 4 == 1:
        ballot = cuda.ballot_sync(0x22222222, True)
    elif i % 4 == 2:
        ballot = cuda.ballot_sync(0x44444444, True)
    else:
        ballot = cuda.ballot_sync(0x88888888, cuda.activemask() == 0x88888888)
    out[i] = ballot
    """
    assert result(text).tolist() == [0x11111111, 0x22222222, 0x44444444, 0x88888888 - 2**32] * 8


def test_lanes_below():
    assert shuffled("cuda.lanemask_lt()", "uint32")[0].tolist() == [(1 << k) - 1 for k in range(32)]


def test_lanes_that_returned_are_not_waited_for_and_those_that_are_elsewhere_are_a_finding():
    text = f"if cuda.laneid >= 8:\n    return\nout[cuda.laneid] = cuda.ballot_sync({FULL}, True)"
    assert result(text)[:8].tolist() == [255] * 8
    one = ("all", "any", "eq", "ballot", "match_any", "match_all")
    for call in [name for name in CALLS if "threads" not in name and name.endswith(("sync", "warp"))]:
        operands = "" if "syncwarp" in call else ", 1" if call[5:-5] in one else ", 1, 1"
        _, (found,) = body(f"if cuda.laneid < 8:\n    {call}({FULL}{operands})", np.zeros(1), block=40)
        assert (found.kind, found.line) == ("barrier_divergence", START + 3)
        assert found.threads == tuple((x, 0, 0) for x in range(8))
        assert found.message == f"{call} waits for the 32 lanes of mask 0xffffffff, of which 24 are elsewhere"


def test_barriers_that_count_threads_of_a_block():
    """A block of 100 threads: what is no thread takes no part."""
    for call, wanted in [
        ("syncthreads_count(cuda.threadIdx.x % 3)", [66, 66]),
        ("syncthreads_and(cuda.threadIdx.x + 1)", [1, 1]),
        ("syncthreads_and(cuda.grid(1))", [0, 1]),
        ("syncthreads_or(cuda.blockIdx.x)", [0, 1]),
        ("syncthreads_count(cuda.blockIdx.x << 32)", [0, 0]),  # only 32 bits are looked at
    ]:
        out = result(f"out[cuda.grid(1)] = cuda.{call}", grid=2, block=100, n=200)
        assert out.reshape(2, 100).tolist() == [[one] * 100 for one in wanted]


def test_counting_barrier_takes_no_boolean():
    with pytest.raises(UnsupportedError) as error:
        result("out[0] = cuda.syncthreads_or(cuda.threadIdx.x > 3)")
    assert error.value.what == "Numba has no cuda.syncthreads_or of bool; convert an argument"
    assert (error.value.file, error.value.line) == (PLACE[0], START + 2)
