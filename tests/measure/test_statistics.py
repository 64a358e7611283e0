"""Medians with intervals, knowing when to stop sampling, and the product on the host, which is timed so."""

import numpy as np
import pytest

from smemviz.measure.sweep.blas import by_loops, by_numpy
from smemviz.measure.time.statistics import CAREFUL, QUICK, sample_until_known, spread


class FakeClock:
    """Time that passes only when it is told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_a_spread_of_a_hundred_samples():
    found = spread(range(1, 101))

    assert found.median == 50.5
    assert (found.low, found.high) == (40.0, 61.0)  # order statistics 40 and 61 of 100, as in tables for 95 %
    assert found.p5 == pytest.approx(5.95)
    assert found.p95 == pytest.approx(95.05)


def test_few_samples_are_known_by_their_whole_range():
    found = spread([3.0, 1.0, 2.0])

    assert (found.low, found.median, found.high) == (1.0, 2.0, 3.0)


def test_the_interval_holds_the_true_median_nineteen_times_in_twenty():
    random = np.random.default_rng(1)
    intervals = [spread(random.lognormal(size=60)) for _ in range(2000)]

    covered = np.mean([one.low <= 1.0 <= one.high for one in intervals])
    assert 0.94 <= covered <= 0.98


def test_steady_samples_stop_as_soon_as_there_are_enough():
    clock = FakeClock()

    def sample():
        clock.now += 0.01
        return 2.0

    assert sample_until_known(sample, clock) == [2.0] * CAREFUL.enough_samples
    assert len(sample_until_known(sample, clock, QUICK)) == QUICK.enough_samples


def test_the_warm_up_is_not_in_the_samples():
    clock = FakeClock()

    def sample():
        clock.now += 0.01
        return 100.0 if clock.now < 0.25 else 2.0

    assert set(sample_until_known(sample, clock)) == {2.0}


def test_noise_takes_more_samples_up_to_a_limit():
    clock, random = FakeClock(), np.random.default_rng(2)

    def sample():
        clock.now += 0.001
        return float(random.normal(10, 3))

    assert len(sample_until_known(sample, clock)) == CAREFUL.max_samples


def test_time_runs_out_for_what_takes_long():
    clock = FakeClock()

    def sample():
        clock.now += 1.0
        return clock.now

    assert len(sample_until_known(sample, clock)) == int(CAREFUL.max_seconds) + 1
    assert len(sample_until_known(sample, clock, QUICK)) == QUICK.min_samples


def test_the_product_comes_with_its_time():
    for way in [by_loops, by_numpy]:
        rng = np.random.default_rng(0)
        a, b = (rng.integers(-8, 9, shape).astype(np.float32) for shape in ((20, 24), (24, 36)))

        taken, c = way(a, b)

        assert taken.median_us > 0
        np.testing.assert_array_equal(c, a @ b)
