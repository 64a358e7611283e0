"""How long a class waits that looks around and turns knobs, on ``smemviz serve`` with two processes on two cores.

``python tests/benchmarks/bench_users.py [--users 100] [--seconds 600]`` prints percentiles in milliseconds, from the
first byte sent to the last received, then errors and memory. Within a block a step asks the server for nothing, for
its requests are in the browser. So what a visitor does here, every two seconds, is what does ask: to step on to another
block, and every fifth time to turn a knob, every fiftieth of which nobody turned so before and a kernel runs. What is
measured is the answer that holds the picture; what a browser asks for after it, is asked, and counts as requests. At
first each opens a page, and every minute 20 visitors run a text of their own in the editor, all at once. At the end one
of the processes is killed, and who was cut off asks again, as pages do. The peer, in the same run and on the same
server: a bare Dash app with one figure, the cells and hover texts of the tile, which each step draws anew.

Where there are more than two cores the visitors have the others. It exits 1 after an error, and when one of the figures
that are promised is missed. Needs Linux.
"""

import argparse
import itertools
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from rich.console import Console
from rich.table import Table
from visitors import Client, Known, Server, Waited, callbacks, serving

# All visitors of this benchmark have one address, so what tells them apart is a header that the server believes.
SERVE = [sys.executable, "-m", "smemviz", "serve", "--port", "0", "--workers", "2", "--no-log", "--proxy", "127.0.0.1"]
PEER = """
import os, socket, sys
import numpy as np, plotly.graph_objects as go
from dash import Dash, Input, Output, dcc, html
from smemviz.app.server.production import serve_as_worker
from smemviz.app.server.workers import Workers
if len(sys.argv) == 1:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        Workers([sys.executable, __file__], 2, listening, os.environ).run(lambda: print(url, flush=True))
app = Dash()
app.layout = html.Div([dcc.Store(id="step"), dcc.Graph(id="figure")])
cells = np.arange(1024).reshape(32, 32)
@app.callback(Output("figure", "figure"), Input("step", "data"))
def draw(step):
    text = np.array([f"cell {i} of 1024, at step {step}, holds {i} from a thread" for i in range(1024)]).reshape(32, 32)
    return go.Figure(go.Heatmap(z=(cells + step) % 32, hovertext=text), {"height": 600})
app.server.test_client().get("/")
serve_as_worker(int(sys.argv[1]), app.server, proxy="", body=1 << 20)
"""
TEXT = """from numba import cuda, float32
import numpy as np

STRIDE = {n}


@cuda.jit
def strided(a):
    held = cuda.shared.array(4096, float32)
    i = cuda.threadIdx.x
    held[i * STRIDE] = a[i]


def main():
    strided[1, 32](np.zeros(32, np.float32))
"""
PACE = 2.0  # seconds between two things that a visitor does and the server is asked for
KNOB_EVERY = 5
NEW_EVERY = 50  # of the knobs, the one that nobody turned so before
EDITORS = 20
EDITORS_EVERY = 60.0  # seconds
FIRST = 10.0  # seconds in which all visitors come
LAST = 20.0  # seconds that they stay once a process was killed
PEER_SECONDS = 40.0
PROMISED = {"a step": 300, "a knob": 1000}  # milliseconds, of the 95th percentile
GROWTH = 1.1  # of memory after the first minute
PAGE = "page.children"
FOLLOWS_PAGE = ("measure-area.hidden", "suggest-panel.hidden", "warps.figure", "why.html")
FOLLOWS_STEP = ("elements.figure", "warps.figure", "why.html")
FOLLOWS_KNOB = (*FOLLOWS_STEP, "measure-area.hidden", "suggest-panel.hidden", "timing-body.children", "knobs.children")
CHANGED = {"warps.figure": "shown-block.data", "why.html": "shown-block.data", "elements.figure": "present.data"}


@dataclass(frozen=True)
class Scene:
    """What some of the visitors look at: a kernel of so many blocks, and the knob that they turn."""

    file: str
    kernel: str
    blocks: int
    knob: str
    values: Sequence[int]


SCENES = (
    Scene("transpose", "padded_tile", 6, "PITCH", range(32, 41)),
    Scene("stencil", "from_shared_memory", 4, "RADIUS", range(1, 9)),
    Scene("reduce", "halves", 4, "THREADS", (64, 128, 256)),
)
NEW = ("stencil", "from_shared_memory", "N")


