"""What lockstep refuses: launches that no device makes, what goes beyond its limits, and what it does not execute."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.lockstep_text import FILE, START, body, launch_text

from smemviz.engines.lockstep import Limits
from smemviz.errors import LaunchError, UnsupportedError

# -- launches no device would accept

SMALL = "x = 1"


def test_a_launch_that_no_device_accepts_is_refused_before_it_runs():
    for options, text, message in [
        (
            {"block": (33, 32)},
            SMALL,
            "a block of 33 x 32 x 1 has 1056 threads; a device takes 1024. Make the block smaller and the grid larger. "
            'CUDA C++ calls it "invalid configuration argument".',
        ),
        ({"block": (1, 1, 65)}, SMALL, "the block has 65 in z; a device takes 64. Use another axis."),
        ({"grid": (1, 65536)}, SMALL, "the grid has 65536 in y; a device takes 65535. Use another axis."),
        (
            {},
            "tile = cuda.shared.array((64, 100), float64)",
            "the kernel declares 51200 bytes of static shared memory; a block has 49152. "
            "Declare it dynamic (shape 0) and give its bytes in the launch.",
        ),
        (
            {"dynamic": 232449},
            SMALL,
            "0 bytes of static and 232449 of dynamic shared memory are 232449; "
            "compute capability 9.0 has 232448 per block. Make the tile smaller.",
        ),
    ]:
        with pytest.raises(LaunchError) as error:
            body(text, np.zeros(1, np.int64), **options)

        assert str(error.value) == f"{FILE}:99: {message}"


def test_arguments_have_to_be_those_of_a_kernel():
    for given, says in [
        ((np.zeros(1), 3), r"^kernels/mine.py:99: kernel takes 1 argument \(out\); the launch gives 2$"),
        (("text",), "out: a kernel takes arrays, numbers and tuples; str is not one of them"),
        ((None,), r"out: Numba does not pass None to a kernel; pass an array or a number$"),
        ((np.zeros((4, 4))[:, ::2],), "out: the array is not contiguous"),
    ]:
        with pytest.raises(LaunchError, match=says):
            body(SMALL, *given)


# -- limits


def test_a_launch_of_too_many_threads_is_refused():
    with pytest.raises(LaunchError) as error:
        body(SMALL, np.zeros(1), grid=2**31 - 1, block=1024)

    assert error.value.what == (
        "the launch has 2,199,023,254,528 threads; lockstep runs 68,719,476,736 at most. "
        "Make the grid smaller, or run with engine gpu."
    )


def test_an_endless_loop_ends():
    with pytest.raises(UnsupportedError) as error:
        body("while True:\n    out[0] = 1", np.zeros(1, np.int64), limits=Limits(iterations=1000))

    assert str(error.value) == (
        f"{FILE}:{START + 2}: the loops of this launch ran 1,000 iterations in lockstep and this one has not ended; "
        "check its condition, or run with engine gpu"
    )


@pytest.mark.parametrize("block", [1, pytest.param(64, marks=pytest.mark.exhaustive)])
def test_loops_that_end_by_themselves_may_be_long(block):
    """Inside of a loop over a range each ``while`` may take as many iterations as one alone."""
    limits, out = Limits(iterations=1000), np.zeros(1, np.int64)
    body(
        "for k in range(3000):\n    x = k % 7\n    while x > 0:\n        x -= 1\n    out[0] = k",
        out,
        block=block,
        limits=limits,
    )
    assert out == 2999

    with pytest.raises(UnsupportedError, match="ran 1,000 iterations"):
        body(
            "x = 0\nwhile x < 400:\n    x += 1\n    for k in range(3):\n        out[0] = k",
            out,
            block=block,
            limits=limits,
        )
    text = "x = 0\nwhile x < 9:\n    x += 1\nelse:\n    for k in range(3000):\n        out[0] = k"
    body(text, out, block=block, harmless=True, limits=limits)
    with pytest.raises(UnsupportedError, match="ran 1,000 iterations"):
        body("for k in range(3000):\n    out[0] = k", out, block=block, limits=replace(limits, all_loops=True))


def test_arrays_that_need_too_much_memory_are_refused():
    with pytest.raises(LaunchError) as error:
        body("x = cuda.local.array(100000000, float64)", np.zeros(1), limits=Limits(memory_bytes=1 << 20))

    assert str(error.value) == (
        f"{FILE}:99: kernel needs 25,600,000,000 bytes for arrays at once in lockstep, which gives a launch 1,048,576; "
        "make its arrays smaller, or run with engine gpu"
    )


# -- refusals, each with its exact text

ENGINE = "is not executed in lockstep; run with engine gpu"
NUMBA = ": Numba does not compile it for CUDA; compute it otherwise"
NONE = ": Numba does not compile it for CUDA; compute it otherwise"


def test_what_is_not_executed_is_named():
    for text, message in [
        ("x = sorted(out)", "sorted(...): Numba does not compile it for CUDA; write a loop"),
        ("x = [1, 2]", "a list in a kernel is not followed; write a tuple or use cuda.local.array"),
        ("x = f'{1}'", "an f-string in a kernel is not followed; pass the parts to print one by one"),
        (
            "with out: pass",
            "a with statement in a kernel is not followed; Numba does not compile it for CUDA; do it on the host",
        ),
        ("x = cuda.nowhere(1)", f"cuda.nowhere(...){NONE}"),
        ("x = cuda.nowhere.x", f"cuda.nowhere.x {ENGINE}"),
        ("x = out.__class__", f"out.__class__{NONE}"),
        ("x = np.dot(out, out)", "np.dot(out, out) in a kernel is not followed; write a loop"),
        ("x = open('a')", f"open(...){NUMBA}"),
        ("x = eval('1')", f"eval(...){NONE}"),
        ("x = getattr(out, 'base')", f"getattr(...){NONE}"),
        ("x = out + 1", "arithmetic with an array (out + 1): Numba does not compile it for CUDA; write a loop"),
        ("x = math.gcd(1, 2)", f"math.gcd(...){NONE}"),
        ("out[0] = math", f"math{NUMBA}"),
        ("out[0] = cuda.syncthreads", "cuda.syncthreads is a function; write cuda.syncthreads(...)"),
        ("x = out[0.5]", "an index is an integer; out[0.5] has one of float64. Use int(...)."),
        ("x = 1.5 & 2", "Numba has no float64 & int64; convert one side"),
        ("x = ~1.5", "Numba has no ~ on float64; convert the operand"),
        ("x = y", "the name y is not known, in Numba either; define it or import it"),
        ("x = x + 1", "x is read before it is assigned; assign it on every path"),
        ("x = 0x1FFFFFFFFFFFFFFFF", "36893488147419103231 does not fit 64 bits"),
        ("return 3", "a kernel returns nothing; store the result in an array"),
        ("x = abs(1, 2)", "abs takes 1 argument, not 2"),
        ("x = cuda.grid(4)", "cuda.grid(4): the number of axes is 1, 2 or 3"),
        ("cuda.atomic.add(out, 0, 1, 2)", "cuda.atomic.add takes 3 arguments, not 4"),
        ("for k in range(0, 4, 0):\n    pass", "range(0, 4, 0): the step is 0"),
        ("while out:\n    pass", f"an array where a number belongs (while out:){NUMBA}"),
        ("out[0] = None", f"nothing where a number belongs (out[0] = None){NUMBA}"),
        ("x = abs(None)", f"abs of nothing{NUMBA}"),
        ("a, b = 1, 2, 3", "3 values for 2 names"),
        ("a, *b = 1, 2", "assignment to *b is not followed"),
        ("out[0] = 1j", "out[0] holds int64; a complex number does not fit, store .real"),
        ("x = out.reshape(5)", "out of shape (32,) cannot be reshaped to (5,)"),
        ("T[0] = 1", "T is a constant array of the module; pass it as an argument to store in it"),
    ]:
        with pytest.raises(UnsupportedError) as error:
            launch_text(
                "@cuda.jit\ndef kernel(out):\n"
                + "".join(f"    {line}\n" for line in text.splitlines())
                + "T = np.zeros(3)\n",
                np.zeros(32, np.int64),
            )

        assert str(error.value) == f"{FILE}:{START + 2}: {message}"


def test_an_atomic_that_numba_does_not_have_is_named():
    with pytest.raises(UnsupportedError) as error:
        body("cuda.atomic.add(out, 0, 1)", np.zeros(3, np.int8))

    assert error.value.what == (
        "Numba has no cuda.atomic.add on int8; it has float32, float64, int32, int64, uint32, uint64"
    )


def test_one_name_for_two_arrays_is_refused_where_threads_of_both_read_it():
    with pytest.raises(UnsupportedError) as error:
        body(
            """
            first = out
            if cuda.threadIdx.x < 3:
                first = held
            out[0] = first[0]
            """,
            np.zeros(32, np.int64),
            np.zeros(32, np.int64),
            parameters="out, held",
        )

    assert error.value.what == f"first: one name stands for different arrays in different threads {ENGINE}"
