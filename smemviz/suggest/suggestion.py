"""A suggestion for one shared array: a layout, what it promises, how it is written, and what was verified of it."""

from __future__ import annotations

from dataclasses import dataclass

from smemviz.model.layout.candidates import LayoutChange
from smemviz.model.layout.search import Price, Score
from smemviz.recordings.data import ArrayInfo, Timing
from smemviz.recordings.recording import EngineName
from smemviz.suggest.rewrites import Rewrite


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
