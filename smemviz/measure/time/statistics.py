"""Repeating a measurement until its median is known, and how well."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

_WIDTH = 0.002  # of the median: stop when its interval is this narrow to each side

Clock = Callable[[], float]


class Effort(NamedTuple):
    """How long to warm up in seconds, and to sample: until so many are enough for a narrow median, or time is up."""

    warm_up_seconds: float
    enough_samples: int
    max_samples: int
    max_seconds: float
    min_samples: int = 1


CAREFUL = Effort(0.3, 50, 400, 5.0)
QUICK = Effort(0.0, 20, 200, 0.25, 3)


@dataclass(frozen=True)
class Spread:
    """A median with its confidence interval (``low`` to ``high``, 95 %), and the 5th and 95th percentile."""

    median: float
    low: float
    high: float
    p5: float
    p95: float

    @property
    def relative_width(self) -> float:
        """The half width of the interval as a share of the median."""
        return (self.high - self.low) / 2 / self.median if self.median else math.inf


def spread(samples: Sequence[float]) -> Spread:
    """Summarise samples without assuming a distribution.

    The interval of the median runs between two order statistics, n/2 -+ 0.98 sqrt(n), the normal approximation of the
    binomial (Conover, Practical Nonparametric Statistics, 3.2); with fewer than 6 samples it is their whole range.
    """
    ordered = np.sort(np.asarray(samples, np.float64))
    n = len(ordered)
    half = 0.98 * math.sqrt(n)
    low, high = (math.floor(n / 2 - half) - 1, math.ceil(n / 2 + half)) if n >= 6 else (0, n - 1)
    return Spread(
        median=float(np.median(ordered)),
        low=float(ordered[max(low, 0)]),
        high=float(ordered[min(high, n - 1)]),
        p5=float(np.percentile(ordered, 5)),
        p95=float(np.percentile(ordered, 95)),
    )


def sample_until_known(sample: Callable[[], float], clock: Clock, effort: Effort = CAREFUL) -> list[float]:
    """Warm up by a sample or more, then sample until the interval of the median is narrow, or the time is up."""
    start = clock()
    sample()
    while clock() - start < effort.warm_up_seconds:
        sample()
    samples: list[float] = []
    start = clock()
    while len(samples) < effort.max_samples:
        samples.append(sample())
        if len(samples) >= effort.enough_samples and spread(samples).relative_width <= _WIDTH:
            break
        if len(samples) >= effort.min_samples and clock() - start > effort.max_seconds:
            break
    return samples
