"""The stage as an animated GIF: lanes fall into their bins, cells slide to where another layout puts them.

It is drawn without a browser. ``views/stage.py`` says where everything is; the kernel page moves the same.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from smemviz.errors import InputError, MissingError
from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, blend
from smemviz.i18n import _, speaking
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.playback import BankService, RequestView
from smemviz.paths import installing
from smemviz.recordings.recording import Recording
from smemviz.reports.pictures import scenes_of
from smemviz.views.grid import label_size
from smemviz.views.stage import Scene
from smemviz.wording.labels import capital, count
from smemviz.wording.sentences import present, provenance

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

_WIDTH, _LEFT, _RIGHT = 736, 44, 16  # pixels
_TOP, _TILE, _BETWEEN, _BINS, _FOOT = 78, 380, 48, 112, 44  # above the tile, it, between it and the bins, those, below
_HIGHEST, _LINE, _LETTERS = 24, 17, 104  # a cell, a line of text, what it has room for
_FRAME, _STILL = 50, 1800  # ms
_DROP, _SLIDE = 28, 13  # frames
_FALL = 0.5  # of the time of a drop is the fall of one wavefront

Box = tuple[float, float, float, float]  # left, top, width, height


def require_pillow() -> None:
    """Make sure that animations can be drawn.

    Raises:
        MissingError: when Pillow is not there.
    """
    if find_spec("PIL") is None:
        raise MissingError(f"a .gif needs Pillow: {installing('export')}")


def stage_animation(
    recording: Recording, now: RequestView, hardware: Hardware, theme: ThemeName = "light", caption: str | None = None
) -> bytes:
    """Return a GIF that shows a request in one layout after the other, over and over; its letters are Latin.

    Args:
        recording: of the request.
        now: the request, on shared memory.
        hardware: whose rules count.
        theme: the colours.
        caption: what stands below; left out, what the request costs. Where numbers come from is a comment in the file.

    Raises:
        InputError: when no other layout saves the launch a wavefront, or there is a mistake in it.
    """
    launch, site = now.launch, now.site
    with speaking("en"):
        staged = scenes_of(recording, now, hardware)
        if not staged or site is None:
            what = f"no layout was found that saves wavefronts in {launch.kernel}; --kernel and --site choose another"
            raise InputError(f"{recording.file}: no figure stage: {what}")
        title = f"{launch.kernel}, {Path(recording.file_of(launch, site)).name}:{site.line}, {site.source}"
        if caption is None:
            caption = f"This request, {present(now, hardware)}."
        about = f"{title}. {capital(present(now, hardware))}. {provenance(recording, hardware)}"
        return _gif(_Sheet(staged, title, caption, theme), list(_moments(staged)), about)


def _gif(sheet: _Sheet, moments: Sequence[_Moment], about: str) -> bytes:
    from PIL import Image

    palette = sheet.palette()
    frames = [sheet.drawn(moment).quantize(palette=palette, dither=Image.Dither.NONE) for moment in moments]
    written, durations = io.BytesIO(), [moment.ms for moment in moments]
    motion = {"append_images": frames[1:], "duration": durations, "loop": 0, "comment": about.encode()}
    frames[0].save(written, "GIF", save_all=True, optimize=False, **motion)
    return written.getvalue()


class _Moment(NamedTuple):
    """What a frame shows: a request that is ``slid`` from one layout to the next, ``fallen`` into its bins so far."""

    before: Scene
    after: Scene
    slid: float
    fallen: float
    ms: int


def _moments(scenes: Sequence[Scene]) -> Iterator[_Moment]:
    """Let the lanes fall as the kernel is written, then slide from layout to layout."""
    first = scenes[0]
    yield _Moment(first, first, 1, 0, 10 * _FRAME)
    yield from (_Moment(first, first, 1, i / _DROP, _FRAME) for i in range(1, _DROP))
    yield _Moment(first, first, 1, 1, _STILL)
    for before, after in pairwise(scenes):
        yield from (_Moment(before, after, _eased(i / _SLIDE), 1, _FRAME) for i in range(1, _SLIDE))
        yield _Moment(after, after, 1, 1, _STILL)


class _Sheet:
    """What all frames share: the colours, the size of cells, and the texts."""

    def __init__(self, scenes: Sequence[Scene], title: str, caption: str, theme: ThemeName) -> None:
        banks = scenes[0].where.banks
        self.colours = THEMES[theme]
        self.ramp, self.faint = blend(self.colours.ramp, banks), blend(self.colours.faint, banks)
        self.title, self.caption, self.cost = title, caption, scenes[0].cost
        self.rows = max(scene.grid.address.shape[0] for scene in scenes)
        self.high = min(_TILE / self.rows, _HIGHEST)  # a cell of the tile
        self.bins_top = round(_TOP + self.rows * self.high + _BETWEEN)
        self.bin = (_WIDTH - _LEFT - _RIGHT) / banks
        self.size = _WIDTH, self.bins_top + _BINS + _FOOT + _LINE * len(textwrap.wrap(caption, _LETTERS))

    def palette(self) -> Image:
        """Return an image of all colours: those of the theme, of the banks, and what smooths type."""
        from PIL import Image

        theme = self.colours
        smooth = (shade for ink in (theme.ink, theme.muted, theme.conflict) for shade in blend((theme.paper, ink), 10))
        named = (theme.paper, theme.ink, theme.muted, theme.idle, theme.frame, theme.conflict, theme.unused)
        colours = [*dict.fromkeys((*named, *self.ramp, *self.faint, *smooth))][:256]
        image = Image.new("P", (1, 1))
        image.putpalette([int(colour[i : i + 2], 16) for colour in colours for i in (1, 3, 5)])
        return image

    def drawn(self, moment: _Moment) -> Image:
        """Draw a frame."""
        from PIL import Image, ImageDraw

        image = Image.new("RGB", self.size, self.colours.paper)
        pen = ImageDraw.Draw(image)
        self._words(pen, moment)
        self._tile(pen, moment)
        self._bins(pen, moment)
        return image

    def _words(self, pen: ImageDraw, moment: _Moment) -> None:
        ink, muted = self.colours.ink, self.colours.muted
        before, after = moment.before.layout, moment.after.layout
        wavefronts = round(_between(before.wavefronts, after.wavefronts, moment.slid))
        _text(pen, (_LEFT, 8), f"{after.title}: {wavefronts:,} wavefronts in the launch", ink, 24, bold=True)
        below = textwrap.shorten(after.says or self.title, _LETTERS, placeholder=" ...")
        _text(pen, (_LEFT, 44), below, muted, 13)
        _text(pen, (_LEFT - 34, self.bins_top + _BINS + 4), _("bank"), muted, 11)
        for bank in range(0, len(self.ramp), 4):
            x = _LEFT + (bank + 0.5) * self.bin
            _text(pen, (x, self.bins_top + _BINS + 4), str(bank), muted, 11, "ma")
        shown = moment.after if moment.slid >= 0.5 else moment.before
        served = f"{count(shown.service.wavefronts, 'wavefront')} of this request"
        _text(pen, (_LEFT, self.bins_top - 20), served, muted, 12)
        caption = self.caption.replace(self.cost, shown.cost)  # of the layout that is shown
        for number, line in enumerate(textwrap.wrap(caption, _LETTERS)):
            _text(pen, (_LEFT, self.bins_top + _BINS + _FOOT - 16 + _LINE * number), line, muted, 12)

    def _tile(self, pen: ImageDraw, moment: _Moment) -> None:
        """Draw the elements, padding and all where nothing moves, and over them where the lanes go."""
        before, after, part = moment.before, moment.after, moment.slid
        if part == 1:
            padding = zip(*np.nonzero((after.grid.address >= 0) & ~after.grid.touched), strict=True)
            for row, column in padding:
                _cell(pen, self._box(after, int(row), int(column)), self.colours.unused)
        framed = []
        for name, (row, column) in after.spots.items():
            shown, spot = (after, (row, column)) if part >= 0.5 else (before, before.spots[name])
            stored = shown.grid.thread[spot] >= 0
            boxes = self._on_way(before, after, before.spots[name], (row, column), part)
            for box in boxes:
                _cell(pen, box, (self.ramp if stored else self.faint)[shown.bank(*spot)])
            if spot in shown.lanes:
                framed.append((boxes, *shown.lanes[spot]))
        letters = max((len(name) for _boxes, name, _hot in framed), default=0)
        size = label_size(letters, *self._box(after, 0, 0)[2:])
        for boxes, name, hot in framed:
            for box in boxes:
                _frame(pen, box, self.colours, hot)
            if size:
                left, top, width, height = boxes[0]
                middle = left + width / 2 - 1, top + height / 2 - 1
                _text(pen, middle, name, self.colours.ink, size, "mm", bold=hot)

    def _bins(self, pen: ImageDraw, moment: _Moment) -> None:
        """Draw the banks as bins, with what has fallen into them and what is falling."""
        for bank in range(len(self.ramp)):
            _cell(pen, (_LEFT + bank * self.bin, self.bins_top, self.bin, _BINS), self.colours.idle)
        before, after = moment.before.service, moment.after.service
        last = max(after.wavefronts - 1, 1)
        for i in range(len(after.lane)):
            start = after.wavefront[i] / last * (1 - _FALL) if after.wavefronts > 1 else 0
            way = min(max((moment.fallen - start) / _FALL, 0), 1)
            if not way:
                continue
            box = _mixed(self._stacked(before, i), self._stacked(after, i), moment.slid)
            bank = (after if moment.slid >= 0.5 else before).bank[i]
            if way < 1:
                row, column = np.argwhere(moment.after.grid.address == after.address[i])[0].tolist()
                box = _mixed(self._box(moment.after, row, column), box, way * way)
            _cell(pen, box, self.ramp[bank])
            if way < 1:
                _frame(pen, box, self.colours, bool(after.conflict[i]))

    def _box(self, scene: Scene, row: float, column: float) -> Box:
        wide = (_WIDTH - _LEFT - _RIGHT) / scene.grid.address.shape[1]
        return _LEFT + column * wide, _TOP + row * self.high, wide, self.high

    def _on_way(
        self, before: Scene, after: Scene, spot: tuple[int, int], goal: tuple[int, int], part: float
    ) -> list[Box]:
        """Return where a cell is: along the rows of banks, at the end of one also in the next, or else straight."""
        columns = after.grid.address.shape[1]
        if part == 1 or before.grid.address.shape[1] != columns:
            return [_mixed(self._box(before, *spot), self._box(after, *goal), part)]
        row, column = divmod(_between(spot[0] * columns + spot[1], goal[0] * columns + goal[1], part), columns)
        left, top, wide, high = self._box(after, row, column)
        beyond = column + 1 - columns
        if beyond <= 0:
            return [(left, top, wide, high)]
        return [(left, top, wide * (1 - beyond), high), (_LEFT, top + self.high, wide * beyond, high)]

    def _stacked(self, service: BankService, i: int) -> Box:
        """Return where a word of a request lies in its bin: the first wavefront at the bottom."""
        high = min(_BINS / service.wavefronts, _HIGHEST)
        top = self.bins_top + _BINS - (service.wavefront[i] + 1) * high
        return _LEFT + service.bank[i] * self.bin, top, self.bin, high


def _between(one: float, other: float, part: float) -> float:
    return one + (other - one) * part


def _mixed(one: Box, other: Box, part: float) -> Box:
    left, top, width, height = (_between(a, b, part) for a, b in zip(one, other, strict=True))
    return left, top, width, height


def _eased(part: float) -> float:
    return 2 * part * part if part < 0.5 else 1 - 2 * (1 - part) ** 2


def _cell(pen: ImageDraw, box: Box, colour: str) -> None:
    left, top, width, height = box
    right, bottom = round(left + width) - 2, round(top + height) - 2  # a pixel of paper between cells
    pen.rectangle((round(left), round(top), max(right, round(left)), max(bottom, round(top))), fill=colour)


def _frame(pen: ImageDraw, box: Box, colours: Theme, hot: bool) -> None:
    left, top, right, bottom = round(box[0]), round(box[1]), round(box[0] + box[2]) - 2, round(box[1] + box[3]) - 2
    pen.rectangle(
        (left, top, right, bottom), outline=colours.conflict if hot else colours.frame, width=1 if box[3] < 14 else 2
    )
    if hot:
        corner = round(min(7, box[3] / 3))
        pen.polygon(((left, top), (left + corner, top), (left, top + corner)), fill=colours.conflict)


def _text(
    pen: ImageDraw, at: tuple[float, float], said: str, colour: str, size: float, anchor: str = "la", bold: bool = False
) -> None:
    pen.text(at, said, fill=colour, font=_font(size, bold), anchor=anchor)


@cache
def _font(size: float, bold: bool) -> FreeTypeFont | ImageFont:
    """Return the font of the pages where this machine has it, else the one that Pillow brings."""
    from PIL import ImageFont

    for family in ("Inter", "NotoSans", "DejaVuSans"):
        try:
            return ImageFont.truetype(f"{family}-{'Bold' if bold else 'Regular'}.ttf", size)
        except OSError:
            continue
    return ImageFont.load_default(size)
