"""One launch as it runs, whatever language its kernel is in: what is asked of it, and what is recorded of it."""

from __future__ import annotations

import ast
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
from smemviz.engines.lockstep.pace import Pace
from smemviz.engines.options import LaunchOptions
from smemviz.errors import LaunchError, PlaceError
from smemviz.languages import PYTHON, Spelling
from smemviz.messages import english
from smemviz.recordings.data import WARP_SIZE, ArrayInfo, Launch, Site
from smemviz.recordings.findings import Finding

Place = tuple[str, int]

# The device that lockstep stands in for: shared memory starts and ends where it does there.
COMPUTE_CAPABILITY = (9, 0)
_MOST_COOPERATING = 132 * 2048  # threads at once on the H200, which is what a cooperative launch may have


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
        self.printed = 0
        self._sites = sites

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
        """Begin to record a batch of blocks."""
        threads = math.prod(self.configuration.block)
        self.hazards = Hazards(self._sites, self.layout.placed, cells, blocks, threads, self.findings, self.in_global)
        self.findings.first_block = first_block
        self.in_global.begin(first_block, blocks)
        self.log.begin(first_block, blocks)

    def end(self) -> None:
        """Finish the batch."""
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
