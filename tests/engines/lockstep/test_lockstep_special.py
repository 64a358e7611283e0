"""Bessel functions and the others that neither Python nor NumPy has, against mpmath with 30 digits."""

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.interpreted_ptx import run_ptx
from helpers.lockstep_text import result

from smemviz.engines.lockstep.values.special import (
    DIRECTIONS,
    EXACT,
    bessel_j,
    bessel_y,
    directed,
    remainder_and_quotient,
    scaled_erfc,
)

_FIRST_KIND = (
    (0, 1.0, 0.7651976865579666),
    (0, 2.404825557695773, -6.10876525973673e-17),  # the float64 beside its first zero
    (1, -2.5, -0.49709410246427405),
    (30, 2.0, 3.6502562664740974e-33),
    (60, 45.0, 2.0328758193272826e-05),
    (3, 100.0, 0.07628420172033194),
    (120, 100.0, 1.1476221795664937e-05),
)
_SECOND_KIND = (
    (0, 1.0, 0.08825696421567696),
    (1, 0.01, -63.67859628206065),
    (5, 3.0, -1.9059459538286738),
    (2, 1000.0, -0.0047654866402075165),
)
_SCALED = (
    (-3.0, 16205.988853999586),
    (0.5, 0.6156903441929259),
    (10.0, 0.05614099274382259),
    (25.9, 0.021767181150738214),
    (26.1, 0.021600627726346206),
    (1e5, 5.6418958351954685e-06),
)


@pytest.mark.parametrize(("n", "x", "value"), _FIRST_KIND)
def test_bessel_functions_of_the_first_kind(n, x, value):
    assert bessel_j(n, x) == pytest.approx(value, rel=1e-16, abs=1e-15 if x > 50 else 0)


@pytest.mark.parametrize(("n", "x", "value"), _SECOND_KIND)
def test_bessel_functions_of_the_second_kind(n, x, value):
    assert bessel_y(n, x) == pytest.approx(value, rel=1e-16, abs=1e-15 if x > 50 else 0)


@pytest.mark.parametrize("x", [0.3, 7.0, 49.9, 50.1, 400.0])
def test_both_kinds_fit_each_other(x):
    assert bessel_j(1, x) * bessel_y(0, x) - bessel_j(0, x) * bessel_y(1, x) == pytest.approx(
        2 / math.pi / x, abs=1e-15
    )


def test_bessel_functions_end_as_the_device_s_do():
    assert [bessel_j(n, 0.0) for n in (0, 1)] == [1, 0]
    assert math.isnan(bessel_j(2, 0.0))
    assert math.isnan(bessel_j(-1, 1.0))
    assert (bessel_j(2**31 - 1, 5.0), bessel_j(0, math.inf), bessel_y(3, math.inf)) == (0, 0, 0)
    assert (bessel_y(0, 0.0), bessel_y(400, 1.0)) == (-math.inf, -math.inf)
    assert math.isnan(bessel_y(0, -1.0))


@pytest.mark.parametrize(("x", "value"), _SCALED)
def test_the_scaled_error_function(x, value):
    assert scaled_erfc(x) == pytest.approx(value, rel=5e-16)


def test_the_scaled_error_function_overflows_and_ends_at_zero():
    assert (scaled_erfc(-26.7), scaled_erfc(-1e300), scaled_erfc(math.inf)) == (math.inf, math.inf, 0)


@pytest.mark.parametrize(
    ("x", "y", "rest", "bits"),
    [(5.0, 3.0, -1.0, 2), (-5.0, 3.0, 1.0, -2), (1e10, 3.0, 1.0, 5), (100.0, -3.0, 1.0, -1), (3.0, math.inf, 3.0, 0)],
)
def test_the_remainder_comes_with_three_bits_of_the_quotient(x, y, rest, bits):
    assert remainder_and_quotient(x, y) == (rest, bits)


def test_they_are_rounded_to_single_precision_at_the_end():
    text = "out[cuda.laneid] = cuda.libdevice.j0f(float32(1)) + cuda.libdevice.yn(1, 0.01)"
    assert result(text, "float64")[0] == float(np.float32(0.7651976865579666)) - 63.67859628206065
    text = "rest, bits = cuda.libdevice.remquof(float32(5), float32(3))\nout[cuda.laneid] = 10 * bits + rest"
    assert result(text)[0] == 19


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


@pytest.mark.parametrize(("way", "above"), [("rd", 0), ("rz", 0), ("ru", 1)])
def test_libdevice_rounds_one_way(way, above):
    got = result(f"out[0] = cuda.libdevice.ddiv_{way}(1.0, 3.0)", "float64", 1, block=1)[0]
    below = np.nextafter(1 / 3, 1) if Fraction(1 / 3) < Fraction(1, 3) and above else 1 / 3
    assert got == below


@pytest.mark.parametrize(("word", "expected"), [("rn", 1 / 3), ("rp", math.nextafter(1 / 3, 1)), ("rm", 1 / 3)])
def test_an_instruction_of_ptx_rounds_the_way_it_says(word, expected):
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
