"""What one run of a kernel file captured: frozen data, nothing but selecting in it.

A whole recording is in ``recording``, reading its file in ``file``, counting in ``model``.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from smemviz.recordings.counted import Counted, counted_in
from smemviz.recordings.measured import SiteHardware, Timing

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

Dim3 = tuple[int, int, int]
Space = Literal["shared", "global"]

WARP_SIZE = 32
SECTOR_BYTES = 32  # the unit in which memory is loaded and stored


@dataclass(frozen=True)
class Site(Counted):
    """One place in the source that loads, stores or updates an array element.

    ``line`` is 1-based and ``column`` 0-based, as in ``ast``. A site inside a device function exists once
    for every chain of calls that reaches it; ``calls`` is that chain as (line, column) pairs, outermost first,
    and empty in the kernel itself. ``width`` is bytes per lane, ``dtype`` NumPy's name of the element type: where it is
    wider, an element takes several requests. ``file`` is empty for a site in the file of its kernel.

    One of ``launch.sites`` has its counts too, over the whole grid, as compute capability 9.0 serves its requests; they
    are None where there is nothing to count. ``launch.summary`` counts for others.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    source: str
    array: str
    space: Space
    op: str
    width: int
    dtype: str
    function: str
    calls: tuple[tuple[int, int], ...] = ()
    file: str = ""

    @property
    def is_shared(self) -> bool:
        """Whether it goes to shared memory, not to global."""
        return self.space == "shared"

    @property
    def pieces(self) -> int:
        """How many requests one access to an element takes: as many as it has bytes where it is loaded byte by byte."""
        return max(1, np.dtype(self.dtype).itemsize // self.width)


@dataclass(frozen=True)
class ArrayInfo:
    """A shared or global array of one launch.

    ``address`` is the byte address of its first element: in the shared window of a block for a shared array, in the
    device's address space (invented by the lockstep engine) for a global one. ``strides`` are bytes.
    ``line`` is where it is declared; for a kernel's argument, the line of the ``def``.
    """

    name: str
    space: Space
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    address: int
    line: int
    dynamic: bool = False

    @property
    def is_shared(self) -> bool:
        """Whether it lies in shared memory, not in global."""
        return self.space == "shared"

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return np.dtype(self.dtype).itemsize

    @property
    def extent(self) -> tuple[int, int]:
        """Its lowest byte and the one past its highest, the same for an empty array; strides may be negative."""
        if 0 in self.shape:
            return self.address, self.address
        steps = [(size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True)]
        low = self.address + sum(step for step in steps if step < 0)
        return low, self.address + sum(step for step in steps if step > 0) + self.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes from the first element to the end of the last, 0 for an empty array."""
        if 0 in self.shape:
            return 0
        return self.itemsize + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))


@dataclass(frozen=True)
class Requests:
    """The logged requests of a launch, one row each, ordered by block, warp and step.

    ``addresses`` is (n, 32) int64, a lane's byte address or -1 for a lane that is off; ``site`` (n,) indexes the
    launch's sites; ``block`` is the linear block index, ``warp`` the warp within the block, ``step`` the position
    among the requests of that warp, ``epoch`` the number of barriers the warp had passed. ``values`` is
    (n, 32) float64: what a shared store wrote, NaN where nothing was stored.
    """

    addresses: NDArray[np.int64]
    site: NDArray[np.int32]
    block: NDArray[np.int64]
    warp: NDArray[np.int32]
    step: NDArray[np.int32]
    epoch: NDArray[np.int32]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.site)

    def __repr__(self) -> str:
        return f"<Requests: {len(self):,} logged>"

    def select(self, rows: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Requests:
        """Return the rows that a mask, an index array or a slice picks, in its order."""
        return Requests(*(getattr(self, column.name)[rows] for column in fields(self)))

    def at_sites(self, site: NDArray[np.int32]) -> Requests:
        """Return the same with other numbers of sites."""
        return replace(self, site=site)

    @staticmethod
    def empty() -> Requests:
        """Return a log of no requests."""
        none = np.zeros(0, np.int32)
        return Requests(
            np.zeros((0, WARP_SIZE), np.int64),
            none,
            np.zeros(0, np.int64),
            none,
            none,
            none,
            np.zeros((0, WARP_SIZE), np.float64),
        )


@dataclass(frozen=True)
class Totals:
    """Exact counts over the whole grid, for a launch too large to log: every array has one row per site.

    ``degrees`` is (sites, 33): how many requests had each degree, 0 to 32. Wavefronts, ideal and degrees hold for
    compute capability 5.0 and later; they are 0 for global sites, ``sectors`` is 0 for shared ones.
    """

    requests: NDArray[np.int64]
    wavefronts: NDArray[np.int64]
    ideal: NDArray[np.int64]
    sectors: NDArray[np.int64]
    degrees: NDArray[np.int64]


@dataclass(frozen=True)
class SiteSummary:
    """What one site did in a launch.

    A global site has sectors and None for the rest, a shared one the reverse. Where the wavefronts cannot be told from
    the addresses they are None and ``reason`` says why. ``complete`` is False when part of the requests was not
    logged and the counts cover only the rest.
    """

    requests: int
    wavefronts: int | None
    ideal: int | None
    excess: int | None
    max_degree: int | None
    sectors: int | None
    complete: bool = True
    reason: str | None = None


@dataclass(frozen=True, eq=False)  # it holds arrays: each is equal to itself alone, and what is counted goes by it
class Launch:
    """One launch of one kernel. ``totals`` is None when ``requests`` holds every request there was.

    ``hardware`` has one row per site or is empty; ``counters`` are Nsight Compute's of the whole launch, by the name
    of the metric; ``unaccounted`` names each memory instruction that belongs to no site, in a sentence. ``file`` is
    that of the kernel, empty where it is the recording's. ``repeats`` counts the further launches of the run that had
    the same arguments and found the same memory; they are not listed. ``machine_code`` says that a kernel in Python
    was compiled for lockstep; a product and the sum it goes into are then rounded once, as on a GPU.
    """

    kernel: str
    line: int
    grid: Dim3
    block: Dim3
    dynamic_shared: int
    shared_bytes: int
    sites: tuple[Site, ...]
    arrays: tuple[ArrayInfo, ...]
    requests: Requests
    totals: Totals | None = None
    time: Timing | None = None
    hardware: tuple[SiteHardware, ...] = ()
    counters: Mapping[str, float] = field(default_factory=dict)
    unaccounted: tuple[str, ...] = ()
    file: str = ""
    repeats: int = 0
    machine_code: bool = False

    def __repr__(self) -> str:
        return f"<Launch of {self.kernel}: grid {self.grid}, block {self.block}, {self.request_count:,} requests>"

    @property
    def shared_arrays(self) -> tuple[ArrayInfo, ...]:
        """The shared arrays, in order of declaration."""
        return self._arrays_in("shared")

    @property
    def global_arrays(self) -> tuple[ArrayInfo, ...]:
        """The arrays in global memory, in order of the parameters."""
        return self._arrays_in("global")

    def _arrays_in(self, space: str) -> tuple[ArrayInfo, ...]:
        return tuple(array for array in self.arrays if array.space == space)

    def sites_in(self, space: str) -> list[int]:
        """Return the numbers of the sites in ``shared`` or ``global`` memory."""
        return [i for i, site in enumerate(self.sites) if site.space == space]

    @property
    def in_shared(self) -> NDArray[np.bool_]:
        """Which sites are in shared memory, (sites,)."""
        return np.array([site.is_shared for site in self.sites], np.bool_)

    @property
    def request_count(self) -> int:
        """How many requests the launch made, logged or not."""
        return len(self.requests) if self.totals is None else int(self.totals.requests.sum())

    @property
    def missing(self) -> int:
        """How many requests were counted but not logged."""
        return self.request_count - len(self.requests)

    @property
    def warps_per_block(self) -> int:
        """Warps in a block, the last one possibly partly filled."""
        return -(-self.block[0] * self.block[1] * self.block[2] // WARP_SIZE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sites", counted_in(self, self.sites))

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)  # its sites have left behind what they are counted by
        self.__post_init__()

    def summary(self, cc: tuple[int, int] = (9, 0)) -> tuple[SiteSummary, ...]:
        """Return the counts of every site, a row each in the order of ``sites``, as a compute capability serves it.

        Wavefronts, requests and sectors are numbers of passes, of executions by a warp and of pieces of 32 bytes, over
        the whole grid. What a site cannot have is None, for example wavefronts in global memory.

        Example:
            import smemviz
            launch = smemviz.run("kernels/square.py", engine="lockstep")["set_row_read_col"]
            for site, row in zip(launch.sites, launch.summary(cc=(8, 6))):
                print(site.line, site.source, row.wavefronts)

        Raises:
            InputError: for a compute capability that is not known.
        """
        counting = importlib.import_module("smemviz.model.counting.summary")  # which stands above what it counts
        rows: tuple[SiteSummary, ...] = counting.summarize(self, counting.Hardware(cc))
        return rows

    def to_pandas(self, cc: tuple[int, int] = (9, 0)) -> pandas.DataFrame:
        """Return a pandas table with a row per site: kernel, line, column, source and every count.

        Counts are integers, or ``<NA>`` where there is nothing to count; ``efficiency`` is 0 to 1, ``bytes_used`` and
        ``bytes_wasted`` are bytes. The file and the number of the launch are columns of ``Recording.to_pandas``.

        Example:
            import smemviz
            launch = smemviz.run("kernels/square.py", engine="lockstep")["set_row_read_col"]
            print(launch.to_pandas().sort_values("excess", ascending=False).head())

        Raises:
            InputError: for a compute capability that is not known.
            MissingError: when pandas is not installed.
        """
        table: pandas.DataFrame = importlib.import_module("smemviz.reports.data_tables").launch_frame(self, cc)
        return table

    def figure(
        self,
        name: str = "tile",
        *,
        line: int | None = None,
        column: int | None = None,
        block: int | None = None,
        warp: int | None = None,
        step: int | None = None,
        array: str | None = None,
        view: str | None = None,
        banks: int | None = None,
        cc: tuple[int, int] = (9, 0),
        theme: Literal["light", "dark"] = "light",
    ) -> go.Figure:
        """Draw one of the figures of ``smemviz export`` with Plotly: tile, banks, warps, sectors, timeline, degrees.

        ``line`` (from 1), ``column`` (from 0), ``block``, ``warp`` and ``step`` choose the request that it shows, by
        default the one that wastes the most. ``array`` is the shared array of a tile, its ``view`` declared or
        physical, and ``banks`` draws it for another number of banks.

        Example:
            import smemviz
            launch = smemviz.run("kernels/square.py", engine="lockstep")["set_row_read_col"]
            launch.figure("tile", line=53, theme="dark").write_html("tile.html")

        Raises:
            InputError: when there is no such figure, request or array, or nothing to draw.
            MissingError: when Plotly is not installed.
        """
        launch = importlib.import_module("smemviz.reports.launch_figure")
        choice = launch.Choice(line=line, column=column, block=block, warp=warp, step=step)
        drawn: go.Figure = launch.figure(self, name, choice, launch.Look(array, view, banks, theme), cc)
        return drawn

    def _repr_html_(self) -> str:
        """Return what a notebook shows; see ``smemviz.reports.notebook``."""
        shown: str = importlib.import_module("smemviz.reports.notebook").launch_html(self)
        return shown
