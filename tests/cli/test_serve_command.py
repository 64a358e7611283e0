"""``smemviz serve``: several processes at one port, as whoever runs it sees them."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from helpers.servers import LONGEST, free_port

from smemviz.cli import main as cli

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no processes that share a port")


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start a server on a free port; yields its process and the port."""
    command = [sys.executable, "-m", "smemviz", "serve", "--port", str(free_port()), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r":(\d+)", process.stdout.readline())
        assert found is not None
        try:
            yield process, int(found[1])
        finally:
            process.terminate()
            process.communicate(timeout=LONGEST)


def get(port: int, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
    connection.request("GET", path)
    with closing(connection):
        answer = connection.getresponse()
        return answer.status, answer.read()


def children(process: int) -> set[int]:
    return set(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_that_is_killed_is_replaced_while_the_others_answer() -> None:
    with serving("--workers", "2", "--no-editor") as (process, port):
        first = children(process.pid)
        assert len(first) == 2
        os.kill(min(first), signal.SIGKILL)
        assert [get(port, "/")[0] for _ in range(4)] == [200] * 4
        end = time.monotonic() + LONGEST
        while len(children(process.pid) - first) < 1 and time.monotonic() < end:
            time.sleep(0.1)
        now = children(process.pid)
        assert max(first) in now
        assert min(first) not in now
        assert len(now) == 2


def test_it_ends_when_it_is_told_to_and_leaves_a_line_for_each_request() -> None:
    with serving("--workers", "1", "--no-editor") as (process, port):
        assert get(port, "/healthz") == (200, b"ok\n")
        assert get(port, "/assets/base.js?x=1")[0] == 200
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=LONGEST)
    assert process.returncode == 0
    (line,) = [json.loads(text) for text in out.splitlines() if text.startswith("{")]
    assert (line["path"], line["status"], line["visitor"]) == ("/assets/base.js", 200, "127.0.0.1")
    assert err == (
        "smemviz: 127.0.0.1 can be opened to other machines by a proxy; the gallery is served, every run within the "
        "editor's limits. Nothing is measured, no revision read\n"
    )


def test_without_waitress_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("smemviz.cli.verbs.serve.find_spec", lambda name: None)
    assert cli.main(["serve"]) == 3
    assert capsys.readouterr().err == "smemviz: smemviz serve needs Waitress; pip install 'smemviz[serve]'\n"


def test_a_port_that_is_taken_and_files_that_are_none_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert cli.main(["serve", "--port", str(port)]) == 2
    assert capsys.readouterr().err == f"smemviz: port {port} on 127.0.0.1 is taken; choose another with --port\n"
    assert cli.main(["serve", "no-such-file.py"]) == 2
    assert capsys.readouterr().err.startswith("smemviz: no-such-file.py: ")
    assert cli.main(["serve", "--port", "0", "--prefix", "a b"]) == 2
    assert "is no path to serve under" in capsys.readouterr().err
