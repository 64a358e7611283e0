"""A witness: the request that exceeds a limit, in text a terminal can show, and the smallest change that would pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from smemviz.frontends.reading import loaded_sites
from smemviz.languages import spelling_of
from smemviz.model.counting.service import bytes_used, sectors
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.layout.candidates import pads, swizzles
from smemviz.model.layout.search import Score, score, smallest_fix
from smemviz.model.playback import BankService
from smemviz.recordings.data import SECTOR_BYTES, Launch, Site
from smemviz.recordings.recording import Recording
from smemviz.recordings.text import lines_of
from smemviz.wording.explanations import Explaining
from smemviz.wording.labels import count, lane_ranges, number, operation_name
from smemviz.wording.patterns import fullest

Quantity = Literal["max_degree", "excess", "sectors_per_request"]

_MOST_WAVEFRONTS = 32  # of a drawing
_MOST_DRAWN = 4  # of them, in text
_LINES_AROUND = 2
_MOST_WORDS = 6


@dataclass(frozen=True)
class Exceeding:
    """A limit that was exceeded: by ``amount`` at ``site``, ``total`` over the sites ``among`` which it is the worst.

    ``row`` is the request to show, None where none of that site was logged.
    """

    quantity: Quantity
    most: float
    amount: float
    total: float
    site: int
    row: int | None
    among: tuple[int, ...]


@dataclass(frozen=True)
class Drawing:
    """Who is served when: a row of ``cells`` per wavefront from number ``first`` on, a cell per bank.

    A cell is the lane that is served there, ``*`` for several on one word, or ``.`` for none. ``more`` wavefronts of
    the same phase are not drawn.
    """

    first: int
    cells: tuple[tuple[str, ...], ...]
    more: int = 0


@dataclass(frozen=True)
class Witness:
    """What exceeded a limit: a line that begins with the place, details, a picture, why, and what would pass.

    ``source`` are the lines around the place, from line ``source_from`` on.
    """

    headline: str
    details: tuple[str, ...] = ()
    drawing: Drawing | None = None
    why: str = ""
    to_pass: str = ""
    source: tuple[str, ...] = ()
    source_from: int = 0

    @property
    def text(self) -> str:
        """All of it but the source, for a terminal."""
        lines = [self.headline, *(f"  {line}" for line in self.details)]
        if self.drawing:
            lines += ["", *_drawn(self.drawing), ""]
        lines += [f"  why: {self.why}"] if self.why else []
        lines += [f"  to pass: {self.to_pass}"] if self.to_pass else []
        return "\n".join(lines)


def witness(recording: Recording, launch: Launch, exceeding: Exceeding, hardware: Hardware) -> Witness:
    """Show what exceeds a limit of a launch, counted as hardware does."""
    spelling = spelling_of(recording.file_of(launch))
    explaining = Explaining(launch, hardware, loaded_sites(recording, launch), spelling)
    site, row = launch.sites[exceeding.site], exceeding.row
    headline = f"{recording.file_of(launch, site)}:{site.line}: {_headline(launch, site, exceeding)}"
    source = around(recording.source_of(launch, site), site.line)
    if row is None:
        return Witness(headline, ("none of the requests that exceed it was logged",), None, "", "", *source)
    if site.is_shared:
        service = explaining.service(row)
        collide = bool(service.conflict.any())  # on 2.x a request of 16 bytes a lane is 2-way even where none do
        details = _shared_request(explaining, row, service, collide)
        picture = _draw(service, hardware.banks) if collide else None
        change = _change(explaining, row, exceeding)
    else:
        details, picture = _global_request(launch, site, row), None
        change = _neighbours(launch, row, exceeding)
    return Witness(headline, details, picture, explaining.because(row), change, *source)


def around(source: str, line: int) -> tuple[tuple[str, ...], int]:
    """Return the lines of a source around one of them, and the number of the first."""
    first = max(1, line - _LINES_AROUND)
    return tuple(lines_of(source)[first - 1 : line + _LINES_AROUND]), first


def _headline(launch: Launch, site: Site, exceeding: Exceeding) -> str:
    who = f"{operation_name(site.op)} of {site.source} in {launch.kernel}"
    amount, most = number(exceeding.amount), number(exceeding.most)
    if exceeding.quantity == "max_degree":
        return f"{who} is {amount}-way; at most {most}-way is allowed"
    if exceeding.quantity == "sectors_per_request":
        return f"{who} moves {amount} sectors per request; at most {most} are allowed"
    others = f" of {number(exceeding.total)} in all" if exceeding.total > exceeding.amount else ""
    return f"{who} takes {amount} wavefronts in excess{others}; at most {most} are allowed"


def _where(launch: Launch, row: int) -> str:
    requests = launch.requests
    lanes = count(int((requests.addresses[row] >= 0).sum()), "lane")
    return f"block {requests.block[row]}, warp {requests.warp[row]}, step {requests.step[row]}: {lanes}"


def _shared_request(explaining: Explaining, row: int, service: BankService, collide: bool) -> tuple[str, ...]:
    """Say who asks for what, at the bank that takes longest where lanes collide."""
    launch = explaining.launch
    site = launch.sites[launch.requests.site[row]]
    ideal = service.wavefronts - int(explaining.cost(site, np.array([row]))[0])
    took = f"{_where(launch, row)}, {count(service.wavefronts, 'wavefront')} where {ideal} would do"
    if not collide:
        return (took,)
    bank, lanes, words = fullest(service)
    different = list(dict.fromkeys(words))
    addressed = f"{'word' if len(different) == 1 else 'words'} {_briefly(different)}"
    return took, f"bank {bank}: lanes {lane_ranges(lanes)} ask for {addressed}"


def _briefly(words: Sequence[int]) -> str:
    """Write the first words of many and the last."""
    texts = [str(word) for word in words]
    return ", ".join(texts if len(texts) <= _MOST_WORDS else [*texts[: _MOST_WORDS - 2], "...", texts[-1]])


def _draw(service: BankService, banks: int) -> Drawing:
    """Draw the phase whose fullest bank is the fullest of the request."""
    bank, lanes, _ = fullest(service)
    phase = service.phase[(service.bank == bank) & np.isin(service.lane, lanes) & service.conflict][0]
    wavefronts = np.unique(service.wavefront[service.phase == phase])
    cells = []
    for wavefront in wavefronts[:_MOST_WAVEFRONTS]:
        here = service.wavefront == wavefront
        lanes_of = [np.unique(service.lane[here & (service.bank == b)]) for b in range(banks)]
        cells.append(tuple("." if not len(on) else "*" if len(on) > 1 else str(on[0]) for on in lanes_of))
    return Drawing(int(wavefronts[0]) + 1, tuple(cells), len(wavefronts) - len(cells))


def _drawn(drawing: Drawing) -> list[str]:
    """Write a drawing in characters."""
    rows = drawing.cells[:_MOST_DRAWN]
    lines = ["  bank        " + "".join(f"{bank:3}" for bank in range(len(rows[0])))]
    lines += [
        f"  wavefront {number:2}" + "".join(f"{cell:>3}" for cell in row)
        for number, row in enumerate(rows, drawing.first)
    ]
    more = drawing.more + len(drawing.cells) - len(rows)
    lines += [f"  ... and {more} more"] if more else []
    several = any("*" in row for row in rows)
    return [*lines, "  * several lanes on one word"] if several else lines


def _global_request(launch: Launch, site: Site, row: int) -> tuple[str, ...]:
    """Say how many sectors move for how many bytes, and where the first lanes are."""
    addresses = launch.requests.addresses[row]
    moved, used = int(sectors(addresses, site.width)), int(bytes_used(addresses, site.width))
    on = np.flatnonzero(addresses >= 0)
    start = int(addresses[on].min())
    at = ", ".join(f"lane {lane} at byte {addresses[lane] - start}" for lane in on[:3].tolist())
    more = ", ..." if len(on) > 3 else ""
    return (
        f"{_where(launch, row)}, {count(moved, 'sector')} for {count(used, 'byte')}",
        f"from the lowest address on: {at}{more}",
    )


def _neighbours(launch: Launch, row: int, exceeding: Exceeding) -> str:
    site = launch.sites[exceeding.site]
    used = int(bytes_used(launch.requests.addresses[row], site.width))
    least = -(-used // SECTOR_BYTES)
    if least > exceeding.most:
        return f"allow more: {count(used, 'byte')} are at least {count(least, 'sector')}."
    return f"let neighbouring lanes take neighbouring elements; {count(used, 'byte')} fit {count(least, 'sector')}."


def _change(explaining: Explaining, row: int, exceeding: Exceeding) -> str:
    """Say the smallest pad and swizzle with which the limit holds, or why there is none."""
    index = explaining.array_of(row)
    if index is None:
        return "keep the index inside of its array; no pad or swizzle helps."
    accesses = explaining.steady(index)
    if exceeding.site not in {access.site for access in accesses}:
        return "no pad or swizzle is sure to help where data decides which words are asked for."
    array, hardware = explaining.launch.arrays[index], explaining.hardware
    meant = [access.site in exceeding.among for access in accesses]

    def selected(scores: Sequence[Score]) -> list[Score]:
        return [cost for cost, chosen in zip(scores, meant, strict=True) if chosen]

    def passes(scores: Sequence[Score]) -> bool:
        if sum(cost.excess for cost in scores) > sum(cost.excess for cost in before):
            return False
        if exceeding.quantity == "max_degree":
            return all(cost.max_degree <= exceeding.most for cost in selected(scores))
        elsewhere = exceeding.total - sum(cost.excess for cost in selected(before))
        return elsewhere + sum(cost.excess for cost in selected(scores)) <= exceeding.most

    before = [score(access, array.itemsize, None, hardware) for access in accesses]
    pad = smallest_fix(array, accesses, pads(array, accesses, hardware), passes, hardware)
    swizzle = smallest_fix(array, accesses, swizzles(array, accesses, hardware), passes, hardware)
    passing = (pad if pad and passes(pad.after) else None, swizzle if swizzle and passes(swizzle.after) else None)
    fix = explaining.fix_text(index, *passing)
    if fix is not None:
        return fix[0].lower() + fix[1:]
    helps = explaining.fix_text(index, pad, swizzle)
    if helps is None:
        return "no pad or swizzle helps."
    return f"no pad or swizzle is enough. {helps}"
