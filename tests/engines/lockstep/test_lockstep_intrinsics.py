"""The integer and floating-point intrinsics: their types against numba-cuda's, their values against Python's."""

from fractions import Fraction

import numpy as np
import pytest

from smemviz.engines.lockstep.python.functions import intrinsics
from smemviz.engines.lockstep.python.functions.intrinsics import brev, clz, ffs, fma, popc, selp
from smemviz.engines.lockstep.values.operators import NoRuleError

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def resolved(context, name, *dtypes):
    from numba.cuda import cudadecl, types

    wanted = [types.boolean if d == "bool" else getattr(types, d) for d in dtypes]
    return str(context.resolve_function_type(types.Function(getattr(cudadecl, name)), wanted, {}).return_type)


@pytest.mark.parametrize("name", ["popc", "clz", "ffs", "brev"])
def test_types_are_those_of_numba_cuda(name, context):
    for dtype in ["bool", *INTEGERS]:
        found = intrinsics.CALLS[f"cuda.{name}"].run(None, None, [np.ones(3, dtype)])
        assert found.dtype.name == resolved(context, f"Cuda_{name}", dtype), dtype


def test_types_of_floats_are_those_of_numba_cuda(context):
    for dtype in ["bool", *INTEGERS, "float16", "float32", "float64"]:
        one, other = np.ones(3, dtype), np.ones(3, "float32")
        assert fma(one, other, other).dtype.name == resolved(context, "Cuda_fma", dtype, "float32", "float32")
        cube = intrinsics.CALLS["cuda.cbrt"].run(None, None, [one])
        assert cube.dtype.name == resolved(context, "Cuda_cbrt", dtype), dtype


def numbers(dtype):
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return sorted({0, 1, 2, 5, 100, low, high, high // 3, high - 1, max(low, -2)})


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits_are_those_of_the_number(dtype):
    width = 8 * np.dtype(dtype).itemsize
    for value in numbers(dtype):
        bits = value % (1 << width)
        given = np.array([value], dtype)
        assert popc(given)[0] == bits.bit_count()
        assert clz(given)[0] == width - bits.bit_length()
        assert ffs(given)[0] == (bits & -bits).bit_length()


def test_bits_reversed_are_64_only_of_an_unsigned_64_bit_integer():
    assert brev(np.uint64(1)) == 1 << 63
    assert brev(np.array([1, 0x30F0F0F0], np.uint32)).tolist() == [1 << 31, 0x0F0F0F0C]
    assert brev(1 << 32) == 0
    assert brev(3) == 0xC0000000


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fma_rounds_once(dtype):
    """Against exact fractions, for numbers made to be halfway between two floats and for random ones."""
    random = np.random.default_rng(5)
    one, other = (random.normal(size=3000).astype(dtype) for _ in range(2))
    scale = np.exp2(random.integers(-60, 60, 3000)).astype(dtype)
    third = np.where(random.random(3000) < 0.5, -(one * other), random.normal(size=3000).astype(dtype) * scale)
    found = fma(one, other, third.astype(dtype))
    exact = [
        Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)) for a, b, c in zip(one, other, third, strict=True)
    ]
    assert found.dtype.name == dtype
    assert found.tolist() == [rounded(e, dtype) for e in exact]


def rounded(exact, dtype):
    """The nearest float, ties to even."""
    near = np.dtype(dtype).type(float(exact))
    around = [np.nextafter(near, -np.inf, dtype=dtype), near, np.nextafter(near, np.inf, dtype=dtype)]
    width = np.dtype(f"i{near.itemsize}")
    return float(min(around, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(width)) & 1)))


def test_fma_of_infinities():
    inf, nan = np.inf, np.nan
    with np.errstate(all="ignore"):  # as it is while a launch runs
        assert fma(inf, 2.0, 1.0) == inf
        assert np.isnan(fma(inf, 1.0, -inf))
        assert np.isnan(fma(nan, 1.0, 1.0))
        assert fma(1e308, 10.0, 0.0) == inf


def test_selp_takes_two_of_one_type():
    assert selp(np.array([True, False]), 1, 2).tolist() == [1, 2]
    assert selp(0, np.float32(1), np.float32(2)) == 2
    with pytest.raises(NoRuleError, match=r"cuda\.selp of int64 and float64"):
        selp(True, 1, 2.0)
