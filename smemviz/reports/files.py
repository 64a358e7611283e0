"""What a file's name asks for, written to it whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from smemviz.errors import InputError
from smemviz.figures.drawing.style import ThemeName
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.playback import blocks
from smemviz.recordings.archive import replaceable, writing
from smemviz.recordings.recording import Recording
from smemviz.reports.data_tables import Rows, tables, write_csv, write_parquet
from smemviz.reports.html.page import figure_page
from smemviz.reports.images import FORMATS, Image, described, draw
from smemviz.reports.pictures import Picture, missing
from smemviz.reports.selection import Choice, every_launch, launches
from smemviz.reports.trace import events, write_events
from smemviz.wording.labels import launch_name
from smemviz.wording.sentences import origin, rule

if TYPE_CHECKING:
    from smemviz.reports.print_layout import Sheet

Kind = Literal["image", "animation", "html", "table", "trace"]
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(FORMATS, "image"),
    "gif": "animation",
    "html": "html",
    "csv": "table",
    "parquet": "table",
    "json": "trace",
}


def kind_of(path: Path) -> Kind:
    """Return what a file is to hold, by its ending.

    Raises:
        InputError: when it has none of those that can be written.
    """
    kind = _KINDS.get(path.suffix.lower().removeprefix("."))
    if kind is None:
        raise InputError(f"{path}: exports end in {', '.join(f'.{ending}' for ending in _KINDS)}")
    return kind


def require_place(path: Path, force: bool) -> None:
    """Make sure that a file can be put there.

    Raises:
        InputError: when it is there already, unless ``force``, or its folder is not.
    """
    try:
        if not path.parent.is_dir():
            raise InputError(f"{path}: there is no folder {path.parent}; nothing was written")
        if path.is_dir():
            raise InputError(f"{path}: is a folder; name a file")
        if path.exists() and not force:
            raise InputError(f"{path}: is there already; --force overwrites it")
        replaceable(path)
    except OSError as error:  # a name that is too long, a folder that may not be looked into
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


def write_image(path: Path, drawn: Picture, sheet: Sheet, dpi: int, theme: ThemeName) -> None:
    """Write a figure as SVG, PDF or PNG, laid out for paper.

    Raises:
        InputError: when the file cannot be written, here and in all below.
        MissingError: when there is no browser to draw it.
    """
    from smemviz.reports.print_layout import print_layout

    form = next(format_name for format_name in FORMATS if path.suffix.lower() == f".{format_name}")
    pressed = print_layout(drawn.figure, sheet, theme, drawn.text, drawn.line)
    write_bytes(path, described(draw([Image(pressed, form, dpi)])[0], form, drawn.about, dpi))


def write_figure_page(path: Path, drawn: Picture, title: str, theme: ThemeName) -> None:
    """Write a figure that answers to the mouse as one HTML file."""
    write_bytes(path, figure_page(drawn.figure, f"{drawn.text}\n{drawn.about}", title, theme).encode())


def write_report(path: Path, recording: Recording, choice: Choice, hardware: Hardware, theme: ThemeName | None) -> None:
    """Write a recording as one HTML file that plays."""
    from smemviz.reports.html.report import report_page

    write_bytes(path, report_page(recording, launches(recording, choice), hardware, theme).encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write what was made already."""
    with writing(path) as partial:
        partial.write_bytes(content)


def write_table(path: Path, recording: Recording, choice: Choice, rows: Rows, hardware: Hardware) -> None:
    """Write the requests, or sites, of launches as CSV or Parquet."""
    pieces = tables(recording, every_launch(recording, choice), rows, hardware)
    with writing(path) as partial:
        if path.suffix.lower() == ".csv":
            write_csv(partial, pieces, rows)
        else:
            facts = {name: str(value) for name, value in _facts(recording, hardware).items()}
            write_parquet(partial, pieces, rows, facts)


def write_trace(path: Path, recording: Recording, choice: Choice, hardware: Hardware) -> None:
    """Write the requests of launches as a trace."""
    numbered = launches(recording, choice)
    if choice.block is not None and not any(choice.block in blocks(launch) for launch, _ in numbered):
        raise InputError(f"{recording.file}: block {choice.block} is not in the log of any of these launches")
    titled = [(launch_name(launch, number), launch) for launch, number in numbered]
    facts = _facts(recording, hardware) | {"missing": missing(recording, [launch for launch, _ in numbered])}
    with writing(path) as partial:
        write_events(partial, events(titled, choice.block, hardware), facts)


def _facts(recording: Recording, hardware: Hardware) -> dict[str, object]:
    """Return where numbers come from, for whoever reads a file without its context."""
    return {
        "smemviz": recording.version,
        "file": recording.file,
        "sha256": recording.sha256,
        "constants": json.dumps(dict(recording.constants)),
        "requests": origin(recording),
        "wavefronts": rule(hardware, recording.launches),
        "missing": missing(recording, recording.launches),
    }
