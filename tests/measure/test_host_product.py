"""The product on the host is timed, and handed on to be compared with the right one."""

from __future__ import annotations

import numpy as np
import pytest

from smemviz.measure.sweep.blas import by_loops, by_numpy


@pytest.mark.parametrize("way", [by_loops, by_numpy])
def test_the_product_comes_with_its_time(way) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-8, 9, shape).astype(np.float32) for shape in ((20, 24), (24, 36)))

    taken, c = way(a, b)

    assert taken.median_us > 0
    np.testing.assert_array_equal(c, a @ b)
