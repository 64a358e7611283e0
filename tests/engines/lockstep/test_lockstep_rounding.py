"""Arithmetic that is rounded up, down or toward zero is next to the exact result on its side."""

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.interpreted_ptx import run_ptx
from helpers.lockstep_text import result

from smemviz.engines.lockstep.values.rounding import DIRECTIONS, EXACT, directed

NEAREST = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "rcp": np.reciprocal,
    "sqrt": np.sqrt,
    "fma": lambda x, y, z: (x.astype(np.longdouble) * y + z).astype(x.dtype),
}
COUNT = {"rcp": 1, "sqrt": 1, "fma": 3}
LARGEST = 1e30


def numbers(dtype, count):
    """Numbers of all sizes, whole ones and neighbours of whole ones."""
    generator = np.random.default_rng(count)
    some = generator.standard_normal(200) * 2.0 ** generator.integers(-40, 40, 200)
    whole = generator.integers(1, 5, 50)
    given = np.concatenate([some, whole, np.nextafter(whole.astype(dtype), dtype(np.inf))]).astype(dtype)
    return [generator.permutation(given) for _ in range(count)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("way", DIRECTIONS)
@pytest.mark.parametrize("name", list(NEAREST))
def test_a_result_is_next_to_the_exact_one_on_its_side(name, way, dtype):
    given = numbers(dtype, COUNT.get(name, 2))
    given = [np.abs(array) for array in given] if name == "sqrt" else given
    rounded = directed(name, way, NEAREST[name](*given), *given)
    assert rounded.dtype == dtype
    for got, *parts in zip(rounded, *given, strict=True):
        exact = EXACT[name](*(Fraction(float(part)) for part in parts))
        down = way == "rd" or (way == "rz" and exact > 0)
        beyond = np.nextafter(got, dtype(np.inf if down else -np.inf))
        low, high = (got, beyond) if down else (beyond, got)
        assert Fraction(float(low)) <= exact <= Fraction(float(high))
        assert exact not in (Fraction(float(beyond)), None)


def test_what_is_too_large_stays_finite_where_it_is_rounded_toward_zero():
    x = np.float32([LARGEST, -LARGEST])
    with np.errstate(over="ignore"):
        assert np.isfinite(directed("mul", "rz", x * x[::-1], x, x[::-1])).all()


def test_what_cancels_is_a_negative_zero_where_it_is_rounded_down():
    x = np.float32([1, 0])
    assert list(np.signbit(directed("sub", "rd", x - x, x, x))) == [True, True]
    assert not np.signbit(directed("add", "rd", x + x, x, x)).any()


def test_an_instruction_of_ptx_rounds_the_way_it_says():
    for word, expected in [("rn", 1 / 3), ("rp", math.nextafter(1 / 3, 1)), ("rm", 1 / 3)]:
        parameters = ", ".join(f".param .u64 p{k}" for k in range(7))
        ptx = f"""
        .version 9.0
        .target sm_90
        .address_size 64
        .visible .entry kernel({parameters})
        {{
            .reg .f64 %d<4>;
            .reg .b64 %r<3>;
            ld.param.u64 %r1, [p4];
            cvta.to.global.u64 %r2, %r1;
            mov.f64 %d1, 0d3FF0000000000000;
            mov.f64 %d2, 0d4008000000000000;
            div.{word}.f64 %d3, %d1, %d2;
            st.global.f64 [%r2], %d3;
            ret;
        }}
    """
        out = np.zeros(1)
        run_ptx(ptx, [out], block=1)
        assert out[0] == expected


def test_numbers_of_libdevice_are_signed_as_numba_has_them():
    text = "out[0] = cuda.libdevice.umax(int32(-1), int32(3))\nout[1] = cuda.libdevice.umulhi(int32(-1), int32(13))"
    assert list(result(text, "int64", 2, block=1)) == [-1, 12]
