"""A tiled product taken apart into steps: load, wait, multiply, wait, and so on, block after block.

Everything comes from the requests of a recording: which elements come in, which words are read, in what order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from smemviz.figures.labels import count, lane_ranges
from smemviz.model.banks import wavefronts
from smemviz.model.sectors import sectors
from smemviz.recording import ArrayInfo, Launch

Kind = Literal["load", "wait", "multiply", "store"]


@dataclass(frozen=True)
class Step:
    """What the warps of a block do together: each of ``rows``, indices of the launch's requests, once.

    ``tile`` counts the tiles the block has begun to load, from 1; ``turn`` the multiplications of this tile, from 1.
    Nobody requests anything while a block waits at its barrier.
    """

    kind: Kind
    block: int
    tile: int
    turn: int
    rows: NDArray[np.intp]


@dataclass(frozen=True)
class Touched:
    """What a step does to one array: the cells (row, column) that it touches, how, by how many lanes, at what cost.

    ``cost`` is sectors in global memory and wavefronts in shared memory.
    """

    array: ArrayInfo
    op: str
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    lanes: int
    requests: int
    cost: int

    @property
    def cells(self) -> set[tuple[int, int]]:
        """The cells, each once."""
        return set(zip(self.rows.tolist(), self.columns.tolist(), strict=True))

    def place(self) -> str:
        """Write where the cells lie: ``rows 0-3, columns 4-7``."""
        rows, columns = lane_ranges(self.rows.tolist()), lane_ranges(self.columns.tolist())
        return (
            f"row{'s' * (len(set(self.rows.tolist())) > 1)} {rows}, column{'s' * (not columns.isdecimal())} {columns}"
        )


def steps(launch: Launch) -> tuple[Step, ...]:
    """Return the steps of a launch, block after block; a step ends where a barrier comes or a site comes again."""
    found: list[Step] = []
    requests = launch.requests
    for block in np.unique(requests.block):
        rows = np.flatnonzero(requests.block == block)
        tile = turn = 0
        epoch: int | None = None
        for together in _together(launch, rows):
            kind = _kind(launch, together)
            if epoch is not None and requests.epoch[together[0]] != epoch:
                found.append(Step("wait", int(block), tile, turn, np.zeros(0, np.intp)))
            epoch = int(requests.epoch[together[0]])
            tile, turn = (tile + 1, 0) if kind == "load" else (tile, turn + (kind == "multiply"))
            found.append(Step(kind, int(block), tile, turn, together))
    return tuple(found)


def _together(launch: Launch, rows: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Split the requests of a block where the epoch changes or a site comes again."""
    requests = launch.requests
    group: list[NDArray[np.intp]] = []
    seen: set[tuple[int, int]] = set()
    for step in np.unique(requests.step[rows]):
        now = rows[requests.step[rows] == step]
        sites = set(zip(requests.site[now].tolist(), requests.epoch[now].tolist(), strict=True))
        if group and (sites & seen or {e for _, e in sites} != {e for _, e in seen}):
            yield np.concatenate(group)
            group, seen = [], set()
        group.append(now)
        seen |= sites
    if group:
        yield np.concatenate(group)


def _kind(launch: Launch, rows: NDArray[np.intp]) -> Kind:
    sites = {launch.sites[i] for i in np.unique(launch.requests.site[rows]).tolist()}
    if any(site.space == "global" and site.op == "load" for site in sites):
        return "load"
    return "store" if any(site.space == "global" for site in sites) else "multiply"


def touched(launch: Launch, rows: NDArray[np.intp]) -> tuple[Touched, ...]:
    """Return what requests do, one row per site, in the order of the sites."""
    requests = launch.requests
    found = []
    for index in np.unique(requests.site[rows]).tolist():
        site = launch.sites[index]
        array = next(a for a in launch.arrays if a.name == site.array and a.space == site.space)
        addresses = requests.addresses[rows[requests.site[rows] == index]]
        active = addresses[addresses >= 0]
        element = (active - array.address) // array.itemsize
        cost = wavefronts(addresses, site.width, site.op) if site.space == "shared" else sectors(addresses, site.width)
        found.append(
            Touched(
                array, site.op, element // array.shape[1], element % array.shape[1], len(active), len(addresses),
                int(cost.sum()),
            )
        )  # fmt: skip
    return tuple(found)


def sentence(launch: Launch, all_steps: Sequence[Step], index: int) -> str:
    """Say in a sentence what a step does."""
    step = all_steps[index]
    x, y = step.block % launch.grid[0], step.block // launch.grid[0]
    own = [one for one in all_steps if one.block == step.block]
    tiles = max(one.tile for one in own)
    begins = f"Step {index + 1} of {len(all_steps)}, block ({x}, {y})"
    what = touched(launch, step.rows)
    if step.kind == "wait":
        threads = launch.block[0] * launch.block[1]
        return f"{begins}: the barrier. {_waiting(all_steps, index)}, so all {threads} threads wait for each other."
    if step.kind == "store":
        stored = sum(one.lanes for one in what)
        return f"{begins}: store. Every thread writes its sum to c, {count(stored, 'element')}."
    if step.kind == "load":
        moved = [one for one in what if one.array.space == "global"]
        names = " and ".join(f"{len(one.cells)} of {one.array.name}" for one in moved)
        cost = count(sum(one.cost for one in moved), "sector")
        return f"{begins}: load tile {step.tile} of {tiles}. {names} come in, {cost}, and go into shared memory."
    turns = max(one.turn for one in own)
    words = " and ".join(f"{one.lanes} of {one.array.name} ({count(len(one.cells), 'word')})" for one in what)
    cost = count(sum(one.cost for one in what), "wavefront")
    return f"{begins}: multiply, {step.turn} of {turns} in tile {step.tile}. Loads: {words}; {cost}."


def _waiting(all_steps: Sequence[Step], index: int) -> str:
    """Say what a barrier is for; the last one of a block guards tiles that nobody overwrites."""
    after = all_steps[index + 1].kind
    if after == "multiply":
        return "The tiles have to be complete before anybody reads them"
    return "The tiles have to be read before anybody overwrites them" + (", though none follows" * (after == "store"))
