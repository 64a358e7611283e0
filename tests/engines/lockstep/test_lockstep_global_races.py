"""Threads that touch the same global memory in one launch with nothing that orders them."""

import numpy as np
import pytest
from helpers.lockstep_text import START, body
from hypothesis import given
from hypothesis import strategies as st

from smemviz.engines.lockstep import Limits

FIRST = START + 2  # the line of a body's first statement
IN_BATCHES = pytest.mark.parametrize("threads", [1 << 15, 64], ids=["one batch", "many batches"])


def found(text, n=4096, **options):
    """Return the messages of a body's races in ``out``; it has no other finding."""
    _, findings = body(text, np.zeros(n, np.int64), **options)
    assert {finding.kind for finding in findings} <= {"race"}
    return [finding.message for finding in findings]


# -- updates without an atomic


@IN_BATCHES
def test_a_counter_without_an_atomic_races(threads):
    _, (finding,) = body("out[0] += 2", np.zeros(1, np.int64), grid=4, block=64, limits=Limits(threads_at_once=threads))

    assert (finding.kind, finding.kernel, finding.line) == ("race", "kernel", FIRST)
    assert finding.message.endswith(
        f" at line {FIRST}, and one of the two results is lost. Use cuda.atomic.add(out, 0, 2)."
    )


def test_a_counter_of_one_warp_races_too():
    assert found("out[0] += 1") == [
        f"out[0] is loaded by thread (0, 0, 0) at line {FIRST} and stored by thread (1, 0, 0) at line {FIRST}, "
        "and one of the two results is lost. Use cuda.atomic.add(out, 0, 1)."
    ]


def test_the_atomic_that_helps_is_named():
    for text, fix in [
        ("out[cuda.laneid // 2] -= 1", "Use cuda.atomic.sub(out, cuda.laneid // 2, 1)."),
        ("out[0] |= cuda.laneid", "Use cuda.atomic.or_(out, 0, cuda.laneid)."),
        ("out[0] = out[0] + 1", "Use cuda.atomic."),
        ("out[0] *= 2", "Use cuda.atomic."),
    ]:
        (message,) = found(text)
        assert message.endswith(fix)


def test_an_index_of_two_axes_is_named_as_a_tuple():
    _, (finding,) = body("out[0, 1] += 1", np.zeros((2, 2), np.int64))
    assert finding.message.endswith("Use cuda.atomic.add(out, (0, 1), 1).")


def test_atomics_and_elements_of_ones_own_do_not_race():
    for text in [
        "cuda.atomic.add(out, 0, 1)",
        "cuda.atomic.add(out, cuda.threadIdx.x % 7, 1)\ncuda.atomic.max(out, 3, 5)",
        "out[cuda.grid(1)] += 1\nout[cuda.grid(1)] += 1",
        "if cuda.grid(1) == 0:\n    out[0] += 1\n    out[0] += 1",
    ]:
        assert found(text, grid=4, block=64) == []


# -- two blocks


@IN_BATCHES
def test_two_blocks_that_store_different_values_race(threads):
    text = "out[cuda.threadIdx.x] = cuda.blockIdx.x"
    (message,) = found(text, grid=3, block=64, limits=Limits(threads_at_once=threads))

    assert message == (
        "out[0] is stored by thread (0, 0, 0) of block (0, 0, 0) and thread (0, 0, 0) of block (1, 0, 0) "
        f"at line {FIRST}; nothing orders the blocks of a launch. Let one thread do it, or use cuda.atomic."
    )


@IN_BATCHES
def test_a_stencil_in_place_races_between_blocks(threads):
    text = "i = cuda.grid(1)\nx = out[i + 1]\ncuda.syncthreads()\nout[i] = x"
    (message,) = found(text, grid=3, block=64, limits=Limits(threads_at_once=threads))

    assert message.endswith(
        "; nothing orders the blocks of a launch. "
        "Make it two launches, or order them with cuda.threadfence() and an atomic."
    )
    assert f"at line {FIRST + 1}" in message
    assert f"at line {FIRST + 3}" in message


