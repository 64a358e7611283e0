"""Reconciling what was recorded at each site with what the hardware counted in each instruction.

Instructions are given to sites so that the counts of each site come out exactly; first among what stands at one
place or on one line, then among what belongs to one array, at last over the whole kernel, for an instruction need not
stand on the line it works for. No instruction is used twice and none is dropped: what is left over is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from smemviz.measure.ncu.assign import assign, choices
from smemviz.measure.ncu.counters import ProfiledLaunch
from smemviz.measure.ncu.explain import Explanation, RecordedLaunch, Unit
from smemviz.measure.ncu.sass import Instruction
from smemviz.measure.ncu.verdicts import plural
from smemviz.messages import english
from smemviz.model.counting.costs import own_counts, unit_of
from smemviz.model.hardware.operations import effect_of
from smemviz.recordings.data import Launch, Site
from smemviz.recordings.measured import SiteHardware, Verdict
from smemviz.recordings.text import lines_of

_PIPE = {"load": "ld", "store": "st", "atomic": "atom"}
_WAVEFRONTS = "data_pipe_lsu_wavefronts_mem_shared_op"
_TOTALS = {"shared": "memory_l1_wavefronts_shared", "global": "memory_l2_theoretical_sectors_global"}

Pool = tuple[str, str]  # space and kind
Place = tuple[bool, int]  # whether in the kernel file, and the line
Spot = tuple[Place, int | None]  # with the column


@dataclass(frozen=True)
class Reconciled:
    """A verdict per site, a sentence for each memory instruction that belongs to none, and whether all is explained."""

    hardware: tuple[SiteHardware, ...]
    unaccounted: tuple[str, ...]
    sound: bool


def reconcile(launch: Launch, profiled: ProfiledLaunch, source: str, file: str, cc: tuple[int, int]) -> Reconciled:
    """Give each site of a launch a verdict.

    Args:
        launch: what was recorded.
        profiled: what Nsight Compute counted in the clean kernel.
        source: the kernel file's text, by which sites of other files are told apart.
        file: the kernel file's name, by which instructions of other files are told apart.
        cc: the compute capability it was counted on.
    """
    executed = [instruction for instruction in profiled.instructions if instruction.requests]
    ledger = _Ledger(RecordedLaunch(launch, cc), executed, lines_of(source), PurePath(file).name)
    _settle_loops(ledger)
    _settle_copies(ledger)
    for pool in dict.fromkeys(_pool(site) for site in launch.sites):
        ledger = _settled(ledger, pool)
    rows = [_compared(ledger.row(i), launch.sites[i], profiled) for i in range(len(launch.sites))]
    shared = any(instruction.space != "global" for instruction in ledger.unused)
    lost = tuple(_without_line(profiled))
    return Reconciled(
        hardware=tuple(rows),
        unaccounted=(*(_left_over(instruction) for instruction in ledger.unused), *lost),
        sound=all(row.verdict != "unexplained" for row in rows) and not shared and not lost,
    )


@dataclass
class _Ledger:
    """What is settled, and the instructions that were given to no site yet."""

    recorded: RecordedLaunch
    unused: list[Instruction]
    lines: Sequence[str]
    file: str
    verdicts: dict[int, tuple[Verdict, str]] = field(default_factory=dict)
    assigned: dict[int, tuple[Instruction, ...]] = field(default_factory=dict)

    @property
    def sites(self) -> tuple[Site, ...]:
        return self.recorded.launch.sites

    def place(self, i: int) -> Place:
        site = self.sites[i]
        here = site.line <= len(self.lines) and site.source.split("\n")[0] in self.lines[site.line - 1]
        return here, site.line

    def place_of(self, instruction: Instruction) -> Place:
        return PurePath(instruction.file).name == self.file, instruction.line

    def spot(self, i: int) -> Spot:
        """Return where on its line a site stands."""
        return self.place(i), self.sites[i].column

    def spot_of(self, instruction: Instruction) -> Spot:
        return self.place_of(instruction), instruction.column

    def copy(self) -> _Ledger:
        """Return a ledger to go on with, and perhaps to throw away."""
        return replace(self, unused=[*self.unused], verdicts={**self.verdicts}, assigned={**self.assigned})

    def is_settled(self, pool: Pool) -> bool:
        return not self.open(pool) and not self.instructions(pool)

    def open(self, pool: Pool) -> list[int]:
        """Return the sites of a pool that nothing explains yet."""
        return [i for i, site in enumerate(self.sites) if i not in self.verdicts and _pool(site) == pool]

    def instructions(self, pool: Pool) -> list[Instruction]:
        """Return the instructions of a pool that belong to no site yet."""
        return [instruction for instruction in self.unused if (instruction.space, instruction.kind) == pool]

    def settle(self, unit: Unit, assigned: Sequence[Instruction], explanation: Explanation) -> None:
        """Give instructions to a unit; its first site gets their counts."""
        elsewhere = {self.place_of(instruction) for instruction in assigned} - {self.place(i) for i in unit.sites}
        lines = ", ".join(str(line) for _, line in sorted(elsewhere))
        because = explanation.because
        if lines:
            because = english("{what} (the instruction stands at line {lines})", what=because, lines=lines)
        for i in unit.sites:
            self.verdicts[i] = ("agrees" if explanation.agrees else "explained", because)
            self.assigned[i] = tuple(assigned) if i == unit.sites[0] else ()
        for instruction in assigned:
            self.unused.remove(instruction)

    def row(self, i: int) -> SiteHardware:
        """Return a site's counts and verdict; where nothing explains it, the counts of what is left on its line."""
        site, pool = self.sites[i], _pool(self.sites[i])
        if i in self.verdicts:
            assigned = self.assigned[i]
            verdict, because = self.verdicts[i]
        else:
            first = next(j for j in self.open(pool) if self.place(j) == self.place(i))
            here = [
                instruction for instruction in self.instructions(pool) if self.place_of(instruction) == self.place(i)
            ]
            assigned = tuple(here) if i == first else ()
            verdict, because = "unexplained", self._unexplained(i, here)
        requests = sum(instruction.requests for instruction in assigned)
        counts = own_counts(site.space, lambda name: sum(getattr(instruction, name) for instruction in assigned))
        return SiteHardware(requests, **counts, verdict=verdict, because=because)

    def _unexplained(self, i: int, here: Sequence[Instruction]) -> str:
        unit, summary = unit_of(self.sites[i].space), self.recorded.summary[i]
        amount = getattr(summary, f"{unit}s")
        executed = english("no such instruction on this line")
        if here:
            executed = english(
                "{requests} and {amount} on this line in {instructions}",
                requests=plural(sum(instruction.requests for instruction in here), "request"),
                amount=plural(sum(getattr(instruction, f"{unit}s") for instruction in here), unit),
                instructions=", ".join(dict.fromkeys(instruction.opcode for instruction in here)),
            )
        values = {"requests": plural(summary.requests, "request"), "found": executed}
        if amount is None:
            return english(
                "{requests} were recorded, but the hardware has {found}; no known optimization explains that",
                **values,
            )
        return english(
            "{requests} and {amount} were recorded, but the hardware has {found}; no known optimization explains that",
            amount=plural(amount, unit),
            **values,
        )


