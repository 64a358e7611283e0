"""A tiled product taken apart into steps: load, wait, multiply, wait, and so on, block after block.

Everything comes from the requests of a recording: which elements come in, which words are read, in what order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from smemviz.i18n import N_, _, ngettext
from smemviz.model.counting.costs import SPACES
from smemviz.model.counting.service import serve
from smemviz.model.hardware.hardware import H200
from smemviz.recordings.data import ArrayInfo, Launch
from smemviz.wording.labels import count, lane_ranges, listed

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
class Loaded:
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
        rows, columns = set(self.rows.tolist()), set(self.columns.tolist())
        return _(
            "{rows}, {columns}",
            rows=ngettext("row {rows}", "rows {rows}", len(rows), rows=lane_ranges(rows)),
            columns=ngettext("column {columns}", "columns {columns}", len(columns), columns=lane_ranges(columns)),
        )


def steps(launch: Launch) -> tuple[Step, ...]:
    """Return the steps of a launch, block after block; a step ends where a barrier comes or a site comes again."""
    in_order: list[Step] = []
    requests = launch.requests
    for block in np.unique(requests.block):
        rows = np.flatnonzero(requests.block == block)
        tile = turn = 0
        epoch: int | None = None
        for together in _together(launch, rows):
            kind = _kind(launch, together)
            if epoch is not None and requests.epoch[together[0]] != epoch:
                in_order.append(Step("wait", int(block), tile, turn, np.zeros(0, np.intp)))
            epoch = int(requests.epoch[together[0]])
            tile, turn = (tile + 1, 0) if kind == "load" else (tile, turn + (kind == "multiply"))
            in_order.append(Step(kind, int(block), tile, turn, together))
    return tuple(in_order)


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


def loaded(launch: Launch, rows: NDArray[np.intp]) -> tuple[Loaded, ...]:
    """Return what requests do, one row per site, in the order of the sites."""
    requests = launch.requests
    loads = []
    for index in np.unique(requests.site[rows]).tolist():
        site = launch.sites[index]
        array = next(a for a in launch.arrays if a.name == site.array and a.space == site.space)
        addresses = requests.addresses[rows[requests.site[rows] == index]]
        active = addresses[addresses >= 0]
        element = (active - array.address) // array.itemsize
        cost = serve(addresses, SPACES[site.space].rule(site.width, site.op, H200)).wavefronts
        loads.append(
            Loaded(
                array, site.op, element // array.shape[1], element % array.shape[1], len(active), len(addresses),
                int(cost.sum()),
            )
        )  # fmt: skip
    return tuple(loads)


def sentence(launch: Launch, all_steps: Sequence[Step], index: int) -> str:
    """Say in a sentence what a step does."""
    block = all_steps[index].block
    return _(
        "Step {step} of {steps}, block ({x}, {y}): {what}",
        step=index + 1,
        steps=len(all_steps),
        x=block % launch.grid[0],
        y=block // launch.grid[0],
        what=_what(launch, all_steps, index),
    )


def _what(launch: Launch, all_steps: Sequence[Step], index: int) -> str:
    step = all_steps[index]
    own = [other for other in all_steps if other.block == step.block]
    what = loaded(launch, step.rows)
    if step.kind == "wait":
        return _(_waiting(all_steps, index), threads=launch.block[0] * launch.block[1])
    if step.kind == "store":
        stored = sum(load.lanes for load in what)
        return _("store. Every thread writes its sum to c, {elements}.", elements=count(stored, "element"))
    if step.kind == "load":
        moved = [load for load in what if load.array.space == "global"]
        elements = [_("{n} of {array}", n=len(load.cells), array=load.array.name) for load in moved]
        return _(
            "load tile {tile} of {tiles}. {elements} come in, {sectors}, and go into shared memory.",
            tile=step.tile,
            tiles=max(step.tile for step in own),
            elements=listed(elements),
            sectors=count(sum(load.cost for load in moved), "sector"),
        )
    return _(
        "multiply, {turn} of {turns} in tile {tile}. Loads: {elements}; {wavefronts}.",
        turn=step.turn,
        turns=max(step.turn for step in own),
        tile=step.tile,
        elements=listed(map(_read, what)),
        wavefronts=count(sum(load.cost for load in what), "wavefront"),
    )


def _read(load: Loaded) -> str:
    words = count(len(load.cells), "word")
    return _("{n} of {array} ({words})", n=load.lanes, array=load.array.name, words=words)


def _waiting(all_steps: Sequence[Step], index: int) -> str:
    """Return the message that says what a barrier is for; the last one of a block guards what nobody overwrites."""
    after = all_steps[index + 1].kind
    if after == "multiply":
        return N_(
            "the barrier. The tiles must be complete before they are read, so all {threads} threads wait for each "
            "other."
        )
    if after == "store":
        return N_(
            "the barrier. The tiles must be read before they are overwritten. No tile follows here, so this last "
            "barrier could be left out."
        )
    return N_(
        "the barrier. The tiles must be read before they are overwritten, so all {threads} threads wait for each other."
    )
