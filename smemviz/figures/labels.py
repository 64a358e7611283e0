"""Short texts in pictures: numbers, and lanes in ranges."""

from __future__ import annotations

from collections.abc import Collection, Iterable


def number(value: float) -> str:
    """Write a number as briefly as it can be told: integers whole, others to four digits."""
    if value == int(value) and abs(value) < 1e7:
        return str(int(value))
    return f"{value:.4g}"


def count(value: int, noun: str) -> str:
    """Write a count with its noun: ``1 wavefront``, ``1,024 wavefronts``."""
    return f"{value:,} {noun}" + ("" if value == 1 else "s")


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
