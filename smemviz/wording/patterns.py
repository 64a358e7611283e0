"""A pattern in words, and why the degree of a request follows from it."""

from collections import Counter
from functools import reduce
from math import gcd

import numpy as np

from smemviz.i18n import N_, _, ngettext
from smemviz.languages import PYTHON, Spelling
from smemviz.model.counting.pattern import Level, Pattern
from smemviz.model.hardware.compute_capability import device
from smemviz.model.hardware.operations import effect_of, operation
from smemviz.model.playback import BankService
from smemviz.recordings.data import Site
from smemviz.recordings.vocabulary import POPULATION_COUNT
from smemviz.wording.labels import clauses, count, lane_ranges

_NAMES = {
    "one lane": N_("one lane"),
    "one element": N_("one element"),
    "xor": N_("XOR swizzle"),
    "irregular": N_("irregular"),
    "data-dependent": N_("data-dependent"),
}
# By bytes per lane, of at least a word. ``divided`` is as in ``gcd(32, 32) = 32``.
_ONE_EACH = {
    4: N_("{divided}, so {lanes} lanes fall into {used} of {slots} banks, one each"),
    8: N_(
        "{lanes} lanes are served together, and in units of 8 bytes "
        "{divided}, so {lanes} lanes fall into {used} of {slots} pairs of banks, one each"
    ),
    16: N_(
        "{lanes} lanes are served together, and in units of 16 bytes "
        "{divided}, so {lanes} lanes fall into {used} of {slots} groups of 4 banks, one each"
    ),
}
_SHARED = {
    4: N_("{divided}, so {lanes} lanes fall into {used} of {slots} banks, {degree}-way"),
    8: N_(
        "{lanes} lanes are served together, and in units of 8 bytes "
        "{divided}, so {lanes} lanes fall into {used} of {slots} pairs of banks, {degree}-way"
    ),
    16: N_(
        "{lanes} lanes are served together, and in units of 16 bytes "
        "{divided}, so {lanes} lanes fall into {used} of {slots} groups of 4 banks, {degree}-way"
    ),
}


