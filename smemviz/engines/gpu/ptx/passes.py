"""The passes of one recorded launch: each runs the kernel rewritten in another way, and finds its arguments as given.

The first counts over the whole grid; the second writes the log. When all requests do not fit, or when blocks are asked
for, those of some blocks are written and the totals stand for the rest. When even these do not fit, a third pass writes
the first of their warps that do, each with all of its requests.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.gpu.ptx import access_calls
from smemviz.engines.gpu.ptx.access_calls import ROW_BYTES, ROW_WORDS
from smemviz.engines.gpu.ptx.instrument import Mode
from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.ptx.host.arguments import Buffer
from smemviz.engines.lockstep.running_launch import Place
from smemviz.engines.selection import Blocks
from smemviz.model.counting.service import load_loops
from smemviz.recordings.data import WARP_SIZE, ArrayInfo, Requests, Site, Totals


class Memory(Protocol):
    """The memory of a card."""

    def reserve(self, nbytes: int, fill: int) -> Buffer:
        """Make room for some bytes, each of which is ``fill``."""

    def reserve_with(self, data: NDArray[np.uint8]) -> Buffer:
        """Put bytes into memory that no launch changes."""


class Passes(ABC):
    """The passes of one launch; ``noted`` is how many shared arrays note where they begin."""

    def __init__(self, memory: Memory, sites: Sequence[Site], configuration: Configuration, noted: int) -> None:
        self._memory = memory
        self.sites = tuple(sites)
        self.configuration = configuration
        self._blocks = math.prod(configuration.grid)
        self._warps = -(-math.prod(configuration.block) // WARP_SIZE)
        self._starts: Buffer = memory.reserve(8 * max(1, noted), 0)

    @abstractmethod
    def prepare(self) -> None:
        """Begin to make the kernels of every mode, unless that is done, and go on."""

    @abstractmethod
    def run(self, mode: Mode, launch: Buffer) -> None:
        """Make the launch with the kernel of a mode, which is told of it, and leave the arguments as they were."""

    @abstractmethod
    def arrays(self, starts: Sequence[int]) -> tuple[ArrayInfo, ...]:
        """Return the arrays of the launch, those of shared memory where they begin."""

    @abstractmethod
    def stored(
        self, site: int, addresses: NDArray[np.int64], bits: NDArray[np.uint64], shared: Sequence[ArrayInfo]
    ) -> NDArray[np.float64] | None:
        """Return the numbers that a site stored, whose bits were written down; None where they are not known."""

    def record(
        self, kernel: tuple[Place, str], log_bytes: int, logged: Blocks | None = None
    ) -> tuple[Requests, Totals | None, tuple[ArrayInfo, ...]]:
        """Return the requests written down, the totals where these are not all, and the arrays.

        ``kernel`` is where the launch is made, and of which kernel; ``logged`` are the blocks to write in full, None
        means all where they fit, else the first, the middle and the last.

        Raises:
            LaunchError: when the grid does not have these blocks.
        """
        blocks = self._blocks
        numbers = logged.of(*kernel, blocks) if logged else np.unique([0, blocks // 2, blocks - 1])
        self.prepare()
        load_loops()  # which whoever looks at the requests needs, while the driver assembles
        totals = self.count()
        total, room = int(totals.requests.sum()), max(log_bytes, 0) // ROW_BYTES
        chosen = np.ones((blocks, self._warps), np.bool_)
        if logged or total > room:
            chosen[:] = False
            chosen[numbers] = True
        arrays = self.arrays(self._starts.data.view(np.int64).tolist())
        requests, whole = self.write(chosen.ravel(), min(total, room), arrays)
        return requests, None if whole and total == len(requests) else totals, arrays

    def count(self) -> Totals:
        """Count the requests of the whole grid."""
        shape = access_calls.shape_of_counts(self.sites)
        counts = self._memory.reserve(8 * math.prod(shape), 0)
        self._run("count", {"counts": counts, "copies": shape[0], "stride": shape[1] * shape[2]})
        words = counts.data.view(np.int64)[: math.prod(shape)]
        return access_calls.totals(self.sites, words.reshape(shape))

    def write(self, chosen: NDArray[np.bool_], rows: int, arrays: Sequence[ArrayInfo]) -> tuple[Requests, bool]:
        """Return the requests of the chosen warps, or of the first of them that have room in so many rows.

        Beside them, whether they are those of every warp.
        """
        if rows == 0:
            return Requests.empty(), False
        log = self._memory.reserve(rows * ROW_BYTES, 0xFF)  # a lane that is off leaves -1
        used = self._write(chosen, rows, log)
        if used.sum() > rows:
            chosen = chosen & (np.cumsum(used, dtype=np.int64) <= rows)
            log = self._memory.reserve(rows * ROW_BYTES, 0xFF)
            used = self._write(chosen, rows, log)
        written = min(int(used.sum()), rows)
        words = log.data.view(np.int64)[: written * ROW_WORDS].reshape(written, ROW_WORDS)
        return self.requests_of(words, arrays), bool(chosen.all())

    def requests_of(self, words: NDArray[np.int64], arrays: Sequence[ArrayInfo]) -> Requests:
        """Return the rows of a log, (n, ROW_WORDS), as requests in order."""
        facts = words[:, 2 * WARP_SIZE :].astype(np.int64)
        has_values = facts[:, 0] & access_calls.HAS_VALUES > 0
        site, warp = facts[:, 0] & (access_calls.HAS_VALUES - 1), facts[:, 2]
        addresses = np.ascontiguousarray(words[:, :WARP_SIZE])
        bits = np.ascontiguousarray(words[:, WARP_SIZE : 2 * WARP_SIZE]).view(np.uint64)
        values = np.full(addresses.shape, np.nan)
        shared = [array for array in arrays if array.space == "shared"]
        for number in np.unique(site[has_values]):
            rows = (site == number) & has_values
            stored = self.stored(int(number), addresses[rows], bits[rows], shared)
            if stored is not None:
                values[rows] = np.where(addresses[rows] >= 0, stored, np.nan)
        return Requests(
            addresses=addresses,
            site=site.astype(np.int32),
            block=warp // self._warps,
            warp=(warp % self._warps).astype(np.int32),
            step=facts[:, 3].astype(np.int32),
            epoch=facts[:, 1].astype(np.int32),
            values=values,
        ).select(np.lexsort((facts[:, 3], warp)))

    def _write(self, chosen: NDArray[np.bool_], rows: int, log: Buffer) -> NDArray[np.int32]:
        """Write what the chosen warps do as far as there are rows; return how many requests each of them made."""
        warps = self._blocks * self._warps
        used = self._memory.reserve(4 * warps, 0)
        of_launch: dict[str, Buffer | int] = {
            "chosen": self._memory.reserve_with(chosen.view(np.uint8)),
            "used": used,
            "cursor": self._memory.reserve(8, 0),
            "rows": rows,
            "log": log,
        }
        self._run("write", of_launch)
        return used.data.view(np.int32)[:warps]

    def _run(self, mode: Mode, values_by_name: dict[str, Buffer | int]) -> None:
        values_by_name["bases"] = self._starts
        values = [values_by_name.get(name, 0) for name in access_calls.LAUNCH]
        words = np.array([value if isinstance(value, int) else value.start for value in values], np.uint64)
        self.run(mode, self._memory.reserve_with(words.view(np.uint8)))
