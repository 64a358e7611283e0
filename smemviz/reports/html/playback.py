"""What a browser needs to play a launch: its requests in few numbers, and each kind of request served once.

Requests of one site whose lanes lie in the same places, as far as banks and sectors go, cost the same and are drawn
the same. Such a *shape* is worked out here, once; a request is then a shape, the address it starts at, and who made it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from smemviz.figures.sectors import LINE_BYTES
from smemviz.frontends.reading import listing, loaded_sites
from smemviz.i18n import _
from smemviz.languages import spelling_of
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.playback import (
    BankLayout,
    RequestView,
    bank_layout,
    bank_service,
    blocks,
    playback_order,
    worst_request,
)
from smemviz.recordings.data import ArrayInfo, Launch
from smemviz.recordings.places import place_of
from smemviz.recordings.recording import Recording
from smemviz.recordings.text import lines_of
from smemviz.views.grid import declared, physical
from smemviz.views.one_request import cells_data, shape_of
from smemviz.views.stage import staged_layouts
from smemviz.wording.explanations import Explaining
from smemviz.wording.first_look import first_mistake, reason_and_remedy
from smemviz.wording.labels import capital, number
from smemviz.wording.patterns import name as pattern_name
from smemviz.wording.sentences import action, badge, cost, headline_of
from smemviz.wording.source_lines import costs_of, heat_of, parts_of, told_apart

Played = dict[str, Any]

View = Literal["declared", "physical"]

_MOST_OF_BLOCK = 20_000  # requests of a block that the dashboard plays; some 1 MB
_MOST_CELLS = 240_000  # of the arrays of a block: more than shared memory has bytes


def played(recording: Recording, launch: Launch, name: str, hardware: Hardware, most: int, cells: int) -> Played:
    """Return a launch ready for JSON, with the blocks that ``most`` requests have room for, the worst one first.

    ``left_out`` is how many logged requests there was no room for. Of the shared arrays there are those that ``cells``
    cells have room for.
    """
    where = bank_layout(launch, hardware)
    worst = worst_request(launch, hardware).spelled(recording)
    shapes = _Shapes(launch, where, hardware)
    order = [worst.block, *(block for block in blocks(launch) if block != worst.block)] if len(launch.requests) else []
    parts, room = [], most
    for block in order:
        rows = playback_order(launch, block)[:room]
        if len(rows):
            parts.append(_block(launch, block, rows, shapes))
        room -= len(rows)
    return {
        "name": name,
        "headline": headline_of(recording, launch, hardware),
        "width": where.width,
        "origin": where.origin,
        "start": max(worst.position, 0),
        "files": _files(recording, launch, hardware),
        "sites": _explained(recording, launch, hardware),
        "arrays": _arrays(worst, where, cells),
        "globals": _globals(worst),
        "shapes": shapes.played,
        "blocks": sorted(parts, key=lambda part: int(part["block"])),
        "first": worst.block,
        "left_out": len(launch.requests) - sum(len(part["warp"]) for part in parts),
    }


def played_block(now: RequestView, hardware: Hardware, *, banks: int | None = None, view: View = "declared") -> Played:
    """Return the block of a request ready for JSON, as it is drawn for so many banks.

    The physical view has all of shared memory as one array.
    """
    launch, rows = now.launch, now.rows
    where = bank_layout(launch, hardware, banks)
    shapes = _Shapes(launch, where, hardware)
    part = _block(launch, now.block, rows[:_MOST_OF_BLOCK], shapes)
    now = replace(now, position=0 if len(rows) else -1)
    sites = _sites(launch, hardware)
    for i, site in enumerate(sites):
        site["at"] = place_of(launch, i)
    return {
        "banks": where.banks,
        "width": where.width,
        "origin": where.origin,
        "sites": sites,
        "arrays": _arrays(now, where, _MOST_CELLS, view),
        "globals": _globals(now),
        "shapes": shapes.played,
        "block": part,
        "left_out": max(len(rows) - _MOST_OF_BLOCK, 0),
    }


def played_layouts(now: RequestView, explaining: Explaining) -> list[Played]:
    """Return the block of a request in every layout that was found for its arrays, ready for JSON, as written first.

    They have in place of what ``played_block`` has what differs from that: the requests' shapes and where they start,
    and the cells of the arrays.
    """
    hardware, where = explaining.hardware, bank_layout(now.launch, explaining.hardware)
    rows = now.rows[:_MOST_OF_BLOCK]
    now = replace(now, position=0 if len(rows) else -1)
    layouts = []
    for layout in staged_layouts(explaining):
        facts: Played = {"name": layout.name, "title": layout.title, "says": layout.says}
        facts |= {"wavefronts": layout.wavefronts, "excess": layout.excess}
        if layout.changes:
            launch = layout.moved(rows)
            shapes = _Shapes(launch, where, hardware)
            block = _block(launch, now.block, np.arange(len(rows)), shapes)
            facts |= {"shapes": shapes.played, "shape": block["shape"], "base": block["base"]}
            facts["arrays"] = [
                cells_data(layout.cells(now, array, where), array.name, array.itemsize)
                for array in _drawn(now, _MOST_CELLS)
            ]
        layouts.append(facts)
    return layouts


def _block(launch: Launch, block: int, rows: NDArray[np.intp], shapes: _Shapes) -> Played:
    requests = launch.requests
    base = np.where(requests.addresses[rows] >= 0, requests.addresses[rows], np.iinfo(np.int64).max).min(axis=1)
    base = np.where(base == np.iinfo(np.int64).max, 0, base)
    stored = np.flatnonzero(~np.isnan(requests.values[rows]).all(axis=1))
    return {
        "block": block,
        **{name: getattr(requests, name)[rows].tolist() for name in ("warp", "step", "epoch", "site")},
        "shape": [shapes.of(block, rows, i, int(base[i])) for i in range(len(rows))],
        "base": np.diff(base, prepend=0).tolist(),
        "values": {
            int(i): ["" if np.isnan(value) else number(value) for value in requests.values[rows[i]].tolist()]
            for i in stored
        },
    }


class _Shapes:
    """The different requests of a launch, each served when it is first met."""

    def __init__(self, launch: Launch, where: BankLayout, hardware: Hardware) -> None:
        self.played: list[Played] = []
        self._launch, self._where, self._hardware = launch, where, hardware
        self._known: dict[tuple[int, int, bytes], int] = {}

    def of(self, block: int, rows: NDArray[np.intp], i: int, base: int) -> int:
        """Return the number of the shape of a block's i-th request, which starts at ``base``."""
        requests = self._launch.requests
        addresses = requests.addresses[rows[i]]
        site = int(requests.site[rows[i]])
        shared = self._launch.sites[site].is_shared
        row = self._where.banks * self._where.width if shared else LINE_BYTES
        lanes = np.where(addresses >= 0, addresses - base, -1)
        key = (site, (base - (self._where.origin if shared else 0)) % row, lanes.tobytes())
        if key not in self._known:
            self._known[key] = len(self.played)
            self.played.append(self._serve(RequestView(self._launch, block, rows, i), lanes, base))
        return self._known[key]

    def _serve(self, now: RequestView, lanes: NDArray[np.int64], base: int) -> Played:
        service = bank_service(now, self._where, self._hardware)
        return shape_of(service, lanes, base, cost(now, self._hardware))


