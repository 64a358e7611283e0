"""What a question asks about, as pictures: an array with the lanes of a request, or the source of a kernel."""

from __future__ import annotations

from smemviz.figures.drawing.style import ThemeName
from smemviz.figures.lessons.scene import Cell, lesson_scene
from smemviz.figures.source import source
from smemviz.frontends.listing import kernel_lines
from smemviz.i18n import _
from smemviz.lessons.bench import Seen
from smemviz.lessons.lesson import Panel
from smemviz.model.layout.accesses import elements
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording
from smemviz.views.layouts.layout_lab import Pictured
from smemviz.wording.labels import lane_ranges


def asked_of(shown: Pictured, theme: ThemeName) -> Panel:
    """Draw the array of a set-up with the lanes of a request in the cells they ask for."""
    layout = shown.setup.layout
    first = elements(shown.kind, layout).reshape(-1, 32)[shown.request].tolist()
    pieces = max(1, shown.width // layout.itemsize)
    places = {lane: [divmod(at + i, layout.columns) for i in range(pieces)] for lane, at in enumerate(first) if at >= 0}
    return lanes_in((layout.rows, layout.columns), places, theme=theme)


def asked_by(seen: Seen, theme: ThemeName, *, used: tuple[int, int] | None = None) -> Panel:
    """Draw the shared array of a request with its lanes in the cells they ask for; cells beyond ``used`` are a pad."""
    array = next(array for array in seen.launch.shared_arrays if array.name == seen.launch.sites[seen.site].array)
    rows, columns = array.shape if len(array.shape) == 2 else (1, array.shape[0])
    first = ((seen.addresses - array.address) // array.itemsize).tolist()
    places = {
        lane: [divmod(at, columns)]
        for lane, (address, at) in enumerate(zip(seen.addresses.tolist(), first, strict=True))
        if address >= 0
    }
    unused = [(row, column) for row in range(rows) for column in range(used[1], columns)] if used else []
    return lanes_in((rows, columns), places, unused, theme=theme)


def lanes_in(
    shape: tuple[int, int],
    places: dict[int, list[Cell]],
    unused: list[Cell] | None = None,
    *,
    theme: ThemeName,
) -> Panel:
    """Draw an array with lanes in the cells they ask for."""
    by_cell: dict[Cell, list[int]] = {}
    for lane, cells in places.items():
        for cell in cells:
            by_cell.setdefault(cell, []).append(lane)
    marks = {cell: f"L{lane_ranges(lanes)}" for cell, lanes in by_cell.items()}
    sentence = _("The array by its indices: L5 is lane 5, in the cell that it asks for.")
    figure = lesson_scene(shape, marks, (_("column"), _("row")), sentence, unused=unused or (), theme=theme)
    return Panel(_("What is asked"), figure, sentence)


def code_of(recording: Recording, launch: Launch, theme: ThemeName) -> Panel:
    """Draw the lines of a kernel, without what they cost."""
    lines = source(recording, launch, kernel_lines(recording, launch), costs=False, theme=theme)
    return Panel(_("The kernel"), lines, _("The source of {kernel}.", kernel=launch.kernel), narrow=True)
