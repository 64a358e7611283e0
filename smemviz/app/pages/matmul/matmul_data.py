"""What the matrix product page shows: counts made here in lockstep, and what was measured on a card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from smemviz.app.cache import Cache
from smemviz.app.library import Library
from smemviz.app.state import RunState
from smemviz.app.tasks.jobs import Job, Tasks, own_command
from smemviz.app.texts import Texts
from smemviz.engines.sandbox import Supervisor
from smemviz.errors import InputError
from smemviz.figures.matmul.loads import Saving
from smemviz.figures.matmul.rates import measured_sizes
from smemviz.frontends.program import Program
from smemviz.model.counting.matmul import Counted, counted
from smemviz.paths import kernels_dir, sweep_for
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording
from smemviz.recordings.sweep import Size, Sweep, joined, load_sweep, parse_sweep
from smemviz.views.matmul_steps import Step, steps

FILE = "matmul"
MISTAKES = "mistakes"  # the file of kernels that go wrong
TILES = (8, 16, 32)
LARGEST = 8192
COUNTED = Size(64, 64, 64)  # the most that is counted here: a second or so for all kernels
PICTURED = {"4-2": (4, 2), "16-8": (16, 8), "24-8": (24, 8), "32-8": (32, 8), "32-16": (32, 16)}
DEFAULT_PICTURED = "16-8"
_MOST_BYTES = 64 << 20  # of counts, and of steps
_LIMIT_SECONDS = "20"
_TOLD_FIRST = ("1024", "2048", "4096")  # large enough to fill a card, and every kernel is timed in seconds
_ANIMATED = "tiled"


@dataclass(frozen=True)
class ProductState:
    """What the URL asks for: a size, a tile, and which small product the steps are of."""

    size: Size
    tile: int
    pictured: str

    @staticmethod
    def read(query: Mapping[str, str], sweep: Sweep | None) -> ProductState:
        """Read the query of a URL; what is not given is what shows most.

        Raises:
            InputError: for a size that makes no sense.
        """
        tile = query.get("TILE", "")
        tiles = TILES[-1] if not tile.isdecimal() or int(tile) not in TILES else int(tile)
        pictured = query.get("PICTURED", DEFAULT_PICTURED)
        return ProductState(
            _size(query["SIZE"]) if "SIZE" in query else _best_size(sweep, tiles),
            tiles,
            pictured if pictured in PICTURED else DEFAULT_PICTURED,
        )


def _size(text: str) -> Size:
    size = Size.read(text.lower().replace(" ", ""), LARGEST)
    if size is None:
        raise InputError(f"{text!r} is not a size: write 64, or 228x240x112 for M, K and N, each from 1 to {LARGEST}")
    return size


def _best_size(sweep: Sweep | None, tile: int) -> Size:
    """Return the largest of the sizes that tell most that was timed, else the one that is counted here."""
    if sweep:
        timed = {p.size for p in sweep.points if p.tile == tile and p.time and p.size.name in _TOLD_FIRST}
        if timed:
            return max(timed, key=lambda size: size.operations)
    return COUNTED


class Products:
    """Counts and measures matrix products; what it has found is kept."""

    def __init__(
        self, job: Job, texts: Texts | None = None, *, local: bool = True, sandbox: Supervisor | None = None
    ) -> None:
        self.path = kernels_dir() / f"{FILE}.py"
        self._library = Library([self.path], texts, local=local, sandbox=sandbox)
        self._tasks = Tasks(job, self._read)
        self.cancel, self.running = self._tasks.cancel, self._tasks.running
        self._measured: dict[str, Sweep] = {}  # on this machine, by the source it is of
        self._counts: Cache[tuple[str, Size, int], Mapping[str, Counted]] = Cache(_MOST_BYTES)
        self._steps: Cache[str, tuple[Launch, tuple[Step, ...]]] = Cache(_MOST_BYTES)

    @property
    def program(self) -> Program:
        """The kernel file."""
        return self._library.program(FILE)

    @cached_property
    def recorded(self) -> Sweep | None:
        """What comes with smemviz, measured on another machine; None when nothing does."""
        path = sweep_for(self.path)
        return load_sweep(path) if path else None

    def sweep(self, size: Size | None = None, tile: int | None = None) -> tuple[Sweep | None, bool]:
        """Return what was measured, and whether here; what comes with smemviz where this size was not."""
        self._tasks.collect()
        here = self._measured.get(self.program.sha256)
        if here and (size is None or tile is None or size in measured_sizes(here, tile)):
            return here, True
        return self.recorded, False

    def counted(self, state: ProductState) -> Mapping[str, Counted]:
        """Count every kernel here, in lockstep, at the size shown or at 64 where that is too large."""
        size = min(state.size, COUNTED, key=lambda size: size.operations)
        return self._counts.once((self.program.sha256, size, state.tile), lambda: self._count(size, state.tile))

    def _count(self, size: Size, tile: int) -> Mapping[str, Counted]:
        return {launch.kernel: counted(launch, size) for launch in self._run(size, tile).launches}

    def savings(self, state: ProductState) -> list[Saving]:
        """Count the naive and the tiled kernel with each tile, at the size shown or at 64 where that is too large."""
        counts = {tile: self.counted(replace(state, tile=tile)) for tile in TILES}
        return [
            Saving(tile, by_kernel["naive"].size, by_kernel["naive"].moved, by_kernel[_ANIMATED].moved)
            for tile, by_kernel in counts.items()
        ]

    def steps(self, pictured: str) -> tuple[Launch, tuple[Step, ...]]:
        """Return the small tiled product that is pictured, and its steps."""
        return self._steps.once(pictured, lambda: self._stepped(*PICTURED[pictured]))

    def _stepped(self, side: int, tile: int) -> tuple[Launch, tuple[Step, ...]]:
        launch = self._run(Size(side, side, side), tile)[_ANIMATED]
        return launch, steps(launch)

    def _run(self, size: Size, tile: int) -> Recording:
        constants = {"M": size.m, "K": size.k, "N": size.n, "TILE": tile}
        state = RunState(FILE, constants={name: str(value) for name, value in constants.items()}, source="lockstep")
        return self._library.show(state).recording

    def measure(self, state: ProductState) -> bool:
        """Start measuring a size on this machine's GPU; return False when something is being measured."""
        return self._tasks.start(self.program.sha256, command(self.path, state))

    @property
    def problem(self) -> str:
        """Why the last measurement failed, "" when it did not."""
        return self._tasks.problem(self.program.sha256) or ""

    @property
    def latest(self) -> int:
        """How many measurements have been kept."""
        return self._tasks.latest

    def _read(self, sha256: str, output: str) -> Sweep:
        sweep = parse_sweep(output)
        older = self._measured.get(sweep.sha256)
        self._measured[sweep.sha256] = joined(older, sweep) if older else sweep
        return self._measured[sweep.sha256]


def command(path: Path, state: ProductState) -> list[str]:
    """Return the command that measures a size."""
    return own_command("sweep", str(path), {"TILE": state.tile}, "--sizes", state.size.name, "--limit", _LIMIT_SECONDS)
