"""Global memory: a request in its 128-byte lines and 32-byte sectors, and all requests of a site by their sectors."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from smemviz.figures.bars import labelled, plain
from smemviz.figures.drawing.cells import LANES, PLOT_WIDTH, Marked, cell_text, cells, key, strikes, with_key
from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, alternative, axis, empty, layout
from smemviz.i18n import _
from smemviz.model.counting.global_traffic import Traffic, elements
from smemviz.model.counting.service import sectors as count_sectors
from smemviz.model.playback import RequestView, request_view
from smemviz.recordings.data import SECTOR_BYTES, Launch
from smemviz.views.grid import label_size, lane_label
from smemviz.wording.labels import count, efficiency_text, element_name, lane_ranges, lanes_named, sentences
from smemviz.wording.sentences import present

LINE_BYTES = 128
_SECTOR_STARTS = range(0, LINE_BYTES, SECTOR_BYTES)
_NOT_MOVED, _UNUSED, _USED = 0, 1, 2
_TOP, _BARE_TOP, _BOTTOM, _LEFT = 30, 8, 44, 112
_LONGEST = 15  # characters of an element's name that fit left of its line


def sectors(now: RequestView, *, theme: ThemeName = "light", legend: bool = True) -> go.Figure:
    """Draw the present request where it goes: a row per line, a frame per sector moved, lanes in the bytes they use.

    A byte that is moved and not used is struck through.
    """
    colours = THEMES[theme]
    site = now.site
    if site is None:
        return empty(colours, _("No request of this block was logged."))
    if site.space != "global":
        return empty(colours, _("This request goes to shared memory: no sector is moved."))
    top = _TOP if legend else _BARE_TOP
    placed = _place(now.launch.requests.addresses[now.row], site.width)
    z, texts, size = placed.states(), placed.texts(), placed.size
    x, y = np.arange(z.shape[1]), np.arange(z.shape[0])
    height = 40 if len(y) == 1 else 26 if len(y) <= 8 else 19
    font = label_size(max(map(len, texts.ravel().tolist())), PLOT_WIDTH / len(x), height)
    texts[:] = texts if font else ""
    names = _names(now, placed.first)
    return go.Figure(
        [
            cells(
                z,
                [colours.idle, colours.paper, colours.ramp[0]],
                hover=_hover(placed, z, names),
                x=x,
                y=y,
                meta={"rows": names, "columns": [_span(i * size, size) for i in x.tolist()]},
            ),
            strikes(Marked(x, y, placed.wasted()), {"color": colours.conflict, "width": 1.25}, _("moved and not used")),
            *with_key(_sector_frames(placed.sectors_moved(), SECTOR_BYTES // size, colours)),
            cell_text(x, y, texts, size=font, colour=colours.ink, weight=600, meta=LANES),
            key(colours.ramp[0], _("bytes of a lane")),
            key(colours.idle, _("not moved")),
        ],
        layout(
            colours,
            height=len(y) * height + top + _BOTTOM,
            around=(top, _BOTTOM, _LEFT, 16),
            showlegend=legend,
            meta=alternative(present(now)),
            xaxis=axis(
                colours,
                _("bytes of the 128-byte line, a sector each"),
                range=[-0.5, len(x) - 0.5],
                tickmode="array",
                tickvals=[(first + SECTOR_BYTES / 2) / size - 0.5 for first in _SECTOR_STARTS],
                ticktext=[_span(first, SECTOR_BYTES) for first in _SECTOR_STARTS],
            ),
            yaxis=axis(
                colours,
                range=[len(y) - 0.5, -0.5],
                tickmode="array",
                tickvals=y,
                ticktext=[name if len(name) <= _LONGEST else "…" + name[1 - _LONGEST :] for name in names],
            ),
        ),
    )


def _span(first: int, size: int) -> str:
    """Name bytes of a line: ``32 to 63``."""
    return _("{first} to {last}", first=first, last=first + size - 1)


@dataclass(frozen=True)
class _Placed:
    """A request in its lines, in order of address: ``used`` (lines, 128) marks bytes, ``first`` is the lowest of each.

    A cell is ``size`` bytes: a word, or what a lane accesses where that is more. ``lanes`` are those of (line, cell).
    """

    size: int
    used: NDArray[np.bool_]
    first: NDArray[np.int64]
    lanes: dict[tuple[int, int], list[int]]

    def sectors_moved(self) -> NDArray[np.bool_]:
        """Return which sectors of each line are moved, (lines, 4)."""
        return np.asarray(self.used.reshape(len(self.used), -1, SECTOR_BYTES).any(axis=2))

    def wasted(self) -> NDArray[np.bool_]:
        """Return which cells are moved and have a byte that is not used."""
        moved = np.repeat(self.sectors_moved(), SECTOR_BYTES // self.size, axis=1)
        return np.asarray(moved & ~self._by_cell().all(axis=2))

    def states(self) -> NDArray[np.int64]:
        """Return of each cell whether it is not moved, moved and not used, or used."""
        moved = np.repeat(self.sectors_moved(), SECTOR_BYTES // self.size, axis=1)
        return np.where(self._by_cell().any(axis=2), _USED, np.where(moved, _UNUSED, _NOT_MOVED))

    def texts(self) -> NDArray[np.object_]:
        """Return the lanes of each cell, written briefly."""
        texts = np.full((len(self.used), LINE_BYTES // self.size), "", dtype=object)
        for cell, those in self.lanes.items():
            texts[cell] = lane_label(lane_ranges(those))
        return texts

    def _by_cell(self) -> NDArray[np.bool_]:
        return self.used.reshape(len(self.used), -1, self.size)


def _place(addresses: NDArray[np.int64], width: int) -> _Placed:
    lane = np.flatnonzero(addresses >= 0)
    lines, line = np.unique(addresses[lane] // LINE_BYTES, return_inverse=True)
    size, offset = max(width, 4), addresses[lane] % LINE_BYTES
    used = np.zeros((len(lines), LINE_BYTES), bool)
    lanes: dict[tuple[int, int], list[int]] = {}
    for who, at, byte in zip(lane.tolist(), line.tolist(), offset.tolist(), strict=True):
        lanes.setdefault((at, byte // size), []).append(who)
        used[at, byte : byte + width] = True
    return _Placed(size, used, lines * LINE_BYTES + used.argmax(axis=1), lanes)


def spread(traffic: Traffic, *, theme: ThemeName = "light") -> go.Figure:
    """Draw how many requests of a site moved how many sectors, a bar for each number that occurs."""
    colours = THEMES[theme]
    moved = np.flatnonzero(traffic.spread)
    if not len(moved):
        return empty(colours, _("No request of this access was logged."))
    heights = traffic.spread[moved]
    hover = [
        _("{requests} of {sectors}", requests=count(int(m), "request"), sectors=count(int(n), "sector"))
        for n, m in zip(moved, heights, strict=True)
    ]
    width, texts = min(0.8, 0.12 * len(moved)), [f"{n:,}" for n in heights]
    return go.Figure(
        labelled([str(n) for n in moved], heights, texts, hover, colours, width=width, marker=plain(colours)),
        layout(
            colours,
            height=150,
            around=(24, 44),
            meta=alternative(used_of(traffic)),
            xaxis=axis(colours, _("sectors of a request"), type="category"),
            yaxis=axis(colours, _("requests"), range=[0, int(heights.max())], showticklabels=False),
        ),
    )


def largest_request(launch: Launch, site: int) -> RequestView | None:
    """Return the first request of a site that moves the most sectors, None where none was logged."""
    requests = launch.requests
    rows = np.flatnonzero(requests.site == site)
    if not len(rows):
        return None
    row = rows[np.argmax(count_sectors(requests.addresses[rows], launch.sites[site].width))]
    return request_view(launch, int(requests.block[row]), int(requests.warp[row]), int(requests.step[row]), site)


def used_of(traffic: Traffic) -> str:
    """Say whether requests are coalesced, what part of the bytes moved is used, and of which requests that is known."""
    if traffic.efficiency is None:
        return _("No request of this access was logged.")
    if traffic.logged_sectors == traffic.fewest:
        coalesced = _("Coalesced: no request moves more sectors than its bytes fill.")
    else:
        fewest = count(traffic.fewest, "sector")
        coalesced = _("Not fully coalesced: {fewest} would hold the bytes that are used.", fewest=fewest)
    return sentences(_used(traffic, traffic.efficiency), coalesced)


def _used(traffic: Traffic, efficiency: float) -> str:
    moved = np.flatnonzero(traffic.spread)
    known: dict[str, object] = {
        "used": traffic.used,
        "bytes": count(traffic.moved, "byte"),
        "share": efficiency_text(efficiency),
        "sectors": count(int(moved[0]), "sector"),
        "logged": traffic.logged,
        "requests": traffic.requests,
    }
    if traffic.complete and len(moved) > 1:
        return _("{used:,} of {bytes} moved are used, {share}.", **known)
    if traffic.complete:
        return _("Every request moves {sectors}; {used:,} of {bytes} moved are used, {share}.", **known)
    if len(moved) > 1:
        return _(
            "{used:,} of {bytes} moved are used, {share}, in the {logged:,} requests that were logged of {requests:,}.",
            **known,
        )
    return _(
        "Every request moves {sectors}; {used:,} of {bytes} moved are used, {share}, "
        "in the {logged:,} requests that were logged of {requests:,}.",
        **known,
    )


def _names(now: RequestView, addresses: NDArray[np.int64]) -> list[str]:
    """Name each byte by the element of an argument that it lies in, or else by its address."""
    names = [f"{address:#x}" for address in addresses.tolist()]
    for array in now.launch.arrays:
        for i, element in enumerate(elements(array, addresses).tolist() if array.space == "global" else ()):
            if element >= 0:
                names[i] = element_name(array, element, now.spelling)
    return names


def _hover(placed: _Placed, z: NDArray[np.int64], names: list[str]) -> NDArray[np.object_]:
    texts = np.full(z.shape, "", dtype=object)
    for (row, column), state in np.ndenumerate(z):
        byte = column * placed.size
        where = _(
            "<b>line of {element}</b>, sector {sector}, bytes {first} to {last}",
            element=names[row],
            sector=byte // SECTOR_BYTES,
            first=byte,
            last=byte + placed.size - 1,
        )
        state_text = _("moved and not used") if state == _UNUSED else _("not moved")
        if state == _USED:
            state_text = lanes_named(placed.lanes[row, column])
        texts[row, column] = f"{where}<br>{state_text}"
    return texts


def _sector_frames(sectors_moved: NDArray[np.bool_], width: int, colours: Theme) -> go.Scatter:
    row, sector = np.nonzero(sectors_moved)
    left, right = sector * width - 0.5, (sector + 1) * width - 0.5
    x = np.stack([left, right, right, left, left, np.full(len(row), np.nan)], axis=1)
    y = row[:, np.newaxis] + np.array([-0.44, -0.44, 0.44, 0.44, -0.44, np.nan])
    line = {"color": colours.frame, "width": 1.5}
    return go.Scatter(x=x.ravel(), y=y.ravel(), mode="lines", line=line, name=_("sector moved"), hoverinfo="skip")
