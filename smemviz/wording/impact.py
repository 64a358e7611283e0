"""Does it matter? What the excess of a launch costs, held against the clock and said in words."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from smemviz.i18n import N_, _
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.cost import MULTIPROCESSORS, Cost, Excess, Judgement, cost, judge
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.data import Launch
from smemviz.recordings.measured import Calibration, Device, Timing
from smemviz.wording.labels import count, duration, percent, sentences

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


def impact(measured: Measured, others: Iterable[Measured] = ()) -> Impact:
    """Say what the excess of a launch costs.

    ``others`` may hold the same work without excess: launches of the same size on the same card, as many wavefronts at
    best and as many sectors. The time is compared with the fastest of them.
    """
    costs = _cost(measured)
    if costs.wavefronts == 0:
        nothing = _("There are no excess wavefronts: bank conflicts cost this launch nothing.")
        return Impact(_("No"), nothing, "", costs, 0.0)
    if costs.lost_us is None:
        return Impact(_("Not known"), _unknown(costs), _basis(measured, costs), costs, None)
    net = measured.time.net_us
    share = costs.lost_us / net if net > 0 else None
    peer = _peer(measured, others)
    slower = net - peer.time.net_us if peer else None
    judgement = judge(costs.lost_us, net, slower)
    sentence = sentences(_lost(costs, costs.lost_us, share, net), _judged(judgement, peer, slower))
    return Impact(_answer(share, judgement), sentence, _basis(measured, costs), costs, share)


def clock_mhz(time: Timing) -> float | None:
    """Return the clock of a multiprocessor while a time was taken, None when it was not read."""
    read = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?) MHz", time.conditions.get("SM clock", ""))
    return float(read[1]) if read else None


def _cost(measured: Measured) -> Cost:
    blocks = measured.launch.grid[0] * measured.launch.grid[1] * measured.launch.grid[2]
    slopes = measured.calibration.slopes if measured.calibration else {}
    return cost(_excess(measured), blocks, slopes, MULTIPROCESSORS.get(measured.device.name), clock_mhz(measured.time))


def _excess(measured: Measured) -> list[Excess]:
    """Return the excess of each shared site: the hardware's where it was counted, for that is what was timed."""
    launch = measured.launch
    if launch.hardware:
        rows = zip(launch.sites, launch.hardware, strict=True)
        return [Excess(s.op, s.width, (row.wavefronts or 0) - (row.ideal or 0)) for s, row in rows]
    counted = zip(launch.sites, summarize(launch, Hardware.on(measured.device)), strict=True)
    return [Excess(s.op, s.width, row.excess or 0) for s, row in counted]


def _peer(measured: Measured, others: Iterable[Measured]) -> Measured | None:
    work = _work_of(measured)
    peers = [other for other in others if _cost(other).wavefronts == 0 and _work_of(other) == work]
    return min(peers, key=lambda other: other.time.net_us, default=None)


def _work_of(measured: Measured) -> tuple[object, ...]:
    """Return what two launches must share to do the same work: size, card, ideal wavefronts and sectors."""
    rows = summarize(measured.launch, Hardware.on(measured.device))
    counts = sum(row.ideal or 0 for row in rows), sum(row.sectors or 0 for row in rows)
    return measured.launch.grid, measured.launch.block, measured.device.name, measured.time.cold, counts


def _answer(share: float | None, judgement: Judgement | None) -> str:
    if judgement == "none":
        return _("Not seen")
    if share is None:
        return _("Not known")
    if share >= _MUCH:
        return _("Yes")
    return _("A little") if share >= _LITTLE else _("Hardly")


def _lost(costs: Cost, lost_us: float, share: float | None, net_us: float) -> str:
    """Say in a sentence what the excess takes, ``share`` of the net time."""
    wavefronts, lost = count(costs.wavefronts, "wavefront"), duration(lost_us)
    cycles = _cycles(costs)
    if costs.sharing != 1:
        multiprocessors = count(costs.sharing or 0, "multiprocessor")
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


def _cycles(costs: Cost) -> str:
    return _("{cycles:,.0f} cycles", cycles=costs.cycles)


def _judged(judgement: Judgement | None, peer: Measured | None, slower: float | None) -> str:
    """Say in a sentence what the clock makes of it."""
    if judgement == "impossible":
        return _("That is more than was measured: part of it is hidden, by the start of the launch or by other work.")
    if judgement is None or peer is None or slower is None:
        return ""
    return _(_JUDGED[judgement], kernel=peer.launch.kernel, slower=duration(slower))


def _unknown(costs: Cost) -> str:
    """Say in a sentence how many cycles the excess takes, and why it is not known how long that is."""
    wavefronts, cycles = count(costs.wavefronts, "wavefront"), _cycles(costs)
    if costs.sharing is None:
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


def _basis(measured: Measured, costs: Cost) -> str:
    """Say where the numbers come from, and what is assumed."""
    if measured.launch.hardware:
        counted = _("Excess counted by the hardware")
    else:
        rule = Hardware.on(measured.device).name
        counted = _("Excess by the rule for compute capability {rule}", rule=rule)
    if costs.calibrated and measured.calibration:
        cycles = _("cycles per wavefront as calibrated on {device}", device=measured.calibration.device.name)
    else:
        cycles = _("1 cycle per wavefront as documented")
    clock = clock_mhz(measured.time)
    if clock:
        cycles = _("{cycles}, at {clock:,.0f} MHz", cycles=cycles, clock=clock)
    if costs.sharing:
        sharing = _("{multiprocessors} at work", multiprocessors=count(costs.sharing, "multiprocessor"))
    else:
        sharing = _("multiprocessors unknown")
    rests_on = _("{excess}; {cycles}; {sharing}.", excess=counted, cycles=cycles, sharing=sharing)
    return sentences(rests_on, _("Assumes that blocks spread evenly and that nothing else fills the wait."))