class Visitor:
    """Looks at blocks of a kernel and turns a knob of it, in a browser with two connections."""

    def __init__(self, number: int, new: Iterator[int]) -> None:
        self._random = random.Random(number)
        self._number = number
        self._new = new
        self._scene = SCENES[number % len(SCENES)]
        self._run = {"file": self._scene.file, "kernel": self._scene.kernel}
        self._block = 0
        self._knobs = number

    def visit(self, server: Server, known: Known, waited: Waited, begin: float, end: float) -> None:
        one, other = (Client(server, known, self._number, waited) for _ in range(2))
        with closing(one), closing(other):
            for turn in itertools.count():
                due = begin + turn * PACE
                if due > end:
                    return
                time.sleep(max(0.0, due - time.perf_counter()))
                if turn == 0:
                    self._open(one, other)
                elif (turn + self._number) % KNOB_EVERY:
                    self._step(one, other)
                else:
                    self._turn_a_knob(one, other)

    def _values(self) -> dict[str, Any]:
        site = self._number % 2  # the first of each kernel is in global memory, which is open then
        look = {"block": str(self._block), "site": str(site), "theme": "light"}
        return {
            "place": {"path": "/kernel", "file": self._run["file"]},
            "run": self._run,
            "look": look,
            "drawn-run": self._run,
            "shown-run": {"title": self._run["kernel"]},
            "present": {"position": 0, "block": self._block, "site": site},
            "shown-block": str(self._block),
            "global-open": site == 0,
            "theme": "light",
        }

    def _open(self, one: Client, other: Client) -> None:
        start = time.perf_counter()
        one.get("GET", f"/kernel?{urlencode(self._run)}")
        other.get("GET", "/_dash-layout")
        one.get("GET", "/_dash-dependencies")
        if b'"id":"played","data":{"' not in one.ask(PAGE, self._values(), "place.data"):
            one.waited.errors.append("a page: no picture")
        one.waited.add("a page", start)
        self._follow(other, FOLLOWS_PAGE)

    def _step(self, one: Client, other: Client) -> None:
        self._block = (self._block + self._random.randrange(1, self._scene.blocks)) % self._scene.blocks
        self._draw("a step", one, "look.data")
        self._follow(other, FOLLOWS_STEP)

    def _turn_a_knob(self, one: Client, other: Client) -> None:
        self._knobs += 1
        if self._knobs % NEW_EVERY:
            scene = self._scene
            file, kernel, knob, value = scene.file, scene.kernel, scene.knob, self._random.choice(scene.values)
        else:
            file, kernel, knob = NEW
            value = next(self._new)
        self._run = {"file": file, "kernel": kernel, knob: str(value)}
        self._draw("a knob", one, "run.data")
        self._follow(other, FOLLOWS_KNOB)

    def _draw(self, what: str, client: Client, changed: str) -> None:
        start = time.perf_counter()
        if b'"played":{"data":{"' not in client.ask("played.data", self._values(), changed):
            client.waited.errors.append(f"{what}: no picture of {self._run}")
        client.waited.add(what, start)

    def _follow(self, client: Client, parts: Sequence[str]) -> None:
        for part in parts:
            client.ask(part, self._values(), CHANGED.get(part, "drawn-run.data"))


def peer_visit(server: Server, known: Known, number: int, waited: Waited, begin: float, end: float) -> None:
    with closing(Client(server, known, number, waited)) as client:
        for turn in itertools.count():
            due = begin + turn * PACE
            if due > end:
                return
            time.sleep(max(0.0, due - time.perf_counter()))
            start = time.perf_counter()
            if b"heatmap" not in client.ask("figure", {"step": turn}, "step.data"):
                waited.errors.append("peer: no picture")
            waited.add("peer: one figure", start)


def write(server: Server, known: Known, number: int, waited: Waited) -> None:
    """Run a text in the editor, asking until its turn has come, as the page does."""
    values = {"run": {}, "editor-text": {"source": TEXT.format(n=number + 1), "at": str(number)}}
    start = time.perf_counter()
    with closing(Client(server, known, 1000 + number, waited)) as client:
        while True:
            text = client.ask("editor-answer.data", values, "editor-text.data")
            data = (
                json.loads(text)["response"]["editor-answer"]["data"] if text else {"file": None, "message": "nothing"}
            )
            if not data.get("waiting"):
                break
            time.sleep(1.0)
    if not data["file"]:
        waited.errors.append(f"editor: {data['message']}")
    waited.add("a run in the editor", start)


