"""Random typed expressions give in lockstep what functions compiled by Numba give, bit by bit."""

import math
import textwrap

import numba
import numpy as np
import pytest
from helpers.lockstep_text import launch_text, result
from helpers.typed_expressions import ELEMENTS, Expression, expressions, function_text, inputs, kernel_text
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

TOGETHER = 40


def compiled(made, arrays):
    """Return what Numba gives for each expression, as an array of the type that Numba gives it."""
    scope = {"math": math, "np": np, **{name: getattr(numba, name) for name in ("int8", "int16", "int32", "int64")}}
    scope |= {name: getattr(numba, name) for name in ("uint8", "uint16", "uint32", "uint64", "float32", "float64")}
    exec(function_text(made), scope)
    function = numba.njit(error_model="numpy")(scope["f"])
    found = [function(*arrays.values(), i) for i in range(ELEMENTS)]
    (signature,) = function.nopython_signatures
    names = ["bool" if str(one).startswith("bool") else str(one) for one in signature.return_type]
    return [np.array([row[k] for row in found], _dtype(name)) for k, name in enumerate(names)]


def _dtype(name):
    return name if not name.startswith("Literal") else "int64"


def in_lockstep(made, arrays):
    whole, real = np.zeros((len(made), ELEMENTS), np.int64), np.zeros((len(made), ELEMENTS))
    _, findings = launch_text(kernel_text(made), *arrays.values(), whole, real, block=ELEMENTS)
    assert findings == ()
    return whole, real


def differing(made, arrays):
    """Return the expressions that lockstep computes otherwise than Numba."""
    whole, real = in_lockstep(made, arrays)
    found = []
    for row, (one, wanted) in enumerate(zip(made, compiled(made, arrays), strict=True)):
        if wanted.dtype.kind == "f":
            ours, theirs = real[row], wanted.astype(np.float64)
            same = (ours.view(np.int64) == theirs.view(np.int64)) | (np.isnan(ours) & np.isnan(theirs))
        else:
            ours, theirs = whole[row], wanted.astype(np.int64)
            same = ours == theirs
        if not same.all():
            at = int(np.argmin(same))
            values = {name: array[at] for name, array in arrays.items() if f"a_{name}[" in "".join(one.lines)}
            text = textwrap.indent("\n".join(one.lines), "  ")
            found.append(f"{text}\n  {ours[at]!r} for {theirs[at]!r} ({wanted.dtype}) of {values}")
    return found


@pytest.mark.exhaustive
@settings(max_examples=10, phases=[Phase.generate])  # a smaller seed is no smaller expression
@given(st.integers(0, 2**32))
def test_random_expressions_give_what_numba_gives(seed):
    assert "\n".join(differing(expressions(seed, TOGETHER), inputs(seed))) == ""


def test_the_larger_of_nan_and_an_integer_is_the_one_that_numba_keeps():
    made = [
        Expression(("v0 = max(a_float64[i], a_int16[i])",), "v0"),
        Expression(("v1 = min(a_int32[i], a_float32[i])",), "v1"),
    ]
    arrays = inputs(5)
    arrays["float64"][:4], arrays["float32"][:4] = np.nan, np.nan
    assert differing(made, arrays) == []


def test_a_side_of_a_condition_that_no_thread_takes_counts_for_the_type():
    made = [
        Expression(("v0 = -(a_int16[i] if a_bool[i] else a_uint8[i])",), "v0"),
        Expression(("v1 = -(a_uint8[i] if not a_bool[i] else a_int16[i])",), "v1"),
    ]
    arrays = inputs(3)
    for taken in (False, True):
        arrays["bool"] = np.full(ELEMENTS, taken)
        assert differing(made, arrays) == []


def test_a_remainder_of_a_number_near_the_largest_is_the_dividend():  # H200
    out = result("out[cuda.threadIdx.x] = -9.86 % -1.7976931348623157e308", "float64")
    assert out[0] == -9.86


def test_a_number_is_divided_by_zero_as_many_are():
    texts = ["x % z[0]", "x // z[1]", "x % y", "-x // y"]
    text = "@cuda.jit\ndef kernel(out, z, x, y):\n" + "".join(f"    out[{n}] = {one}\n" for n, one in enumerate(texts))
    for block, dtype in [(1, np.float32), (4, np.float32), (1, np.float64), (4, np.float64)]:
        out, zeros = np.zeros(4), np.array([0.0, -0.0], dtype)
        _, findings = launch_text(text, out, zeros, 2.5, 0.0, block=block)
        assert findings == ()
        np.testing.assert_array_equal(out, [np.nan, -np.inf, np.nan, -np.inf])


def test_a_complex_number_of_two_of_single_precision_has_single_precision():  # H200
    out = result("out[cuda.threadIdx.x] = (complex(float32(0.1), float32(0.2)) + complex64(1)).real", "float64")
    assert out[0] == np.float32(np.float32(0.1) + np.float32(1))
