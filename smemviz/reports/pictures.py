"""A figure of a recording, as it is exported: the one asked for, at a launch and a request, with its caption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from smemviz.errors import InputError
from smemviz.figures.drawing.style import ThemeName
from smemviz.figures.registry import FIGURES, Figure, FigureInput
from smemviz.frontends.reading import kernel_lines
from smemviz.i18n import _, speaking
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.playback import RequestView
from smemviz.recordings.calibration import calibration_for
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording
from smemviz.reports.selection import Choice, choose, launches
from smemviz.views.comparison import Entry, compared
from smemviz.wording.impact import Measured
from smemviz.wording.labels import clauses, count, launch_name, sentences
from smemviz.wording.sentences import headline, origin, present, provenance

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True)
class Picture:
    """A figure with the sentence under it, and what of the recording it lacks, "" when nothing is missing."""

    figure: go.Figure
    caption: str
    missing: str

    @property
    def text(self) -> str:
        """What stands below the figure; that something is missing is said in any case."""
        return "\n".join(text for text in (self.caption, self.missing) if text)


def picture(
    recording: Recording,
    name: str,
    choice: Choice = Choice(),  # noqa: B008  frozen
    *,
    view: str | None = None,
    array: str | None = None,
    drawn_banks: int | None = None,
    hardware: Hardware = H200,
    theme: ThemeName = "light",
) -> Picture:
    """Draw one of ``FIGURES``; ``view`` is one of its views, ``array`` and ``drawn_banks`` are the tile's.

    Raises:
        InputError: when there is no such view, array, launch or request, or nothing to draw.
    """
    chosen = FIGURES[name]
    if view is not None and view not in chosen.views:
        raise InputError(f"--view {view}: the figure {name} has {', '.join(chosen.views) or 'one view only'}")
    view = view or next(iter(chosen.views), None)

    def draw() -> Picture:
        if chosen.needs == "launches":
            return _comparison(recording, chosen, choice, FigureInput(recording, hardware, theme, view=view))
        launch, now = choose(recording, choice, hardware, chosen.space)
        pictured = array_shown(launch, now, array) if "array" in chosen.options else None
        lines = partial(kernel_lines, recording, launch)
        inputs = FigureInput(recording, hardware, theme, now, view=view, array=pictured, banks=drawn_banks, lines=lines)
        return Picture(chosen.draw(inputs), _caption(inputs, chosen), missing(recording, [launch]))

    drawn = draw()
    if not drawn.figure.data:
        with speaking("en"):  # as all errors are
            raise InputError(f"{recording.file}: no figure {name}: {draw().figure.layout.meta['says']}")
    return drawn


def missing(recording: Recording, launches: Sequence[Launch]) -> str:
    """Say what of launches, and of the run, is not in the recording; "" when nothing is missing."""
    parts = []
    requests = sum(launch.missing for launch in launches)
    if requests:
        request_count = sum(launch.request_count for launch in launches)
        total = count(request_count, "request")
        parts.append(_("{lost:,} of {requests} were counted but not logged.", lost=requests, requests=total))
    if recording.unrecorded:
        more = count(recording.unrecorded, "more launch")
        parts.append(_("{launches} of the run not recorded, as asked.", launches=more))
    return sentences(*parts) if parts else ""


def array_shown(launch: Launch, now: RequestView, name: str | None) -> str:
    """Return the shared array to draw: the one named, else the one the present request goes to, else the first."""
    names = [array.name for array in launch.shared_arrays]
    if name is not None and name not in names:
        raise InputError(f"{launch.kernel} has no shared array {name!r}; it has {', '.join(names) or 'none'}")
    goes_to = now.site.array if now.site else None
    return name or next((candidate for candidate in names if candidate == goes_to), names[0] if names else "")


def _caption(inputs: FigureInput, chosen: Figure) -> str:
    """Say what is drawn, where it stands in the source, and where the numbers come from."""
    recording, launch, now, hardware = inputs.recording, inputs.launch, inputs.now, inputs.hardware
    constants = ", ".join(f"{name} = {value}" for name, value in recording.constants.items())
    of_launch = chosen.needs == "launch" or now.site is None
    if of_launch or now.site is None:
        file = Path(recording.file_of(launch)).name
        where = _("{kernel} in {file}", kernel=launch.kernel, file=file)
        sentence = headline(launch, hardware)
    else:
        file = Path(recording.file_of(launch, now.site)).name
        where = clauses(launch.kernel, f"{file}:{now.site.line}", now.site.source)
        sentence = present(now, hardware)
    if constants:
        where = _("{place} with {constants}", place=where, constants=constants)
    if chosen.caption:
        sentence_of_figure = sentences(_("{sentence}.", sentence=where), chosen.caption(inputs))
    elif of_launch:
        sentence_of_figure = _("{place}. {sentence}.", place=where, sentence=sentence)
    elif launch.grid != (1, 1, 1):
        sentence_of_figure = _("{place}, block {block}: {request}.", place=where, block=now.block, request=sentence)
    else:
        sentence_of_figure = _("{place}: {request}.", place=where, request=sentence)
    return sentences(sentence_of_figure, provenance(recording, hardware))


def _comparison(recording: Recording, chosen: Figure, choice: Choice, inputs: FigureInput) -> Picture:
    numbered = launches(recording, choice)
    rows = compared([_entry(recording, launch, number, inputs.hardware) for launch, number in numbered])
    sentence = _(
        "{file}: {launches} side by side.", file=Path(recording.file).name, launches=count(len(rows), "launch")
    )
    caption = sentences(sentence, provenance(recording, inputs.hardware))
    figure = chosen.draw(inputs._replace(rows=rows))
    return Picture(figure, caption, missing(recording, [launch for launch, _number in numbered]))


def _entry(recording: Recording, launch: Launch, number: int, hardware: Hardware) -> Entry:
    measured = None
    if launch.time and recording.device:
        measured = Measured(launch, launch.time, recording.device, calibration_for(recording))
    return Entry(launch_name(launch, number), recording.file, launch, hardware, origin(recording), measured)