def together(threads: Sequence[threading.Thread], server: Server, waited: Waited) -> None:
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        waited.memory.append(server.memory())
        time.sleep(5.0)


def class_of(server: Server, count: int, seconds: float) -> tuple[Waited, Waited]:
    """Return what a class waited for so long, and what it did while one of two processes was killed."""
    ours, killed = Waited(), Waited()
    known = callbacks(server)
    new = itertools.count(513)
    visitors = [Visitor(number, new) for number in range(count)]

    def visits(waited: Waited, seconds: float, first: float) -> list[threading.Thread]:
        begin = time.perf_counter()
        starts = [begin + first * number / count for number in range(count)]
        pairs = zip(visitors, starts, strict=True)
        return [
            threading.Thread(target=one.visit, args=(server, known, waited, start, begin + seconds))
            for one, start in pairs
        ]

    def write_each_minute() -> None:
        end = time.perf_counter() + seconds
        time.sleep(min(EDITORS_EVERY, seconds) / 2)
        for minute in itertools.count():
            numbers = range(EDITORS * minute, EDITORS * (minute + 1))
            writing = [threading.Thread(target=write, args=(server, known, number, ours)) for number in numbers]
            for thread in writing:
                thread.start()
            for thread in writing:
                thread.join()
            time.sleep(EDITORS_EVERY)
            if time.perf_counter() + EDITORS_EVERY > end:
                return

    together([*visits(ours, seconds, FIRST), threading.Thread(target=write_each_minute)], server, ours)
    after = visits(killed, LAST, PACE)
    threading.Timer(LAST / 4, lambda: os.kill(server.workers()[0], signal.SIGKILL)).start()
    together(after, server, killed)
    return ours, killed


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=600.0)
    arguments = parser.parse_args()
    count, seconds = arguments.users, arguments.seconds
    print(f"{count} visitors for {seconds:g} s, one thing every {PACE:g} s, 2 processes, 2 cores")
    with serving(SERVE) as server:
        ours, killed = class_of(server, count, seconds)
    show(ours)
    print(f"{ours.requests:,} requests, {ours.again} asked again, {len(ours.errors)} errors")
    print(f"a process killed: {killed.requests:,} requests, {killed.again} asked again, {len(killed.errors)} errors")
    mebibytes = [size >> 20 for size in ours.memory]
    print("memory in MiB, every minute:", *mebibytes[::12], "most", max(mebibytes))
    second, last = mebibytes[12:24], mebibytes[-12:]
    missed = [
        f"{what}: {ours.percentile(what, 95):,.0f} ms, promised {most}"
        for what, most in PROMISED.items()
        if ours.percentile(what, 95) >= most
    ]
    if second and statistics.median(last) > GROWTH * statistics.median(second):
        missed.append("memory grows after the first minute")
    print(*missed, *sorted({*ours.errors, *killed.errors})[:10], sep="\n", flush=True)
    theirs = peer_class(count, min(seconds, PEER_SECONDS))
    show(theirs)
    print(f"the peer: {theirs.requests:,} requests, {len(theirs.errors)} errors")
    return 1 if missed or ours.errors or killed.errors or theirs.errors else 0


def peer_class(count: int, seconds: float) -> Waited:
    waited = Waited()
    with tempfile.TemporaryDirectory() as folder:
        peer = Path(folder) / "peer.py"
        peer.write_text(PEER, encoding="utf-8")
        with serving([sys.executable, str(peer)]) as server:
            known, begin = callbacks(server), time.perf_counter()
            visits = [
                threading.Thread(
                    target=peer_visit,
                    args=(server, known, number, waited, begin + PACE * number / count, begin + seconds),
                )
                for number in range(count)
            ]
            together(visits, server, waited)
    return waited


def show(waited: Waited) -> None:
    table = Table("what", "times", "median ms", "95th percentile", "worst")
    for what, found in sorted(waited.seconds.items()):
        if len(found) > 1:
            numbers = (waited.percentile(what, 50), waited.percentile(what, 95), 1000 * max(found))
            table.add_row(what, f"{len(found):,}", *(f"{number:,.0f}" for number in numbers))
    Console(width=100).print(table)


if __name__ == "__main__":
    raise SystemExit(main())
