"""The whole answer to "what should I change?": suggestions, each verified as far as this machine can, and one diff."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from smemviz.engines.options import Progress
from smemviz.errors import SmemvizError
from smemviz.frontends.program import Program
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.recording import EngineName, Recording
from smemviz.suggest.find import Refused, Suggestion, suggestions
from smemviz.suggest.rewrites import rewritten, unified_diff
from smemviz.suggest.turning import Turn
from smemviz.suggest.verify import Verifier, times

_VERIFIED_BY: dict[EngineName | None, tuple[EngineName, ...]] = {
    None: (),
    "lockstep": ("lockstep",),
    "gpu": ("lockstep", "gpu"),
}
_MOST_THREADS = 1 << 22  # in all launches; where there is a GPU, more is left to it


@dataclass(frozen=True)
class Answer:
    """Everything that is to be said of a recording.

    ``diff`` writes the cheapest suggestion of each array into the file, those that were refuted left out; of those that
    take as many wavefronts that is the fastest, without a clock the one of fewest bytes and instructions. ``notes`` say
    what was not done, and why. ``turns`` are what was tried of kernels in Triton, whose compiler lays memory out.
    """

    suggested: tuple[Suggestion, ...]
    refused: tuple[Refused, ...]
    diff: str
    notes: tuple[str, ...]
    turns: tuple[Turn, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether no suggestion failed verification."""
        return all(suggestion.problem is None for suggestion in self.suggested)


def answer(
    recording: Recording,
    program: Program,
    kernel: str | None,
    engine: EngineName | None,
    hardware: Hardware,
    progress: Progress | None = None,
) -> Answer:
    """Suggest, verify and time.

    Args:
        recording: of the program.
        program: the kernel file with its constants.
        kernel: the one kernel to look at, None for every kernel.
        engine: what runs the rewritten files: lockstep, or ``gpu``, which is lockstep and then the GPU; None leaves
            the suggestions unverified.
        hardware: whose rules count.
        progress: called as ``progress(done, total, text)``.
    """
    answers = list(suggestions(recording, program, kernel, hardware))
    refused = tuple(refusal for refusal in answers if isinstance(refusal, Refused))
    suggested = [suggestion for suggestion in answers if isinstance(suggestion, Suggestion)]
    writable = [suggestion for suggestion in suggested if suggestion.rewrite]
    notes: list[str] = []
    kernels = {suggestion.kernel for suggestion in writable}
    verifiers = _verifiers(recording, program, engine, kernels, hardware, notes, progress) if kernels else []
    clock = any(verifier.engine == "gpu" for verifier in verifiers)
    before = times(program, kernels, progress) if clock else ()
    launched = [launch.kernel for launch in recording.launches if launch.kernel in kernels]
    verified: list[Suggestion] = []
    for number, suggestion in enumerate(suggested):
        if progress:
            progress(number, len(suggested), suggestion.kernel)
        if suggestion.rewrite is None:
            verified.append(suggestion)
            continue
        changed = rewritten(program, (suggestion.rewrite,))
        diff = unified_diff(program.source, changed.source, program.file)
        checks = tuple(verifier.check([suggestion]) for verifier in verifiers)
        own = tuple(t for name, t in zip(launched, before, strict=False) if name == suggestion.kernel)
        is_timed = clock and not any(check.problem for check in checks)
        after = times(changed, {suggestion.kernel}, progress) if is_timed else ()
        verified.append(replace(suggestion, diff=diff, checks=checks, times=tuple(zip(own, after, strict=False))))
    chosen = _together(verified, verifiers, program, notes)
    text = rewritten(program, tuple(suggestion.rewrite for suggestion in chosen if suggestion.rewrite)).source
    return Answer(tuple(verified), refused, unified_diff(program.source, text, program.file), tuple(notes))


def _verifiers(
    recording: Recording,
    program: Program,
    engine: EngineName | None,
    kernels: Collection[str],
    hardware: Hardware,
    notes: list[str],
    progress: Progress | None,
) -> list[Verifier]:
    """Return what can run this file; what cannot is noted."""
    threads = sum(math.prod(launch.grid) * math.prod(launch.block) for launch in recording.launches)
    verifiers: list[Verifier] = []
    for name in _VERIFIED_BY[engine]:
        verifier = Verifier(program, recording, name, kernels, hardware, progress)
        if name == "lockstep" and engine == "gpu" and threads > _MOST_THREADS:
            notes.append(f"not run in lockstep: its launches have {threads:,} threads")
            continue
        if name == "gpu" and any(verifier.unsafe for verifier in verifiers):
            notes.append("not run on the GPU: the file makes a mistake that may harm it")
            continue
        try:
            verifier.start()
        except SmemvizError as error:
            notes.append(f"not verified by {name}: {error}")
            continue
        verifiers.append(verifier)
    return verifiers


def _together(
    verified: Sequence[Suggestion], verifiers: Sequence[Verifier], program: Program, notes: list[str]
) -> list[Suggestion]:
    """Return the best suggestion of each array that was not refuted, leaving out what does not go with the others."""
    first: dict[tuple[str, str, int], Suggestion] = {}
    for candidate in sorted(verified, key=lambda candidate: candidate.cost):
        if candidate.rewrite and candidate.problem is None:
            first.setdefault((candidate.kernel, candidate.array.name, candidate.array.line), candidate)
    chosen = list(first.values())
    if _clash(chosen, verifiers, program) is None:
        return chosen
    compatible: list[Suggestion] = []
    for suggestion in chosen:
        clash = _clash([*compatible, suggestion], verifiers, program)
        if clash is None:
            compatible.append(suggestion)
        else:
            notes.append(f"{suggestion.kernel}, {suggestion.array.name}: left out of the diff; with the others {clash}")
    return compatible


def _clash(chosen: Sequence[Suggestion], verifiers: Sequence[Verifier], program: Program) -> str | None:
    """Say what goes wrong when suggestions are made together, None when nothing does."""
    try:
        rewritten(program, tuple(suggestion.rewrite for suggestion in chosen if suggestion.rewrite))
    except SmemvizError as error:
        return str(error)
    if len(chosen) < 2 or not verifiers:
        return None
    return verifiers[0].check(chosen).problem
