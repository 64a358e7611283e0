"""A pattern in words, and why the degree of a request follows from it."""

from __future__ import annotations

from collections import Counter
from math import gcd

import numpy as np

from smemviz.figures.labels import count, lane_ranges
from smemviz.figures.served import Served
from smemviz.model.devices import device
from smemviz.model.operations import POPULATION_COUNT, is_atomic
from smemviz.model.pattern import Level, Pattern
from smemviz.recording import Site

_ROW_OF_BANKS = 128  # bytes, of compute capability 5.0 and later
_MOST_WORDS = 4


def distance(stride: int) -> str:
    """Write a stride in words, or in bytes where it is no whole number of them: ``32 words``."""
    amount, unit = (stride, "byte") if stride % 4 else (stride // 4, "word")
    return f"-{count(-amount, unit)}" if amount < 0 else count(amount, unit)


def name(pattern: Pattern) -> str:
    """Name a pattern: ``stride of 32 words``."""
    if pattern.kind == "stride":
        return f"stride of {distance(pattern.levels[0].stride)}"
    if pattern.kind == "groups":
        inner, *outer = pattern.levels
        strides = ", then ".join(distance(level.stride) for level in outer)
        return f"groups of {inner.lanes} lanes: {distance(inner.stride)}, then {strides}"
    return "XOR swizzle" if pattern.kind == "xor" else pattern.kind


def described(pattern: Pattern, steps: tuple[int, ...] | None, width: int) -> str:
    """Describe a pattern for a sentence that goes on: ``neighbouring lanes are 32 words apart, one row down``.

    ``steps`` is how the array's index changes from lane to lane, None when that differs; ``width`` is bytes per lane.
    """
    if pattern.kind == "one lane":
        return "one lane is active"
    if pattern.kind == "one element":
        return "all lanes ask for the same element"
    if pattern.kind == "stride":
        stride = pattern.levels[0].stride
        who = "neighbouring lanes" if pattern.spacing < 2 else f"active lanes, every {_nth(pattern.spacing)},"
        return f"{who} are {distance(abs(stride))} apart{_steps(steps)}"
    if pattern.kind == "groups":
        return _groups(pattern.levels)
    if pattern.kind == "xor":
        return "the lanes are shuffled by an XOR"
    return "no stride, group or XOR fits the lanes, data or another formula decides"


def reason(pattern: Pattern, site: Site, served: Served, degree: int, cc: tuple[int, int]) -> str:
    """Say why a request on shared memory has the degree it has.

    The arithmetic of strides is used only where it gives the degree that was counted; else the fullest bank is shown.
    """
    lanes = len(np.unique(served.lane))
    if pattern.kind == "one element" and lanes > 1:
        if is_atomic(site.op) and site.op != POPULATION_COUNT:
            return f"an atomic serves the {lanes} lanes one after the other, {degree}-way"
        return "one wavefront delivers it to all of them"
    by_stride = _stride_reason(pattern, site, lanes, degree, cc)
    return by_stride or _fullest(site, served, degree)


def _nth(spacing: int) -> str:
    return {2: "second", 3: "third"}.get(spacing, f"{spacing}th")


def _steps(steps: tuple[int, ...] | None) -> str:
    """Say how the index of an array with several dimensions goes on."""
    if steps is None or len(steps) < 2:
        return ""
    if any(steps[:-2]):
        return f", the index goes on by ({', '.join(map(str, steps))})"
    row, column = steps[-2:]
    down = count(abs(row), "row") + (" down" if row > 0 else " up") if row else ""
    across = count(abs(column), "column") + (" right" if column > 0 else " left") if column else ""
    return f", {' and '.join(part for part in (down, across) if part)}"


def _groups(levels: tuple[Level, ...]) -> str:
    inner, *outer = levels
    within = f"are {distance(abs(inner.stride))} apart" if inner.stride else "ask for the same element"
    said = f"lanes in groups of {inner.lanes} {within}"
    for depth, level in enumerate(outer, 1):
        between = f"{distance(abs(level.stride))} apart" if level.stride else "at the same place"
        these = "the groups" if depth == 1 else "those"
        said += f", {these if depth == len(outer) else f'{level.lanes} of {these}'} {between}"
    return said


def _stride_reason(pattern: Pattern, site: Site, lanes: int, degree: int, cc: tuple[int, int]) -> str | None:
    """Work a degree out from the common divisor of stride and banks, None where that is not the whole story."""
    if pattern.kind != "stride" or pattern.spacing != 1 or device(cc).banks != 32:
        return None
    unit = max(site.width, 4)
    stride, rest = divmod(abs(pattern.levels[0].stride), unit)
    if rest:
        return None
    slots = _ROW_OF_BANKS // unit
    together = min(lanes, slots)
    divisor = gcd(stride, slots)
    used = min(slots // divisor, together)
    if degree != -(-together // (slots // divisor)):
        return None
    places = {4: "banks", 8: "pairs of banks", 16: "groups of 4 banks"}[unit]
    shares = f"{places}, {degree}-way" if degree > 1 else f"{places}, one each"
    how = "" if unit == 4 else f"{together} lanes are served together, and in units of {unit} bytes "
    return f"{how}gcd({stride}, {slots}) = {divisor}, so {together} lanes fall into {used} of {slots} {shares}"


def _fullest(site: Site, served: Served, degree: int) -> str:
    """Show the bank that is busy longest."""
    if degree < 2:
        return "no bank has to deliver two different words at once"
    where = fullest(served)
    bank, lanes, words = where
    if is_atomic(site.op) and site.op != POPULATION_COUNT:
        word, most = Counter(words).most_common(1)[0]
        on = f", {most} of them on word {word}" if most > 1 else ""
        return f"lanes {lane_ranges(lanes)} meet in bank {bank}{on}; an atomic serves them one by one, {degree}-way"
    return f"bank {bank} has to deliver {degree} different words to lanes {lane_ranges(lanes)}, {degree}-way"


def fullest(served: Served) -> tuple[int, list[int], list[int]]:
    """Return the bank that is busy longest in one phase, and who waits there: lanes, and the word of each.

    Raises:
        ValueError: when no bank serves two rows in a phase.
    """
    rows = np.flatnonzero(served.conflict)
    if not len(rows):
        raise ValueError("no bank is in conflict")
    places = served.phase[rows] * 64 + served.bank[rows]
    busy = {int(place): len(np.unique(served.wavefront[rows[places == place]])) for place in np.unique(places)}
    place = max(busy, key=lambda one: busy[one])
    here = rows[places == place]
    return place % 64, served.lane[here].tolist(), served.word[here].tolist()
