"""What several lessons show and say: an array with the lanes of a request, the source of a kernel, whole sentences."""

from __future__ import annotations

from math import ceil

from smemviz.figures.drawing.style import ThemeName
from smemviz.figures.lessons import Cell, lesson_scene
from smemviz.figures.source import source
from smemviz.frontends.listing import kernel_lines
from smemviz.i18n import _, ngettext
from smemviz.lessons.lesson import Panel
from smemviz.lessons.recorded import RecordedAccess
from smemviz.model.hardware.compute_capability import device
from smemviz.model.hardware.hardware import H200
from smemviz.model.layout.accesses import elements
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording
from smemviz.views.layout_lab import RequestPicture
from smemviz.wording.labels import lane_ranges

_PER_ROW = 16  # elements of an array of one axis; rows of 32 would tell its banks


def asked_of(picture: RequestPicture, theme: ThemeName) -> Panel:
    """Draw the array of a set-up with the lanes of a request in the cells they ask for."""
    layout = picture.setup.layout
    first = elements(picture.kind, layout).reshape(-1, 32)[picture.request].tolist()
    pieces = max(1, picture.width // layout.itemsize)
    places = {lane: [divmod(at + i, layout.columns) for i in range(pieces)] for lane, at in enumerate(first) if at >= 0}
    return lanes_in((layout.rows, layout.columns), places, theme=theme)


def asked_by(access: RecordedAccess, theme: ThemeName, *, used: tuple[int, int] | None = None) -> Panel:
    """Draw the shared array of a request with its lanes in the cells they ask for; cells beyond ``used`` are a pad."""
    array = next(array for array in access.launch.shared_arrays if array.name == access.launch.sites[access.site].array)
    rows, columns = array.shape if len(array.shape) == 2 else (ceil(array.shape[0] / _PER_ROW), _PER_ROW)
    first = ((access.addresses - array.address) // array.itemsize).tolist()
    places = {
        lane: [divmod(at, columns)]
        for lane, (address, at) in enumerate(zip(access.addresses.tolist(), first, strict=True))
        if address >= 0
    }
    unused = [(row, column) for row in range(rows) for column in range(used[1], columns)] if used else []
    return lanes_in((rows, columns), places, unused, theme=theme, flat=len(array.shape) == 1)


def lanes_in(
    shape: tuple[int, int],
    places: dict[int, list[Cell]],
    unused: list[Cell] | None = None,
    *,
    theme: ThemeName,
    flat: bool = False,
) -> Panel:
    """Draw an array with lanes in the cells they ask for, a ``flat`` one in rows that are numbered by its elements."""
    by_cell: dict[Cell, list[int]] = {}
    for lane, cells in places.items():
        for cell in cells:
            by_cell.setdefault(cell, []).append(lane)
    marks = {cell: f"L{lane_ranges(lanes)}" for cell, lanes in by_cell.items()}
    sentence = _("The array by its indices: L5 is lane 5, in the cell that it asks for.")
    titles, apart = (("+", _("element")), _PER_ROW) if flat else ((_("column"), _("row")), 1)
    figure = lesson_scene(shape, marks, titles, sentence, unused=unused or (), apart=apart, theme=theme)
    return Panel(_("What is asked"), figure, sentence)


def code_of(recording: Recording, launch: Launch, theme: ThemeName) -> Panel:
    """Draw the lines of a kernel, without what they cost."""
    lines = source(recording, launch, kernel_lines(recording, launch), costs=False, theme=theme)
    return Panel(_("The kernel"), lines, _("The source of {kernel}.", kernel=launch.kernel), narrow=True)


def code(text: str) -> str:
    """Write code so that no line breaks in it."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def wavefronts_text(wavefronts: int, ideal: int) -> str:
    """Say what a request costs, and what would do."""
    if wavefronts == ideal:
        return ngettext("{n:,} wavefront, as few as can be.", "{n:,} wavefronts, as few as can be.", wavefronts)
    return ngettext(
        "{n:,} wavefront where {ideal:,} would do.",
        "{n:,} wavefronts where {ideal:,} would do.",
        wavefronts,
        ideal=ideal,
    )


def by_model() -> str:
    """Say what a count rests on where no kernel ran."""
    return _("Counted by the rule for compute capability {cc}, as measured on an H200.", cc=device(H200.cc).name)


def by_recording(recording: Recording) -> str:
    """Say what ran the kernel whose requests are counted."""
    file = recording.file.rpartition("/")[2]
    if recording.device is None:
        return _("Counted from a lockstep run of {file} with these constants.", file=file)
    return _("Counted from a recording of {file} on an {gpu}.", file=file, gpu=recording.device.name)
