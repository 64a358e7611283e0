"""One launch as it runs, whatever language its kernel is in: what is asked and recorded of it, and how long it takes.

A long one is told of beforehand: of its blocks batch by batch, and of its loops as they run.
"""

from __future__ import annotations

import ast
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.hazards.findings import Findings
from smemviz.engines.lockstep.hazards.global_races import GlobalRaces
from smemviz.engines.lockstep.hazards.hazards import Hazards
from smemviz.engines.lockstep.hazards.shared_accesses import Cells
from smemviz.engines.lockstep.hazards.watched import Watched
from smemviz.engines.lockstep.log import Log, NoLog
from smemviz.engines.lockstep.memory.shared import SharedLayout
from smemviz.engines.options import LaunchOptions, Progress
from smemviz.errors import LaunchError, PlaceError
from smemviz.languages import PYTHON, Spelling
from smemviz.messages import english
from smemviz.recordings.data import WARP_SIZE, ArrayInfo, Launch, Site
from smemviz.recordings.findings import Finding

MOST_LINES = 1000  # that a launch prints
LONG_SECONDS = 3.0
LONG_LAUNCH_SECONDS = 1.0  # after which machine code may pay
_SURE_SECONDS = 5.0
_PART = 8  # the small batch that is timed is such a part of a full one
_FEWEST = 2 * _PART  # blocks in a full batch; of fewer, no two small batches differ enough
_TELL_SECONDS = 1.0  # from one word on loops to the next


@runtime_checkable
class Expecting(Protocol):
    """A progress callback that is told beforehand when a launch will take longer than a few seconds."""

    def expect(self, seconds: float, text: str) -> None:
        """Take note that ``text`` is expected to run for so many more seconds."""


def announcing(progress: object, kernel: str) -> Callable[[float], None] | None:
    """Return what tells a progress callback of a long time, None for one that does not want to know."""
    if progress is None or not isinstance(progress, Expecting):
        return None

    def expect(seconds: float) -> None:
        if seconds > LONG_SECONDS:
            progress.expect(seconds, kernel)

    return expect


def batches(blocks: int, at_once: int, expect: Callable[[float], None] | None) -> Iterator[tuple[int, int]]:
    """Give batches of at most ``at_once`` blocks, each as its first block and how many.

    Where one batch is not enough and somebody wants to know, small ones come first, and the time that the caller takes
    for them gives ``expect`` the seconds that the rest will take.
    """
    first = 0
    if expect is not None and blocks > at_once >= _FEWEST:
        single_s: list[float] = []
        batch_s: list[float] = []
        few = at_once // _PART
        for count, seconds in _small(few, single_s, batch_s):
            begin = perf_counter()
            yield first, count
            seconds.append(perf_counter() - begin)
            first += count
        expect(_rest(blocks - first, at_once, few, min(single_s[1:] or single_s), min(batch_s)))
    for begin_at in range(first, blocks, at_once):
        yield begin_at, min(at_once, blocks - begin_at)


def _small(few: int, single_s: list[float], batch_s: list[float]) -> Iterator[tuple[int, list[float]]]:
    """Give the sizes of small batches, and where their seconds are to be noted.

    The very first batch loads what is loaded once, and a machine does other things too, so there are more of each size
    and the shortest counts; unless they take so long that all this matters little. The first that is counted may wait
    for a compiler: then some blocks take longer than they would one by one.
    """
    yield 1, single_s
    if single_s[0] < _SURE_SECONDS:
        yield 1, single_s
        yield 1, single_s
    yield few, batch_s
    if batch_s[0] < _SURE_SECONDS or batch_s[0] > few * min(single_s):
        yield few, batch_s


def _rest(blocks: int, at_once: int, few: int, single_s: float, batch_s: float) -> float:
    """Return the seconds that blocks will take: a batch costs something, and each block in it."""
    block_s = max(0.0, batch_s - single_s) / (few - 1)
    return blocks / at_once * (single_s + block_s * (at_once - 1))


@dataclass(slots=True)
class Turns:
    """How many turns a loop that runs now has begun, and how many it will have at most; None where nobody knows."""

    most: float | None
    begun: int = 0


