"""Write a recording to a file: a figure, a report, or its data.

The ending of the file and --figure decide what is written:

  smemviz export square.smem.npz --figure tile --site 53 -o tile.svg   # a figure, also .pdf, .png and .html
  smemviz export square.smem.npz --figure stage -o stage.pdf           # before and after; --view page: side by side
  smemviz export square.smem.npz --figure stage -o stage.gif           # it in every layout that was found, in motion
  smemviz export square.smem.npz -o report.html                        # all of it, played offline in any browser
  smemviz export square.smem.npz -o requests.csv                       # its requests as data, also .parquet
  smemviz export square.smem.npz -o trace.json                         # for Perfetto or chrome://tracing

Images are laid out for print: vectors, no background, 8 cm wide with type of 7 points; the stage fills a column of 8.5
cm, or a page of 17.8 cm. Where their numbers come from is in the file: the description of a PNG or SVG, the subject of
a PDF, the comment of a GIF. They need Chrome or Chromium and smemviz[export], a GIF needs that alone, Parquet
smemviz[parquet]; without those it exits 3. By default the launch, the access and the request that waste the most are
shown. An existing file is kept, unless --force is given.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from smemviz.cli.settings import add_engine, add_hardware, add_output, add_setting, main_output, real, recorded, whole
from smemviz.errors import InputError
from smemviz.figures.registry import EXPORTED, FIGURES
from smemviz.i18n import LANGUAGES, _, speaking
from smemviz.printable import printable

if TYPE_CHECKING:
    from smemviz.figures.drawing.style import ThemeName
    from smemviz.recordings.recording import Recording

MOST_BANKS = 64
_ALWAYS = ("recording", "output", "force", "figure", "kernel", "launch", "cc", "set", "engine", "arguments")
_STAGE = "stage"  # which moves too
_WIDTHS = {"column": 8.5, "page": 17.8}  # cm, of the views of the stage
_OF_FIGURES = ("theme", "caption")
_OF_IMAGES = ("width", "font_size", "background")
_OF_KIND: dict[str, tuple[str, ...]] = {
    "image": ("lang",),
    "animation": ("site", "block", "warp", "step"),
    "html": ("lang", "theme"),
    "table": ("rows",),
    "trace": ("block",),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("recording", metavar="RECORDING", help="a *.smem.npz file, or a kernel file to run")
    add_output(parser, "the file to write", required=True)
    parser.add_argument("--force", action="store_true", help="overwrite OUT")
    drawn = "the figure to draw (default for .html: the whole recording)"
    parser.add_argument("--figure", choices=EXPORTED, help=drawn)
    natural = whole(0, sys.maxsize, "a number from 0 on")
    banks = whole(1, MOST_BANKS, f"a number of banks from 1 to {MOST_BANKS}")
    what = parser.add_argument_group("what is shown")
    what.add_argument("--kernel", metavar="NAME", help="the kernel")
    what.add_argument("--launch", metavar="N", type=natural, help="the N-th launch of the kernel, from 0")
    what.add_argument("--site", metavar="LINE[:COLUMN]", type=_place, help="the access that begins there")
    what.add_argument("--block", metavar="N", type=natural, help="the block, by its number")
    what.add_argument("--warp", metavar="N", type=natural, help="the warp in the block")
    what.add_argument("--step", metavar="N", type=natural, help="the request of the warp, from 0")
    add_hardware(what, "as for show")
    what.add_argument(
        "--view",
        help="tile: declared or physical; compare: wavefronts, sectors or times; stage: column or page (the first)",
    )
    what.add_argument("--array", metavar="NAME", help="the shared array of a tile")
    what.add_argument("--banks", metavar="N", type=banks, help="draw tile and banks for another number of banks")
    what.add_argument("--rows", choices=("lanes", "requests", "sites"), help="what a row of data is (default: lanes)")
    look = parser.add_argument_group("how it looks")
    look.add_argument("--width", metavar="CM", type=_number(2, 100), help="width of an image on paper (default: 8)")
    look.add_argument("--font-size", metavar="PT", type=_number(4, 72), help="type of an image on paper (default: 7)")
    look.add_argument("--dpi", metavar="N", type=_number(30, 2400), help="dots per inch of a PNG (default: 300)")
    look.add_argument(
        "--theme", choices=("light", "dark"), help="the colours (default: light; a report follows its reader)"
    )
    look.add_argument("--lang", choices=tuple(LANGUAGES), help="the language of figures and pages (default: en)")
    look.add_argument("--background", action="store_true", help="paint the paper behind an image")
    look.add_argument("--caption", metavar="TEXT", help="the text below a figure; '' for none (default: what it shows)")
    run = parser.add_argument_group("of a kernel file")
    add_setting(run, "replace a constant")
    add_engine(run, "what runs it (auto)")


def execute(arguments: argparse.Namespace) -> int:
    """Check what can be checked, then record or load, then write."""
    from smemviz.reports.files import kind_of, require_place
    from smemviz.reports.pictures import missing

    output: Path = arguments.output
    kind = kind_of(output)
    _require_fitting(arguments, kind)
    require_place(output, arguments.force)
    if kind == "image":
        from smemviz.reports.images import require_browser

        require_browser()
    if kind == "animation":
        from smemviz.reports.animation import require_pillow

        require_pillow()
    if output.suffix.lower() == ".parquet":
        from smemviz.reports.data_tables import require_parquet

        require_parquet()
    with main_output(True):
        recording = recorded(arguments.recording, dict(arguments.set), arguments.engine)
    with speaking(arguments.lang or "en"):
        _write(recording, arguments, kind)
    lost = missing(recording, recording.launches)
    print(printable(f"{output}: {output.stat().st_size:,} bytes" + (f"; {lost}" if lost else "")))
    return 0


def _require_fitting(arguments: argparse.Namespace, kind: str) -> None:
    """Refuse options that the file asked for does not have."""
    if kind == "animation" and arguments.figure != _STAGE:
        raise InputError(f"{arguments.output}: a .gif is of the figure stage, which moves; name it with --figure stage")
    if arguments.figure and kind not in ("image", "html", "animation"):
        raise InputError(f"{arguments.output}: a figure ends in .svg, .pdf, .png or .html")
    if not arguments.figure and kind == "image":
        raise InputError(f"{arguments.output}: an image is of one figure; name it with --figure {'|'.join(EXPORTED)}")
    options = [name for name, value in vars(arguments).items() if value is not None and value is not False]
    here = {
        *_ALWAYS,
        *(_OF_FIGURES if arguments.figure else ()),
        *(_OF_IMAGES if kind == "image" else ()),
        *(("dpi",) if arguments.output.suffix.lower() == ".png" else ()),
        *(FIGURES[arguments.figure].options if arguments.figure and kind != "animation" else ()),
        *_OF_KIND[kind],
    }
    wrong = next((name for name in options if name not in here), None)
    if wrong:
        of_figure = arguments.figure and wrong not in (*_OF_IMAGES, "dpi")
        what = f"the figure {arguments.figure}" if of_figure else arguments.output.suffix.lower()
        raise InputError(f"{arguments.output}: --{wrong.replace('_', '-')} does not apply to {what}")


def _write(recording: Recording, arguments: argparse.Namespace, kind: str) -> None:
    from dataclasses import replace

    from smemviz.model.hardware.hardware import Hardware
    from smemviz.reports import files
    from smemviz.reports.pictures import picture
    from smemviz.reports.selection import Choice

    theme: ThemeName = arguments.theme or "light"
    output, (line, column) = arguments.output, arguments.site or (None, None)
    where = arguments.block, arguments.warp, arguments.step
    choice = Choice(arguments.kernel, arguments.launch, line, column, *where)
    counted = arguments.cc or Hardware.of(recording)
    if kind == "animation":
        from smemviz.reports.animation import stage_animation
        from smemviz.reports.selection import choose

        _launch, now = choose(recording, choice, counted, "shared")
        files.write_bytes(output, stage_animation(recording, now, counted, theme, arguments.caption))
    elif arguments.figure:
        drawn = picture(
            recording,
            arguments.figure,
            choice,
            view=arguments.view,
            array=arguments.array,
            drawn_banks=arguments.banks,
            hardware=counted,
            theme=theme,
        )
        if arguments.caption is not None:
            drawn = replace(drawn, caption=arguments.caption)
        if kind == "html":
            title = _("{figure}, {file}", figure=_(FIGURES[arguments.figure].noun), file=recording.file)
            files.write_figure_page(output, drawn, title, theme)
        else:
            from smemviz.reports.print_layout import Sheet

            width = arguments.width or _WIDTHS.get(
                arguments.view or next(iter(FIGURES[arguments.figure].views), ""), 8.0
            )
            sheet = Sheet(width, arguments.font_size or 7.0, arguments.background)
            files.write_image(output, drawn, sheet, round(arguments.dpi or 300), theme)
    elif kind == "html":
        files.write_report(output, recording, choice, counted, arguments.theme)
    elif kind == "table":
        files.write_table(output, recording, choice, arguments.rows or "lanes", counted)
    else:
        files.write_trace(output, recording, choice, counted)


def _place(text: str) -> tuple[int, int | None]:
    match = re.fullmatch(r"(\d{1,9})(?::(\d{1,9}))?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not LINE or LINE:COLUMN, such as 53 or 53:15")
    return int(match[1]), int(match[2]) if match[2] else None


def _number(low: float, high: float) -> Callable[[str], float]:
    return real(low, high, f"not a number from {low:g} to {high:g}")
