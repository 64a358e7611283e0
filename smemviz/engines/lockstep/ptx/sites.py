"""From instructions of PTX to the sites of a recording: copies of one access become one, arrays get their names."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.code.module import Place
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.frontends.cuda.sources import Text
from smemviz.model.hardware.operations import effect_of
from smemviz.recordings.data import ArrayInfo, Launch, Requests, Site, Space, Totals
from smemviz.recordings.vocabulary import MATRICES, MBARRIERS, UNCOUNTED

_OF_OWN_BLOCK = {*MATRICES, *UNCOUNTED} - MBARRIERS
_SPACES: tuple[Space, Space] = ("shared", "global")


def written_at(place: Place, sources: Mapping[int, Text]) -> Place:
    """Return the innermost place that is in a file of the user's, and in none of CUDA's own headers."""
    while place.file not in sources and place.outer is not None:
        place = place.outer
    return place


class SiteMap:
    """The sites that the instructions of an entry may be; one with a generic address is one in each memory."""

    def __init__(self, kernel: Kernel, name: str, sources: Mapping[int, Text]) -> None:
        self._sources = sources
        self._fallback = kernel.function.place
        self._numbers: dict[tuple[int, str], int] = {}
        self._dtypes: dict[int, np.dtype[Any] | None] = {}
        numbers: dict[Any, int] = {}
        sites: list[Site] = []
        for raw, instruction in enumerate(kernel.memory):
            spaces = _SPACES if instruction.space == "generic" else (instruction.space,)
            far = kernel.uses_clusters and "shared" in spaces and instruction.op not in _OF_OWN_BLOCK
            for space in (*spaces, *(("cluster",) if far else ())):
                site = self._site(
                    instruction.place,
                    "global" if space == "global" else "shared",
                    instruction.op,
                    instruction.width,
                    instruction.dtype,
                    name,
                )
                if space == "cluster" and site.op not in MBARRIERS:
                    site = replace(site, op=f"cluster_{effect_of(site.op)}")
                key = (site.file, site.line, site.column, site.end_line, site.end_column, space, site.op, site.width)
                if key not in numbers:
                    numbers[key] = len(sites)
                    sites.append(site)
                self._numbers[raw, space] = numbers[key]
        self.sites = tuple(sites)

    def number(self, raw: int, space: str) -> int:
        return self._numbers[raw, space]

    def number_if_any(self, raw: int, space: str) -> int:
        """Return the site that an instruction is in a memory, -1 where it is none there."""
        return self._numbers.get((raw, space), -1)

    def place_of(self, raw: int | None, space: str) -> tuple[int, int]:
        """Return line and column of an instruction; those of the kernel for one that is no site."""
        number = None if raw is None else self._numbers.get((raw, space))
        if number is None:
            return self.line_of(self._fallback)
        return self.sites[number].line, self.sites[number].column

    def line_of(self, place: Place) -> tuple[int, int]:
        """Return line and column of a place of the PTX."""
        own = written_at(place, self._sources)
        text = self._sources.get(own.file)
        source_place = text.place(own.line) if text else None
        return source_place or (1, 0)

    def text_of(self, place: Place) -> str:
        """Return the expression at a place of the PTX."""
        own = written_at(place, self._sources)
        text = self._sources.get(own.file)
        access = text.access(own.line) if text else None
        return access.source if access else ""

    def dtype_of_store(self, site: int, addresses: Any, placed: Sequence[ArrayInfo]) -> np.dtype[Any] | None:
        """Return the type of the array that a site stores in, as its first address tells."""
        if site not in self._dtypes:
            first = addresses if isinstance(addresses, int) else int(addresses[addresses >= 0][0])
            array = next((array for array in placed if 0 <= first - array.address < array.nbytes), None)
            self._dtypes[site] = np.dtype(array.dtype) if array else None
        return self._dtypes[site]

    def _site(self, place: Place, space: Space, op: str, width: int, dtype: str, kernel: str) -> Site:
        place = written_at(place, self._sources)
        text = self._sources.get(place.file)
        access = text.access(place.line, op) if text else None
        if text is None or access is None:
            line, column = self.line_of(self._fallback)
            return Site(line, column, line, column, "", "", space, op, width, dtype, kernel)
        function = text.function(access.line, access.column)
        function_name = kernel if function is None or function.is_kernel else function.name
        return Site(
            access.line,
            access.column,
            access.end_line,
            access.end_column,
            access.source,
            access.array,
            space,
            op,
            width,
            dtype,
            function_name,
            file=text.file,
        )


def with_names(launch: Launch, spans: NDArray[np.int64] | None = None) -> Launch:
    """Return a launch with those of its sites that made requests, by their lines, each with the arrays it reached.

    ``spans`` are the lowest and the highest address of each site, (2, sites), where that is known.
    """
    sites, requests, totals = launch.sites, launch.requests, launch.totals
    request_counts = np.bincount(requests.site, minlength=len(sites)) if totals is None else totals.requests
    used = [number for number in range(len(sites)) if request_counts[number]]
    used.sort(key=lambda number: (sites[number].file, sites[number].line))
    spans = _spans(requests, len(sites)) if spans is None else spans
    new = np.zeros(len(sites), np.int32)
    new[used] = np.arange(len(used))
    if totals is not None:
        totals = Totals(
            *(getattr(totals, name)[used] for name in ("requests", "wavefronts", "ideal", "sectors", "degrees"))
        )
    used_sites = tuple(_with_array(sites[number], number, requests, spans[:, number], launch.arrays) for number in used)
    return replace(launch, sites=used_sites, requests=requests.at_sites(new[requests.site]), totals=totals)


def _spans(requests: Requests, sites: int) -> NDArray[np.int64]:
    """Return the lowest and the highest address of each site, (2, sites)."""
    spans = np.full((2, sites), -1, np.int64)
    # A lane that is off has the highest number there is without a sign, and the lowest with one.
    np.minimum.at(spans[0].view(np.uint64), requests.site, requests.addresses.view(np.uint64).min(axis=1))
    np.maximum.at(spans[1], requests.site, requests.addresses.max(axis=1))
    return spans


def _with_array(
    site: Site, number: int, requests: Requests, span: NDArray[np.int64], arrays: Sequence[ArrayInfo]
) -> Site:
    """Return a site with the arrays that its addresses lie in, and their type where it is of the same width."""
    low, high = span
    ends = {array: array.address + max(1, array.nbytes) for array in arrays if array.space == site.space}
    reached = [array for array, end in ends.items() if array.address <= high and end > low]
    if len(reached) > 1 or any(array.address > low or ends[array] <= high for array in reached):
        addresses = requests.addresses[requests.site == number]
        reached = [one for one in reached if ((addresses >= one.address) & (addresses < ends[one])).any()]
        if len(reached) > 1:
            reached = _own_of(site, addresses[addresses >= 0], reached)
    if not reached:
        return site
    dtypes = {array.dtype for array in reached}
    same = len(dtypes) == 1 and site.op in ("load", "store") and np.dtype(next(iter(dtypes))).itemsize == site.width
    names = " or ".join(dict.fromkeys(array.name for array in reached))
    return replace(site, array=names, dtype=dtypes.pop() if same else site.dtype)


def _own_of(site: Site, addresses: NDArray[np.int64], reached: list[ArrayInfo]) -> list[ArrayInfo]:
    """Return those of the arrays that are declared at a site's line, if all its addresses are in them, else all.

    Memory of a kernel of Triton is one piece at one line, and another later.
    """
    own = [array for array in reached if array.line == site.line]
    inside = np.zeros(len(addresses), bool)
    for array in own:
        inside |= (addresses >= array.address) & (addresses < array.address + array.nbytes)
    return own if own and inside.all() else reached
