"""How long 20 readers wait who step at once, each once a second, on one server and two cores.

``python tests/benchmarks/bench_users.py [users] [steps]`` prints percentiles in milliseconds, from the first byte sent
to the last received. A step asks what a browser asks: for the pictures, then for what follows them. The peer, in the
same run: a bare Dash app with one figure, the cells and hover texts of the tile, which each step draws anew. What a
step costs the server's processor depends less on what else the machine does. Needs Linux.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
SERVE = [sys.executable, "-m", "smemviz", "--no-browser", "--port", "0"]
PEER = """
import sys
import numpy as np, plotly.graph_objects as go
from dash import Dash, Input, Output, dcc, html
from werkzeug.serving import make_server
app = Dash()
app.layout = html.Div([dcc.Store(id="step"), dcc.Graph(id="figure")])
cells = np.arange(1024).reshape(32, 32)
@app.callback(Output("figure", "figure"), Input("step", "data"))
def draw(step):
    text = np.array([f"cell {i} of 1024, at step {step}, holds {i} from a thread" for i in range(1024)]).reshape(32, 32)
    return go.Figure(go.Heatmap(z=(cells + step) % 32, hovertext=text), {"height": 600})
server = make_server("127.0.0.1", 0, app.server, threaded=True)
print(f"peer: http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
"""

Post = Callable[[str], bytes]
Step = Callable[[Post], float]  # takes a step and returns the seconds until its picture was there


@dataclass(frozen=True)
class Server:
    """A server that is running."""

    host: str
    port: int
    process: int

    def worked(self) -> float:
        """Return the seconds of a processor it has taken so far."""
        user, system = Path(f"/proc/{self.process}/stat").read_text("ascii").split()[13:15]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Waited:
    """Seconds that steps took, from the press to the picture, and seconds that each cost the server's processor."""

    seconds: tuple[float, ...]
    work: float

    def percentile(self, percent: int) -> float:
        """Return a percentile in milliseconds."""
        return 1000 * statistics.quantiles(self.seconds, n=100, method="inclusive")[percent - 1]


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
    connection = http.client.HTTPConnection(server.host, server.port)
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


def stepping(known: dict[str, dict[str, Any]], kernel: str, order: dict[str, list[int]], first: int) -> Iterator[Step]:
    """Go through the requests of a kernel, over and over."""
    wanted = [next(one for name, one in known.items() if part in name) for part in ("tile.fig", "elements.fig", "why.")]
    run = {"file": "square", "kernel": kernel}
    at = first
    while True:
        look = {name: str(values[at % len(values)]) for name, values in order.items()} | {"theme": "light"}
        values = {"run": run, "look": look, "drawn-run": run, "present": {"position": at % 96, "site": 0}}
        picture, *rest = (
            body(one, values, changed)
            for one, changed in zip(wanted, ("look.data", "present.data", "present.data"), strict=True)
        )

        def take(post: Post, picture: str = picture, rest: Sequence[str] = rest) -> float:
            start = time.perf_counter()
            assert b"heatmap" in post(picture)
            seconds = time.perf_counter() - start
            for one in rest:
                post(one)
            return seconds

        yield take
        at += 1


def peer_stepping(known: dict[str, dict[str, Any]], first: int) -> Iterator[Step]:
    """Have the bare app draw, over and over."""
    (callback,) = known.values()
    at = first
    while True:

        def take(post: Post, text: str = body(callback, {"step": at}, "step.data")) -> float:
            start = time.perf_counter()
            assert b"heatmap" in post(text)
            return time.perf_counter() - start

        yield take
        at += 1


def together(server: Server, users: Sequence[Iterator[Step]], steps: int, pace: float = 1.0) -> Waited:
    """Let users step, all at the same moment, ``pace`` seconds apart, each on a connection of its own."""
    seconds: list[float] = []
    ready = threading.Barrier(len(users))
    begin, before = time.perf_counter() + pace, server.worked()

    def use(own: Iterator[Step]) -> None:
        connection = http.client.HTTPConnection(server.host, server.port)

        def post(text: str) -> bytes:
            headers = {"Content-Type": "application/json", "Accept-Language": "en"}
            connection.request("POST", "/_dash-update-component", text, headers)
            answer = connection.getresponse()
            assert answer.status == 200
            return answer.read()

        ready.wait()
        for turn, step in zip(range(steps), own, strict=False):
            time.sleep(max(0.0, begin + turn * pace - time.perf_counter()))
            seconds.append(step(post))

    threads = [threading.Thread(target=use, args=(own,)) for own in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seconds) == steps * len(users)
    return Waited(tuple(seconds), (server.worked() - before) / len(seconds))


def main() -> None:
    """Measure and print."""
    count, steps = (int(text) for text in (*sys.argv[1:], "20", "20")[:2])
    if os.cpu_count() != 2:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # what is started inherits it
    columns = ("what", "median ms", "95th percentile", "worst", "processor ms a step")
    table = Table(*columns, title=f"{count} users, {steps} steps each, 2 cores")

    def row(what: str, waited: Waited) -> float:
        numbers = (waited.percentile(50), waited.percentile(95), 1000 * max(waited.seconds), 1000 * waited.work)
        table.add_row(what, *(f"{number:,.0f}" for number in numbers))
        return waited.percentile(95)

    order = view_look(Library(gallery()), {"file": "square"}, {})["played.data"]["block"]
    with serving(SERVE) as server:
        known = callbacks(server)
        together(server, [stepping(known, KERNELS[0], order, 0)], 1)  # compiles
        row("one user", together(server, [stepping(known, KERNELS[0], order, 0)], steps, 0.5))
        same = [stepping(known, KERNELS[2], order, 0) for _ in range(count)]
        ours = row("a class, all at the same step", together(server, same, steps))
        for what in ("each on a way of their own", "the same ways again"):
            own = [stepping(known, KERNELS[i % 6], order, 24 * (i // 6)) for i in range(count)]
            row(what, together(server, own, steps))
    with serving([sys.executable, "-c", PEER]) as server:
        known = callbacks(server)
        peers = [peer_stepping(known, 0) for _ in range(count)]
        theirs = row("peer: one figure, drawn anew", together(server, peers, steps))
    Console().print(table)
    print(f"a class: {theirs / ours:.1f} x faster than the bare app at the 95th percentile")


if __name__ == "__main__":
    main()
