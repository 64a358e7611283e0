"""The server under the dashboard, spoken to over a socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest
from helpers.servers import drip, received

from smemviz.app.server import serving
from smemviz.app.server.serving import server_on


def answer(environ: dict[str, object], respond: Callable[[str, list[tuple[str, str]]], object]) -> list[bytes]:
    """Say how much was sent."""
    body = environ["wsgi.input"].read(int(str(environ.get("CONTENT_LENGTH") or 0)))  # type: ignore[attr-defined]
    respond("200 OK", [("Content-Type", "text/plain")])
    return [f"{len(body)} bytes".encode()]


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = server_on(listening, "127.0.0.1", answer)  # type: ignore[arg-type]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield listening.getsockname()
        server.shutdown()
        thread.join()


def test_what_is_sent_is_answered_without_telling_what_answers(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello")
        head, _, body = received(connection).partition(b"\r\n\r\n")
    assert b"5 bytes" in body
    assert b"Server: smemviz\r\n" in head
    assert b"Werkzeug" not in head
    assert b"Python" not in head


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\nHost:", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhello"]
)
def test_who_does_not_finish_asking_is_hung_up_on(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], sent: bytes
) -> None:
    monkeypatch.setattr(serving, "SECONDS", 0.2)
    with socket.create_connection(address) as connection:
        connection.sendall(sent)
        assert b"bytes" not in received(connection)
    assert capfd.readouterr().err == ""


def test_who_asks_letter_by_letter_is_hung_up_on(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "SECONDS", 0.5)
    with socket.create_connection(address) as connection, pytest.raises(OSError):
        drip(connection)


@pytest.mark.filterwarnings("error")
def test_nonsense_is_answered_and_leaves_no_line_behind(
    address: tuple[str, int], capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_connection(address) as connection:
        connection.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
        assert b"400" in received(connection)
    assert capfd.readouterr().err == ""
