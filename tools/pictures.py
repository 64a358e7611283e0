"""Make the README's pictures with the program itself: ``python tools/pictures.py [NAME ...]``.

Pages are what Chromium shows of the dashboard, figures what ``smemviz export`` writes; they go to ``docs/pictures``. It
needs what the tests need: ``pip install '.[test]'`` and a Chromium.
"""

import io
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright
from werkzeug.serving import make_server

from smemviz.app.factory import create_app
from smemviz.cli.main import main as smemviz
from smemviz.paths import kernels_dir

DOCS = Path(__file__).resolve().parents[1] / "docs" / "pictures"


@dataclass(frozen=True)
class Shot:
    """A part of a page as a picture: its address, what has to be there, what to cut out, and how large the window is.

    ``first`` and ``last`` are selectors; the picture reaches from the top of the one to the end of the other. Without
    them it is the window.
    """

    name: str
    url: str
    awaited: str
    first: str = ""
    last: str = ""
    width: int = 1280
    height: int = 900
    before: str = ""  # a button to press


SHOTS = (
    Shot("kernel", "/kernel?file=square&kernel=set_row_read_col&site=1&warp=3", "#tile svg", height=1000),
    Shot("compare", "/compare?file=square", "#compare-tiles svg", height=900),
    Shot(
        "matmul", "/matmul", "#roofline .cartesianlayer", "section:has(#roofline-title)", "section:has(#roofline-title)"
    ),
    Shot("layouts", "/lab?B=32x32+float32%3B+pad%3D1", "#lab-B-tile svg", height=900),
    Shot("gpus", "/gpus", "#gpus-table tr", height=760),
    Shot("lesson", "/learn/columns?COLUMNS=32&ANSWER=32", "#learn-0-figure .cartesianlayer", height=860),
    Shot("editor", "/editor", ".cm-content", width=1440),
    Shot("korean", "/kernel?file=square&kernel=set_row_read_col&lang=ko", "#tile svg", height=760),
    Shot("chinese", "/learn/columns?COLUMNS=32&ANSWER=32&lang=zh-Hans", "#learn-0-figure .cartesianlayer", height=760),
)

_TRANSPOSE = ("square.smem.npz", "--kernel", "set_row_read_col")
FIGURES = {
    "stage.gif": (*_TRANSPOSE, "--figure", "stage"),
    "tile.svg": (*_TRANSPOSE, "--figure", "tile", "--background", "--width", "17"),
}


def main(names: list[str]) -> int:
    """Make the pictures that are named, or all."""
    DOCS.mkdir(exist_ok=True)
    with served() as address, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for shot in SHOTS:
            if names and shot.name not in names:
                continue
            page = chromium.new_page(
                viewport={"width": shot.width, "height": shot.height},
                color_scheme="light",
                reduced_motion="reduce",
                locale="en-US",
            )
            page.goto(address + shot.url)
            kept = save(shot.name, taken(page, shot))
            print(f"{kept.relative_to(DOCS.parent)}: {kept.stat().st_size / 1024:.0f} KiB")
            page.close()
    for name, arguments in FIGURES.items():
        if not names or Path(name).stem in names:
            recording = str(kernels_dir() / "recordings" / "h200" / arguments[0])
            code = smemviz(["export", recording, *arguments[1:], "-o", str(DOCS / name), "--force"])
            if code:
                return code
    return 0


@contextmanager
def served() -> Iterator[str]:
    """Serve the gallery on a free port."""
    web = make_server("127.0.0.1", 0, create_app().server, threaded=True)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{web.server_port}"
    web.shutdown()


def taken(page: Page, shot: Shot) -> bytes:
    """Wait until a page shows what is awaited, and take its picture."""
    page.locator(shot.awaited).first.wait_for(timeout=60_000)
    if shot.before:
        page.get_by_role("button", name=shot.before).first.click()
    page.wait_for_load_state("networkidle")
    page.evaluate("document.fonts.ready")
    page.wait_for_timeout(2500)  # figures are drawn after their data has come
    if not shot.first:
        return page.screenshot()
    start, end = (page.locator(one).bounding_box() for one in (shot.first, shot.last))
    assert start is not None
    assert end is not None
    clip = {"x": start["x"], "y": start["y"], "width": start["width"], "height": end["y"] + end["height"] - start["y"]}
    return page.screenshot(full_page=True, clip=clip)  # type: ignore[arg-type]


def save(name: str, png: bytes) -> Path:
    """Write a picture as small as it gets without losing any of it."""
    path = DOCS / f"{name}.png"
    Image.open(io.BytesIO(png)).convert("RGB").save(path, optimize=True)
    return path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
