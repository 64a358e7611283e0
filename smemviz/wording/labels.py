"""Short texts: numbers, what is counted, lanes in ranges, the state of a card; joining lists and sentences."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import reduce

import numpy as np

from smemviz.i18n import N_, _, ngettext, pgettext, spoken
from smemviz.languages import Spelling
from smemviz.recordings.data import ArrayInfo, Launch
from smemviz.recordings.findings import kind_of
from smemviz.recordings.measured import Verdict


def capital(text: str) -> str:
    """Begin a text as a sentence begins; English alone of our languages has capitals."""
    return text[0].upper() + text[1:] if spoken() == "en" else text


def clause(sentence: str) -> str:
    """Return a sentence as it stands inside of another."""
    within = sentence[0].lower() + sentence[1:] if spoken() == "en" else sentence
    return within.rstrip(".。")


def sentences(*parts: str) -> str:
    """Write sentences one behind the other, leaving out empty ones."""
    spoken_of = [part for part in parts if part]
    return _joined(lambda before, after: _("{before} {after}", before=before, after=after), spoken_of)


def clauses(*parts: str) -> str:
    """Write parts of a sentence one behind the other."""
    return _joined(lambda before, after: _("{before}, {after}", before=before, after=after), parts)


def items(*parts: str) -> str:
    """Write a list whose items may have commas."""
    return _joined(lambda before, after: _("{before}; {after}", before=before, after=after), parts)


def names(*parts: str) -> str:
    """Write a list of names or numbers."""
    return pgettext("between names of one thing", ", ").join(parts)


def _joined(join: Callable[[str, str], str], parts: Sequence[str]) -> str:
    return reduce(join, parts) if parts else ""


_UNITS = ((1.0, "µs"), (1e3, "ms"), (1e6, "s"))


def number(value: float) -> str:
    """Write a number as briefly as it can be told: integers whole, others to four digits."""
    if abs(value) < 1e7 and value == int(value):
        return str(int(value))
    return f"{value:.4g}"


def count(value: int, noun: str) -> str:
    """Write a count with its noun, which is one of ``COUNTED``: ``1 wavefront``, ``1,024 wavefronts``."""
    return COUNTED[noun](value)


def launch_name(launch: Launch, number: int) -> str:
    """Name a launch by its kernel, with its number among those of the kernel, from 0, from the second on."""
    return launch.kernel if number == 0 else f"{launch.kernel} ({number + 1})"


def operation_name(op: str) -> str:
    """Write an operation as a reader would: ``reduce add``; the instructions of matrices keep their names."""
    kind, _sep, name = op.partition("_")
    return _OPERATIONS[kind](name) if kind in _OPERATIONS else op.replace("_", " ")


def finding_name(kind: str) -> str:
    """Write the kind of a mistake: ``out of bounds``."""
    return _(kind_of(kind).title)


def space_name(space: str) -> str:
    """Write a kind of memory: ``shared``."""
    return {"shared": pgettext("memory", "shared"), "global": pgettext("memory", "global")}[space]


def verdict_name(verdict: Verdict) -> str:
    """Write how counts of the hardware fit: ``agrees``."""
    return _(_VERDICTS[verdict])


def access_name(space: str, op: str) -> str:
    """Write what is done to which kind of memory: ``shared reduce add``."""
    return pgettext("access", "{space} {operation}", space=space_name(space), operation=operation_name(op))


def listed(words: Iterable[str]) -> str:
    """Write one or more words as a sentence lists them: ``a, b and c``."""
    *before, last = words
    return _("{words} and {last}", words=names(*before), last=last) if before else last


def degree_name(degree: int) -> str:
    """Write the degree of a bank conflict: ``32-way``."""
    return _("{degree}-way", degree=degree)


def day(when: date) -> str:
    """Write a date in full: ``21 November 2025``."""
    if spoken() == "en":
        return f"{when.day} {when:%B %Y}"
    from babel.dates import format_date  # slow to import, and English needs none

    return str(format_date(when, "long", locale=spoken().replace("-", "_")))


def element_name(array: ArrayInfo, element: int, spelling: Spelling) -> str:
    """Write an element, counted in row-major order, as the source would: ``a[3, 16]``."""
    return spelling.element(array.name, [int(i) for i in np.unravel_index(element, array.shape)])


def duration(microseconds: float) -> str:
    """Write a time in four digits and the unit that suits it: ``1.749 µs``, ``12.35 µs``, ``1.359 ms``."""
    if 0 < abs(microseconds) < 0.0005:
        return _("under {limit}", limit="0.001 µs")
    size, unit = next((pair for pair in _UNITS if abs(microseconds) < 1000 * pair[0]), _UNITS[-1])
    value = microseconds / size
    return f"{value:.{3 if abs(value) < 10 else 2 if abs(value) < 100 else 1}f} {unit}"


def percent(share: float) -> str:
    """Write a share: ``80 %``, ``0.4 %``."""
    if 0 < share < 0.0005:
        return _("under {limit}", limit=_in_percent("0.1"))
    return _in_percent(f"{100 * share:.{0 if share >= 0.0095 or share == 0 else 1}f}")


def share_of_them(share: float) -> str:
    """Write which part of some are meant: ``a third of them``, ``31 % of them``."""
    common = ((1 / 4, N_("a quarter of them")), (1 / 3, N_("a third of them")), (1 / 2, N_("half of them")))
    named = next((name for part, name in common if abs(share - part) < 0.005), "")
    return _(named) if named else _("{share} of them", share=percent(share))


def efficiency_text(share: float) -> str:
    """Write a share in four digits: ``12.5 %``, ``3.125 %``."""
    return _in_percent(f"{100 * share:.4g}")


def _in_percent(number: str) -> str:
    # TRANSLATORS: a share such as 80 %
    return _("{number} %", number=number)


def lane_ranges(lanes: Iterable[int]) -> str:
    """Write lanes as ranges: ``0-7, 12, 16-31``."""
    ranges: list[list[int]] = []
    for lane in sorted(set(lanes)):
        if ranges and lane == ranges[-1][1] + 1:
            ranges[-1][1] = lane
        else:
            ranges.append([lane, lane])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def lanes_named(lanes: Collection[int]) -> str:
    """Name lanes: ``lane 3``, ``lanes 0-7, 12``."""
    return ngettext("lane {lanes}", "lanes {lanes}", len(set(lanes)), lanes=lane_ranges(lanes))


def ranges_briefly(text: str) -> str:
    """Write what ``lane_ranges`` gives in at most five characters."""
    return text if len(text) <= 5 else "…".join(re.findall(r"^\d+|\d+$", text))


_VERDICTS: Mapping[Verdict, str] = {
    "agrees": N_("agrees"),
    "explained": N_("explained"),
    "inflated": N_("inflated"),
    "unexplained": N_("unexplained"),
}
COUNTED: Mapping[str, Callable[[int], str]] = {
    "bank": lambda n: ngettext("{n:,} bank", "{n:,} banks", n),
    "byte": lambda n: ngettext("{n:,} byte", "{n:,} bytes", n),
    "column": lambda n: ngettext("{n:,} column", "{n:,} columns", n),
    "cycle": lambda n: ngettext("{n:,} cycle", "{n:,} cycles", n),
    "element": lambda n: ngettext("{n:,} element", "{n:,} elements", n),
    "excess wavefront": lambda n: ngettext("{n:,} excess wavefront", "{n:,} excess wavefronts", n),
    "lane": lambda n: ngettext("{n:,} lane", "{n:,} lanes", n),
    "launch": lambda n: ngettext("{n:,} launch", "{n:,} launches", n),
    "logged request": lambda n: ngettext("{n:,} logged request", "{n:,} logged requests", n),
    "mistake": lambda n: ngettext("{n:,} mistake", "{n:,} mistakes", n),
    "more finding": lambda n: ngettext("{n:,} more finding", "{n:,} more findings", n),
    "more launch": lambda n: ngettext("{n:,} more launch", "{n:,} more launches", n),
    "multiprocessor": lambda n: ngettext("{n:,} multiprocessor", "{n:,} multiprocessors", n),
    "request": lambda n: ngettext("{n:,} request", "{n:,} requests", n),
    "row": lambda n: ngettext("{n:,} row", "{n:,} rows", n),
    "sample": lambda n: ngettext("{n:,} sample", "{n:,} samples", n),
    "sector": lambda n: ngettext("{n:,} sector", "{n:,} sectors", n),
    "test": lambda n: ngettext("{n:,} test", "{n:,} tests", n),
    "wavefront": lambda n: ngettext("{n:,} wavefront", "{n:,} wavefronts", n),
    "word": lambda n: ngettext("{n:,} word", "{n:,} words", n),
}

_OPERATIONS: Mapping[str, Callable[[str], str]] = {
    "load": lambda _name: pgettext("operation", "load"),
    "store": lambda _name: pgettext("operation", "store"),
    "update": lambda _name: pgettext("operation", "update"),
    "atomic": lambda name: pgettext("operation", "atomic {name}", name=name),
    "reduce": lambda name: pgettext("operation", "reduce {name}", name=name),
}


def described_conditions(conditions: Mapping[str, str]) -> str:
    """Write what ``measure.conditions`` read: ``SM clock 1980 MHz, power 122 W, throttled by nothing``."""
    return clauses(
        *(_CONDITIONS[name](value) if name in _CONDITIONS else f"{name} {value}" for name, value in conditions.items())
    )


def _throttled(reasons: str) -> str:
    if reasons == "nothing":
        return _("throttled by nothing")
    return _("throttled by {reasons}", reasons=names(*(_(reason) for reason in reasons.split(", "))))


_CONDITIONS: Mapping[str, Callable[[str], str]] = {
    "SM clock": lambda value: _("SM clock {value}", value=value),
    "memory clock": lambda value: _("memory clock {value}", value=value),
    "power": lambda value: _("power {value}", value=value),
    "temperature": lambda value: _("temperature {value}", value=value),
    "throttled by": _throttled,
}
