"""The server for many, spoken to over a socket, and what stands before the pages."""

import json
import re
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from helpers.callbacks import CALLBACKS, asking_for
from helpers.servers import LONGEST, drip, received, until

from smemviz.app.factory import create_server
from smemviz.app.server import production
from smemviz.app.server.production import Server
from smemviz.app.server.requests import Doorway, Shares
from smemviz.app.server.settings import Settings, visitor_of
from smemviz.errors import InputError

Start = Callable[[str, list[tuple[str, str]]], object]


LARGE = 16 << 20  # bytes, more than the buffers of a connection hold


class Slow:
    """An app that tells how much was sent to it; on ``/slow`` when it is told to go on."""

    def __init__(self):
        self.asked = threading.Event()
        self.go = threading.Event()

    def __call__(self, environ, start):
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if environ["PATH_INFO"] == "/slow":
            self.asked.set()
            assert self.go.wait(LONGEST)
        start("200 OK", [("Content-Type", "text/plain")])
        if environ["PATH_INFO"] == "/large":
            return [bytes(LARGE)]
        return [f"{len(body)} bytes from {environ['REMOTE_ADDR']} by {environ['wsgi.url_scheme']}".encode()]


Running = tuple[Server, tuple[str, int], Slow, threading.Thread]


@pytest.fixture
def running(request):
    app = Slow()
    listening = socket.create_server(("127.0.0.1", 0))
    address = listening.getsockname()
    server = Server(listening, app, body=1000, **getattr(request, "param", {}))  # type: ignore[arg-type]
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield server, address, app, thread
    app.go.set()
    server.stop()
    thread.join(LONGEST)


def asked(address, request):
    with socket.create_connection(address) as connection:
        connection.sendall(request)
        return received(connection)


POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"


def test_what_is_sent_is_answered_without_telling_what_answers(running):
    answer = asked(running[1], POST)
    assert b"5 bytes" in answer
    assert b"Server: smemviz\r\n" in answer
    assert b"aitress" not in answer


