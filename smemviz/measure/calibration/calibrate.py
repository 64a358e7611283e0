"""What the model assumes, measured on the card in this machine, without a profiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import numpy as np

from smemviz.engines.options import Progress
from smemviz.measure.calibration import patterns
from smemviz.measure.calibration.patterns import Pattern
from smemviz.model.counting.banks import wavefronts
from smemviz.model.hardware.compute_capability import device
from smemviz.model.hardware.operations import effect_of
from smemviz.recordings.data import WARP_SIZE, Calibration, CalibrationRow, Device

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
            rows.append(_agreement(f"{name}: merge rule", patterns.merge_search(op, width), cc, cycles, slope, start))
        requests = patterns.random_requests(op, width, RANDOM_REQUESTS)
        rows.append(_agreement(f"{name}: random requests", requests, cc, cycles, slope, start))
    return Calibration(card, datetime.now(UTC).isoformat(timespec="seconds"), slopes, tuple(rows))


def _banks(cc: tuple[int, int], cycles: Cycles) -> CalibrationRow:
    cost = np.array(cycles(patterns.bank_search()))
    banks = int(np.flatnonzero(cost > 0.9 * cost.max())[0]) + 1
    return CalibrationRow("number of banks", str(device(cc).banks), str(banks), banks == device(cc).banks)


def _bank_width(cc: tuple[int, int], cycles: Cycles) -> CalibrationRow:
    cost = np.array(cycles(patterns.bank_width_search()))
    width = int(np.flatnonzero(cost < 1.5 * cost.min())[0])
    model = min(device(cc).bank_bytes)
    return CalibrationRow("bytes of a bank", str(model), str(width), width == model)


def _predicted(requests: Sequence[Pattern], cc: tuple[int, int]) -> np.ndarray:
    first = requests[0]
    return wavefronts(np.stack([r.addresses for r in requests]), first.width, first.op, cc)


def _slope(op: str, width: int, cc: tuple[int, int], cycles: Cycles) -> tuple[float, float, float]:
    """Fit cost = start + slope * wavefronts over degrees 1 to 32; return slope, start and the share explained."""
    requests = patterns.strides(op, width)
    x, y = _predicted(requests, cc).astype(float), np.array(cycles(requests))
    slope, start = np.polyfit(x, y, 1)
    rest = y - (start + slope * x)
    return float(slope), float(start), float(1 - (rest @ rest) / ((y - y.mean()) @ (y - y.mean())))


def _phases(op: str, width: int, cc: tuple[int, int], cycles: Cycles, slope: float) -> CalibrationRow:
    alone, *cost = cycles(patterns.phase_search(op, width))
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
