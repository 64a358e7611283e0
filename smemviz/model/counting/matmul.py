"""The product of an M x K and a K x N matrix: what has to be loaded and computed, and what a launch moved for it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.recordings.data import Launch, SiteSummary
from smemviz.recordings.sweep import Size, Traffic

_WHOLE = 64  # the side of a block's part of c, and what it loads at a time, divide this


def traffic(launch: Launch, hardware: Hardware = H200) -> Traffic:
    """Add up the sites of a launch; the wavefronts are those of the hardware."""
    rows = summarize(launch, hardware)

    def of(space: str, op: str) -> list[SiteSummary]:
        return [rows[i] for i in launch.sites_in(space) if (launch.sites[i].op == "load") == (op == "load")]

    shared = [rows[i] for i in launch.sites_in("shared")]
    return Traffic(
        load_requests=sum(row.requests for row in of("global", "load")),
        load_sectors=_sum(row.sectors for row in of("global", "load")),
        store_sectors=_sum(row.sectors for row in of("global", "store")),
        shared_loads=_sum(row.wavefronts for row in of("shared", "load")),
        shared_stores=_sum(row.wavefronts for row in of("shared", "store")),
        excess=_sum(row.excess for row in shared),
        max_degree=max((row.max_degree or 0 for row in shared), default=0),
        elements_loaded=None if launch.missing else _elements_loaded(launch),
        untold=sum(row.requests for row in shared if row.wavefronts is None),
    )


@dataclass(frozen=True)
class Counted:
    """What one launch moved: the size of its product, its grid of blocks, and what zeros filled its matrices up to."""

    size: Size
    grid: tuple[int, ...]
    moved: Traffic
    filled: Size | None = None


def filled(size: Size, a: Sequence[int], b: Sequence[int]) -> Size | None:
    """Return the size of the product of matrices of these shapes where zeros made it larger than ``size``."""
    filled_size = Size(a[0], a[1], b[1])
    return None if filled_size == size else filled_size


def counted(launch: Launch, size: Size) -> Counted:
    """Return what a launch of ``(c, a, b)`` moved for a product of this size."""
    shapes = {array.name: array.shape for array in launch.global_arrays}
    return Counted(size, launch.grid, traffic(launch), filled(size, shapes["a"], shapes["b"]))


def scaled(known: Counted, size: Size, grid: tuple[int, ...]) -> Traffic | None:
    """Return what the launch of a larger cube moves, by what a smaller one moved; None where that does not follow.

    It follows where both are cubes of whole blocks that are alike: the smaller one a multiple of 64, the larger one of
    the smaller, and the grid larger by the same factor. Then loads grow with S^3 and the stores of c with S^2.
    """
    base = known.size
    cubes = base.m == base.k == base.n and size.m == size.k == size.n
    if not cubes or base.m % _WHOLE or size.m % base.m:
        return None
    times = size.m // base.m
    if tuple(grid[:2]) != tuple(times * blocks for blocks in known.grid[:2]):
        return None
    grown: dict[str, int | None] = asdict(known.moved)
    for name, amount in grown.items():
        power = {"max_degree": 0, "store_sectors": 2}.get(name, 3)
        grown[name] = None if amount is None else amount * times**power
    return Traffic(**grown)  # type: ignore[arg-type]


def intensity(size: Size, traffic: Traffic) -> float:
    """Return operations per byte that the launch moved between global memory and its threads."""
    return size.operations / traffic.global_bytes if traffic.global_bytes else 0.0


def best_intensity(size: Size, itemsize: int) -> float:
    """Return operations per byte if every element crossed the bus once: S / 6 for a cube of float32."""
    return size.operations / (itemsize * size.elements)


def attainable(operations_per_byte: float, bytes_per_second: float, operations_per_second: float) -> float:
    """Return the rate under a roof: as memory delivers, at most as fast as the arithmetic (Williams et al. 2009)."""
    return min(operations_per_byte * bytes_per_second, operations_per_second)


WAVEFRONT_BYTES = 128


def shares(size: Size, traffic: Traffic | None, seconds: float, ceilings: Mapping[str, float]) -> dict[str, float]:
    """Return how much of what the card can do a launch did, by the name of the ceiling.

    ``ceilings`` are rates per second: operations for ``float32``, bytes for ``shared read``, whose share counts a
    wavefront as the 128 bytes it could have brought; it can exceed 1, for the compiler merges neighbouring loads.
    """
    used: dict[str, float] = {}
    if "float32" in ceilings:
        used["float32"] = size.operations / seconds / ceilings["float32"]
    if "shared read" in ceilings and traffic and traffic.shared_loads and not traffic.untold:
        moving = WAVEFRONT_BYTES * (traffic.shared_loads + traffic.shared_stores)
        used["shared read"] = moving / seconds / ceilings["shared read"]
    return used


def _sum(values: Iterable[int | None]) -> int:
    return sum(value or 0 for value in values)


def _elements_loaded(launch: Launch) -> int:
    """Count the elements that active lanes load from global memory; a lane that loads 16 bytes loads several."""
    lanes = np.bincount(
        launch.requests.site, weights=(launch.requests.addresses >= 0).sum(axis=1), minlength=len(launch.sites)
    )
    sizes = {array.name: array.itemsize for array in launch.arrays}
    return sum(
        int(active) * (site.width // min(site.width, sizes.get(site.array, site.width)))
        for site, active in zip(launch.sites, lanes, strict=True)
        if site.space == "global" and site.op == "load"
    )
