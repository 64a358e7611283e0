"""One step of a tiled product, drawn: the matrices in global memory, the tiles in shared memory, what moves now."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from smemviz.figures.drawing.cells import cell_text, cells, text_at
from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, alternative, blend, layout
from smemviz.i18n import N_, _, ngettext
from smemviz.recordings.data import ArrayInfo, Launch
from smemviz.views.matmul_steps import Loaded, Step, loaded, sentence
from smemviz.wording.labels import clauses, space_name

_IDLE, _HELD, _MOVES, _READ = range(4)
_WORDS = (N_("not touched"), N_("touched before"), N_("moves now"), N_("read now"))
_SIGNS = {_MOVES: "▼", _READ: "●"}
_GAP = 2.4  # cells between the matrices, where their names stand
_CELLS_PIXELS = 640
_NUMBERED = 16  # the widest matrix whose cells have room for a sign and a number
_TYPE = 10  # pixels of those


@dataclass(frozen=True)
class _Board:
    """One array on the picture: where its upper left cell lies, what its cells show, what is written in them,
    and how often each has been loaded, which is counted where it is written.
    """

    array: ArrayInfo
    x: float
    y: float
    state: NDArray[np.int8]
    text: NDArray[np.object_]
    loads: NDArray[np.int64]


def scene(launch: Launch, all_steps: Sequence[Step], index: int, *, theme: ThemeName = "light") -> go.Figure:
    """Draw a step: a left of c, b above it, the tiles beside b; an arrow marks what moves, a dot what is read.

    The numbers in a and b say how often an element has been loaded by now.
    """
    colours = THEMES[theme]
    boards = _boards(launch, all_steps, index)
    width = max(board.x + board.state.shape[1] for board in boards)
    height = max(board.y + board.state.shape[0] for board in boards)
    traces = [trace for board in boards for trace in _drawn(board, colours, height)]
    return go.Figure(
        traces,
        layout(
            colours,
            height=_CELLS_PIXELS + 16,
            meta=alternative(sentence(launch, all_steps, index)),
            around=(8, 8, 8, 8),
            xaxis={
                "visible": False, "title": {"text": _("column")}, "fixedrange": True,
                "range": [-0.8, width - 0.2], "constrain": "domain",
            },
            yaxis={
                "visible": False, "title": {"text": _("row")}, "fixedrange": True, "range": [height - 0.2, -_GAP],
                "scaleanchor": "x", "constrain": "domain",
            },
            annotations=[_name(board, colours) for board in boards],
            shapes=_outlines(launch, all_steps[index], boards, colours),
        ),
    )  # fmt: skip


def _boards(launch: Launch, all_steps: Sequence[Step], index: int) -> list[_Board]:
    now = loaded(launch, all_steps[index].rows)
    own = [step.rows for step in all_steps[:index] if step.block == all_steps[index].block]
    before = loaded(launch, np.concatenate(own)) if own else ()
    every = loaded(launch, np.concatenate([step.rows for step in all_steps[: index + 1]]))
    arrays = {array.name: array for array in launch.arrays}
    a, b = arrays["a"], arrays["b"]
    a_tile, b_tile = launch.shared_arrays[:2]
    column = max(a.shape[1], a_tile.shape[1] + b_tile.shape[1] + _GAP / 2) + _GAP
    row = b.shape[0] + _GAP
    places = {
        "a": (0.0, row),
        "b": (column, 0.0),
        "c": (column, row),
        a_tile.name: (0.0, 0.0),
        b_tile.name: (a_tile.shape[1] + _GAP / 2, 0.0),
    }
    return [
        _board(arrays[name], places[name], now, every if name == "c" else before, every)
        for name in ("a", "b", "c", a_tile.name, b_tile.name)
    ]


def _board(
    array: ArrayInfo,
    place: tuple[float, float],
    now: Sequence[Loaded],
    before: Sequence[Loaded],
    every: Sequence[Loaded],
) -> _Board:
    state = np.full(array.shape, _IDLE, np.int8)
    for load in before:
        if load.array == array:
            state[load.rows, load.columns] = _HELD
    text = np.full(array.shape, "", dtype=object)
    loads = np.zeros(array.shape, np.int64)
    if array.space == "global" and max(array.shape) <= _NUMBERED:
        loads = _times(array, every)
        text[loads > 0] = [str(n) for n in loads[loads > 0]]
    for load in now:
        if load.array == array:
            code = _READ if array.is_shared and load.op == "load" else _MOVES
            state[load.rows, load.columns] = code
            for cell in load.cells:
                text[cell] = _SIGNS[code] + (text[cell] if array.space == "global" else "")
    return _Board(array, *place, state, text, loads)


def _times(array: ArrayInfo, every: Sequence[Loaded]) -> NDArray[np.int64]:
    """Count how often each element has been loaded, a warp's lanes that ask for the same one taken separately."""
    times = np.zeros(array.shape, np.int64)
    for load in every:
        if load.array == array and load.op == "load":
            np.add.at(times, (load.rows, load.columns), 1)
    return times


def _drawn(board: _Board, colours: Theme, height: float) -> list[go.Heatmap | go.Scatter]:
    rows, columns = board.state.shape
    holding = blend((colours.ramp[0], colours.paper), 5)[2]
    fills = [colours.idle, holding, colours.ramp[4], colours.ramp[0]]
    x, y = board.x + np.arange(columns), board.y + np.arange(rows)
    heads = {"rows": list(range(rows)), "columns": list(range(columns))}
    drawn = cells(board.state, fills, hover=_hover(board), name=board.array.name, x=x, y=y, meta=heads)
    numbered = any(text[-1:].isdigit() for text in board.text.ravel())
    size = _TYPE if numbered else int(min(12, 0.8 * _CELLS_PIXELS / height))
    return [drawn, cell_text(x, y, board.text, size=size, colour=colours.ink, weight=600)]


def _hover(board: _Board) -> NDArray[np.object_]:
    texts = np.full(board.state.shape, "", dtype=object)
    for cell, state in np.ndenumerate(board.state):
        loads = int(board.loads[cell])
        often = ngettext("loaded {n:,} time", "loaded {n:,} times", loads) if loads else ""
        lines = [f"<b>{board.array.name}[{cell[0]}, {cell[1]}]</b>", _(_WORDS[state]), *([often] if often else [])]
        texts[cell] = "<br>".join(lines)
    return texts


def _name(board: _Board, colours: Theme) -> dict[str, object]:
    array = board.array
    size = " x ".join(map(str, array.shape))
    text = clauses(f"<b>{array.name}</b> {size}", space_name(array.space))
    return text_at(text, board.x - 0.5, board.y - 0.6, colours.ink, xanchor="left", yanchor="bottom")


def _outlines(launch: Launch, step: Step, boards: Sequence[_Board], colours: Theme) -> list[dict[str, object]]:
    x, y = step.block % launch.grid[0], step.block // launch.grid[0]
    wide, high = launch.block[0], launch.block[1]
    shapes = []
    for board in boards:
        rows, columns = board.state.shape
        frame = (0, 0, columns, rows)
        if board.array.name == "c":
            frame = (x * wide, y * high, wide, high)
        elif board.array.space == "global":
            continue
        left, top = board.x + frame[0] - 0.5, board.y + frame[1] - 0.5
        shapes.append(
            {
                "type": "rect", "x0": left, "y0": top, "x1": left + frame[2], "y1": top + frame[3],
                "line": {"color": colours.ink, "width": 2},
            }
        )  # fmt: skip
    return shapes
