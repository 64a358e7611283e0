"""Verdicts in words: one sentence each, with the numbers, for a reader who knows what a request is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from smemviz.measure.ncu.sass import CountsByWidth, Instruction, total
from smemviz.messages import english, nenglish
from smemviz.model.counting.costs import unit_of


@dataclass(frozen=True)
class Subject:
    """Whom a sentence is about: the sites' sources, what they do where, and how often it was recorded."""

    sources: tuple[str, ...]
    op: str
    space: str
    width: int
    requests: int
    is_complex: bool = False

    @property
    def source(self) -> str:
        """The sites as written, the first four of many."""
        different = list(dict.fromkeys(self.sources))
        return ", ".join(different[:4]) + (", ..." if len(different) > 4 else "")


def plural(n: int, word: str) -> str:
    """Return a number and its word: request, wavefront, sector or round."""
    match word:
        case "request":
            return nenglish("{n:,} request", "{n:,} requests", n)
        case "wavefront":
            return nenglish("{n:,} wavefront", "{n:,} wavefronts", n)
        case "sector":
            return nenglish("{n:,} sector", "{n:,} sectors", n)
    return nenglish("{n:,} round", "{n:,} rounds", n)


def as_recorded(
    subject: Subject, counted: CountsByWidth, instructions: Sequence[Instruction], why_unknown: str | None
) -> str:
    """Say that the hardware counted what was recorded; ``why_unknown`` says why the wavefronts were not."""
    unit, by = unit_of(subject.space), names(instructions)
    amount = plural(getattr(total(counted), f"{unit}s"), unit)
    values = {"requests": plural(subject.requests, "request"), "amount": amount, "instructions": by, "why": why_unknown}
    match bool(why_unknown), len(instructions) > 1:
        case True, True:
            what = english("{requests}, as recorded, by {instructions}; {amount} counted. {why}", **values)
        case True, False:
            what = english("{requests}, as recorded; {amount} counted. {why}", **values)
        case False, True:
            what = english("{requests} and {amount}, as recorded, by {instructions}", **values)
        case _:
            what = english("{requests} and {amount}, as recorded", **values)
    if len(subject.sources) == 1:
        return what
    together = {"instructions": by, "sites": len(subject.sources), "what": what}
    return english("{instructions} did the work of {sites} accesses together: {what}", **together)


def moved_together(width: int) -> str:
    """Say that a complex number of so many bytes was moved whole."""
    if width == 16:
        return english("One instruction moved both doubles (8 bytes each) of a number.")
    return english("One instruction moved both floats (4 bytes each) of a number.")


def _two_numbers(source: str, width: int) -> str:
    """Say what a complex number is, whose parts of ``width`` bytes were moved one by one."""
    if width == 8:
        return english("each complex number of {source} is two doubles (8 bytes each)", source=source)
    return english("each complex number of {source} is two floats (4 bytes each)", source=source)