def _pool(site: Site) -> Pool:
    effect = effect_of(site.op)
    return site.space, "atomic" if effect == "update" else effect


def _settled(ledger: _Ledger, pool: Pool) -> _Ledger:
    """Settle the sites of one space and kind, and return what is settled then.

    That a compiler left out all that stands on a line is believed at once, and only at last where instructions of
    other lines then have no site.
    """
    at_once = ledger.copy()
    _settle_pool(at_once, pool)
    if at_once.is_settled(pool):
        return at_once
    at_last = ledger.copy()
    _settle_pool(at_last, pool, with_none=False)
    return at_last if at_last.is_settled(pool) else at_once


def _settle_pool(ledger: _Ledger, pool: Pool, *, with_none: bool = True) -> None:
    """Settle sites by place, line by line, array by array, then all that are still open.

    Where no instruction stands, ``with_none`` says whether a site may be settled all the same.
    """
    for spot in dict.fromkeys(map(ledger.spot_of, ledger.instructions(pool))):
        here = [x for x in ledger.instructions(pool) if ledger.spot_of(x) == spot]
        _settle(ledger, [i for i in ledger.open(pool) if ledger.spot(i) == spot], here, together=False)
    keys: tuple[Callable[[int], object], ...] = (ledger.place, lambda i: ledger.sites[i].array)
    for key in keys:
        for together in (False, True):
            for value in dict.fromkeys(map(key, ledger.open(pool))):
                chosen = [i for i in ledger.open(pool) if key(i) == value]
                places = {ledger.place(i) for i in chosen}
                here = [x for x in ledger.instructions(pool) if ledger.place_of(x) in places]
                if here or with_none:
                    _settle(ledger, chosen, here, together)
    for together in (False, True):
        _settle(ledger, ledger.open(pool), ledger.instructions(pool), together)
    for place in dict.fromkeys(map(ledger.place, ledger.open(pool))):
        sites = [i for i in ledger.open(pool) if ledger.place(i) == place]
        here = [x for x in ledger.instructions(pool) if ledger.place_of(x) == place]
        any(_give(ledger, groups, here) for groups in choices(ledger.recorded, sites, here))
    if pool[1] == "load" and not ledger.instructions(pool):
        for i in ledger.open(pool):
            because = english("no instruction loads it: nothing that the kernel stores depends on the value")
            ledger.settle(Unit(ledger.recorded, [i]), (), Explanation(False, because))


