"""What several lessons show and say: recordings of kernels, arrays with the lanes of a request, source, sentences."""

import threading
from collections.abc import Mapping
from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smemviz.engines import run
from smemviz.figures.drawing.style import ThemeName
from smemviz.figures.lessons import Cell, lesson_scene
from smemviz.figures.source import source
from smemviz.frontends.program import Program
from smemviz.frontends.reading import kernel_lines, read_program
from smemviz.i18n import _, ngettext
from smemviz.lessons.lesson import Panel
from smemviz.model.hardware.compute_capability import device
from smemviz.model.hardware.hardware import H200
from smemviz.model.layout.accesses import elements
from smemviz.model.playback import RequestView, playback_order
from smemviz.paths import kernels_dir, recording_for
from smemviz.recordings.data import Launch
from smemviz.recordings.file import load
from smemviz.recordings.recording import Recording
from smemviz.views.layout_lab import RequestPicture
from smemviz.wording.labels import lane_ranges

_running = threading.Lock()


class RecordedAccess(NamedTuple):
    """One site of a launch in a recording, and the first request it makes in the first block."""

    recording: Recording
    launch: Launch
    site: int
    request: RequestView

    @property
    def row(self) -> int:
        """The row of the request."""
        assert self.request.row is not None
        return self.request.row

    @property
    def addresses(self) -> NDArray[np.int64]:
        """The byte addresses of the lanes, (32,)."""
        addresses: NDArray[np.int64] = self.launch.requests.addresses[self.row]
        return addresses


def recorded(file: str, constants: Mapping[str, int] | None = None, kernels: tuple[str, ...] = ()) -> Recording:
    """Return a recording of a gallery file: the GPU's where it has these constants, else a lockstep run of kernels."""
    return _recorded(file, tuple((constants or {}).items()), kernels)


def recorded_access(
    recording: Recording, kernel: str, op: str, space: str, number: int = 0, *, warp: int | None = None, turn: int = 0
) -> RecordedAccess:
    """Return the ``number``-th site of a launch that does ``op`` in a ``space``, at a request of its first block.

    That is the first request there, or with ``warp`` that warp's; ``turn`` counts them from 0, or back from -1.
    """
    launch = recording[kernel]
    sites = [i for i, site in enumerate(launch.sites) if (site.op, site.space) == (op, space)]
    rows = playback_order(launch, 0)
    here = launch.requests.site[rows] == sites[number]
    if warp is not None:
        here &= launch.requests.warp[rows] == warp
    return RecordedAccess(
        recording, launch, sites[number], RequestView(launch, 0, rows, int(np.flatnonzero(here)[turn]))
    )


def writers(launch: Launch) -> dict[int, tuple[int, int]]:
    """Return the warp and the lane of the first block that stored last to each address of shared memory."""
    by_element: dict[int, tuple[int, int]] = {}
    for row in playback_order(launch, 0).tolist():
        site = launch.sites[launch.requests.site[row]]
        if (site.op, site.space) == ("store", "shared"):
            warp = int(launch.requests.warp[row])
            by_element |= {int(at): (warp, lane) for lane, at in enumerate(launch.requests.addresses[row]) if at >= 0}
    return by_element


@lru_cache(maxsize=64)
def _recorded(file: str, constants: tuple[tuple[str, int], ...], kernels: tuple[str, ...]) -> Recording:
    with _running:
        program, known = _known(file)
        chosen = program.with_constants(dict(constants))
        if known is not None and known.sha256 == chosen.sha256 and dict(known.constants) == chosen.values:
            return known
        return run(chosen, engine="lockstep", kernels=kernels)


@lru_cache
def _known(file: str) -> tuple[Program, Recording | None]:
    path = kernels_dir() / (file if file.endswith(".cu") else f"{file}.py")
    beside = recording_for(path)
    return read_program(path), load(beside) if beside else None


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


_AROUND = 5  # lines before and after one


def code_of(recording: Recording, launch: Launch, theme: ThemeName, line: int | None = None) -> Panel:
    """Draw the lines of a kernel, or those around one of them, without what they cost."""
    shown = [(line - _AROUND, line + _AROUND)] if line else kernel_lines(recording, launch)
    lines = source(recording, launch, shown, costs=False, theme=theme)
    return Panel(_("The kernel"), lines, _("The source of {kernel}.", kernel=launch.kernel), narrow=True)


def code(text: str) -> str:
    """Write code so that no line breaks in it."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def wavefronts_text(wavefronts: int, ideal: int) -> str:
    """Say what a request costs, and what would do."""
    if wavefronts == ideal:
        return ngettext("{n:,} wavefront, as few as possible.", "{n:,} wavefronts, as few as possible.", wavefronts)
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