def changed(
    subject: Subject, left_out: str, width: int, counted: CountsByWidth, instructions: Sequence[Instruction]
) -> str:
    """Say how requests of ``width`` bytes became others; ``left_out`` says which of them were not made at all."""
    source = subject.source
    parts: list[str] = []
    if width < subject.width:
        part = english("no more than {width} bytes of each {source} are used", width=width, source=source)
        parts.append(_two_numbers(source, width) if subject.is_complex else part)
    parts += [left_out] if left_out else []
    for wide, counts in sorted(counted.items(), reverse=True):
        if wide > width and counts.requests:
            name = next(instruction.opcode for instruction in instructions if instruction.width == wide)
            parts.append(
                english(
                    "{accesses} became one {instruction}", accesses=_accesses(subject, wide // width), instruction=name
                )
            )
    unit, after = unit_of(subject.space), total(counted)
    each, rest = divmod(getattr(after, f"{unit}s"), max(after.requests, 1))
    values = {"what": "; ".join(parts), **_became(subject, counted)}
    if not after.requests:
        return english("{what}: {before:,} -> 0 requests", **values)
    if not rest and len(counted) == 1:
        values["amount"] = plural(each, unit)
        return english("{what}: {before:,} -> {after}, {amount} each", **values)
    return english("{what}: {before:,} -> {after}, {amount}", **values)


def joined(subject: Subject, counted: CountsByWidth) -> str:
    """Say that what each lane loads or stores last became one request of its warp."""
    values = {"source": subject.source, **_became(subject, counted)}
    if subject.op == "load":
        return english("{source} is loaded once for all lanes of a warp: {before:,} -> {after}, {amount}", **values)
    return english(
        "{source} is stored once for all lanes of a warp, behind its loop or branch: {before:,} -> {after}, {amount}",
        **values,
    )


def chosen(subject: Subject, counted: CountsByWidth, instructions: Sequence[Instruction]) -> str:
    """Say that one instruction made several accesses, of each lane the one that it chose."""
    return english(
        "{instructions} made {source} together, of each lane the one that its condition chose: "
        "{before:,} -> {after}, {amount}",
        instructions=names(instructions),
        source=subject.source,
        **_became(subject, counted),
    )


def unrolled(subject: Subject, times: int, counted: CountsByWidth, instructions: Sequence[Instruction]) -> str:
    """Say that lanes go through a loop in other groups, since so many of its rounds are one text."""
    return english(
        "the loop was unrolled {times} times, and lanes that leave it after different numbers of rounds go through it "
        "in other groups: {before:,} -> {after}, {amount}, by {instructions}",
        times=times,
        instructions=names(instructions),
        **_became(subject, counted),
    )


def parted(subject: Subject, counted: CountsByWidth, instructions: Sequence[Instruction]) -> str:
    """Say that lanes that come to an access by different ways make requests of their own."""
    return english(
        "lanes come to it by different ways, as operands of a condition lead, and do not wait there for each other: "
        "{before:,} -> {after}, {amount}, by {instructions}",
        instructions=names(instructions),
        **_became(subject, counted),
    )


def _became(subject: Subject, counted: CountsByWidth) -> dict[str, Any]:
    """Return the requests ``before``, and ``after`` with the ``amount`` that they cost."""
    unit, after = unit_of(subject.space), total(counted)
    amount = plural(getattr(after, f"{unit}s"), unit)
    return {"before": subject.requests, "after": plural(after.requests, "request"), "amount": amount}


def were_left_out(subject: Subject, times: int, reasons: Sequence[str]) -> str:
    """Say how many of the recorded requests no instruction makes, and why."""
    why = " or ".join(reasons)
    if subject.requests == 1:
        return english(
            "the one {op} of {source} was left out, because {why}", op=subject.op, source=subject.source, why=why
        )
    accesses = _accesses(subject, subject.requests)
    if times == subject.requests:
        return english("all {accesses} were left out, because {why}", accesses=accesses, why=why)
    return nenglish(
        "{n:,} of {accesses} was left out, because {why}",
        "{n:,} of {accesses} were left out, because {why}",
        times,
        accesses=accesses,
        why=why,
    )


def _accesses(subject: Subject, n: int) -> str:
    """Say how many accesses of a subject; there are always several."""
    match subject.op:
        case "load":
            return english("{n:,} loads of {source}", n=n, source=subject.source)
        case "store":
            return english("{n:,} stores of {source}", n=n, source=subject.source)
    return english("{n:,} {op}s of {source}", n=n, op=subject.op, source=subject.source)


def switched_off(what: str, times: int) -> str:
    """Add to a sentence how often an instruction was issued to no effect."""
    if not times:
        return what
    return english("{what}; {times:,} more were issued with every lane switched off", what=what, times=times)


def other_ideal(what: str, theirs: int, ours: int) -> str:
    """Add to a sentence that Nsight Compute calls another number of wavefronts ideal, where it does."""
    if theirs == ours:
        return what
    return english(
        "{what}; {ours} would be ideal, {theirs:,} by the rule of Nsight Compute",
        what=what,
        ours=plural(ours, "wavefront"),
        theirs=theirs,
    )


def share(what: str, logged: int, requests: int) -> str:
    """Add to a sentence that a part of the requests stands for all, where it does."""
    if logged == requests:
        return what
    return english(
        "{what} ({logged:,} of {requests:,} requests were logged; the same share of all gives these counts)",
        what=what,
        logged=logged,
        requests=requests,
    )


def names(instructions: Sequence[Instruction]) -> str:
    """Name instructions with their number, ``16 LDS and 4 LDS.128``."""
    counted = Counter(instruction.opcode for instruction in instructions)
    return " and ".join(f"{n} {name}" for name, n in counted.items())
