"""A figure of a recording, as it is exported: the one asked for, at a launch and a request, with its caption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from smemviz.errors import InputError
from smemviz.figures.drawing.style import ThemeName
from smemviz.figures.registry import FIGURES, Figure, FigureInput
from smemviz.frontends.reading import kernel_lines, loaded_sites
from smemviz.i18n import _, speaking
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.playback import RequestView
from smemviz.recordings.calibration import calibration_for
from smemviz.recordings.data import Launch, Site
from smemviz.recordings.recording import Recording
from smemviz.recordings.text import lines_of
from smemviz.reports.selection import Choice, choose, launches
from smemviz.views.comparison import Entry, compared
from smemviz.views.stage import Scene, scenes
from smemviz.wording.explanations import Explaining
from smemviz.wording.first_look import first_mistake
from smemviz.wording.impact import Measured
from smemviz.wording.labels import clause, clauses, count, launch_name, sentences
from smemviz.wording.sentences import cost, headline, origin, present, provenance

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True)
class Picture:
    """A figure with a line for below it, and what of the recording it lacks, "" when nothing is missing.

    ``about`` is all that is to say of it: where it stands, with what constants, and where the numbers come from.
    ``line`` is the line of the source that it shows a request of, "" where it is of more.
    """

    figure: go.Figure
    caption: str
    about: str
    missing: str
    line: str = ""

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
        inputs = FigureInput(recording, hardware, theme, now, view=view, array=pictured, banks=drawn_banks)
        lines, found = partial(kernel_lines, recording, launch), partial(scenes_of, recording, now, hardware)
        inputs = inputs._replace(lines=lines, scenes=cache(found))
        return _pictured(inputs, chosen)

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


def _pictured(inputs: FigureInput, chosen: Figure) -> Picture:
    """Draw a figure of a launch or of a request, and say what it is."""
    recording, launch, site = inputs.recording, inputs.launch, inputs.now.site
    lost = missing(recording, [launch])
    if chosen.needs == "launch" or site is None:
        where = _("{kernel} in {file}", kernel=launch.kernel, file=Path(recording.file_of(launch)).name)
        sentence = (chosen.caption or _headline)(inputs).removesuffix(".")
        said = _("{place}. {sentence}.", place=_placed(recording, where), sentence=sentence)
        caption = _("{place}: {request}.", place=launch.kernel, request=clause(sentence))
        return Picture(chosen.draw(inputs), caption, _about(inputs, said), lost)
    where = clauses(launch.kernel, f"{Path(recording.file_of(launch, site)).name}:{site.line}", site.source)
    sentence, place = present(inputs.now, inputs.hardware), _placed(recording, where)
    if launch.grid != (1, 1, 1):
        said = _("{place}, block {block}: {request}.", place=place, block=inputs.now.block, request=sentence)
    else:
        said = _("{place}: {request}.", place=place, request=sentence)
    sentence = chosen.caption(inputs) if chosen.caption else cost(inputs.now, inputs.hardware)
    caption = _("{place}: {request}.", place=launch.kernel, request=clause(sentence)) if sentence else ""
    return Picture(chosen.draw(inputs), caption, _about(inputs, said), lost, source_line(recording, launch, site))


def _headline(inputs: FigureInput) -> str:
    return headline(inputs.launch, inputs.hardware)


def _placed(recording: Recording, where: str) -> str:
    """Add the constants of a kernel to where a figure is from."""
    constants = ", ".join(f"{name} = {value}" for name, value in recording.constants.items())
    return _("{place} with {constants}", place=where, constants=constants) if constants else where


def _about(inputs: FigureInput, said: str) -> str:
    return sentences(said, provenance(inputs.recording, inputs.hardware))


def scenes_of(recording: Recording, now: RequestView, hardware: Hardware) -> tuple[Scene, ...]:
    """Return a request in each layout that was found; none where the launch has a mistake, which comes first."""
    if first_mistake(recording, now.launch):
        return ()
    return scenes(Explaining(now.launch, hardware, loaded_sites(recording, now.launch), now.spelling), now)


def source_line(recording: Recording, launch: Launch, site: Site) -> str:
    """Return the line of the source that an access stands in, after its file and number; "" where it is not known."""
    file = recording.file_of(launch, site)
    lines = lines_of(recording.text(file))
    written = lines[site.line - 1].strip() if site.line <= len(lines) else ""
    return f"{Path(file).name}:{site.line}  {written}" if written else ""


def _comparison(recording: Recording, chosen: Figure, choice: Choice, inputs: FigureInput) -> Picture:
    numbered = launches(recording, choice)
    rows = compared([_entry(recording, launch, number, inputs.hardware) for launch, number in numbered])
    name = Path(recording.file).name
    caption = _("{file}: {launches} side by side.", file=name, launches=count(len(rows), "launch"))
    if len(rows) == 1:
        caption = f"{name}: {rows[0].entry.name}."
    lost = missing(recording, [launch for launch, _number in numbered])
    return Picture(chosen.draw(inputs._replace(rows=rows)), caption, _about(inputs, caption), lost)


def _entry(recording: Recording, launch: Launch, number: int, hardware: Hardware) -> Entry:
    measured = None
    if launch.time and recording.device:
        measured = Measured(launch, launch.time, recording.device, calibration_for(recording))
    return Entry(launch_name(launch, number), recording.file, launch, hardware, origin(recording), measured)
