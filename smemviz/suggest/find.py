"""What to suggest: for every shared array with excess, the layouts that save most, and the edits that make them so.

Predicted from the requests that were recorded; nothing is run here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from smemviz.frontends.program import Program
from smemviz.frontends.reading import frontend_of
from smemviz.messages import english
from smemviz.model.counting.pattern import mostly_irregular
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.hardware.operations import operation
from smemviz.model.layout.array_requests import ArrayRequests, recorded
from smemviz.model.layout.candidates import LayoutChange, pads, row_lengths, swizzles
from smemviz.model.layout.search import LayoutFix, Price, Score, beats, score, smallest_fix
from smemviz.recordings.data import ArrayInfo, Launch
from smemviz.recordings.measured import Timing
from smemviz.recordings.recording import EngineName, Recording
from smemviz.suggest.rewrites import NotRewrittenError, Rewrite, Rewriter, writer_of


@dataclass(frozen=True)
class Promise:
    """What a site of one launch costs as recorded, and what it will cost. ``launch`` numbers the recording's."""

    launch: int
    site: int
    before: Score
    after: Score


@dataclass(frozen=True)
class Check:
    """What one engine makes of a suggestion.

    ``counted`` are wavefronts, one number per promise. ``problem`` says what was not as promised, None when all was;
    ``notes`` are what else changed.
    """

    engine: EngineName
    counted: tuple[int, ...]
    problem: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suggestion:
    """A layout for a shared array of a kernel, over all its launches.

    ``rewrite`` is how to write it, ``reason`` why it cannot be written; one of them is None. ``complete`` is False when
    requests were not logged, and the promise is about those that were. Once it was verified, ``diff`` writes it into
    the kernel file, empty where it cannot be written or is what the file has; ``checks`` are what each engine made of
    it, and ``times`` those of its kernel's launches, each before and after.
    """

    kernel: str
    array: ArrayInfo
    layout: LayoutChange
    promises: tuple[Promise, ...]
    more_bytes: int
    rewrite: Rewrite | None = None
    reason: str | None = None
    complete: bool = True
    diff: str = ""
    checks: tuple[Check, ...] = ()
    times: tuple[tuple[Timing, Timing], ...] = ()

    @property
    def before(self) -> int:
        """Wavefronts of all accesses to the array as recorded."""
        return sum(promise.before.wavefronts for promise in self.promises)

    @property
    def after(self) -> int:
        """Wavefronts of all accesses to the array in the layout."""
        return sum(promise.after.wavefronts for promise in self.promises)

    @property
    def price(self) -> Price:
        """What suggestions are ordered by: wavefronts, then bytes, then instructions of the index."""
        return self.after, self.more_bytes, self.rewrite.instructions if self.rewrite else 0

    @property
    def cost(self) -> tuple[int, float]:
        """What a choice goes by once it is verified: wavefronts, then, where it is known, time."""
        return self.after, sum(after.median_us for _, after in self.times)

    @property
    def excess(self) -> int:
        """The excess that is left."""
        return sum(promise.after.excess for promise in self.promises)

    @property
    def problem(self) -> str | None:
        """Say what was not as promised, None when everything was."""
        return next((f"{check.engine}: {check.problem}" for check in self.checks if check.problem), None)


@dataclass(frozen=True)
class Refused:
    """A shared array with excess that nothing is suggested for, and why."""

    kernel: str
    array: ArrayInfo
    excess: int
    reason: str


@dataclass(frozen=True)
class _KernelArray:
    """Every access to one array of a kernel, with the number of its launch."""

    kernel: str
    array: ArrayInfo
    hardware: Hardware
    accesses: tuple[tuple[int, ArrayRequests], ...]

    def scores(self) -> list[Score]:
        return [score(access, self.array.itemsize, None, self.hardware) for _, access in self.accesses]


def suggestions(
    recording: Recording, program: Program, kernel: str | None = None, hardware: Hardware = H200
) -> Iterator[Suggestion | Refused]:
    """Give what is to be said of each array with excess: its layouts, the cheapest first, or one refusal.

    Args:
        recording: of the kernel file.
        program: the kernel file as it was recorded.
        kernel: the one kernel to look at.
        hardware: whose rules count.
    """
    for name in dict.fromkeys(launch.kernel for launch in recording.launches):
        if kernel in (None, name):
            launches = [(i, launch) for i, launch in enumerate(recording.launches) if launch.kernel == name]
            for array in {(a.name, a.line): a for _, launch in launches for a in launch.shared_arrays}.values():
                yield from _of_array(recording, program, launches, array, hardware)