def distance(stride: int) -> str:
    """Write a stride in words, or in bytes where it is no whole number of them: ``32 words``."""
    amount, unit = (stride, "byte") if stride % 4 else (stride // 4, "word")
    return f"-{count(-amount, unit)}" if amount < 0 else count(amount, unit)


def name(pattern: Pattern) -> str:
    """Name a pattern: ``stride of 32 words``."""
    if pattern.kind == "stride":
        return _("stride of {distance}", distance=distance(pattern.levels[0].stride))
    if pattern.kind == "groups":
        strides = [distance(level.stride) for level in pattern.levels]
        then = reduce(lambda inner, outer: _("{inner}, then {outer}", inner=inner, outer=outer), strides)
        return _("groups of {lanes} lanes: {distances}", lanes=pattern.levels[0].lanes, distances=then)
    return _(_NAMES[pattern.kind])


def described(pattern: Pattern, steps: tuple[int, ...] | None, spelling: Spelling = PYTHON.spelling) -> str:
    """Describe a pattern for a sentence that goes on: ``neighbouring lanes are 32 words apart, one row down``.

    ``steps`` is how the array's index changes from lane to lane, None when that differs.
    """
    if pattern.kind == "one lane":
        return _("one lane is active")
    if pattern.kind == "one element":
        return _("all lanes ask for the same element")
    if pattern.kind == "stride":
        step = _step(steps, spelling)
        return clauses(_apart(pattern), step) if step else _apart(pattern)
    if pattern.kind == "groups":
        return _groups(pattern.levels)
    if pattern.kind == "xor":
        return _("an XOR permutes the addresses of the lanes, as a swizzle does")
    if pattern.kind == "data-dependent":
        return _("loaded data decides where each lane goes")
    return _("no single stride, grouping or XOR describes these lanes")


def reason(pattern: Pattern, site: Site, service: BankService, degree: int, cc: tuple[int, int]) -> str:
    """Say why a request on shared memory has the degree it has.

    The arithmetic of strides is used only where it gives the degree that was counted; else the fullest bank is shown.
    """
    lanes = len(np.unique(service.lane))
    if pattern.kind == "one element" and lanes > 1:
        if not operation(site.op).shares:
            return _("an atomic serves the {lanes} lanes one after the other, {degree}-way", lanes=lanes, degree=degree)
        return _same_element(site.op, service.wavefronts)
    more = device(cc).more_ways.get(site.width, 0)
    sentence = _stride_reason(pattern, site, lanes, degree - more, cc) or _fullest(site, service, degree - more)
    if not more:
        return sentence
    return _(
        "{reason}; on {family} an access of {width} bytes is one way more, {degree}-way",
        reason=sentence,
        family=device(cc).family,
        width=site.width,
        degree=degree,
    )


def _same_element(op: str, wavefronts: int) -> str:
    """Say what becomes of one element that all lanes ask for, where that is no conflict."""
    if op == POPULATION_COUNT:
        return _("one update counts all of them")
    if effect_of(op) == "store":
        return _("one of their values is kept, and which one is undefined")
    return ngettext(
        "it is broadcast to all of them",
        "{n} wavefronts broadcast it to all of them, group of lanes by group",
        wavefronts,
    )


def _apart(pattern: Pattern) -> str:
    """Say how far the active lanes are apart, and which those are."""
    apart = distance(abs(pattern.levels[0].stride))
    if pattern.spacing < 2:
        return _("neighbouring lanes are {distance} apart", distance=apart)
    if pattern.spacing == 2:
        return _("every second lane is active, and the active lanes are {distance} apart", distance=apart)
    if pattern.spacing == 3:
        return _("every third lane is active, and the active lanes are {distance} apart", distance=apart)
    return _(
        "every {spacing}th lane is active, and the active lanes are {distance} apart",
        spacing=pattern.spacing,
        distance=apart,
    )


def _step(steps: tuple[int, ...] | None, spelling: Spelling) -> str | None:
    """Say how the index of an array with several dimensions goes on, None where it stays or differs."""
    if steps is None or len(steps) < 2 or not any(steps):
        return None
    if any(steps[:-2]):
        return _("the index goes on by {steps}", steps=spelling.shape(steps))
    row, column = steps[-2:]
    if not column:
        return _rows(row)
    if not row:
        return _columns(column)
    return _("{rows} and {columns}", rows=_rows(row), columns=_columns(column))


def _rows(step: int) -> str:
    if step > 0:
        return _("{rows} down", rows=count(step, "row"))
    return _("{rows} up", rows=count(-step, "row"))


def _columns(step: int) -> str:
    if step > 0:
        return _("{columns} right", columns=count(step, "column"))
    return _("{columns} left", columns=count(-step, "column"))


def _groups(levels: tuple[Level, ...]) -> str:
    if len(levels) > 2:
        return _("the lanes lie in {n} strides, one within the other", n=len(levels))
    inner, outer = levels
    if inner.stride:
        within = _("lanes in groups of {lanes} are {distance} apart", lanes=inner.lanes, distance=_long(inner))
    else:
        within = _("lanes in groups of {lanes} ask for the same element", lanes=inner.lanes)
    if not outer.stride:
        return clauses(within, _("the groups at the same place"))
    return clauses(within, _("the groups {distance} apart", distance=_long(outer)))


def _long(level: Level) -> str:
    return distance(abs(level.stride))


def _stride_reason(pattern: Pattern, site: Site, lanes: int, degree: int, cc: tuple[int, int]) -> str | None:
    """Work a degree out from the common divisor of stride and banks, None where that is not the whole story."""
    row = device(cc)
    if pattern.kind != "stride" or pattern.spacing != 1 or row.splits_wide:
        return None
    unit = max(site.width, 4)
    stride, rest = divmod(abs(pattern.levels[0].stride), unit)
    if rest:
        return None
    slots = row.banks * row.bank_bytes[0] // unit
    together = min(lanes, slots, row.phases[unit])
    divisor = gcd(stride, slots)
    used = min(slots // divisor, together)
    if degree != -(-together // (slots // divisor)):
        return None
    divided = f"gcd({stride}, {slots}) = {divisor}"
    message = (_SHARED if degree > 1 else _ONE_EACH)[unit]
    return _(message, divided=divided, lanes=together, used=used, slots=slots, degree=degree)


def _fullest(site: Site, service: BankService, degree: int) -> str:
    """Show the bank that is busy longest."""
    if degree < 2:
        return _("no bank has to deliver two different words at once")
    bank, lanes, words = fullest(service)
    who = lane_ranges(lanes)
    if operation(site.op).shares:
        return _(
            "bank {bank} has to deliver {degree} different words to lanes {lanes}, {degree}-way",
            bank=bank,
            degree=degree,
            lanes=who,
        )
    word, most = Counter(words).most_common(1)[0]
    if most > 1:
        return _(
            "lanes {lanes} meet in bank {bank}, {most} of them on word {word}; "
            "an atomic serves them one by one, {degree}-way",
            lanes=who,
            bank=bank,
            most=most,
            word=word,
            degree=degree,
        )
    return _(
        "lanes {lanes} meet in bank {bank}; an atomic serves them one by one, {degree}-way",
        lanes=who,
        bank=bank,
        degree=degree,
    )


def fullest(service: BankService) -> tuple[int, list[int], list[int]]:
    """Return the bank that is busy longest in one phase, and who waits there: lanes, and the word of each.

    Raises:
        ValueError: when no bank serves two rows in a phase.
    """
    rows = np.flatnonzero(service.conflict)
    if not len(rows):
        raise ValueError("no bank is in conflict")
    places = service.phase[rows] * 64 + service.bank[rows]
    busy = {int(place): len(np.unique(service.wavefront[rows[places == place]])) for place in np.unique(places)}
    place = max(busy, key=lambda bank: busy[bank])
    here = rows[places == place]
    return place % 64, service.lane[here].tolist(), service.word[here].tolist()
