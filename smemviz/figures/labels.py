"""Short texts in pictures: numbers, and lanes in ranges."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from smemviz.recording import ArrayInfo

_UNITS = ((1.0, "µs"), (1e3, "ms"), (1e6, "s"))


def number(value: float) -> str:
    """Write a number as briefly as it can be told: integers whole, others to four digits."""
    if value == int(value) and abs(value) < 1e7:
        return str(int(value))
    return f"{value:.4g}"


def count(value: int, noun: str) -> str:
    """Write a count with its noun: ``1 wavefront``, ``1,024 wavefronts``."""
    return f"{value:,} {noun}" + ("" if value == 1 else "es" if noun.endswith("ch") else "s")


def element_name(array: ArrayInfo, element: int) -> str:
    """Write an element, counted in row-major order, as the source would: ``a[3, 16]``."""
    return f"{array.name}[{', '.join(str(int(i)) for i in np.unravel_index(element, array.shape))}]"


def duration(microseconds: float) -> str:
    """Write a time in four digits and the unit that suits it: ``1.749 µs``, ``12.35 µs``, ``1.359 ms``."""
    if 0 < abs(microseconds) < 0.0005:
        return "under 0.001 µs"
    size, unit = next((pair for pair in _UNITS if abs(microseconds) < 1000 * pair[0]), _UNITS[-1])
    value = microseconds / size
    return f"{value:.{3 if abs(value) < 10 else 2 if abs(value) < 100 else 1}f} {unit}"


def percent(share: float) -> str:
    """Write a share: ``80 %``, ``0.4 %``."""
    if 0 < share < 0.0005:
        return "under 0.1 %"
    return f"{100 * share:.{0 if share >= 0.0095 or share == 0 else 1}f} %"


def efficiency_text(share: float) -> str:
    """Write a share in four digits: ``12.5 %``, ``3.125 %``."""
    return f"{100 * share:.4g} %"


def lane_ranges(lanes: Iterable[int]) -> str:
    """Write lanes as ranges: ``0-7, 12, 16-31``."""
    ranges: list[list[int]] = []
    for lane in sorted(set(lanes)):
        if ranges and lane == ranges[-1][1] + 1:
            ranges[-1][1] = lane
        else:
            ranges.append([lane, lane])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def lanes_briefly(lanes: Collection[int]) -> str:
    """Write lanes in at most five characters: ``3``, ``4-7``, or the first and the last with dots between."""
    text = lane_ranges(lanes)
    return text if len(text) <= 5 else f"{min(lanes)}…{max(lanes)}"
