"""A variable that is assigned several types has the types that Numba gives it, taken branches or not."""

import math
from textwrap import indent

import numba
import numpy as np
import pytest
from helpers.lockstep_text import launch_text, result
from helpers.tiers import one_in
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
@settings(max_examples=25, phases=[Phase.generate])  # a smaller seed is no smaller program
@given(st.integers(0, 2**32))
def test_random_programs_give_what_numba_gives(seed):
    assert "\n".join(differing(seed)) == ""


def text_of(lines):
    return "i = cuda.threadIdx.x\n" + lines + "\nout[i] = (x + 9007199254740993) - 9007199254740992"


# What the last line leaves of an integer 2, and of a float64, which has not the digits of the sum.
INTEGER, FLOAT = 3, 2


def test_a_variable_has_the_type_of_all_that_may_arrive():
    for lines, left in [
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
    ]:
        assert set(result(text_of(lines), "float64")) == {left}


CONSTANTS = "G = 1\nZ = 0\nF = 0.5\nK = np.int32(1)\n"
CONDITIONS = """
    G + 1; Z * 2; G & 1; G << 1; G ** 2; G / 2; G / Z; G // 2; 1 + 1 - G; (G + 1) + 1; -G; ~G; not (G + 1); not -G
    K + 1; F + 1; c; c + 1; d + 1; math.pi; math.pi > 3; True + G; G is True; "a" == "a"
    0 < G < 3; 3 < G < 5; c < 3 < 4; 0 < c < 3; i < 4 < 3; i < 3 < 4; 3 < G < i; 0 < G < i; not (i < 4 < 3)
    G if G else 0; i if Z else G; i if G else Z; G if i else 1; G if i else Z; (G + 1) if Z else Z; not (G if G else 0)
    (G and 1) + 1; (G if G else 2) + 1; G and i; Z and i; i or G; (G or i) and (Z and i)
    out.ndim; out.ndim == 1; out.ndim + 1; 0 < out.ndim < i
"""
VALUES = """
    2 or 2.5; 2.5 or 2; 0.0 or 2; 0 and 2.5; Z and 2.5; G or 2.5; G + 1 or 2.5; c or 2.5; F and 2; F or 2
    F and 2 or 2.5; (G > 0) and 2; F and i and 2; i and F and 2; i or F or 2; i or 0.0 or 2; 2 or i or 2.5
    (F and i) and 2; i and (F and 2); i or (2 or 2.5); (2 or 2.5) and i; -G or 2.5; not Z or 2.5; (not Z) and 2
    (i and Z) or 2; (i < 4 < 3) or 2; (3 < G < i) or 2; (F if G else 1) and 2; (2 if G else 2.5) or 1.5
    (2 if i else 3) or 2.5; 2 if G + 1 else 2.5; 2 if 0 < G < 3 else 2.5; 2 if (G if G else 0) else 2.5
"""
LINES = ["x = 2\nwhile G - 1:\n    x = 2.5", "x = 2.5\nwhile 0 < G < 3:\n    x = 2\n    break"]


def several(text):
    return [one.strip() for line in text.strip().splitlines() for one in line.split(";")]


LEFT_OUT = [f"if {condition}:\n    x = 2\nelse:\n    x = 2.5" for condition in several(CONDITIONS)]
LEFT_OUT += [f"if {condition}:\n    x = 2.5\nelse:\n    x = 2" for condition in several(CONDITIONS)]
LEFT_OUT += [f"x = {value}" for value in several(VALUES)] + LINES


@pytest.mark.parametrize("lines", one_in(4, LEFT_OUT))
def test_what_numba_leaves_out_is_left_out(lines):
    compiler, types = pytest.importorskip("numba.cuda.compiler"), pytest.importorskip("numba.cuda.types")
    text = f"i = cuda.threadIdx.x\nc = 1\nd = 1 + i\n{lines}\nlast = x\n"
    scope = {"cuda": pytest.importorskip("numba.cuda"), "math": math, "np": np}
    exec(f"{CONSTANTS}def kernel(out):\n{indent(text, '    ')}    out[i] = last", scope)
    compiled = compiler.compile_cuda(scope["kernel"], types.void, (types.float64[::1],), cc=(8, 0))
    is_float = isinstance(compiled.type_annotation.typemap["last"], types.Float)
    shown = result(f"{text}out[i] = (last * 0 + {2**53 + 1}) - {2**53}", "float64", before=CONSTANTS)
    assert set(shown) == {0.0 if is_float else 1.0}  # a float64 has not the digits of the sum


def test_an_operand_that_is_left_out_is_what_decides():
    assert set(result("out[cuda.threadIdx.x] = (cuda.threadIdx.x >= 0) and F and 2", before=CONSTANTS)) == {2}


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
