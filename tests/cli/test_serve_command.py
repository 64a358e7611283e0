"""``smemviz serve``: several processes at one port, as whoever runs it sees them."""

import http.client
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from contextlib import closing

import pytest
from helpers.commands import COMMAND
from helpers.servers import LONGEST, alive, children, free_port, serving, until

from smemviz.paths import installing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no processes that share a port")


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
    connection.request("GET", path)
    with closing(connection):
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_that_is_killed_is_replaced_while_the_others_answer():
    with serving("--workers", "2", "--no-editor") as (process, port):
        first = children(process.pid)
        assert len(first) == 2
        os.kill(min(first), signal.SIGKILL)
        assert [get(port, "/")[0] for _ in range(4)] == [200] * 4
        until(lambda: children(process.pid) - first)
        now = children(process.pid)
        assert max(first) in now
        assert min(first) not in now
        assert len(now) == 2


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_processes_end_with_the_one_that_started_them():
    with serving("--workers", "1", "--no-editor") as (process, port):
        (first,) = children(process.pid)
        os.kill(first, signal.SIGKILL)
        until(lambda: children(process.pid) - {first})
        (second,) = children(process.pid)
        assert get(port, "/assets/base.js")[0] == 200  # it says that it is ready before it answers
        process.kill()
        until(lambda: not alive(second))


def test_it_ends_when_it_is_told_to_and_leaves_a_line_for_each_request():
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


def test_without_waitress_one_line_says_what_to_install(monkeypatch, command):
    monkeypatch.setattr("smemviz.cli.verbs.serve.find_spec", lambda name: None)
    assert command("serve", code=3).err == f"smemviz: smemviz serve needs Waitress: {installing('serve')}\n"


def test_a_port_that_is_taken_and_files_that_are_none_are_refused(command):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        err = command("serve", "--port", port, code=2).err
    assert err == f"smemviz: port {port} on 127.0.0.1 is taken; choose another with --port\n"
    assert command("serve", "no-such-file.py", code=2).err.startswith("smemviz: no-such-file.py: ")
    assert "is not a path to serve under" in command("serve", "--port", "0", "--prefix", "a b", code=2).err


def alone(*arguments, before=""):
    """Run ``smemviz serve`` in a shell that did something before, until it ends by itself."""
    command = shlex.join([*COMMAND, "serve", "--port", str(free_port()), "--workers", "2", *arguments])
    return subprocess.run(["sh", "-c", f"{before}exec {command}"], capture_output=True, text=True, timeout=LONGEST)


@pytest.mark.exhaustive
def test_without_room_for_temporary_files_nothing_is_started():
    done = alone(before="ulimit -f 1; ")
    said = done.stderr.splitlines()[-1]
    assert (done.returncode, done.stdout) == (3, "")
    assert re.fullmatch(r"smemviz: /.*/turns: cannot be written \(.*\); let TMPDIR name a folder with room", said)
    assert "Traceback" not in done.stderr


@pytest.mark.exhaustive
def test_a_process_that_cannot_start_ends_the_server(tmp_path):
    """However long that takes: it would not start the next time either."""
    (tmp_path / "waitress.py").write_text("raise ImportError('broken')\n")
    done = alone(before=f"PYTHONPATH={shlex.quote(str(tmp_path))} ")
    lines = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (3, "")
    assert lines[-1] == "smemviz: a process of the server ended before it was ready; its output is above"
    assert lines[-2] == "smemviz: this machine cannot load what that needs: broken"
    assert "Traceback" not in done.stderr
