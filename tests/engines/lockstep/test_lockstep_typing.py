"""Numba's rules of typing, held against Numba's own typing templates and against what it computes.

A template is asked for every pair of types; the arithmetic of one type is compared element by element with a function
compiled by ``numba.njit`` under NumPy's error model, which is the device's: no exceptions.
"""

import ast
import itertools
import operator
import warnings
from functools import cache
from pathlib import Path

import numba
import numpy as np
import pytest
from helpers.tiers import one_in
from hypothesis import given
from hypothesis import strategies as st
from numba.core import types
from numba.core.registry import cpu_target

from smemviz.engines.lockstep.python.functions.names import CALLS
from smemviz.engines.lockstep.values.operators import NoRuleError, binary, truth, unary
from smemviz.engines.lockstep.values.typing import cast, dtype_of, unify

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMBERS = ["bool", *INTEGERS, "float32", "float64", "complex64", "complex128"]
SYMBOLS = {
    "+": (ast.Add, operator.add),
    "-": (ast.Sub, operator.sub),
    "*": (ast.Mult, operator.mul),
    "/": (ast.Div, operator.truediv),
    "//": (ast.FloorDiv, operator.floordiv),
    "%": (ast.Mod, operator.mod),
    "<<": (ast.LShift, operator.lshift),
    ">>": (ast.RShift, operator.rshift),
    "&": (ast.BitAnd, operator.and_),
    "|": (ast.BitOr, operator.or_),
    "^": (ast.BitXor, operator.xor),
    "<": (ast.Lt, operator.lt),
    "==": (ast.Eq, operator.eq),
    "!=": (ast.NotEq, operator.ne),
}
OPERATORS = dict(SYMBOLS.values())
EDGES = {
    "b": [False, True],
    "i": [0, 1, -1, 2, -2, 3, 5, -7, 63, 2**31, -(2**31), 2**63 - 1, -(2**63)],
    "u": [0, 1, 2, 3, 7, 63, 2**31, 2**32 - 1, 2**63, 2**64 - 1],
    "f": [0.0, -0.0, 1.0, -1.5, 2.5, 1e10, -3.75, np.inf, -np.inf, np.nan, 0.1],
}


def numba_type(name):
    return types.boolean if name == "bool" else getattr(types, name)


def element(name):
    return np.ones(1, name)


@cache
def typing_context():
    """Return what knows Numba's rules, with those of all that was imported."""
    cpu_target.typing_context.refresh()
    return cpu_target.typing_context


