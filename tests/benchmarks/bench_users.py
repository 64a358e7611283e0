"""How long a class waits that steps and turns knobs for minutes, on ``smemviz serve`` with two processes and two cores.

``python tests/benchmarks/bench_users.py [--users 100] [--minutes 10]`` prints percentiles in milliseconds, from the
first byte sent to the last received, then errors and memory. A visitor acts once a second, and every fifth time turns a
knob, for which a kernel runs where nobody turned it so before. A step asks what a browser asks: for the pictures, then
for what follows them. Beside it 20 visitors run a text of their own in the editor, all at once. The peer, in the same
run and on the same server: a bare Dash app with one figure, the cells and hover texts of the tile, which each step
draws anew. It exits 1 after an error. Needs Linux.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from smemviz.app.library import Library
from smemviz.app.pages.kernel.look_view import view_look
from smemviz.paths import gallery

KERNELS = (
    "set_row_read_row",
    "set_col_read_col",
    "set_row_read_col",
    "set_row_read_col_dyn",
    "set_row_read_col_pad",
    "set_row_read_col_dyn_pad",
)
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
KNOB_EVERY = 5
EDITORS = 20
PACE = 1.0  # seconds between two actions of a visitor

Post = Callable[[str], bytes]


@dataclass(frozen=True)
class Action:
    """Something that a visitor does: what is asked first, until the picture is there, and what is asked then."""

    what: str
    first: str
    then: tuple[str, ...] = ()


@dataclass
class Waited:
    """Seconds that actions took, by what they were, and requests and errors."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    requests: int = 0
    errors: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)  # bytes of the server, every five seconds

    def percentile(self, what: str, percent: int) -> float:
        """Return a percentile in milliseconds."""
        return 1000 * statistics.quantiles(self.seconds[what], n=100, method="inclusive")[percent - 1]