class Pace:
    """How far a launch is: its blocks, and the loops that run now, each in a turn of the one before it."""

    def __init__(self, progress: Progress | None, kernel: str, blocks: int) -> None:
        self._progress = progress
        self._kernel = kernel
        self._blocks = blocks
        self._batch = 0, blocks
        self._loops: list[Turns] = []
        self._began = 0.0
        self._next = perf_counter() + _TELL_SECONDS
        self._said = LONG_SECONDS / 2

    def batches(self, at_once: int, *, together: bool = False) -> Iterator[tuple[int, int]]:
        """Give the batches of the launch, as ``batches`` does, and tell of each when the next is asked for.

        Blocks that wait for each other run ``together``, all of them at once.
        """
        expect = None if together else announcing(self._progress, self._kernel)
        for first, count in batches(self._blocks, self._blocks if together else at_once, expect):
            self._batch = first, count
            yield first, count
            if self._progress is not None:
                self._progress(first + count, self._blocks, self._kernel)

    def begin(self, most: float | None) -> Turns:
        if not self._loops:
            self._began = perf_counter()
        self._loops.append(Turns(most))
        return self._loops[-1]

    def end(self) -> None:
        self._loops.pop()

    def look(self) -> None:
        """Tell how far it is, where it is time to; where it will take far longer than was said, tell that first."""
        if self._is_time():
            share = self._share()
            first, count = self._batch
            self._tell(share, int(100 * (first + share * count) / self._blocks), 100)

    def at_block(self, block: int) -> None:
        """Tell of a launch that runs block by block, as ``look`` does."""
        self._began = self._began or perf_counter()
        if self._is_time():
            self._tell(block / self._blocks, block, self._blocks)

    def _is_time(self) -> bool:
        now = perf_counter()
        if self._progress is None or now < self._next:
            return False
        self._next = now + _TELL_SECONDS
        return True

    def _tell(self, share: float, done: int, whole: int) -> None:
        """Tell how much is done, and the time that the rest will take where that is far more than was said.

        ``share`` is what has been done since all began, 0 where nobody knows.
        """
        assert self._progress is not None
        if share:
            rest = (perf_counter() - self._began) * (1 - share) / share
            if isinstance(self._progress, Expecting) and rest > 2 * self._said:
                self._said = rest
                self._progress.expect(rest, self._kernel)
        self._progress(done, whole, self._kernel)

    def _share(self) -> float:
        """Return how much of the outermost loop is done, 0 where nobody knows."""
        share, each = 0.0, 1.0
        for turns in self._loops:
            if not turns.most:
                break
            each /= turns.most
            share += each * (turns.begun - 1)
        return min(share, 1.0)


Place = tuple[str, int]

# The device that lockstep stands in for: shared memory starts and ends where it does there.
COMPUTE_CAPABILITY = (9, 0)
_MOST_COOPERATING = 132 * 2048  # threads at once on the H200, which is what a cooperative launch may have


class TooLongError(Exception):
    """A launch takes long that machine code may run faster."""


class StoppedError(Exception):
    """The launch ends here: a device would have stopped it, and a finding says why."""