@cache
def resolved(function, *names):
    """Return the type Numba gives, as NumPy's name; None where it has none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = typing_context().resolve_function_type(function, tuple(map(numba_type, names)), {})
    except Exception:
        return None
    return None if found is None else str(found.return_type)


def test_every_pair_of_types_gives_numbas_type():
    for op in OPERATORS:
        for one, other in itertools.product(NUMBERS, NUMBERS):
            wanted = resolved(OPERATORS[op], one, other)
            if wanted is None:
                with pytest.raises(NoRuleError):
                    binary(op, element(one), element(other))
            else:
                assert binary(op, element(one), element(other)).dtype.name == wanted, (one, other)


@pytest.mark.parametrize("op", one_in(3, OPERATORS), ids=lambda op: op.__name__)
def test_a_uniform_value_has_the_type_of_a_varying_one(op):
    for one, other in itertools.product(NUMBERS, NUMBERS):
        if resolved(OPERATORS[op], one, other) is None:
            continue
        both = binary(op, element(one), element(other))
        for left, right in (
            (element(one)[0], element(other)),
            (element(one), element(other)[0].item()),
            (element(one)[0], element(other)[0]),
        ):
            other_name = dtype_of(right).name
            if dtype_of(right) != np.dtype(other):  # a Python number stands for 64 bits
                assert other_name in ("int64", "float64", "complex128")
                continue
            assert dtype_of(binary(op, left, right)) == both.dtype, (one, other)


def test_unary_operators_give_numbas_type():
    for op, function in [(ast.USub, operator.neg), (ast.UAdd, operator.pos), (ast.Invert, operator.invert)]:
        for name in NUMBERS:
            wanted = resolved(function, name)
            if wanted is None:
                with pytest.raises(NoRuleError):
                    unary(op, element(name))
            else:
                assert unary(op, element(name)).dtype.name == wanted, name


def test_a_variable_assigned_two_types_has_the_type_numba_unifies_them_to():
    context = cpu_target.typing_context
    for one, other in itertools.product(NUMBERS, NUMBERS):
        wanted = context.unify_types(numba_type(one), numba_type(other))
        assert unify(np.dtype(one), np.dtype(other)).name == str(wanted), (one, other)


def computed(names, values):
    """Return what Numba computes for each operator on pairs of values, and which have one."""
    results = {}
    for symbol, (op, function) in SYMBOLS.items():
        wanted = resolved(function, *names)
        if wanted is not None:
            results[op] = (symbol, np.empty(len(values[0]), wanted))
    lines = [f"    o{k}[i] = a[i] {symbol} b[i]" for k, (symbol, _) in enumerate(results.values())]
    names_out = ", ".join(f"o{k}" for k in range(len(results)))
    text = f"def f(a, b, {names_out}):\n  for i in range(len(a)):\n" + "\n".join(lines)
    scope = {}
    exec(text, scope)
    numba.njit(scope["f"], error_model="numpy")(*values, *(array for _, array in results.values()))
    return {op: array for op, (_, array) in results.items()}


@pytest.mark.parametrize(
    "names",
    [("int64", "int64"), ("uint64", "uint64"), ("int32", "uint64"), ("float64", "float64"), ("float32", "float32")],
    ids="-".join,
)
def test_values_are_what_numba_computes(names):
    kinds = [np.dtype(name) for name in names]
    edges = []
    for kind in kinds:
        low, high = (np.iinfo(kind).min, np.iinfo(kind).max) if kind.kind in "iu" else (-np.inf, np.inf)
        edges.append([x for x in EDGES[kind.kind] if np.isnan(x) or low <= x <= high])
    pairs = list(itertools.product(*edges))
    values = [np.array([pair[k] for pair in pairs], kinds[k]) for k in (0, 1)]

    for op, wanted in computed(names, values).items():
        with np.errstate(all="ignore"):
            found = binary(op, *values)
            one_by_one = [binary(op, a, b) for a, b in zip(*values, strict=True)]
        if op in (ast.FloorDiv, ast.Mod) and wanted.dtype.kind == "f":
            continue  # the device differs from the processor; see the values measured on an H200
        inside = np.ones(len(wanted), bool)
        if op in (ast.LShift, ast.RShift):  # undefined for a count of 64 and more on the processor
            inside = (values[1] >= 0) & (values[1] < 64)
        np.testing.assert_array_equal(found[inside], wanted[inside], err_msg=op.__name__)
        np.testing.assert_array_equal(np.array(one_by_one, wanted.dtype)[inside], wanted[inside], err_msg=op.__name__)


MEASURED = np.load(Path(__file__).parents[2] / "data" / "h200_operators.npz")


def edges(dtype):
    """Return the operands of one measured type, as tests/gpu/measure_operators.py has them."""
    return MEASURED[f"edges {dtype}"]


def pairs(one, other):
    return tuple(np.array(side) for side in zip(*itertools.product(edges(one), edges(other)), strict=True))


def in_lockstep(name):
    """Return operands and what lockstep gives for one entry of the measured values."""
    match name.split():
        case [source, ">", target]:
            return (edges(source),), cast(edges(source), np.dtype(target))
        case [one, symbol, other]:
            operands = pairs(one, other)
            return operands, binary(ast.Pow if symbol == "**" else SYMBOLS[symbol][0], *operands)
        case ["-" | "~" as symbol, one]:
            return (edges(one),), unary({"-": ast.USub, "~": ast.Invert}[symbol], edges(one))
        case ["min" | "max" as function, one]:
            operands = pairs(one, one)
            return operands, CALLS[f"builtins.{function}"].run(None, None, list(operands))
        case [function, one]:
            return (edges(one),), CALLS[f"builtins.{function}"].run(None, None, [edges(one)])


def test_values_are_what_an_h200_computes():
    """The values come from tests/gpu/measure_operators.py, run on an H200."""
    for name in [name for name in MEASURED.files if not name.startswith("edges")]:
        wanted = MEASURED[name]
        with np.errstate(all="ignore"):
            operands, found = in_lockstep(name)

        assert found.dtype == wanted.dtype
        inside = np.ones(len(wanted), bool)
        if "**" in name and operands[1].dtype.kind == "i":
            inside = operands[1] != np.iinfo(operands[1].dtype).min  # Numba raises there, which ends the thread
        if "**" in name and wanted.dtype.kind == "f":  # pow() of two libraries
            np.testing.assert_allclose(
                found[inside], wanted[inside], rtol=1e-5 if wanted.dtype == np.float32 else 1e-13
            )
        else:
            np.testing.assert_array_equal(found[inside], wanted[inside])


INT64 = st.integers(-(2**63), 2**63 - 1)


@given(INT64, INT64, st.sampled_from([op for op in OPERATORS if op not in (ast.LShift, ast.RShift)]))
def test_a_number_computed_once_equals_the_same_one_computed_per_thread(a, b, op):
    with np.errstate(all="ignore"):
        once = binary(op, a, b)
        per_thread = binary(op, np.array([a, a]), np.array([b, b]))

    assert dtype_of(once) == per_thread.dtype
    assert (per_thread == once).all()


@given(INT64, st.integers(0, 63))
def test_shifts_wrap_at_64_bits(a, b):
    left = (a << b) & (2**64 - 1)
    assert int(binary(ast.LShift, a, b)) == left - 2**64 * (left >> 63)
    assert int(binary(ast.RShift, a, b)) == a >> b


@given(INT64, st.integers(0, 40))
def test_integer_powers_wrap(a, b):
    wanted = pow(a, b, 2**64)
    with np.errstate(all="ignore"):
        found = int(binary(ast.Pow, a, b))
    assert found == wanted - 2**64 * (wanted >> 63)


def test_powers_of_floats_by_integers_keep_single_precision():
    assert dtype_of(binary(ast.Pow, np.float32(3), 2)) == np.float32
    assert dtype_of(binary(ast.Pow, np.float32(3), 0.5)) == np.float64
    assert binary(ast.Pow, np.float32(3), -2) == np.float32(1) / np.float32(9)


def test_casts():
    for value, dtype, wanted in [
        (300, "int8", 44),
        (-1, "uint32", 2**32 - 1),
        (2**31, "int32", -(2**31)),
        (-2.7, "int32", -2),
        (2.9, "int64", 2),
        (1 / 3, "float32", np.float32(1 / 3)),
        (np.uint64(2**64 - 1), "int64", -1),
        (True, "float64", 1.0),
        (0.1, "bool", True),
    ]:
        dtype = np.dtype(dtype)
        once, per_thread = cast(value, dtype), cast(np.array([value]), dtype)

        assert dtype_of(once) == per_thread.dtype == dtype
        assert once == per_thread[0] == wanted


def test_conditions():
    assert truth(0.0) is False
    assert truth(np.int32(3)) is True
    assert truth(np.array([0.0, np.nan, 2.0])).tolist() == [False, True, True]
    assert truth(()) is False
    assert unary(ast.Not, np.array([1, 0])).tolist() == [False, True]


@given(st.data())
def test_float_arithmetic_rounds_to_single_precision(data):
    floats = st.floats(width=32, allow_nan=False, allow_infinity=False)
    a, b = np.float32(data.draw(floats)), np.float32(data.draw(floats))
    with np.errstate(all="ignore"):
        for op in (ast.Add, ast.Sub, ast.Mult):
            assert dtype_of(binary(op, a, b)) == np.float32
            assert binary(op, np.array([a]), b)[0] == OPERATORS[op](a, b) or np.isnan(OPERATORS[op](a, b))