def _of_array(
    recording: Recording, program: Program, launches: Sequence[tuple[int, Launch]], array: ArrayInfo, hardware: Hardware
) -> Iterator[Suggestion | Refused]:
    first = launches[0][1]
    places = [
        (number, launch, index)
        for number, launch in launches
        for index, other in enumerate(launch.arrays)
        if other.is_shared and (other.name, other.line) == (array.name, array.line)
    ]
    accesses = tuple(
        (number, access) for number, launch, index in places for access in recorded(launch, index, hardware)
    )
    writer = writer_of(program.language)
    declared = writer.as_declared(program, array) if writer else array
    target = _KernelArray(first.kernel, declared, hardware, accesses)
    excess = sum(cost.excess for cost in target.scores())
    if excess == 0:
        return
    reason = _refusal(target, [launch.arrays[index] for _, launch, index in places], first, program, recording)
    if reason is None:
        complete = not any(launch.missing for _, launch in launches)
        fixes = _fixes(program, target, first, complete)
        yield from fixes
        reason = None if fixes else _nothing_helps(target, first)
    if reason:
        yield Refused(first.kernel, array, excess, reason)


def _refusal(
    target: _KernelArray, arrays: Sequence[ArrayInfo], launch: Launch, program: Program, recording: Recording
) -> str | None:
    """Say why no layout can be found for an array, None when one can be looked for."""
    if len({(array.shape, array.dtype) for array in arrays}) > 1:
        return english("its launches give it different sizes")
    others = {launch.sites[access.site].array for _, access in target.accesses} - {target.array.name}
    if others:
        return english("it shares its memory or an access with {arrays}", arrays=", ".join(sorted(others)))
    loaded = frontend_of(program.language).loaded_sites(recording, launch)
    costly = [access for (_, access), now in zip(target.accesses, target.scores(), strict=True) if now.excess]
    if all(
        (loaded is None or access.site in loaded) and mostly_irregular(access.offsets, access.times)
        for access in costly
    ):
        return english("data decides which words collide, so no pad or swizzle is sure to help")
    return None


def _fixes(program: Program, target: _KernelArray, launch: Launch, complete: bool) -> list[Suggestion]:
    """Return the best of each kind that can be written, or that cannot, the cheapest first; none that adds nothing."""
    rewriting: Rewriter | None = None
    reason = english("its kernel is in {file}", file=launch.file)
    writer = writer_of(program.language)
    if writer is None:
        reason = english("layouts are not written into {language}", language=program.language.title)
    elif not launch.file:
        try:
            rewriting = writer.rewriter(program, target.array)
        except NotRewrittenError as error:
            reason = error.message
    limit, shared_bytes = target.hardware.row.static_shared, launch.shared_bytes

    def why_not(layout: LayoutChange) -> str | None:
        more = layout.more_elements(target.array.nbytes // target.array.itemsize) * target.array.itemsize
        if shared_bytes <= limit < shared_bytes + more:
            return english(
                "a block would take {taken:,} bytes, more than the {limit:,} of static shared memory",
                taken=shared_bytes + more,
                limit=limit,
            )
        return rewriting.refuses(layout) if rewriting else reason

    options = []
    for layouts in _kinds(target):
        fix = _fix(target, layouts, lambda layout: why_not(layout) is None) or _fix(target, layouts)
        reason_here = why_not(fix.layout) if fix else None
        if fix is not None:
            options.append(_suggestion(target, fix, rewriting if reason_here is None else None, reason_here, complete))
    best: list[Suggestion] = []
    for suggestion in sorted(options, key=lambda candidate: (candidate.rewrite is None, candidate.price)):
        if not any(beats(other.price, suggestion.price) for other in best):
            best.append(suggestion)
    return best


def _kinds(target: _KernelArray) -> Iterator[Sequence[LayoutChange]]:
    """Give pads, XOR swizzles of rows, and CuTe's of the whole array, each the cheapest first."""
    accesses = [access for _, access in target.accesses]
    yield list(pads(target.array, accesses, target.hardware))
    mixed = list(swizzles(target.array, accesses, target.hardware))
    rows = row_lengths(target.array, accesses, target.hardware)
    yield [swizzle for swizzle in mixed if swizzle.row in rows]
    yield [swizzle for swizzle in mixed if swizzle.row not in rows]


def _fix(
    target: _KernelArray, layouts: Sequence[LayoutChange], possible: Callable[[LayoutChange], bool] | None = None
) -> LayoutFix[LayoutChange] | None:
    """Return the first layout that leaves no excess, else the first that leaves least."""
    accesses = [access for _, access in target.accesses]
    return smallest_fix(target.array, accesses, iter(layouts), None, target.hardware, possible=possible)


def _suggestion(
    target: _KernelArray, fix: LayoutFix[LayoutChange], rewriting: Rewriter | None, reason: str | None, complete: bool
) -> Suggestion:
    pairs = zip(target.accesses, fix.before, fix.after, strict=True)
    promises = tuple(Promise(number, access.site, before, after) for (number, access), before, after in pairs)
    rewrite = rewriting.rewrite(fix.layout) if rewriting else None
    return Suggestion(target.kernel, target.array, fix.layout, promises, fix.more_bytes, rewrite, reason, complete)


def _nothing_helps(target: _KernelArray, launch: Launch) -> str:
    ops = {launch.sites[access.site].op for _, access in target.accesses}
    if any(not operation(op).shares for op in ops):
        return english("lanes that update the same element collide wherever it lies")
    return english("no pad and no swizzle helps")
