"""Verdicts in words: one sentence each, with the numbers, for a reader who knows what a request is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smemviz.measure.sass import Instruction
from smemviz.measure.work import Work, total


@dataclass(frozen=True)
class Subject:
    """Whom a sentence is about: the sites' sources, what they do where, and how often it was recorded."""

    sources: tuple[str, ...]
    op: str
    space: str
    width: int
    requests: int

    @property
    def source(self) -> str:
        """The sites as written, the first four of many."""
        different = list(dict.fromkeys(self.sources))
        return ", ".join(different[:4]) + (", ..." if len(different) > 4 else "")


def plural(n: int, word: str) -> str:
    """Return a number and its word."""
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}s"


def unit_of(space: str) -> str:
    """Return what is counted in a space, in the singular."""
    return "sector" if space == "global" else "wavefront"


def as_recorded(subject: Subject, found: Work, instructions: Sequence[Instruction], why_unknown: str | None) -> str:
    """Say that the hardware counted what was recorded; ``why_unknown`` says why the wavefronts were not."""
    unit = unit_of(subject.space)
    amount = plural(getattr(total(found), f"{unit}s"), unit)
    by = f", by {names(instructions)}" if len(instructions) > 1 else ""
    requests = plural(subject.requests, "request")
    if why_unknown:
        said = f"{requests}, as recorded{by}; {amount} counted. {why_unknown}"
    else:
        said = f"{requests} and {amount}, as recorded{by}"
    if len(subject.sources) > 1:
        said = f"{names(instructions)} did the work of {len(subject.sources)} sites together: {said}"
    return said


def changed(subject: Subject, left_out: str, width: int, found: Work, instructions: Sequence[Instruction]) -> str:
    """Say how requests of ``width`` bytes became others; ``left_out`` says which of them were not made at all."""
    said = [f"each complex number of {subject.source} is two floats"] if width < subject.width else []
    said += [left_out] if left_out else []
    for wide, counts in sorted(found.items(), reverse=True):
        if wide > width and counts.requests:
            name = next(one.opcode for one in instructions if one.width == wide)
            said.append(f"{wide // width} {subject.op}s of {subject.source} became one {name}")
    unit, after = unit_of(subject.space), total(found)
    cost = getattr(after, f"{unit}s")
    amount = f", {plural(cost, unit)}" if after.requests else ""
    if after.requests and cost % after.requests == 0 and len(found) == 1:
        amount = f", {plural(cost // after.requests, unit)} each"
    return f"{'; '.join(said)}: {subject.requests:,} -> {plural(after.requests, 'request')}{amount}"


def were_left_out(subject: Subject, times: int, reasons: Sequence[str]) -> str:
    """Say how many of the recorded requests no instruction makes, and why."""
    part = "all" if times == subject.requests else f"{times:,} of"
    number = f"{part} {subject.requests:,}" if subject.requests > 1 else "the one"
    of = f"{subject.op}{'s' if subject.requests > 1 else ''} of {subject.source}"
    return f"{number} {of} {'was' if times == 1 else 'were'} left out, because {' or '.join(reasons)}"


def switched_off(times: int) -> str:
    """Say how often an instruction was issued to no effect."""
    return f"; {times:,} more were issued with every lane switched off" if times else ""


def share(logged: int, requests: int) -> str:
    """Say that a part of the requests stands for all, where it does."""
    if logged == requests:
        return ""
    return f" ({logged:,} of {requests:,} requests were logged; the same share of all gives these counts)"


def names(instructions: Sequence[Instruction]) -> str:
    """Name instructions with their number, ``16 LDS and 4 LDS.128``."""
    counted: dict[str, int] = {}
    for one in instructions:
        counted[one.opcode] = counted.get(one.opcode, 0) + 1
    return " and ".join(f"{n} {name}" for name, n in counted.items())
