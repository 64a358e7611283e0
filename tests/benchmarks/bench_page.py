"""How long a reader waits: first paint of the gallery and a kernel page, and from a knob, a step or a link on.

``python tests/benchmarks/bench_page.py [runs]`` prints medians in milliseconds. The peer, in the same run: the same
change of IPAD seen by loading the page anew, and by running the kernel file's counterpart of one kernel in Numba's CUDA
simulator, in a fresh process as its users do. Needs Chromium.
"""

from __future__ import annotations

import logging
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.table import Table
from werkzeug.serving import make_server

import smemviz
from smemviz.app.factory import create_app
from smemviz.model.hardware.hardware import Hardware
from smemviz.paths import kernels_dir
from smemviz.reports.html.report import report_page

PADDED = "/kernel?file=square&kernel=set_row_read_col_pad"
STORED = "/kernel?file=square&kernel=set_row_read_col&site=0&warp=0&step=0"
HEADLINES = {
    "0": "32-way conflict: 1,024 wavefronts where 32 would do",
    "1": "No bank conflict: 64 wavefronts, as few as can be",
}
OTHERS = ("set_row_read_col", "set_row_read_col_pad")  # kernels to go to, the second being the one that is measured
LANES = "#tile svg text"
STEPS = """async () => {
  const times = [];
  for (let i = 0; i < 60; i++) {
    const start = performance.now();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    times.push(performance.now() - start);
  }
  return times;
}"""  # from a key to the frame that shows it
PLAY = """() => new Promise((done) => {
  const text = document.getElementById("position-text");
  const start = performance.now();
  const seen = [];
  const watch = new MutationObserver(() => {
    seen.push(text.textContent.split(" ")[0]);
    if (text.textContent.startsWith("96 of")) {
      watch.disconnect();
      done([seen.length, (performance.now() - start) / 1000]);
    }
  });
  watch.observe(text, { childList: true, characterData: true, subtree: true });
  document.getElementById("play").click();
})"""
_REST = 700  # milliseconds
LIMIT = 180_000  # milliseconds; the first who asks for the gallery waits for kernels that nobody recorded

SIMULATED = """
import runpy, sys
from numba import cuda
square = runpy.run_path(sys.argv[1])
import numpy as np
out = cuda.to_device(np.zeros(1024, np.int32))
square["set_row_read_col_pad"][1, (32, 32)](out)
"""


def milliseconds(work: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


def first_paint(browser: Browser, url: str, text: str, picture: str) -> tuple[float, float]:
    """Load a page with an empty cache; return when its text and when its picture were there."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.set_default_timeout(LIMIT)
    start = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_selector(text)
    words = time.perf_counter() - start
    page.wait_for_selector(picture, state="attached")
    both = time.perf_counter() - start
    context.close()
    return 1000 * words, 1000 * both


def turn(page: Page, value: str) -> None:
    """Type a value into IPAD and wait until headline and lanes of the tile have changed."""
    field = page.get_by_label("IPAD", exact=True)
    field.fill(value)
    field.press("Enter")
    page.wait_for_function(
        f"""() => document.querySelector('#headline').textContent === '{HEADLINES[value]}'
        && document.querySelectorAll('#tile svg .bad').length === {32 if value == "0" else 0}"""
    )


def main() -> None:
    """Measure and print."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    web = make_server("127.0.0.1", 0, create_app().server, threaded=True)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{web.server_port}"
    table = Table("what", "median ms", "95th percentile", "worst ms", title=f"{runs} runs each, {os.cpu_count()} cores")

    def row(what: str, times: list[float]) -> float:
        p95 = sorted(times)[max(round(0.95 * len(times)) - 1, 0)]
        table.add_row(what, *(f"{time:,.0f}" for time in (statistics.median(times), p95, max(times))))
        return statistics.median(times)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for what, path, text, picture in (
            ("gallery", "/", ".card", ".card .heatmaplayer image"),
            ("kernel page", PADDED, "#headline:not(:empty)", LANES),
        ):
            paints = [first_paint(browser, address + path, text, picture) for _ in range(runs)]
            row(f"{what}: first words", [words for words, _ in paints])
            row(f"{what}: picture", [both for _, both in paints])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address + PADDED)
        page.wait_for_selector(LANES)
        turn(page, "0")  # the first run also compiles
        knob = row("knob to new picture", [_rested(page, lambda v=v: turn(page, v)) for v in ("1", "0") * runs])
        row("knob, one straight after the other", [milliseconds(lambda v=v: turn(page, v)) for v in ("1", "0") * runs])
        row("step to new picture", [_rested(page, lambda: _step(page)) for _ in range(2 * runs)])
        row("page switch: to a kernel", [_rested(page, lambda k=k: _switch(page, k)) for k in OTHERS * runs])
        row("step to pixels", _steps(page, address + STORED, LANES))
        page.goto(f"{address}{STORED}&speed=12")
        page.wait_for_selector(LANES)
        page.wait_for_timeout(_REST)
        shown, seconds = page.evaluate(PLAY)
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "square.html"
            recording = smemviz.load(next(kernels_dir().glob("recordings/h200/square.smem.npz")))
            launch = recording["set_row_read_col"]
            report.write_text(report_page(recording, [(launch, 0)], Hardware.of(recording)), "utf-8")
            row("peer: step to pixels in the exported report", _steps(page, report.as_uri(), "html[data-ready]"))
        page.goto(address + PADDED)
        page.wait_for_selector(LANES)
        reload = row("peer: the page loaded anew", [milliseconds(lambda: _reload(page)) for _ in range(runs)])
        browser.close()
    command = [sys.executable, "-c", SIMULATED, str(kernels_dir() / "square.py")]
    simulator = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    simulated = row(
        "peer: one kernel in the simulator",
        [milliseconds(lambda: subprocess.run(command, env=simulator, check=True)) for _ in range(3)],
    )
    web.shutdown()
    Console().print(table)
    print(f"a block at 12/s: {shown} of 95 steps seen in {seconds:.1f} s, {shown / seconds:.1f} a second")
    print(f"knob: {reload / knob:.1f} x faster than a reload, {simulated / knob:.1f} x faster than the simulator")


def _rested(page: Page, work: Callable[[], object]) -> float:
    """Time one call on a page that has finished what was asked of it before."""
    page.wait_for_timeout(_REST)
    return milliseconds(work)


def _step(page: Page) -> None:
    before = page.locator("#position-text").inner_text()
    page.get_by_role("button", name="Next request" if "96 of" not in before else "First request").click()
    page.wait_for_function("before => document.querySelector('#position-text').textContent !== before", arg=before)


def _steps(page: Page, url: str, ready: str) -> list[float]:
    page.goto(url)
    page.wait_for_selector(ready)
    page.wait_for_timeout(_REST)
    return list(page.evaluate(STEPS))


def _switch(page: Page, kernel: str) -> None:
    """Go to another kernel of the file."""
    page.locator("#kernels").get_by_text(kernel, exact=True).click()
    page.wait_for_function("one => document.querySelector('#eyebrow').textContent.endsWith(' ' + one)", arg=kernel)


def _reload(page: Page) -> None:
    page.reload(wait_until="commit")
    page.wait_for_selector(LANES)


if __name__ == "__main__":
    main()
