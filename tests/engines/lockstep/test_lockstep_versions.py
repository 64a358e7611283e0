"""A variable that is assigned several types has the types that Numba gives it, taken branches or not."""

import numba
import numpy as np
import pytest
from helpers.lockstep_text import launch_text, result
from helpers.typed_expressions import inputs
from helpers.typed_programs import RESULTS, TYPES, function, kernel, program
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

N = 32


def arrays(seed):
    return [np.clip(inputs(seed)[name][:N], -1000, 1000).astype(name) for name in TYPES]


def differing(seed):
    """Return the results of a program that lockstep computes otherwise than Numba."""
    lines, given = program(seed), arrays(seed)
    scope = {"float32": numba.float32}
    exec(function(lines), scope)
    compiled = numba.njit(error_model="numpy")(scope["f"])
    with np.errstate(all="ignore"):
        wanted = np.array([compiled(*given, i, 2) for i in range(N)]).T
    out = np.zeros((len(RESULTS), N))
    launch_text(kernel(lines), *given, 2, out)
    same = (out == wanted) | (np.isnan(out) & np.isnan(wanted))
    wrong = [f"{RESULTS[k]}: {out[k]} for {wanted[k]}" for k in np.flatnonzero(~same.all(axis=1))]
    return [*lines, *wrong] if wrong else []


@pytest.mark.exhaustive
@settings(deadline=None, max_examples=25, phases=[Phase.generate])  # a smaller seed is no smaller program
@given(st.integers(0, 2**32))
def test_random_programs_give_what_numba_gives(seed):
    assert "\n".join(differing(seed)) == ""


def text_of(lines):
    return "i = cuda.threadIdx.x\n" + lines + "\nout[i] = (x + 9007199254740993) - 9007199254740992"


# What the last line leaves of an integer 2, and of a float64, which has not the digits of the sum.
INTEGER, FLOAT = 3, 2


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ("x = 2\nif i > 99:\n    x = 2.5", FLOAT),
        ("x = 2\nif i > 99:\n    x = 3", INTEGER),
        ("x = 2.5\nif i >= 0:\n    x = 2", FLOAT),
        ("x = 2.5\nx = 2", INTEGER),
        ("x = 2.5\nif i < 99:\n    x = 2\n    out[x - 2 + i] = 0\nelse:\n    x = 2", INTEGER),
        ("x = 2\nfor k in range(0):\n    x += 0.5", FLOAT),
        ("x = 2\nwhile i < 0:\n    if i < -1:\n        x = 0.5\n        break\n    x = 2", FLOAT),
        ("x = 2\nfor k in range(1):\n    if i > 99:\n        x = 0.5\n        continue\n    x = 2", FLOAT),
        ("x = 2\nif False:\n    x = 2.5", INTEGER),  # a branch that Numba leaves out
        ("x = 2\nif i > 99:\n    x = 2.5\n    return", INTEGER),
        ("x = 2\nif i > 99:\n    (x, y), z = (2.5, 1), 1", FLOAT),
        ("x = 2 if cuda.blockDim.x == 32 else 2.5", FLOAT),
        ("x = cuda.blockDim.x and 2.0 or 1", FLOAT),
        ("x = uint64(2) if (i > 99 and False) else 2", INTEGER),
        ("x = (2, 2)\nif cuda.blockDim.x > 32:\n    x = (2.5, 1)\nx = x[0]", FLOAT),
        ("x = (2, 2)\nif cuda.blockDim.x > 32:\n    x = (2.5, 1)\nx = x[1]", INTEGER),
    ],
)
def test_a_variable_has_the_type_of_all_that_may_arrive(lines, left):
    assert set(result(text_of(lines), "float64")) == {left}


def test_a_function_returns_the_type_of_all_its_returns():
    helper = "@cuda.jit(device=True)\ndef two(n):\n    if n > 99:\n        return 2.5\n    return 2\n\n"
    assert set(result(text_of("x = two(cuda.blockDim.x)"), "float64", before=helper)) == {FLOAT}


def test_what_the_branch_of_an_unknown_construct_assigns_stays_as_it_is():
    assert set(result(text_of("x = 2\nif i > 99:\n    x = [1.5][0]"), "float64")) == {INTEGER}


@pytest.mark.parametrize(
    "given", ["rows[cuda.threadIdx.x], 1", "rows[0, cuda.threadIdx.x % 2 :], cuda.threadIdx.x % 2"]
)
def test_a_function_is_gone_through_with_what_several_warps_give_it(given):
    text = f"""
    @cuda.jit(device=True)
    def total(row, first):
        acc = 0
        for k in range(first, len(row)):
            acc += row[k] * first
        return acc

    @cuda.jit
    def kernel(rows, out):
        i = cuda.threadIdx.x
        out[i] = total({given})
    """
    out = np.zeros(128)
    launch_text(text, np.ones((128, 3)), out, block=128)
    threads = np.arange(128)
    wanted = np.full(128, 2.0) if "0, " not in given else np.where(threads % 2, 1.0, 0.0)
    np.testing.assert_array_equal(out, wanted)
