"""Figures as images, drawn by kaleido in one Chromium for as many as there are."""

from __future__ import annotations

import asyncio
import re
import struct
from codecs import BOM_UTF16_BE
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from zlib import crc32

from smemviz.errors import InputError, MissingError
from smemviz.paths import installing

if TYPE_CHECKING:
    from smemviz.reports.print_layout import Printed

_NO_XML = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # control characters, as a source may have them
Format = Literal["svg", "pdf", "png"]
FORMATS: tuple[Format, ...] = ("svg", "pdf", "png")
_PIXELS_PER_INCH = 96  # of CSS
_PNG = b"\x89PNG"
_HEADER = 33  # bytes of a PNG, its signature included
_TRAILER = b"/Root", b"/Size", b"startxref"  # what a PDF ends with
_INCH = 0.0254  # metres
# Kaleido prints a PDF with margins of 0.1 inch, which makes the figure smaller and cuts off what is below a wide one.
_WHOLE_SHEET = "<style>@page { margin: 0 } body { margin: 0 } img { display: block }</style>\n"


@dataclass(frozen=True)
class Image:
    """An image to draw; ``dpi`` are the dots per inch of a PNG on paper."""

    pressed: Printed
    form: Format
    dpi: int = 300

    @property
    def scale(self) -> float:
        """Pixels, of a PNG, or CSS pixels for one of the figure's."""
        return self.pressed.scale * (self.dpi / _PIXELS_PER_INCH if self.form == "png" else 1)


def require_browser() -> str:
    """Return the path of the browser that draws images.

    Raises:
        MissingError: when kaleido or a browser is not there.
    """
    if find_spec("kaleido") is None:
        raise MissingError(f"images need kaleido: {installing('export')}; an .html figure needs nothing")
    from choreographer.browsers.chromium import Chromium

    browser = Chromium.find_browser(skip_local=False)
    if not browser or not Path(browser).is_file():
        where = f"there is none at BROWSER_PATH, {browser}; " if browser else ""
        raise MissingError(
            f"images need Chrome or Chromium: {where}install it, or run kaleido_get_chrome; an .html figure needs none"
        )
    return str(browser)


def draw(images: Sequence[Image]) -> list[bytes]:
    """Draw images one after the other; nothing is loaded from the network.

    Raises:
        InputError: when a PNG has more dots than the browser draws.
        MissingError: when kaleido or a browser is not there, or the browser does not start.
    """
    path = require_browser()
    from choreographer.errors import BrowserClosedError, BrowserFailedError, ChannelClosedError

    try:
        # In a thread of its own: where smemviz is called from, a notebook for one, an event loop may be running.
        with ThreadPoolExecutor(max_workers=1) as thread:
            drawn = thread.submit(asyncio.run, _draw(images)).result()
    except (BrowserClosedError, BrowserFailedError, ChannelClosedError, TimeoutError) as error:
        raise MissingError(f"images need Chrome or Chromium: {path} does not answer ({type(error).__name__})") from None
    return [_checked(image, content) for image, content in zip(images, drawn, strict=True)]


def _checked(image: Image, content: bytes) -> bytes:
    """Return an image as a file has it; of a PNG too large for it the browser gives no content."""
    if image.form == "png" and not content.startswith(_PNG):
        width, height = (round(size * image.scale) for size in (image.pressed.width, image.pressed.height))
        raise InputError(f"a PNG of {width:,} x {height:,} dots is more than the browser draws; take a smaller --dpi")
    return _NO_XML.sub(b"", content) if image.form == "svg" else content


async def _draw(images: Sequence[Image]) -> list[bytes]:
    from kaleido import Kaleido, PageGenerator

    page = PageGenerator(mathjax=False)
    page.header += _WHOLE_SHEET
    async with Kaleido(page_generator=page) as kaleido:
        return [
            await kaleido.calc_fig(
                image.pressed.figure,
                opts={
                    "format": image.form,
                    "width": image.pressed.width,
                    "height": image.pressed.height,
                    "scale": image.scale,
                },
            )
            for image in images
        ]


def described(content: bytes, form: Format, about: str, dpi: int) -> bytes:
    """Return an image with a description, ``<desc>`` of an SVG, text of a PNG, subject of a PDF; a PNG has its size."""
    if form == "svg":
        start = content.index(b">", content.index(b"<svg")) + 1
        return content[:start] + f"<desc>{escape(about)}</desc>".encode() + content[start:]
    return _described_png(content, about, dpi) if form == "png" else _described_pdf(content, about)


def _described_png(content: bytes, about: str, dpi: int) -> bytes:
    """Put chunks behind the header."""
    per_metre = round(dpi / _INCH)
    size = _chunk(b"pHYs", struct.pack(">IIB", per_metre, per_metre, 1))
    text = _chunk(b"iTXt", b"Description\0\0\0\0\0" + about.encode())
    return content[:_HEADER] + size + text + content[_HEADER:]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc32(kind + data))


def _described_pdf(content: bytes, about: str) -> bytes:
    """Append other information, which is how a PDF is changed: all that is there stays."""
    root, size, before = (re.findall(name + rb"\s(\d+)", content)[-1].decode() for name in _TRAILER)
    said = (BOM_UTF16_BE + about.encode("utf-16-be")).hex()
    update = f"{size} 0 obj\n<</Subject <{said}> /Creator (smemviz)>>\nendobj\n"
    table = f"xref\n{size} 1\n{len(content):010} 00000 n \n"
    trailer = f"trailer\n<</Size {int(size) + 1} /Root {root} 0 R /Info {size} 0 R /Prev {before}>>\n"
    end = f"startxref\n{len(content) + len(update)}\n%%EOF\n"
    return content + (update + table + trailer + end).encode()