def test_two_names_of_one_array_are_one_array_and_two_arrays_do_not_race():
    one, other = np.zeros(256), np.zeros(256)
    text = "i = cuda.grid(1)\nif 0 < i < 255:\n    out[i] = data[i - 1] + data[i + 1]"
    for data, kinds in [(one, {"race"}), (other, set())]:
        _, findings = body(text, one, data, parameters="out, data", grid=4, block=64)
        assert {finding.kind for finding in findings} == kinds


def test_launches_are_ordered():
    out = np.zeros(64, np.int64)
    for _ in range(2):
        _, findings = body("out[63 - cuda.grid(1)] = out[63 - cuda.grid(1)] + 1", out, grid=2)
        assert findings == ()


def test_the_load_that_races_is_named_and_not_a_later_one_of_the_same_element():
    text = "i = cuda.grid(1)\nx = 0\nfor k in range(64):\n    x += out[k]\nout[i] += x"
    (message,) = found(text, 64, block=64)
    assert f"at line {FIRST + 3} and stored by" in message
    assert message.endswith("Put cuda.syncthreads() between them.")


# -- the threads of a block


def test_threads_of_a_block_are_ordered_by_a_barrier():
    text = "t = cuda.threadIdx.x\nout[t] = t\nBARRIER\nx = out[63 - t]"
    assert found(text.replace("BARRIER", "cuda.syncthreads()"), block=64) == []
    assert found(text.replace("BARRIER", "y = 1"), block=64) == [
        f"out[63] is stored by thread (63, 0, 0) at line {FIRST + 1} and loaded by thread (0, 0, 0) "
        f"at line {FIRST + 3} with no barrier between. Put cuda.syncthreads() between them."
    ]


def test_threads_of_a_warp_are_ordered_by_syncwarp():
    text = "t = cuda.threadIdx.x\nout[t] = t\nBARRIER\nx = out[t ^ 1]"
    assert found(text.replace("BARRIER", "cuda.syncwarp()"), block=64) == []
    (message,) = found(text.replace("BARRIER", "y = 1"), block=64)
    assert message.endswith("both of one warp, with no syncwarp between. Put cuda.syncwarp() between them.")


def test_lanes_that_store_different_values_in_one_request_race():
    (message,) = found("out[0] = cuda.laneid")
    assert message == (
        f"out[0] is stored by threads (0, 0, 0) and (1, 0, 0) at line {FIRST} in one request with different values. "
        "Let one thread do it, or use cuda.atomic."
    )


def test_an_atomic_and_a_plain_access_of_one_element_race():
    (message,) = found("cuda.atomic.add(out, 0, 1)\nout[1 + cuda.grid(1)] = out[0]", grid=2, block=64)
    assert f"at line {FIRST} and loaded by" in message


def test_elements_of_different_widths_that_share_bytes_race():
    text = "t = cuda.threadIdx.x\nif t == 0:\n    out[0] = 1\nelif t == 32:\n    out.view(np.int32)[1] = 7"
    assert len(found(text, block=64)) == 1


# -- what is no race


@IN_BATCHES
def test_blocks_that_store_the_same_value_do_no_harm(threads):
    options = {"grid": 3, "block": 64, "limits": Limits(threads_at_once=threads), "harmless": True}
    _, (finding,) = body("out[0] = 1", np.zeros(4, np.int64), **options)

    assert (finding.kind, finding.line, finding.harmless) == ("benign_race", FIRST, True)
    assert finding.message.startswith("out[0] is stored by thread")
    assert finding.message.endswith("the same value: it does no harm that nothing orders them.")

    _, findings = body("out[0] = 1\nout[0] = 2", np.zeros(4, np.int64), **options)
    assert "race" in {finding.kind for finding in findings}


