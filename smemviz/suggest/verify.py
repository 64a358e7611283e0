"""Whether suggestions keep their promise: the rewritten kernel file is run, and everything compared.

A suggestion is kept when every launch leaves the same arrays, every site of its kernel takes exactly the wavefronts
promised, and no new mistake is found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from smemviz.engines.backend import OutputHash, hashed, runner_of
from smemviz.engines.options import MachineCode, Progress, RunOptions
from smemviz.engines.selection import Picker, selection
from smemviz.errors import SmemvizError
from smemviz.frontends.program import Program
from smemviz.measure.meters import meter_of
from smemviz.measure.time.meter import Timed
from smemviz.messages import english
from smemviz.model.counting.summary import summarize, totals_of
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import MAIN_FAILED, Finding
from smemviz.recordings.measured import Timing
from smemviz.recordings.recording import EngineName, Recording
from smemviz.suggest.find import Check, Suggestion
from smemviz.suggest.rewrites import rewritten


@dataclass(frozen=True)
class _RunResult:
    launches: tuple[Launch, ...]
    findings: tuple[Finding, ...]
    hashes: tuple[OutputHash, ...]

    def of(self, kernels: Collection[str]) -> _RunResult:
        return _RunResult(
            tuple(launch for launch in self.launches if launch.kernel in kernels),
            tuple(finding for finding in self.findings if finding.kernel in kernels),
            tuple(hashes for hashes in self.hashes if hashes.kernel in kernels),
        )


@dataclass(eq=False)
class Verifier:
    """A kernel file as it is, run once by an engine, beside which rewritten ones are held.

    ``recording`` is what the suggestions are made from. In lockstep every kernel is looked at; on the GPU, where each
    has to be compiled, only ``kernels``.
    """

    program: Program
    recording: Recording
    engine: EngineName
    kernels: Collection[str]
    hardware: Hardware
    progress: Progress | None = None

    @cached_property
    def _before(self) -> _RunResult:
        result = self._run(self.program, self.kernels)
        if self.engine == "lockstep":
            return result
        # Atomics of floats give another sum each time.
        again = _outputs(self.program, self.kernels)
        return replace(result, hashes=tuple(map(_same, result.hashes, again)))

    def _run(self, program: Program, kernels: Collection[str]) -> _RunResult:
        """Run a version of the file: in lockstep each in one way, for machine code leaves other last digits."""
        compiled = any(launch.machine_code for launch in self.recording.launches)
        return _run(program, self.engine, kernels, self.progress, "always" if compiled else "never")

    def start(self) -> None:
        """Run the file as it is.

        Raises:
            SmemvizError: when this engine cannot.
        """
        _ = self._before

    @property
    def unsafe(self) -> bool:
        """Whether the file makes a mistake that may harm a device."""
        return any(finding.is_unsafe for finding in self._before.findings)

    def check(self, suggested: Sequence[Suggestion]) -> Check:
        """Run the file with suggestions written into it and compare.

        Raises:
            SmemvizError: when the file as it is cannot be run by this engine, or the suggestions do not go together.
        """
        program = rewritten(self.program, tuple(suggestion.rewrite for suggestion in suggested if suggestion.rewrite))
        kernels = {suggestion.kernel for suggestion in suggested}
        before = self._before if self.engine == "lockstep" else self._before.of(kernels)
        try:
            after = self._run(program, kernels)
        except SmemvizError as error:
            return Check(self.engine, (), english("it fails: {what}", what=error))
        if [launch.kernel for launch in before.launches] != [launch.kernel for launch in after.launches]:
            return Check(self.engine, (), english("{main} makes different launches", main="main()"))
        notes: list[str] = []
        problem = new_mistake(before.findings, after.findings)
        if problem is None:
            problem, notes = self._outputs(before, after)
        places = {number: place for place, number in enumerate(self._numbers(kernels))}
        numbers: list[int] = []
        promised = [promise for suggestion in suggested for promise in suggestion.promises]
        for number in sorted({promise.launch for promise in promised}):
            was, now = before.launches[places[number]], after.launches[places[number]]
            recorded = self.recording.launches[number]
            blocks = _blocks(recorded) if recorded.missing else None  # None where the promise is about all
            if len(was.sites) != len(now.sites):
                return Check(self.engine, (), english("{kernel} has different accesses", kernel=now.kernel))
            if blocks is not None and not blocks <= (_blocks(was) & _blocks(now)):
                note = english("not counted: {engine} logs different blocks", engine=self.engine)
                return Check(self.engine, (), problem, (*notes, note))
            expected, counts = (list(_counts(launch, self.hardware, blocks)) for launch in (was, now))
            own = [promise for promise in promised if promise.launch == number]
            for promise in own:
                expected[promise.site] = promise.after.wavefronts
            problem = problem or _not_as_promised(now, expected, counts)
            numbers += [counts[promise.site] or 0 for promise in own]
        return Check(self.engine, tuple(numbers), problem, (*notes, *self._elsewhere(before, after, kernels)))

    def _outputs(self, before: _RunResult, after: _RunResult) -> tuple[str | None, list[str]]:
        """Say in which kernel the arrays come out otherwise, or, in a note, why that cannot be told."""
        other = _other_output(before, after)
        if other is None or self.engine != "lockstep":  # on the GPU it was run twice, for atomics of floats
            return other, []
        again = self._again.hashes
        if [hashes.kernel for hashes in again] != [hashes.kernel for hashes in before.hashes]:
            return english(
                "{main} makes different launches each time it runs; seed its random numbers", main="main()"
            ), []
        steady = replace(before, hashes=tuple(map(_same, before.hashes, again)))
        return _other_output(steady, after), list(_unsteady(steady))

    @cached_property
    def _again(self) -> _RunResult:
        """The file as it is, run once more: what then differs differs by itself."""
        return self._run(self.program, self.kernels)

    def _numbers(self, kernels: Collection[str]) -> list[int]:
        launches = enumerate(self.recording.launches)
        return [number for number, launch in launches if self.engine == "lockstep" or launch.kernel in kernels]

    def _elsewhere(self, before: _RunResult, after: _RunResult, kernels: Collection[str]) -> list[str]:
        """Say which other kernels take more or fewer wavefronts."""
        changed = {}
        for old, new in zip(before.launches, after.launches, strict=True):
            if old.kernel not in kernels:
                was, now = (sum(n or 0 for n in _counts(launch, self.hardware)) for launch in (old, new))
                if was != now:
                    values = {"kernel": old.kernel, "before": was, "after": now}
                    changed[old.kernel] = english("changes {kernel} too: {before:,} -> {after:,} wavefronts", **values)
        return list(changed.values())


def times(program: Program, kernels: Collection[str], progress: Progress | None = None) -> tuple[Timing, ...]:
    """Time every launch of kernels on the GPU.

    Raises:
        MissingError: when there is none.
    """
    timed: Timed = meter_of(program, "time").time_program(program, progress=progress, kernels=kernels)
    return timed.times


def _run(
    program: Program,
    engine: EngineName,
    kernels: Collection[str],
    progress: Progress | None,
    machine_code: MachineCode,
) -> _RunResult:
    if engine == "lockstep":
        hashes: list[OutputHash] = []

        def keep(kernel: str, arguments: Sequence[object]) -> None:
            hashes.append(OutputHash(kernel, hashed(arguments)))

        options = RunOptions(progress, machine_code=machine_code)
        launches, findings = runner_of(program.language).run_in_lockstep(program, options, keep)
        return _RunResult(launches, findings, tuple(hashes))
    options = RunOptions(progress, picker=Picker(selection(kernels=sorted(kernels))))
    launches, findings = runner_of(program.language).run_on_gpu(program, options)
    return _RunResult(launches, findings, _outputs(program, kernels))


def _outputs(program: Program, kernels: Collection[str]) -> tuple[OutputHash, ...]:
    hashes: tuple[OutputHash, ...] = meter_of(program, "time").outputs(program, kernels)
    return hashes


def _same(first: OutputHash, second: OutputHash) -> OutputHash:
    """Return what two runs of a launch have in common; the hash of what differs is empty."""
    return OutputHash(
        first.kernel, tuple(a if a == b else "" for a, b in zip(first.arrays, second.arrays, strict=True))
    )


def _blocks(launch: Launch) -> frozenset[int]:
    return frozenset(np.unique(launch.requests.block).tolist())


def _counts(launch: Launch, hardware: Hardware, blocks: frozenset[int] | None = None) -> tuple[int | None, ...]:
    """Return the wavefronts of each site, in all blocks or in some that were logged.

    None stands for a site in global memory and for one whose wavefronts cannot be told.
    """
    rows = summarize(launch, hardware)
    if blocks is None:
        return tuple(row.wavefronts for row in rows)
    requests = launch.requests.select(np.isin(launch.requests.block, sorted(blocks)))
    logged = totals_of(launch.sites, requests, hardware).wavefronts
    return tuple(int(n) if row.wavefronts is not None else None for n, row in zip(logged, rows, strict=True))


def new_mistake(before: Iterable[Finding], after: Iterable[Finding]) -> str | None:
    """Say what mistake a changed file makes that it did not make before, None for none."""
    known = {(finding.kind, finding.kernel) for finding in before}
    for finding in after:
        if not finding.harmless and (finding.kind, finding.kernel) not in known:
            if finding.kind == MAIN_FAILED:
                return finding.message
            where = {"kernel": finding.kernel, "line": finding.line}
            return english("{kernel}, line {line}: {what}", what=finding.message, **where)
    return None


def _other_output(before: _RunResult, after: _RunResult) -> str | None:
    for old, new in zip(before.hashes, after.hashes, strict=True):
        if any(was and was != now for was, now in zip(old.arrays, new.arrays, strict=True)):
            return english("{kernel} leaves different results in its arrays", kernel=old.kernel)
    return None


def _unsteady(result: _RunResult) -> Iterator[str]:
    """Say which kernels leave something else each time the file runs as it is."""
    for kernel in dict.fromkeys(hashes.kernel for hashes in result.hashes if "" in hashes.arrays):
        yield english(
            "{kernel} leaves different results each time the file runs as it is, so that was not compared; seed its "
            "random numbers",
            kernel=kernel,
        )


def _not_as_promised(launch: Launch, expected: Sequence[int | None], counted: Sequence[int | None]) -> str | None:
    for site, promised, measured in zip(launch.sites, expected, counted, strict=True):
        if promised != measured:
            return english(
                "{kernel}, line {line}: {source} takes {found} wavefronts; {promised} were promised",
                kernel=launch.kernel,
                line=site.line,
                source=site.source,
                found=measured,
                promised=promised,
            )
    return None