def test_clients_that_do_not_finish_take_no_thread_from_others(running):
    half = [b"GET / HTTP/1.1\r\nHost:", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhello"] * production.THREADS
    slow = [socket.create_connection(running[1]) for _ in half]
    for connection, sent in zip(slow, half, strict=True):
        connection.sendall(sent)
    assert b"5 bytes" in asked(running[1], POST)
    for connection in slow:
        connection.close()


def test_who_asks_letter_by_letter_is_hung_up_on(running, monkeypatch):
    monkeypatch.setattr(production, "SECONDS", 0.5)
    with socket.create_connection(running[1]) as connection, pytest.raises(OSError):
        drip(connection)


@pytest.mark.exhaustive
def test_who_does_not_take_an_answer_is_hung_up_on(running, monkeypatch):
    with socket.create_connection(running[1]) as connection:
        connection.sendall(POST.replace(b"POST /", b"POST /large"))
        connection.recv(1)
        monkeypatch.setattr(production, "SECONDS", 0.0)
        until(lambda: not running[0]._server.active_channels)


def test_who_takes_a_large_answer_gets_all_of_it(running):
    assert len(asked(running[1], POST.replace(b"POST /", b"POST /large"))) > LARGE


def test_nobody_takes_the_connections_of_all(running, monkeypatch):
    monkeypatch.setattr(production, "_OF_ONE", 2)
    held = [socket.create_connection(running[1]) for _ in range(2)]
    for connection in held:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n")
        time.sleep(0.02)
    with socket.create_connection(running[1]) as late:
        assert received(late) == b""
    for connection in held:
        connection.sendall(b"hi")
        assert b"200 OK" in connection.recv(1000)
        connection.close()


@pytest.mark.parametrize("running", [{"proxy": "127.0.0.1"}], indirect=True)
def test_a_proxy_has_the_connections_of_all(running, monkeypatch):
    monkeypatch.setattr(production, "_OF_ONE", 0)
    assert b"5 bytes" in asked(running[1], POST)


def test_a_visitor_is_an_address_or_the_network_that_one_may_choose_from():
    assert [visitor_of(one) for one in ("192.0.2.7", "::ffff:192.0.2.7", "nobody", "")] == [
        *["192.0.2.7"] * 2, "nobody", "",
    ]  # fmt: skip
    assert {visitor_of(f"2001:db8:1:2::{n:x}") for n in range(9)} == {"2001:db8:1:2::/64"}
    assert visitor_of("2001:db8:1:3::1") == "2001:db8:1:3::/64"


def test_who_has_many_addresses_has_one_share():
    doorway = Doorway(echo, Shares(0.25), log=False)  # type: ignore[arg-type]
    statuses = [through(doorway, visitor=f"2001:db8::{n}")[0][:3] for n in range(3)]
    assert statuses == ["200", "429", "429"]


def test_what_is_too_large_is_refused(running):
    for length, status in ((1000, b"200"), (1001, b"413")):
        head = f"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
        assert asked(running[1], head.encode() + b"x" * length).startswith(b"HTTP/1.1 " + status)


def test_an_answer_that_is_being_made_is_finished_before_the_server_ends(running):
    server, address, app, thread = running
    with socket.create_connection(address) as connection:
        connection.sendall(POST.replace(b"POST /", b"POST /slow"))
        assert app.asked.wait(LONGEST)
        server.stop()
        with pytest.raises(OSError):  # nobody listens any more
            connect_until_refused(address)
        assert thread.is_alive()
        app.go.set()
        assert b"5 bytes" in received(connection)
    thread.join(LONGEST)
    assert not thread.is_alive()


def connect_until_refused(address):
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        socket.create_connection(address).close()
        time.sleep(0.05)


FORWARDED = POST.replace(b"Host:", b"X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\nHost:")


def test_anybody_may_say_to_be_somebody_else_and_is_not_believed(running):
    assert b"from 127.0.0.1 by http" in asked(running[1], FORWARDED)


@pytest.mark.parametrize("running", [{"proxy": "127.0.0.1"}], indirect=True)
def test_the_proxy_that_was_named_is_believed(running):
    assert b"from 192.0.2.7 by https" in asked(running[1], FORWARDED)


def test_a_visitor_has_a_burst_and_then_so_many_requests_a_second():
    now = [0.0]
    shares = Shares(2, lambda: now[0])
    assert [shares.wait("a") for _ in range(8)] == [0.0] * 8  # four seconds' worth
    assert shares.wait("a") == 0.5
    assert shares.wait("b") == 0.0
    now[0] = 0.5
    assert [shares.wait("a"), shares.wait("a")] == [0.0, 0.5]
    now[0] = 1000.0
    assert [shares.wait("a") for _ in range(9)] == [*[0.0] * 8, 0.5]


def test_without_a_rate_everybody_asks_as_often_as_they_like():
    shares = Shares(0)
    assert {shares.wait("a") for _ in range(1000)} == {0.0}


def through(doorway, path="/kernel", visitor="192.0.2.7"):
    """Ask for a path; return the status, the headers and the body."""
    told: list[Any] = []
    environ = {"PATH_INFO": path, "QUERY_STRING": "IPAD=1", "REMOTE_ADDR": visitor, "REQUEST_METHOD": "GET"}
    body = b"".join(doorway(environ, lambda status, headers, *_: told.extend((status, dict(headers)))))  # type: ignore
    return told[0], told[1], body


def echo(environ, start):
    start("200 OK", [])
    return [b"page ", environ["PATH_INFO"].encode()]


def test_each_request_is_a_line_of_json_without_its_query(capsys):
    assert through(Doorway(echo, Shares(0)))[2] == b"page /kernel"  # type: ignore[arg-type]
    line = json.loads(capsys.readouterr().out)
    assert {name: line[name] for name in ("visitor", "method", "path", "status", "bytes")} == {
        "visitor": "192.0.2.7",
        "method": "GET",
        "path": "/kernel",
        "status": 200,
        "bytes": 12,
    }
    assert line["ms"] >= 0


def test_who_asks_too_often_is_told_when_to_come_back(capsys):
    doorway = Doorway(echo, Shares(0.25))  # type: ignore[arg-type]
    through(doorway)
    status, headers, body = through(doorway)
    assert (status, headers["Retry-After"]) == ("429 Too Many Requests", "4")
    assert body == b"smemviz: too many requests from here; try again in 4 s\n"
    assert [json.loads(line)["status"] for line in capsys.readouterr().out.splitlines()] == [200, 429]


def test_a_health_check_is_answered_always_and_without_a_line(capsys):
    doorway = Doorway(echo, Shares(0.001), prefix="/lab")  # type: ignore[arg-type]
    assert [through(doorway, "/healthz")[2] for _ in range(9)] == [b"ok\n"] * 9
    assert through(doorway, "/lab/healthz")[2] == b"ok\n"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("path", "seen"), [("/lab", b"/lab"), ("/lab/", b"/"), ("/lab/kernel", b"/kernel"), ("/labs", b"/labs")]
)
def test_a_prefix_is_taken_off(path, seen):
    assert through(Doorway(echo, Shares(0), log=False, prefix="/lab"), path)[2] == b"page " + seen  # type: ignore