def _settle(ledger: _Ledger, sites: Sequence[int], instructions: Sequence[Instruction], together: bool) -> None:
    """Give all the instructions to the sites, one by one or those of an array together, if every count comes out."""
    groups: dict[object, list[int]] = {}
    for i in sites:
        site = ledger.sites[i]
        groups.setdefault((site.array, site.op, site.width) if together else i, []).append(i)
    if not groups or (together and len(groups) == len(sites)):
        return
    _give(ledger, list(groups.values()), instructions)


def _give(ledger: _Ledger, groups: Sequence[Sequence[int]], instructions: Sequence[Instruction]) -> bool:
    """Give all the instructions to groups of sites, if every count comes out."""
    units = [Unit(ledger.recorded, group) for group in groups]
    given = assign(units, instructions)
    for unit, assigned, explanation in given or ():
        ledger.settle(unit, assigned, explanation)
    return given is not None


def _settle_loops(ledger: _Ledger) -> None:
    """Give a compare-and-swap loop to the atomic it stands for: its loads and swaps of one address, over and over."""
    for i, site in enumerate(ledger.sites):
        if _pool(site)[1] != "atomic" or site.op == "atomic_cas":
            continue
        here = [
            instruction
            for instruction in ledger.unused
            if ledger.place_of(instruction) == ledger.place(i) and instruction.space == site.space
        ]
        requests = ledger.recorded.summary[i].requests
        swaps = [x for x in here if "CAS" in x.opcode and x.width == site.width and x.requests >= requests]
        if len(swaps) != 1:
            continue
        operand_and_requests = (swaps[0].operand, swaps[0].requests)
        assigned = [x for x in here if x.kind == "load" and (x.operand, x.requests) == operand_and_requests] + swaps
        because = english(
            "the atomic is a loop of {instructions}, run until no other thread interferes: {requests} took {rounds}, "
            "which depends on the data",
            instructions=" and ".join(x.opcode for x in assigned),
            requests=plural(requests, "request"),
            rounds=plural(swaps[0].requests, "round"),
        )
        ledger.settle(Unit(ledger.recorded, [i]), assigned, Explanation(False, because))


