"""One launch of CUDA C++ on a card: counted, then its requests written down, then made by the clean kernel."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.gpu.ptx.accesses import Instructions
from smemviz.engines.gpu.ptx.instrument import MODES, NAME, Mode, instrumented
from smemviz.engines.gpu.ptx.passes import Memory, Passes
from smemviz.engines.gpu.ptx.ptx_text import alone
from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.ptx.code.module import PtxError
from smemviz.engines.lockstep.ptx.host.arguments import Buffer, bind_arguments
from smemviz.engines.lockstep.ptx.host.cuda_launch import Prepared, prepare, unsupported
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.engines.lockstep.ptx.sites import with_names
from smemviz.engines.lockstep.running_launch import Place
from smemviz.engines.selection import Blocks
from smemviz.recordings.data import ArrayInfo, Launch


@dataclass(frozen=True)
class Kernel:
    """What a card is to run: a module of PTX, a kernel in it, and whether its blocks wait for each other.

    Of the module's ``variables`` those that are named begin as these bytes, which become what the kernel leaves.
    """

    ptx: str
    name: str
    cooperative: bool
    variables: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict, compare=False)


class Bound(Protocol):
    """What a launch was given: the bytes of each parameter by its name in PTX, and arrays in the card's memory."""

    parameters: dict[str, NDArray[np.uint8]]

    def copy_back(self) -> None:
        """Copy every array back to where it came from."""

    def arrays(self, line: int) -> tuple[ArrayInfo, ...]:
        """Return the arrays as a recording has them."""


class Card(Memory, Protocol):
    """What can run PTX, and has memory."""

    compute_capability: tuple[int, int]

    def place(self, name: str, data: NDArray[np.uint8]) -> Buffer:
        """Put bytes into memory of their own."""

    def restore(self) -> None:
        """Put every array that was placed back as it was."""

    def prepare(self, kernel: Kernel) -> None:
        """Begin to make a kernel ready to run, and go on."""

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
    arguments = bind_arguments(entry, ready.kernel, args, place, card)
    return record_bound(card, ready, configuration, arguments, place, log_bytes, logged)


def record_bound(
    card: Card,
    ready: Prepared,
    configuration: Configuration,
    arguments: Bound,
    place: Place,
    log_bytes: int,
    logged: Blocks | None = None,
) -> Launch:
    """Make one launch whose arguments are on the card, and bring what the clean kernel wrote back.

    Raises:
        LaunchError: for one that has none of the blocks to be logged.
        UnsupportedError: for an instruction that is not followed, at the line that it comes from.
    """
    entry = ready.entry
    passes = CudaPasses(card, ready, configuration, arguments)
    card.prepare(_clean(ready))
    requests, totals, arrays = passes.record((place, entry.name), log_bytes, logged)
    clean(card, ready, configuration, arguments)
    sites, nbytes = ready.sites.sites, ready.layout.nbytes
    return with_names(configuration.launched(entry.name, entry.line, nbytes, sites, arrays, requests, totals))


def clean(card: Card, ready: Prepared, configuration: Configuration, arguments: Bound) -> None:
    """Make the launch with the clean kernel, and bring what it wrote back."""
    card.run(_clean(ready), configuration, list(arguments.parameters.values()))
    arguments.copy_back()


def _clean(ready: Prepared) -> Kernel:
    entry = ready.entry
    return Kernel(alone(entry.compiled.ptx, entry.symbol), entry.symbol, entry.is_cooperative, _variables(ready))


def _variables(ready: Prepared) -> dict[str, NDArray[np.uint8]]:
    return ready.entry.variables.of_kernel(ready.kernel) if ready.entry.variables is not None else {}


def make_clean(card: Card, entry: Entry, configuration: Configuration, args: Sequence[Any], place: Place) -> None:
    """Make one launch with the clean kernel alone, and bring what it wrote back."""
    ready = prepare(entry, configuration, place)
    clean(card, ready, configuration, bind_arguments(entry, ready.kernel, args, place, card))


class CudaPasses(Passes):
    """The passes of a launch of CUDA C++."""

    def __init__(self, card: Card, ready: Prepared, configuration: Configuration, arguments: Bound) -> None:
        super().__init__(card, ready.sites.sites, configuration, len(ready.kernel.shared))
        self._card = card
        self._ready = ready
        self._arguments = arguments
        self._kernels: dict[Mode, Kernel] = {}

    def prepare(self) -> None:
        """Rewrite the PTX for every mode, and have the card begin with it."""
        if self._kernels:
            return
        ready = self._ready
        threads = math.prod(self.configuration.block)
        for mode in MODES:
            try:
                accesses = Instructions(ready.kernel, ready.sites)
                text, capability = ready.entry.compiled.ptx, self._card.compute_capability
                ptx = instrumented(ready.kernel, text, accesses, mode, threads, capability)
            except PtxError as error:
                raise unsupported(error, ready.entry, ready.sources) from None
            self._kernels[mode] = Kernel(ptx, NAME, ready.entry.is_cooperative)
            self._card.prepare(self._kernels[mode])

    def run(self, mode: Mode, launch: Buffer) -> None:
        """Launch the kernel of a mode."""
        self.prepare()
        pointer = np.array([launch.start], np.uint64).view(np.uint8)
        variables = {name: data.copy() for name, data in _variables(self._ready).items()}
        kernel = replace(self._kernels[mode], variables=variables)
        self._card.run(kernel, self.configuration, [*self._arguments.parameters.values(), pointer])
        self._card.restore()

    def arrays(self, starts: Sequence[int]) -> tuple[ArrayInfo, ...]:
        """Return the arrays of shared memory where the card has them, and those of global memory."""
        pieces = self._ready.entry.compiled.pieces
        if pieces:  # of the one array that there is
            starts = [starts[0] + piece.offset for piece in pieces]
        placed = zip(self._ready.layout.placed, starts, strict=False)
        shared = (replace(array, address=start) for array, start in placed)
        return (*shared, *self._arguments.arrays(self._ready.entry.line))

    def stored(
        self, site: int, addresses: NDArray[np.int64], bits: NDArray[np.uint64], shared: Sequence[ArrayInfo]
    ) -> NDArray[np.float64] | None:
        """Return the numbers that were stored, as elements of the array that they were stored in."""
        sites = self._ready.sites
        dtype = sites.dtype_of_store(site, addresses, shared)
        if dtype is None or dtype.itemsize != sites.sites[site].width:
            return None
        return bits.astype(f"u{dtype.itemsize}").view(dtype).astype(np.float64)
