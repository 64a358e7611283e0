"""One launch of CUDA C++ on a card: counted, then its requests written down, then made by the clean kernel.

Every pass loads its module anew and finds the arguments as they were given, so that each does the same. The first
counts over the whole grid; the second writes the log. When all requests do not fit, or when blocks are asked for,
those of some blocks are written and the totals stand for the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.gpu import request_classes
from smemviz.engines.gpu.ptx import reports
from smemviz.engines.gpu.ptx.instrument import NAME, Mode, instrumented
from smemviz.engines.gpu.ptx.reports import ROW_BYTES, ROW_WORDS
from smemviz.engines.host import Configuration
from smemviz.engines.lockstep.launching import Place
from smemviz.engines.lockstep.ptx.code.module import PtxError
from smemviz.engines.lockstep.ptx.host.arguments import Given, Held, given_arguments
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.engines.lockstep.ptx.host.launching import Prepared, prepare, unsupported
from smemviz.engines.lockstep.ptx.sites import SiteMap
from smemviz.engines.selection import Blocks
from smemviz.recordings.data import WARP_SIZE, ArrayInfo, Launch, Requests, Totals


@dataclass(frozen=True)
class Kernel:
    """What a card is to run: a module of PTX, a kernel in it, and whether its blocks wait for each other."""

    ptx: str
    name: str
    cooperative: bool


class Card(Protocol):
    """What can run PTX, and has memory."""

    def place(self, name: str, data: NDArray[np.uint8]) -> Held:
        """Put bytes into memory of their own."""

    def reserve(self, nbytes: int, fill: int) -> Held:
        """Make room for some bytes, each of which is ``fill``."""

    def reserve_with(self, data: NDArray[np.uint8]) -> Held:
        """Put bytes into memory that no launch changes."""

    def restore(self) -> None:
        """Put every array that was placed back as it was."""

    def run(self, kernel: Kernel, configuration: Configuration, parameters: Sequence[NDArray[np.uint8]]) -> None:
        """Load a module, run one kernel of it to its end, and forget the module."""


def record(
    card: Card,
    entry: Entry,
    configuration: Configuration,
    args: Sequence[Any],
    place: Place,
    log_bytes: int,
    logged: Blocks | None = None,
) -> Launch:
    """Make one launch and return what it did; arrays among ``args`` are written as the clean kernel writes them.

    Raises:
        LaunchError: for one whose arguments do not fit, or that has none of the blocks to be logged.
        RefusedLaunchError: for a launch that no device would start.
        UnsupportedError: for an instruction that is not followed, at the line that it comes from.
    """
    ready = prepare(entry, configuration, place)
    blocks = math.prod(configuration.grid)
    numbers = logged.of(place, entry.name, blocks) if logged else np.unique([0, blocks // 2, blocks - 1])
    given = given_arguments(entry, ready.kernel, args, place, card)
    passes = Passes(card, ready, configuration, given)
    totals = passes.count()
    total, room = int(totals.requests.sum()), max(log_bytes, 0) // ROW_BYTES
    chosen = np.ones((blocks, passes.warps), np.bool_)
    if logged or total > room:
        chosen[:] = False
        chosen[numbers] = True
    arrays = (*passes.shared_arrays(), *given.arrays(entry.line))
    requests, whole = passes.write(chosen.ravel(), min(total, room), arrays)
    clean(card, entry, configuration, given)
    return ready.launch(configuration, requests, None if whole and total == len(requests) else totals, arrays)


def clean(card: Card, entry: Entry, configuration: Configuration, given: Given[Any]) -> None:
    """Make the launch with the clean kernel, and bring what it wrote back."""
    kernel = Kernel(entry.compiled.ptx, entry.symbol, entry.is_cooperative)
    card.run(kernel, configuration, list(given.parameters.values()))
    given.copy_back()


def make_clean(card: Card, entry: Entry, configuration: Configuration, args: Sequence[Any], place: Place) -> None:
    """Make one launch with the clean kernel alone, and bring what it wrote back."""
    ready = prepare(entry, configuration, place)
    clean(card, entry, configuration, given_arguments(entry, ready.kernel, args, place, card))


class Passes:
    """The passes of one launch."""

    def __init__(self, card: Card, ready: Prepared, configuration: Configuration, given: Given[Any]) -> None:
        self._card = card
        self._ready = ready
        self._configuration = configuration
        self._given = given
        self.warps = -(-math.prod(configuration.block) // WARP_SIZE)
        self._all_warps = math.prod(configuration.grid) * self.warps
        self._bases: Held = card.reserve(8 * max(1, len(ready.kernel.shared)), 0)

    def count(self) -> Totals:
        """Count the requests of the whole grid."""
        sites = self._ready.sites.sites
        shape = request_classes.shape_of_counts(sites)
        counts = self._card.reserve(8 * math.prod(shape), 0)
        self._run("count", {"counts": counts, "copies": shape[0], "stride": shape[1] * shape[2]})
        return request_classes.totals(sites, counts.data.view(np.int64)[: math.prod(shape)].reshape(shape))

    def write(self, chosen: NDArray[np.bool_], rows: int, arrays: Sequence[ArrayInfo]) -> tuple[Requests, bool]:
        """Return the requests of the chosen warps, or of the first of them that have room in so many rows.

        Beside them, whether they are those of every warp.
        """
        if rows == 0:
            return Requests.empty(), False
        log = self._card.reserve(rows * ROW_BYTES, 0xFF)  # a lane that is off leaves -1
        used = self._write(chosen, rows, log)
        if used.sum() > rows:
            chosen = chosen & (np.cumsum(used, dtype=np.int64) <= rows)
            log = self._card.reserve(rows * ROW_BYTES, 0xFF)
            used = self._write(chosen, rows, log)
        written = min(int(used.sum()), rows)
        words = log.data.view(np.int64)[: written * ROW_WORDS].reshape(written, ROW_WORDS)
        return requests_of(words, self.warps, self._ready.sites, arrays), bool(chosen.all())

    def shared_arrays(self) -> tuple[ArrayInfo, ...]:
        """Return the shared arrays where the card has them; a pass must have been made."""
        bases = self._bases.data.view(np.int64).tolist()
        return tuple(
            replace(array, address=base) for array, base in zip(self._ready.layout.placed, bases, strict=False)
        )

    def _write(self, chosen: NDArray[np.bool_], rows: int, log: Held) -> NDArray[np.int32]:
        used = self._card.reserve(4 * self._all_warps, 0)
        self._run(
            "write",
            {
                "chosen": self._card.reserve_with(chosen.view(np.uint8)),
                "used": used,
                "cursor": self._card.reserve(8, 0),
                "rows": rows,
                "log": log,
            },
        )
        return used.data.view(np.int32)[: self._all_warps]

    def _run(self, mode: Mode, values_by_name: dict[str, Held | int]) -> None:
        ready, configuration = self._ready, self._configuration
        values_by_name["bases"] = self._bases
        values = [values_by_name.get(name, 0) for name in reports.LAUNCH]
        words = np.array([value if isinstance(value, int) else value.start for value in values], np.uint64)
        launch = self._card.reserve_with(words.view(np.uint8))
        pointer = np.array([launch.start], np.uint64).view(np.uint8)
        threads = math.prod(configuration.block)
        try:
            ptx = instrumented(ready.kernel, ready.entry.compiled.ptx, ready.sites, mode, threads)
        except PtxError as error:
            raise unsupported(error, ready.entry, ready.sources) from None
        kernel = Kernel(ptx, NAME, ready.entry.is_cooperative)
        self._card.run(kernel, configuration, [*self._given.parameters.values(), pointer])
        self._card.restore()


def requests_of(words: NDArray[np.int64], warps: int, sites: SiteMap, arrays: Sequence[ArrayInfo]) -> Requests:
    """Return the rows of a log, (n, ROW_WORDS), as requests in order; ``warps`` are those of a block."""
    facts = words[:, 2 * WARP_SIZE :].astype(np.int64)
    site, warp = facts[:, 0] & (reports.HAS_VALUES - 1), facts[:, 2]
    addresses = np.ascontiguousarray(words[:, :WARP_SIZE])
    bits = np.ascontiguousarray(words[:, WARP_SIZE : 2 * WARP_SIZE]).view(np.uint64)
    values = np.full(addresses.shape, np.nan)
    shared = [array for array in arrays if array.space == "shared"]
    for number in np.unique(site[facts[:, 0] & reports.HAS_VALUES > 0]):
        rows = (site == number) & (facts[:, 0] & reports.HAS_VALUES > 0)
        dtype = sites.dtype_of_store(int(number), addresses[rows], shared)
        if dtype is not None and dtype.itemsize == sites.sites[number].width:
            numbers = bits[rows].astype(f"u{dtype.itemsize}").view(dtype).astype(np.float64)
            values[rows] = np.where(addresses[rows] >= 0, numbers, np.nan)
    return Requests(
        addresses=addresses,
        site=site.astype(np.int32),
        block=warp // warps,
        warp=(warp % warps).astype(np.int32),
        step=facts[:, 3].astype(np.int32),
        epoch=facts[:, 1].astype(np.int32),
        values=values,
    ).select(np.lexsort((facts[:, 3], warp)))
