"""What was measured of a launch, and on which GPU: its time, what Nsight Compute counted, and a card's calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Timing:
    """Kernel time of one launch by CUDA graph replay, in microseconds per launch.

    ``low_us`` to ``high_us`` is the 95 % confidence interval of the median. ``floor_us`` is an empty kernel of the same
    grid, block and shared size in the same graph form. A sample is one replay of ``nodes`` launches; ``conditions``
    are the card's clocks and power meanwhile, ``notes`` what a reader must know about the launch.
    """

    median_us: float
    low_us: float
    high_us: float
    p5_us: float
    p95_us: float
    floor_us: float
    samples: int
    nodes: int
    samples_us: tuple[float, ...]
    cold: bool
    date: str
    conditions: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def net_us(self) -> float:
        """The median above the floor."""
        return self.median_us - self.floor_us


Verdict = Literal["agrees", "explained", "inflated", "unexplained"]


@dataclass(frozen=True)
class SiteHardware:
    """What Nsight Compute counted for one site of the clean kernel, and how that fits what was recorded.

    ``requests`` are the executions of the instructions that do the site's work, ``because`` is the verdict in one
    sentence. A site in global memory has sectors and None for wavefronts and ideal, a shared one the reverse. Where
    one instruction does the work of several sites its counts stand at the first of them and 0 at the others.
    """

    requests: int
    wavefronts: int | None
    ideal: int | None
    sectors: int | None
    verdict: Verdict
    because: str


@dataclass(frozen=True)
class Device:
    """The GPU a recording was made on."""

    name: str
    compute_capability: tuple[int, int]
    driver: str
    runtime: str


@dataclass(frozen=True)
class CalibrationRow:
    """One assumption of the model: what it is, what the model says, what the card says, and whether they agree."""

    what: str
    model: str
    card: str
    agrees: bool


@dataclass(frozen=True)
class Calibration:
    """What the model assumes, measured on a card. ``slopes`` are cycles per wavefront, by operation and width."""

    device: Device
    date: str
    slopes: Mapping[str, float]
    rows: tuple[CalibrationRow, ...]