def test_settings_are_read_from_the_environment_as_they_were_written(tmp_path):
    settings = Settings(
        (tmp_path / "a.py", tmp_path / "b c.npz"),
        ("x.example", "y"),
        "/lab",
        "10.0.0.1",
        False,
        False,
        7.5,
        3,
        2.5,
        "s",
    )
    assert Settings.read(settings.environment()) == settings
    assert Settings.read({}) == Settings()


def test_what_makes_no_sense_is_said_in_one_line():
    for variable, text in [
        ("REQUESTS", "many"),
        ("REQUESTS", "-1"),
        ("RUNS", "0"),
        ("MEMORY", "inf"),
        ("MEMORY", "nan"),
        ("PREFIX", "/a b"),
    ]:
        with pytest.raises(InputError, match=text.replace("/", ".")):
            Settings.read({f"SMEMVIZ_{variable}": text})


@pytest.mark.exhaustive
def test_below_a_prefix_every_link_and_every_script_leads_there():
    client = create_server(Settings(prefix="/lab/smem", log=False)).test_client()
    assert client.get("/lab/smem").headers["Location"] == "/lab/smem/"
    for path in ("/lab/smem/", "/"):  # as the proxy leaves it on or takes it off
        page = client.get(path).text
        links = re.findall(r'(?:href|src)="(/[^"]*)"', page)
        assert len(links) > 20
        assert [link for link in links if not link.startswith("/lab/smem/") or "smem/lab/smem" in link] == []
        shared = json.loads(re.search(r'<script type="application/json" id="names">(.*?)</script>', page)[1])  # type: ignore
        paths = [shared["editor"], shared["learn"], shared["callbacks"], *(one["path"] for one in shared["pages"])]
        assert [one for one in paths if not one.startswith("/lab/smem/")] == []
    with client.get("/lab/smem/assets/smemviz.css") as style:
        assert style.status_code == 200
    answer = client.post(f"/lab/smem{CALLBACKS}", json=asking_for({"path": "/learn", "file": None}))
    found = re.findall(r'"href": ?"(/[^"]*)"', answer.text)
    assert len(found) > 5
    assert [link for link in found if not link.startswith("/lab/smem/")] == []


def test_a_process_that_never_gave_a_page_has_its_scripts():
    server = create_server(Settings(log=False, editor=False))
    page = server.test_client().get("/").text
    scripts = re.findall(r'src="(/_dash-component-suites/[^"]+)"', page)
    assert len(scripts) > 5
    fresh = create_server(Settings(log=False, editor=False))
    setup = next(one for one in fresh.before_request_funcs[None] if one.__name__ == "_setup_server")
    fresh.before_request_funcs[None].remove(setup)  # as when another request is at it
    for script in scripts:
        with fresh.test_client().get(script) as given:
            assert given.status_code == 200, script


def test_a_server_for_others_answers_an_address_and_the_names_it_was_given_only():
    client = create_server(Settings(names=("lab.example",), log=False, editor=False)).test_client()
    hosts = {"lab.example": 200, "192.0.2.7:8050": 200, "evil.example": 403}
    assert {host: client.get("/", headers={"Host": host}).status_code for host in hosts} == hosts
    answer = client.post(CALLBACKS, json={}, headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403
