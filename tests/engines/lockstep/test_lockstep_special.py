"""Bessel functions and the others that neither Python nor NumPy has, against mpmath with 30 digits."""

import math

import numpy as np
import pytest
from helpers.lockstep_text import result

from smemviz.engines.lockstep.values.special import bessel_j, bessel_y, remainder_and_quotient, scaled_erfc

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