@dataclass(frozen=True)
class Server:
    """A server that is running."""

    host: str
    port: int
    process: int

    def processes(self) -> list[int]:
        """Return it and what it started."""
        found, waiting = [], [self.process]
        while waiting:
            found.append(waiting.pop())
            try:
                children = Path(f"/proc/{found[-1]}/task/{found[-1]}/children").read_text("ascii")
            except OSError:  # it has just ended
                continue
            waiting += map(int, children.split())
        return found

    def memory(self) -> int:
        """Return the bytes that its processes hold."""
        return sum(_resident(process) for process in self.processes())


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@contextmanager
def serving(command: Sequence[str]) -> Iterator[Server]:
    """Start a server."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        found = re.search(r"http://([\d.]+):(\d+)", process.stdout.readline())
        assert found is not None
        yield Server(found[1], int(found[2]), process.pid)
        process.terminate()


def callbacks(server: Server) -> dict[str, dict[str, Any]]:
    """Return what the server can be asked for: dependencies by their output."""
    with closing(http.client.HTTPConnection(server.host, server.port)) as connection:
        connection.request("GET", "/_dash-dependencies")
        return {one["output"]: one for one in json.loads(connection.getresponse().read())}


def body(callback: dict[str, Any], values: dict[str, Any], changed: str) -> str:
    """Write what a browser sends to have a callback answered; ``values`` by the id of a store."""

    def filled(of: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [one | ({"value": values[one["id"]]} if one["id"] in values else {}) for one in of]

    outputs = [
        dict(zip(("id", "property"), one.split("@")[0].rsplit(".", 1), strict=True))
        for one in callback["output"].strip(".").split("...")
    ]
    return json.dumps(
        {
            "output": callback["output"],
            "outputs": outputs if callback["output"].startswith("..") else outputs[0],
            "inputs": filled(callback["inputs"]),
            "changedPropIds": [changed],
            "state": filled(callback["state"]),
        }
    )


def acting(known: dict[str, dict[str, Any]], kernel: str, order: dict[str, list[int]], first: int) -> Iterator[Action]:
    """Go through the requests of a kernel, over and over, and turn a knob now and then."""
    wanted = [next(one for name, one in known.items() if part in name) for part in ("tile.fig", "elements.fig", "why.")]
    at, pad = first, 1
    while True:
        at += 1
        knob = at % KNOB_EVERY == 0
        pad = (pad + 1) % 8 if knob else pad
        run = {"file": "square", "kernel": kernel, "IPAD": str(pad)}
        look = {name: str(values[at % len(values)]) for name, values in order.items()} | {"theme": "light"}
        values = {"run": run, "look": look, "drawn-run": run, "present": {"position": at % 96, "site": 0}}
        changes = ("run.data" if knob else "look.data", "present.data", "present.data")
        picture, *rest = (body(one, values, changed) for one, changed in zip(wanted, changes, strict=True))
        yield Action("a knob" if knob else "a step", picture, tuple(rest))


def peer_acting(known: dict[str, dict[str, Any]]) -> Iterator[Action]:
    """Have the bare app draw, over and over."""
    (callback,) = known.values()
    at = 0
    while True:
        at += 1
        yield Action("peer: one figure", body(callback, {"step": at}, "step.data"))


def together(server: Server, visitors: Sequence[Iterator[Action]], seconds: float, editors: int = 0) -> Waited:
    """Let visitors act for so long, each on a connection of its own and at a moment of its own within the second."""
    waited = Waited()
    begin = time.perf_counter() + 1.0
    end = begin + seconds
    known = callbacks(server)

    def visit(number: int, own: Iterator[Action]) -> None:
        start = begin + number / len(visitors) * PACE
        with closing(http.client.HTTPConnection(server.host, server.port, timeout=60)) as connection:
            for turn, action in enumerate(own):
                if start + turn * PACE > end:
                    return
                time.sleep(max(0.0, start + turn * PACE - time.perf_counter()))
                _act(connection, action, number, waited)

    threads = [threading.Thread(target=visit, args=one) for one in enumerate(visitors)]
    if editors:
        threads += [threading.Thread(target=write, args=(server, known, n, waited)) for n in range(editors)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        waited.memory.append(server.memory())
        for thread in threads[:1]:
            thread.join(5.0)
        if not threads[0].is_alive():
            for thread in threads:
                thread.join()
    return waited


def _act(connection: http.client.HTTPConnection, action: Action, number: int, waited: Waited) -> None:
    start = time.perf_counter()
    try:
        if b"heatmap" not in _post(connection, action.first, number, waited):
            waited.errors.append(f"{action.what}: no picture")
        waited.seconds.setdefault(action.what, []).append(time.perf_counter() - start)
        for one in action.then:
            _post(connection, one, number, waited)
    except (OSError, http.client.HTTPException) as error:
        waited.errors.append(f"{action.what}: {error!r}")
        connection.close()


def _post(connection: http.client.HTTPConnection, text: str, number: int, waited: Waited) -> bytes:
    visitor = f"10.0.{number // 250}.{number % 250 + 1}"
    headers = {"Content-Type": "application/json", "Accept-Language": "en", "X-Forwarded-For": visitor}
    connection.request("POST", "/_dash-update-component", text, headers)
    answer = connection.getresponse()
    said = answer.read()
    waited.requests += 1
    if answer.status != 200:
        waited.errors.append(f"status {answer.status}: {said[:100]!r}")
    return said


def write(server: Server, known: dict[str, dict[str, Any]], number: int, waited: Waited) -> None:
    """Run a text in the editor, as often as it takes until its turn has come."""
    callback = next(one for name, one in known.items() if "editor-answer.data" in name and "editor-printed" in name)
    asked = body(callback, {"editor-text": {"source": TEXT.format(n=number + 1), "at": 1}}, "editor-text.data")
    start = time.perf_counter()
    with closing(http.client.HTTPConnection(server.host, server.port, timeout=60)) as connection:
        while True:
            data = json.loads(_post(connection, asked, 1000 + number, waited))["response"]["editor-answer"]["data"]
            if not data.get("waiting"):
                break
            time.sleep(1.0)  # as the page does
    if not data["file"]:
        waited.errors.append(f"editor: {data['said']}")
    waited.seconds.setdefault("a run in the editor", []).append(time.perf_counter() - start)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=10.0)
    arguments = parser.parse_args()
    if os.cpu_count() != 2:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # what is started inherits it
    count, seconds = arguments.users, 60 * arguments.minutes
    columns = ("what", "times", "median ms", "95th percentile", "worst")
    table = Table(*columns, title=f"{count} visitors for {arguments.minutes:g} min, 2 processes, 2 cores")

    def rows(waited: Waited) -> None:
        for what, found in sorted(waited.seconds.items()):
            if len(found) > 1:
                numbers = (waited.percentile(what, 50), waited.percentile(what, 95), 1000 * max(found))
                table.add_row(what, f"{len(found):,}", *(f"{number:,.0f}" for number in numbers))

    order = view_look(Library(gallery()), {"file": "square"}, {})["played.data"]["block"]
    with serving(SERVE) as server:
        known = callbacks(server)
        together(server, [acting(known, KERNELS[0], order, 0)], 2)  # compiles
        visitors = [acting(known, KERNELS[i % 6], order, 24 * (i // 6) + i) for i in range(count)]
        ours = together(server, visitors, seconds, EDITORS)
    rows(ours)
    with tempfile.TemporaryDirectory() as folder:
        peer = Path(folder) / "peer.py"
        peer.write_text(PEER, encoding="utf-8")
        with serving([sys.executable, str(peer)]) as server:
            theirs = together(server, [peer_acting(callbacks(server)) for _ in range(count)], min(seconds, 60.0))
    rows(theirs)
    Console().print(table)
    minute = ours.memory[min(12, len(ours.memory) - 1)]
    print(f"{ours.requests:,} requests, {len(ours.errors)} errors; the peer {len(theirs.errors)} errors")
    print(
        f"memory after a minute {minute >> 20:,} MiB, most {max(ours.memory) >> 20:,}, last {ours.memory[-1] >> 20:,}"
    )
    for error in sorted(set(ours.errors))[:10]:
        print(error)
    return 1 if ours.errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