def test_a_frontier_that_several_threads_reach_does_no_harm():
    text = "i = cuda.grid(1)\nif data[i] == 1:\n    out[i // 3] = 2"
    options = {"parameters": "out, data", "grid": 2, "block": 64, "harmless": True}
    _, findings = body(text, np.zeros(64, np.int64), np.ones(128, np.int64), **options)
    assert {finding.kind for finding in findings} == {"benign_race"}


def test_a_thread_may_load_what_it_stored_with_others():
    assert found("out[0] = 1\nx = out[0]") == []
    assert len(found("if cuda.laneid > 3:\n    out[0] = 1\nx = out[0]")) == 1


LAST_BLOCK = """
last = cuda.shared.array(1, int32)
t = cuda.threadIdx.x
if t == 0:
    out[1 + cuda.blockIdx.x] = cuda.blockIdx.x
    FENCE
    last[0] = cuda.atomic.add(out, 0, 1)
cuda.syncthreads()
if last[0] == cuda.gridDim.x - 1:
    total = 0
    for k in range(cuda.gridDim.x):
        total += out[1 + k]
    out[100 + t] = total
"""


@IN_BATCHES
def test_the_last_block_may_add_up_what_all_stored_before_a_fence_and_an_atomic(threads):
    limits = Limits(threads_at_once=threads)
    out = np.zeros(200, np.int64)
    _, findings = body(LAST_BLOCK.replace("FENCE", "cuda.threadfence()"), out, grid=9, limits=limits)
    assert findings == ()
    assert out[100] == sum(range(9))

    (message,) = found(LAST_BLOCK.replace("FENCE", "x = 1"), grid=9, limits=limits)
    assert "out[1] is stored by thread (0, 0, 0) of block (0, 0, 0)" in message
    assert message.endswith("or order them with cuda.threadfence() and an atomic.")
    (message,) = found(LAST_BLOCK.replace("FENCE", "cuda.threadfence_block()"), grid=9, limits=limits)


def test_a_barrier_of_the_grid_orders_its_blocks():
    text = """
    i = cuda.grid(1)
    for k in range(3):
        out[i] = k
        GRID
        x = out[(i + 64) % 256]
        GRID
    """
    assert found(text.replace("GRID", "cuda.cg.this_grid().sync()"), grid=4, block=64) == []
    assert len(found(text.replace("GRID", "cuda.syncthreads()"), grid=4, block=64)) == 1


# -- random kernels: phases with a barrier between each two


PHASES = st.lists(
    st.tuples(st.sampled_from(["store", "load", "add"]), st.integers(0, 95), st.sampled_from([1, 5, 7])),
    min_size=2,
    max_size=6,
)


def phased(phases, without=None):
    """Write phases as source: in each a thread goes to one element, by a permutation of its own."""
    lines = ["t = cuda.threadIdx.x", "x = 0"]
    for number, (kind, shift, factor) in enumerate(phases):
        at = f"(t * {factor} + {shift}) % 96"
        does = {"load": f"x += out[{at}]", "store": f"out[{at}] = 1000 * {number} + t"}
        lines.append(does.get(kind, f"cuda.atomic.add(out, {at}, 1)"))
        if number != without:
            lines.append("cuda.syncthreads()")
    return "\n".join(lines)


def races_without(phases, missing):
    """Tell whether two phases with no barrier between race: threads of other places, one that stores."""
    (kind, shift, factor), (other, by, step) = phases[missing : missing + 2]
    if "store" not in (kind, other) and {kind, other} != {"load", "add"}:
        return False
    apart = [((t * factor + shift) % 96, t) for t in range(96)]
    there = {(t * step + by) % 96: t for t in range(96)}
    return any(there[element] != t for element, t in apart)


@given(PHASES, st.integers(0, 4))
def test_phases_race_where_a_barrier_that_matters_is_missing(phases, missing):
    missing = min(missing, len(phases) - 2)

    assert found(phased(phases), block=96) == []
    assert bool(found(phased(phases, missing), block=96)) == races_without(phases, missing)