def slots_of(configuration: Configuration) -> int:
    """Return the threads of a block, those that only fill its last warp included."""
    return -(-math.prod(configuration.block) // WARP_SIZE) * WARP_SIZE


class RunningLaunch(ABC):
    """A launch, of which a batch of blocks runs at a time: all of its threads at once."""

    hazards: Hazards

    def __init__(
        self,
        name: str,
        configuration: Configuration,
        layout: SharedLayout,
        sites: Sequence[Site],
        watched: Mapping[Any, Watched],
        place: Place,
        options: LaunchOptions,
        spelling: Spelling = PYTHON.spelling,
        tree: ast.FunctionDef | None = None,
        *,
        uses_warps: bool,
    ) -> None:
        """``sites`` are where it accesses memory, ``watched`` the allocations that it may write.

        ``uses_warps`` is whether the kernel names lanes and warps, or has one do something together.
        """
        self.name = name
        self.configuration = configuration
        self.layout = layout
        self.place = place
        self.limits = options.limits
        self.findings = Findings(name, configuration, options.number, spelling, tree, uses_warps=uses_warps)
        blocks, self.slots_of_block = math.prod(configuration.grid), slots_of(configuration)
        chosen = options.logged.of(place, name, blocks) if options.logged and options.recorded else None
        log = Log if options.recorded else NoLog
        self.log = log(tuple(sites), blocks, self.slots_of_block // WARP_SIZE, options.log_bytes, chosen)
        self.in_global = GlobalRaces(sites, watched, blocks, self.slots_of_block, self.findings)
        self.pace = Pace(options.progress, name, blocks)
        self.printed = self.printed_before = 0  # lines, and those of an attempt that was left, which are not repeated
        self._sites = sites

    def say(self, text: str, function: str) -> None:
        """Print what a function prints, if there were not too many lines before."""
        self.printed += 1
        if self.printed <= self.printed_before or self.printed > MOST_LINES:
            return
        print(text, end="")
        if self.printed == MOST_LINES:
            what = english(
                "{kernel} prints more; lockstep shows {most:,} lines of a launch", kernel=function, most=MOST_LINES
            )
            print(what)

    def run(self, run_batch: Callable[[], None], *, together: bool = False) -> None:
        """Run all of its blocks, ``together`` where they wait for each other.

        ``run_batch`` runs the kernel on the batch of blocks that is set up.

        Raises:
            PlaceError: for what ends a launch, with the mistakes that were met before.
        """
        at_once = self.limits.blocks_at_once(self.slots_of_block, self.layout.nbytes)
        try:
            with np.errstate(all="ignore"):
                for first, count in self.pace.batches(at_once, together=together):
                    self.begin(first, count)
                    run_batch()
                    self.end()
        except StoppedError:
            self.end()
        except PlaceError as error:
            error.findings = self.findings.all()
            raise

    @abstractmethod
    def begin(self, first_block: int, blocks: int) -> None:
        """Set up a batch of blocks."""

    def record(self, cells: Cells, first_block: int, blocks: int) -> None:
        threads = math.prod(self.configuration.block)
        self.hazards = Hazards(self._sites, self.layout.placed, cells, blocks, threads, self.findings, self.in_global)
        self.findings.first_block = first_block
        self.in_global.begin(first_block, blocks)
        self.log.begin(first_block, blocks)

    def end(self) -> None:
        self.hazards.end()
        self.log.end()

    def find(self, kind: str, line: int, column: int, threads: NDArray[Any], /, **facts: Any) -> None:
        """Note a mistake at a place once, with the first block that makes it and up to eight of its threads.

        ``threads`` are their slots in the batch, or of every slot whether it is one of theirs.
        """
        slots = np.flatnonzero(threads) if threads.dtype == np.bool_ else threads
        self.findings.add((kind, line, column), kind, line, slots, facts)

    def result(self, line: int, arrays: tuple[ArrayInfo, ...], file: str = "") -> tuple[Launch, tuple[Finding, ...]]:
        """Return what it did, as a recording has it, and the mistakes met."""
        requests, totals = self.log.requests(), self.log.totals
        shape, sites = self.configuration, tuple(self._sites)
        made = shape.launched(self.name, line, self.layout.nbytes, sites, arrays, requests, totals, file)
        return made, self.findings.all()


def check_threads(place: Place, configuration: Configuration, most: int) -> None:
    """Refuse a launch of more threads than that.

    Raises:
        LaunchError: naming both numbers.
    """
    if configuration.threads > most:
        what = english(
            "the launch has {threads:,} threads; lockstep runs {most:,} at most. "
            "Make the grid smaller, or run with engine gpu.",
            threads=configuration.threads,
            most=most,
        )
        raise LaunchError(*place, what)


def check_together(place: Place, configuration: Configuration, code: str) -> None:
    """Refuse a launch of more threads than a device has at once, where a call wants all of them.

    Raises:
        LaunchError: naming both numbers, and the call.
    """
    if configuration.threads > _MOST_COOPERATING:
        what = english(
            "the launch has {threads:,} threads; lockstep runs {most:,} at most together, as {code} wants it. "
            "Make the grid smaller, or run with engine gpu.",
            threads=configuration.threads,
            most=_MOST_COOPERATING,
            code=code,
        )
        raise LaunchError(*place, what)