def _settle_copies(ledger: _Ledger) -> None:
    """Give instructions that load and store at once to both accesses of a ``cp.async``.

    What was recorded is what the hardware calls ideal: it has more wavefronts where a copy is stored in parts.
    """
    for spot in dict.fromkeys(ledger.spot_of(x) for x in ledger.unused if x.opcode.startswith("LDGSTS")):
        here = [x for x in ledger.unused if ledger.spot_of(x) == spot and x.opcode.startswith("LDGSTS")]
        at = {
            _pool(ledger.sites[i]): i
            for i in range(len(ledger.sites))
            if spot in (ledger.spot(i), (ledger.place(i), None))
        }
        store, load = at.get(("shared", "store")), at.get(("global", "load"))
        if store is None or load is None:
            continue
        stored, loaded = ledger.recorded.summary[store], ledger.recorded.summary[load]
        requests, wavefronts, ideal, sectors = (
            sum(getattr(x, name) for x in here) for name in ("requests", "wavefronts", "ideal", "sectors")
        )
        if (requests, ideal, sectors) != (stored.requests, stored.wavefronts, loaded.sectors):
            continue
        by = ", ".join(f"{n} {opcode}" for opcode, n in Counter(x.opcode for x in here).items())
        because = english(
            "{requests} by {instructions}, which load and store at once",
            requests=plural(requests, "request"),
            instructions=by,
        )
        ledger.settle(Unit(ledger.recorded, [load]), here, Explanation(True, because))
        ledger.assigned[store] = tuple(here)
        if wavefronts != ideal:
            because = english(
                "{what}: {wavefronts} where {ideal} would do, for a copy is stored in parts as these arrive",
                what=because,
                wavefronts=plural(wavefronts, "wavefront"),
                ideal=ideal,
            )
        ledger.verdicts[store] = ("agrees" if wavefronts == ideal else "inflated", because)


def _compared(row: SiteHardware, site: Site, profiled: ProfiledLaunch) -> SiteHardware:
    """Hold the sum over the instructions of a kind against the counters of the whole launch."""
    kind = _pool(site)[1]
    swaps = kind != "store" and any("CAS" in instruction.opcode for instruction in profiled.instructions)
    if not site.is_shared or row.verdict == "unexplained" or swaps:
        return row  # a loop runs as often as the data of each pass of the profiler make it
    counted = sum(
        instruction.wavefronts
        for instruction in profiled.instructions
        if (instruction.space, instruction.kind) == ("shared", kind)
    )
    matrices = sum(x.wavefronts for x in profiled.instructions if x.opcode.startswith("LDSM") and kind == "load")
    exact = profiled.metrics.get(f"smsp__sass_l1tex_{_WAVEFRONTS}_{_PIPE[kind]}.sum", counted - matrices) + matrices
    pipe = profiled.metrics.get(f"l1tex__{_WAVEFRONTS}_{_PIPE[kind]}.sum", counted)
    if exact != counted or pipe < counted:
        other = exact if exact != counted else pipe
        because = english(
            "{what}; but a counter of the whole launch has {other:,.0f} wavefronts, not {counted:,}",
            what=row.because,
            other=other,
            counted=counted,
        )
        return replace(row, verdict="unexplained", because=because)
    if pipe == counted:
        return row
    because = english(
        "{what}; over the whole kernel the pipe counted {pipe:,.0f} wavefronts for {counted:,}, "
        "because global traffic competes for it",
        what=row.because,
        pipe=pipe,
        counted=counted,
    )
    return replace(row, verdict="inflated" if row.verdict == "agrees" else row.verdict, because=because)


def _left_over(instruction: Instruction) -> str:
    unit = unit_of(instruction.space)
    amount = plural(getattr(instruction, f"{unit}s"), unit)
    place = f"{PurePath(instruction.file).name}:{instruction.line}"
    values = {"instruction": instruction.opcode, "requests": plural(instruction.requests, "request"), "amount": amount}
    if instruction.space == "shared":
        what = english("{instruction} on shared memory belongs to no access: {requests}, {amount}", **values)
    else:
        what = english(
            "{instruction} on {space} memory belongs to no access: {requests}, {amount}",
            space=instruction.space,
            **values,
        )
    return f"{place}: {what}"


def _without_line(profiled: ProfiledLaunch) -> Iterator[str]:
    """Say what was counted in instructions that the listing by source lines does not have."""
    for space, metric in _TOTALS.items():
        listed = sum(getattr(instruction, f"{unit_of(space)}s") for instruction in profiled.instructions)
        missing = int(profiled.metrics.get(metric, listed)) - listed
        if missing:
            amount = plural(missing, unit_of(space))
            if space == "shared":
                yield english("{amount} of shared memory belong to instructions without a source line", amount=amount)
            else:
                yield english("{amount} of global memory belong to instructions without a source line", amount=amount)
