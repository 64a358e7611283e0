"""Does it matter? What the excess of a launch costs, held against the clock and said in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from smemviz.i18n import N_, _
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.cost import MULTIPROCESSORS, Cost, Excess, Judgement, cost, judge
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.data import Calibration, Device, Launch, Timing
from smemviz.wording.grammar import sentences
from smemviz.wording.labels import count, duration, percent

_MUCH, _LITTLE = 0.1, 0.01  # of the net time

_JUDGED: Mapping[Judgement, str] = {
    "agrees": N_("The clock agrees: {kernel}, which has none, takes {slower} less."),
    "less": N_("The clock shows less: {kernel}, which has none, takes only {slower} less; the rest is hidden."),
    "more": N_("The clock shows more: {kernel}, which has none, takes {slower} less; the rest has another cause."),
    "none": N_("The clock does not show it: {kernel}, which has none, takes no less."),
}


@dataclass(frozen=True)
class Measured:
    """A launch with its time, and the card that it was measured on; ``here`` when that was done on this machine."""

    launch: Launch
    time: Timing
    device: Device
    calibration: Calibration | None
    here: bool = False


@dataclass(frozen=True)
class Impact:
    """The answer in a word or two, in one or two sentences, and what it rests on."""

    answer: str
    sentence: str
    basis: str
    cost: Cost
    share: float | None


def impact(one: Measured, others: Iterable[Measured] = ()) -> Impact:
    """Say what the excess of a launch costs.

    ``others`` may hold the same work without excess: launches of the same size on the same card, as many wavefronts at
    best and as many sectors. The time is compared with the fastest of them.
    """
    found = _cost(one)
    if found.wavefronts == 0:
        nothing = _("No wavefront is in excess: bank conflicts cost this launch nothing.")
        return Impact(_("No"), nothing, "", found, 0.0)
    if found.lost_us is None:
        return Impact(_("Not known"), _unknown(found), _basis(one, found), found, None)
    net = one.time.net_us
    share = found.lost_us / net if net > 0 else None
    peer = _peer(one, others)
    slower = net - peer.time.net_us if peer else None
    judgement = judge(found.lost_us, net, slower)
    said = sentences(_lost(found, found.lost_us, share, net), _judged(judgement, peer, slower))
    return Impact(_answer(share, judgement), said, _basis(one, found), found, share)


def clock_mhz(time: Timing) -> float | None:
    """Return the clock of a multiprocessor while a time was taken, None when it was not read."""
    read = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?) MHz", time.conditions.get("SM clock", ""))
    return float(read[1]) if read else None


def _cost(one: Measured) -> Cost:
    blocks = one.launch.grid[0] * one.launch.grid[1] * one.launch.grid[2]
    slopes = one.calibration.slopes if one.calibration else {}
    return cost(_excess(one), blocks, slopes, MULTIPROCESSORS.get(one.device.name), clock_mhz(one.time))


def _excess(one: Measured) -> list[Excess]:
    """Return the excess of each shared site: the hardware's where it was counted, for that is what was timed."""
    launch = one.launch
    if launch.hardware:
        rows = zip(launch.sites, launch.hardware, strict=True)
        return [Excess(s.op, s.width, (row.wavefronts or 0) - (row.ideal or 0)) for s, row in rows]
    counted = zip(launch.sites, summarize(launch, Hardware.on(one.device)), strict=True)
    return [Excess(s.op, s.width, row.excess or 0) for s, row in counted]


def _peer(one: Measured, others: Iterable[Measured]) -> Measured | None:
    work = _work(one)
    peers = [other for other in others if _cost(other).wavefronts == 0 and _work(other) == work]
    return min(peers, key=lambda other: other.time.net_us, default=None)


def _work(one: Measured) -> tuple[object, ...]:
    """Return what two launches must share to do the same work: size, card, ideal wavefronts and sectors."""
    rows = summarize(one.launch, Hardware.on(one.device))
    counts = sum(row.ideal or 0 for row in rows), sum(row.sectors or 0 for row in rows)
    return one.launch.grid, one.launch.block, one.device.name, one.time.cold, counts


def _answer(share: float | None, judgement: Judgement | None) -> str:
    if judgement == "none":
        return _("Not seen")
    if share is None:
        return _("Not known")
    if share >= _MUCH:
        return _("Yes")
    return _("A little") if share >= _LITTLE else _("Hardly")


def _lost(found: Cost, lost_us: float, share: float | None, net_us: float) -> str:
    """Say in a sentence what the excess takes, ``share`` of the net time."""
    wavefronts, lost = count(found.wavefronts, "wavefront"), duration(lost_us)
    cycles = _cycles(found)
    if found.sharing != 1:
        multiprocessors = count(found.sharing or 0, "multiprocessor")
        cycles = _("{cycles} over {multiprocessors}", cycles=cycles, multiprocessors=multiprocessors)
    if share is None:
        return _("{wavefronts} in excess take {cycles}, {lost}.", wavefronts=wavefronts, cycles=cycles, lost=lost)
    return _(
        "{wavefronts} in excess take {cycles}, {lost}: {share} of the {net} net.",
        wavefronts=wavefronts,
        cycles=cycles,
        lost=lost,
        share=percent(share),
        net=duration(net_us),
    )


def _cycles(found: Cost) -> str:
    return _("{cycles:,.0f} cycles", cycles=found.cycles)


def _judged(judgement: Judgement | None, peer: Measured | None, slower: float | None) -> str:
    """Say in a sentence what the clock makes of it."""
    if judgement == "impossible":
        return _("That is more than was measured: part of it is hidden, by the start of the launch or by other work.")
    if judgement is None or peer is None or slower is None:
        return ""
    return _(_JUDGED[judgement], kernel=peer.launch.kernel, slower=duration(slower))


def _unknown(found: Cost) -> str:
    """Say in a sentence how many cycles the excess takes, and why it is not known how long that is."""
    wavefronts, cycles = count(found.wavefronts, "wavefront"), _cycles(found)
    if found.sharing is None:
        return _(
            "{wavefronts} in excess take {cycles} in all; "
            "how many multiprocessors this card has is not known, so neither is the time.",
            wavefronts=wavefronts,
            cycles=cycles,
        )
    return _(
        "{wavefronts} in excess take {cycles} in all; the clock was not read, so the time is not known.",
        wavefronts=wavefronts,
        cycles=cycles,
    )


def _basis(one: Measured, found: Cost) -> str:
    """Say where the numbers come from, and what is assumed."""
    if one.launch.hardware:
        counted = _("Excess counted by the hardware")
    else:
        rule = Hardware.on(one.device).name
        counted = _("Excess by the rule for compute capability {rule}", rule=rule)
    if found.calibrated and one.calibration:
        cycles = _("cycles per wavefront as calibrated on {device}", device=one.calibration.device.name)
    else:
        cycles = _("1 cycle per wavefront as documented")
    clock = clock_mhz(one.time)
    if clock:
        cycles = _("{cycles}, at {clock:,.0f} MHz", cycles=cycles, clock=clock)
    if found.sharing:
        sharing = _("{multiprocessors} at work", multiprocessors=count(found.sharing, "multiprocessor"))
    else:
        sharing = _("multiprocessors unknown")
    rests_on = _("{excess}; {cycles}; {sharing}.", excess=counted, cycles=cycles, sharing=sharing)
    return sentences(rests_on, _("Assumes that blocks spread evenly and that nothing else fills the wait."))
