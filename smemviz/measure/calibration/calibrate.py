"""What the model assumes, measured on the card in this machine without a profiler, by telling patterns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.options import Progress
from smemviz.model.counting.service import wavefronts
from smemviz.model.hardware.compute_capability import device
from smemviz.model.hardware.operations import effect_of
from smemviz.recordings.data import WARP_SIZE
from smemviz.recordings.measured import Calibration, CalibrationRow, Device

ROW_BYTES = 128
WINDOW_BYTES = 32 * 1024
LANES = np.arange(WARP_SIZE)


@dataclass(frozen=True)
class Pattern:
    """One request: what it asks, the operation, its width in bytes, and 32 byte offsets, -1 for a lane that is off."""

    asks: str
    op: str
    width: int
    addresses: NDArray[np.int64]


def strides(op: str, width: int) -> list[Pattern]:
    """Return degrees 1, 2, 4, 8, 16 and 32 of one operation: lanes a power of two of elements apart."""
    steps = [1 << k for k in range(6)]
    return [Pattern(f"stride {step}", op, width, LANES * max(width, 4) * step % WINDOW_BYTES) for step in steps]


def phase_search(op: str, width: int) -> list[Pattern]:
    """Return a request whose lane 0 has its banks to itself, then one for each other lane that wants them too.

    That costs a wavefront more when the two lanes are served in the same phase. All other lanes share one word.
    """
    shared = np.full(WARP_SIZE, ROW_BYTES // 2)
    shared[0] = 0
    patterns = [Pattern("lane 0 alone", op, width, shared)]
    for other in range(1, WARP_SIZE):
        addresses = shared.copy()
        addresses[other] = 8 * ROW_BYTES
        patterns.append(Pattern(f"lane {other} against lane 0", op, width, addresses))
    return patterns


def merge_search(op: str, width: int) -> list[Pattern]:
    """Return requests whose lanes pair up with the lane 1 or 2 away, over the whole warp or half and half."""
    by_one, by_two = LANES // 2, (LANES // 4) * 2 + LANES % 2
    half = np.where(LANES < WARP_SIZE // 2, by_one, by_two)
    even, some = np.where(LANES % 2, -1, LANES), np.where(LANES % 4 < 2, LANES, -1)
    kinds = {
        "pairs ^1": by_one,
        "pairs ^2": by_two,
        "^1 and ^2 by halves": half,
        "even lanes": even,
        "lanes 0, 1 of 4": some,
    }
    return [Pattern(name, op, width, np.where(units < 0, -1, units * width)) for name, units in kinds.items()]


def random_requests(op: str, width: int, count: int) -> list[Pattern]:
    """Return requests of every kind of disorder: few or many rows, shared words, lanes off; the same each time."""
    random = np.random.default_rng(width * 1000 + len(op))
    patterns = []
    for index in range(count):
        units = random.integers(0, [8, 64, 512, WINDOW_BYTES // width][index % 4], WARP_SIZE)
        off = random.random(WARP_SIZE) < [0.0, 0.0, 0.3][index % 3]
        off[random.integers(WARP_SIZE)] = False
        patterns.append(Pattern(f"random {index}", op, width, np.where(off, -1, units * width)))
    return patterns


Cycles = Callable[[Sequence[Pattern]], list[float]]

OPERATIONS = (
    *((op, width) for op in ("load", "store") for width in (1, 2, 4, 8, 16)),
    *((op, 4) for op in ("atomic_add", "atomic_exch", "atomic_max", "reduce_add", "reduce_inc")),
)
RANDOM_REQUESTS = 40
_TOLERANCE = 0.12  # of a count: the estimate of a cost that is a whole number of wavefronts


def calibrate(card: Device, cycles: Cycles, progress: Progress | None = None) -> Calibration:
    """Measure what the model assumes of a card; ``cycles`` gives the cost of requests on it."""
    cc = card.compute_capability
    rows = [_banks(cc, cycles), _bank_width(cc, cycles)]
    slopes = {}
    for index, (op, width) in enumerate(OPERATIONS):
        name = f"{op}, {width} bytes"
        if progress:
            progress(index, len(OPERATIONS), name)
        slope, start, fit = _slope(op, width, cc, cycles)
        slopes[f"{op} {width}"] = round(slope, 4)
        rows.append(CalibrationRow(f"{name}: cost follows wavefronts", "a line", f"r2 = {fit:.4f}", fit > 0.99))
        if effect_of(op) != "update":
            rows.append(_phases(op, width, cc, cycles, slope))
        if width > 4:
            rows.append(_agreement(f"{name}: merge rule", merge_search(op, width), cc, cycles, slope, start))
        requests = random_requests(op, width, RANDOM_REQUESTS)
        rows.append(_agreement(f"{name}: random requests", requests, cc, cycles, slope, start))
    return Calibration(card, datetime.now(UTC).isoformat(timespec="seconds"), slopes, tuple(rows))


def _banks(cc: tuple[int, int], cycles: Cycles) -> CalibrationRow:
    """Load 4 bytes with lanes 1 to 64 words apart; the first stride of the highest cost is the number of banks."""
    cost = np.array(cycles([Pattern(f"stride {step}", "load", 4, LANES * 4 * step) for step in range(1, 65)]))
    banks, model = int(np.flatnonzero(cost > 0.9 * cost.max())[0]) + 1, device(cc).banks
    return CalibrationRow("number of banks", str(model), str(banks), banks == model)


def _bank_width(cc: tuple[int, int], cycles: Cycles) -> CalibrationRow:
    """Load bytes with lanes a row and 0 to 8 bytes apart; the first that costs one wavefront is a bank wide."""
    cost = np.array(cycles([Pattern(f"row + {n}", "load", 1, LANES * (ROW_BYTES + n)) for n in range(9)]))
    width, model = int(np.flatnonzero(cost < 1.5 * cost.min())[0]), min(device(cc).bank_bytes)
    return CalibrationRow("bytes of a bank", str(model), str(width), width == model)


def _predicted(requests: Sequence[Pattern], cc: tuple[int, int]) -> np.ndarray:
    first = requests[0]
    return wavefronts(np.stack([r.addresses for r in requests]), first.width, first.op, cc)


def _slope(op: str, width: int, cc: tuple[int, int], cycles: Cycles) -> tuple[float, float, float]:
    """Fit cost = start + slope * wavefronts over degrees 1 to 32; return slope, start and the share explained."""
    requests = strides(op, width)
    x, y = _predicted(requests, cc).astype(float), np.array(cycles(requests))
    slope, start = np.polyfit(x, y, 1)
    rest = y - (start + slope * x)
    return float(slope), float(start), float(1 - (rest @ rest) / ((y - y.mean()) @ (y - y.mean())))


def _phases(op: str, width: int, cc: tuple[int, int], cycles: Cycles, slope: float) -> CalibrationRow:
    alone, *cost = cycles(phase_search(op, width))
    together = {0} | {lane for lane, time in enumerate(cost, 1) if time > alone + 0.5 * slope}
    model = set(range(min(device(cc).phases[width], WARP_SIZE)))
    return CalibrationRow(
        f"{op}, {width} bytes: lanes served with lane 0", _lanes(model), _lanes(together), together == model
    )


def _agreement(
    what: str, requests: Sequence[Pattern], cc: tuple[int, int], cycles: Cycles, slope: float, start: float
) -> CalibrationRow:
    predicted = _predicted(requests, cc)
    measured = (np.array(cycles(requests)) - start) / slope
    off = np.flatnonzero(np.abs(measured - predicted) > np.maximum(0.5, _TOLERANCE * predicted))
    worst = "".join(f"; {requests[i].asks}: {predicted[i]} against {measured[i]:.1f}" for i in off[:2])
    return CalibrationRow(what, f"{len(requests)} counts", f"{len(requests) - len(off)} the same{worst}", len(off) == 0)


def _lanes(lanes: set[int]) -> str:
    ordered = sorted(lanes)
    if ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"{ordered[0]} to {ordered[-1]}"
    return ", ".join(map(str, ordered))
