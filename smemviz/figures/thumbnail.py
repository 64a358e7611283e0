"""The small picture of a gallery card: the tile under its worst request, without a word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smemviz.figures.drawing.style import THEMES, ThemeName, blend
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.playback.bank_service import bank_layout, bank_service
from smemviz.model.playback.request_view import worst_request
from smemviz.recordings.data import Launch
from smemviz.views.grid import declared, lanes_in

_MOST = 64
_COARSE = 32  # lines between more rows than these would be all there is


def thumbnail(launch: Launch, *, hardware: Hardware = H200, theme: ThemeName = "light") -> str:
    """Draw the first shared array with the lanes of the launch's worst request: dark, or orange where in conflict.

    The SVG fills whatever room it is given; "" where the launch has no shared array.
    """
    array = next((a for a in launch.shared_arrays if a.nbytes), None)
    if array is None:
        return ""
    now = worst_request(launch, hardware)
    where = bank_layout(launch, hardware)
    grid = declared(now, array, where).window(slice(_MOST), slice(_MOST))
    lanes, conflict = lanes_in(grid, bank_service(now, where, hardware))
    colours = THEMES[theme]
    fills = np.array(blend(colours.ramp, where.banks), dtype=object)[where.bank(grid.address)]
    fills[~grid.touched] = colours.unused
    fills[(lanes != "") & ~conflict] = colours.frame
    fills[conflict] = colours.conflict
    fills[grid.address < 0] = ""
    rows, columns = fills.shape
    cells = "".join(f'<path fill="{fill}" d="{_runs(fills == fill)}"/>' for fill in sorted({*fills.flat} - {""}))
    lines = "".join([*(f"M0 {y}h{columns}" for y in range(1, rows)), *(f"M{x} 0v{rows}" for x in range(1, columns))])
    width = 1 if rows <= _COARSE else 0.5
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns} {rows}" preserveAspectRatio="none">{cells}'
        f'<path d="{lines}" stroke="{colours.paper}" stroke-width="{width}" vector-effect="non-scaling-stroke"/></svg>'
    )


def _runs(cells: NDArray[np.bool_]) -> str:
    """Return the path of these cells, those that stand one below the other in one piece."""
    edges = np.diff(np.pad(cells.T.astype(np.int8), ((0, 0), (1, 1))))
    starts, ends = np.argwhere(edges == 1), np.argwhere(edges == -1)
    return "".join(f"M{x} {y}h1v{end - y}h-1z" for (x, y), (_, end) in zip(starts, ends, strict=True))
