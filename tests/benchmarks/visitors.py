"""A server that is running, those who ask it as browsers do, and how long they wait."""

import gzip
import http.client
import json
import os
import re
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TRIES = 10  # of a page whose question got no answer

Known = dict[str, dict[str, Any]]


@dataclass
class Waited:
    """Seconds that visitors waited, by what for, and requests and errors."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    requests: int = 0
    again: int = 0  # asked once more
    errors: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)  # bytes of the server, every five seconds

    def add(self, what: str, start: float) -> None:
        self.seconds.setdefault(what, []).append(time.perf_counter() - start)

    def percentile(self, what: str, percent: int) -> float:
        return 1000 * statistics.quantiles(self.seconds[what], n=100, method="inclusive")[percent - 1]


@dataclass(frozen=True)
class Server:
    """A server that is running."""

    host: str
    port: int
    process: int

    def workers(self) -> list[int]:
        return _children(self.process)

    def memory(self) -> int:
        found, waiting = [], [self.process]
        while waiting:
            found.append(waiting.pop())
            waiting += _children(found[-1])
        return sum(map(_resident, found))


def _children(process: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            found += map(int, task.read_text("ascii").split())
        except OSError:  # it has just ended
            continue
    return found


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@contextmanager
def serving(command: Sequence[str]) -> Iterator[Server]:
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[:2])  # what is started inherits it
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONWARNINGS": "ignore"}
    )
    os.sched_setaffinity(0, cores)
    with process:
        assert process.stdout is not None
        found = re.search(r"http://([\d.]+):(\d+)", process.stdout.readline())
        assert found is not None
        yield Server(found[1], int(found[2]), process.pid)
        process.terminate()


def callbacks(server: Server) -> Known:
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


class Client:
    """Asks as a page does: on a connection that stays, and again where that is cut off or the server is busy."""

    def __init__(self, server: Server, known: Known, visitor: int, waited: Waited) -> None:
        self.known = known
        self.waited = waited
        self._connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
        address = f"10.0.{visitor // 250}.{visitor % 250 + 1}"
        self._headers = {"Content-Type": "application/json", "Accept-Language": "en", "X-Forwarded-For": address}
        self._headers["Accept-Encoding"] = "gzip"

    def close(self) -> None:
        self._connection.close()

    def ask(self, part: str, values: dict[str, Any], changed: str) -> bytes:
        """Have the callback answered that puts out ``part``."""
        callback = next(one for name, one in self.known.items() if part in name)
        return self.get("POST", "/_dash-update-component", body(callback, values, changed))

    def get(self, method: str, path: str, text: str | None = None) -> bytes:
        why = ""
        for tries in range(TRIES):
            if tries:
                self.waited.again += 1
                time.sleep(min(0.25 * 2**tries, 10.0))
            self.waited.requests += 1
            try:
                self._connection.request(method, path, text, self._headers)
                answer = self._connection.getresponse()
                said = answer.read()
                if answer.headers["Content-Encoding"] == "gzip":
                    said = gzip.decompress(said)
            except (OSError, http.client.HTTPException) as error:
                why = repr(error)
                self._connection.close()
                continue
            if answer.status == 200:
                return said
            why = f"status {answer.status}: {said[:100]!r}"
            if answer.status not in (429, 502, 503, 504):
                break
        self.waited.errors.append(f"{method} {path}: {why}")
        return b""