def _explained(recording: Recording, launch: Launch, hardware: Hardware) -> list[Played]:
    """Return the sites with why each costs what it costs, and its fix; a mistake in the launch takes their place."""
    mistake = first_mistake(recording, launch)
    spelling = spelling_of(recording.file_of(launch))
    explaining = Explaining(launch, hardware, loaded_sites(recording, launch), spelling)
    explained = []
    for i, site in enumerate(_sites(launch, hardware)):
        said = explaining.site(i)
        title = (
            capital(_("{pattern}.", pattern=pattern_name(said.patterns[0][0]))) if said.fix and said.patterns else ""
        )
        reason, fix = reason_and_remedy(mistake) if mistake else (said.because, said.fix)
        explained.append(site | {"why": [["" if mistake else title, reason], *[[_("Fix."), fix]] * bool(fix)]})
    return explained


def _sites(launch: Launch, hardware: Hardware) -> list[Played]:
    rows = summarize(launch, hardware)
    return [
        {
            "source": site.source,
            "does": action(site),
            "badge": badge(site, row),
            "excess": bool(row.excess),
            "shared": site.is_shared,
            "array": site.array,
            "bytes": site.width,
        }
        for site, row in zip(launch.sites, rows, strict=True)
    ]


def _arrays(now: RequestView, where: BankLayout, room: int, view: View = "declared") -> list[Played]:
    """Return the cells of shared arrays, row by row; ``address`` is -1 where there is no cell."""
    arrays = [array for array in now.launch.shared_arrays if array.nbytes]
    if view == "physical" and arrays:
        return [cells_data(physical(now, arrays, where), arrays[-1].name, arrays[-1].itemsize)]
    return [cells_data(declared(now, array, where), array.name, array.itemsize) for array in _drawn(now, room)]


def _drawn(now: RequestView, room: int) -> list[ArrayInfo]:
    """Return the shared arrays that so many cells have room for."""
    drawn = []
    for array in now.launch.shared_arrays:
        cells = math.prod(array.shape)
        if array.nbytes and cells <= room:
            room -= cells
            drawn.append(array)
    return drawn


def _globals(now: RequestView) -> list[Played]:
    """Return where the arrays in global memory lie, so that their elements can be named."""
    return [
        {
            "name": array.name,
            "address": array.address,
            "shape": array.shape,
            "strides": array.strides,
            "size": array.itemsize,
            "between": now.spelling.between_indices,
        }
        for array in now.launch.global_arrays
    ]


def _files(recording: Recording, launch: Launch, hardware: Hardware) -> list[Played]:
    """Return the lines of each file the launch has sites in.

    A line is its number, its parts, the sites that no part is of, what it costs, and its quarters of the excess.
    """
    rows, files = summarize(launch, hardware), []
    for file, spans in listing(recording, launch).items():
        text = lines_of(recording.text(file))
        sites = [i for i, site in enumerate(launch.sites) if recording.file_of(launch, site) == file]
        lines = []
        for n in (n for first, last in spans for n in range(first, last + 1)):
            here = [i for i in sites if launch.sites[i].line == n]
            parts = parts_of(text[n - 1], n, here, launch.sites)
            shown = {site for _letters, site in parts}
            same = [[i, told_apart(launch.sites[i])] for i in here if i not in shown]
            lines.append([n, parts, same, costs_of(here, launch.sites, rows), heat_of(here, rows)])
        files.append({"name": file, "lines": lines})
    return files
