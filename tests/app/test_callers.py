"""Whom a dashboard answers, and the server under it, spoken to over a socket."""

import re
import socket
import threading

import pytest
from helpers.callbacks import CALLBACKS, asking_for
from helpers.servers import drip, received

from smemviz.app.factory import create_app
from smemviz.app.server import serving
from smemviz.app.server.requests import script_hash
from smemviz.app.server.serving import server_on


@pytest.fixture(scope="module")
def client():
    return create_app(editor=False).server.test_client()


# A port forwarded by ssh, an editor or a container comes with the port of the other end.
@pytest.mark.parametrize(
    "host",
    [
        "localhost", "localhost:9999", "LocalHost:80", "lab.localhost:8050", "127.0.0.1:8050", "127.1.2.3", "[::1]:1",
        "192.0.2.7:8050", "[2001:db8::1]:80",
    ],
)  # fmt: skip
def test_a_request_for_an_address_is_answered_as_no_other_site_can_have_it(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8050", "localhost.evil.example", "notlocalhost", "127.0.0.1.evil.example"]
)
@pytest.mark.parametrize("path", ["/", "/_dash-layout", "/assets/smemviz.css", "/no/such/page"])
def test_a_page_that_had_its_name_stand_for_this_machine_gets_one_line(client, host, path):
    answer = client.get(path, headers={"Host": host})
    assert (answer.status_code, answer.mimetype) == (403, "text/plain")
    assert answer.text == (
        f"smemviz does not answer to the name {host}; open it by its address or as localhost, or start "
        f"it with --allow-host {host.removesuffix(':8050')}\n"
    )


@pytest.mark.parametrize("host", ["", "[::1", "a]b", "evil.example@127.0.0.1", "127.0.0.1/evil", "127.0.0.1 x"])
def test_what_is_no_host_is_nobody(client, host):
    answer = client.get("/", headers={"Host": host})
    assert answer.status_code == 403
    assert "does not answer to the name (none);" in answer.text


@pytest.mark.parametrize(
    "origin",
    [
        *("http://evil.example", "null", "", "http://localhost:3000", "http://[bad", "http://localhost.evil.example"),
        *("file://localhost:8050", "chrome-extension://localhost:8050", "localhost:8050", "://localhost:8050"),
    ],
)
def test_what_a_page_of_another_site_sends_is_refused(client, origin):
    headers = {"Host": "localhost:8050", "Origin": origin}
    answer = client.post(CALLBACKS, headers=headers, json={})
    assert answer.status_code == 403
    assert answer.text == (
        f"smemviz takes nothing from {origin}, a page of another site; open it at http://localhost:8050/\n"
    )


@pytest.mark.parametrize("origin", [None, "http://localhost:9999", "https://localhost:9999"])
def test_what_its_own_pages_and_programs_send_is_taken(client, origin):
    headers = {"Host": "localhost:9999"} | ({} if origin is None else {"Origin": origin})
    answer = client.post(CALLBACKS, headers=headers, json=asking_for({"path": "/no-such-page"}))
    assert answer.status_code == 200
    assert "There is no such page." in answer.text


def test_it_goes_by_the_names_it_was_given_and_by_no_other_where_others_reach_it_too():
    client = create_app(editor=False, local=False, names=["Lab.example", "0.0.0.0"]).server.test_client()
    for host, status in (("lab.example:8050", 200), ("LAB.example.", 200), ("192.0.2.7", 200), ("evil.example", 403)):
        assert client.get("/", headers={"Host": host}).status_code == status, host


CSV = "/compare.csv?file=square"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])  # another port of this machine is of the same site
@pytest.mark.parametrize(
    ("path", "mode", "dest"),
    [
        (CSV, "no-cors", "image"),
        (CSV, "navigate", "document"),
        ("/", "navigate", "iframe"),
        ("/", "cors", "empty"),
        ("/_dash-layout", "navigate", "document"),
        ("/assets/smemviz.js", "no-cors", "script"),
    ],
)
def test_a_page_of_another_site_has_nothing_computed_and_embeds_nothing(client, site, path, mode, dest):
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
    answer = client.get(path, headers=headers)
    assert answer.status_code == 403
    assert answer.text == "smemviz gives this to no page of another site; open it at http://localhost/\n"


def test_a_get_with_a_foreign_origin_is_refused(client):
    assert client.get(CSV, headers={"Origin": "http://evil.example"}).status_code == 403


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_what_is_typed_or_linked_here_is_answered(client, site):
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert client.get(CSV, headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["/", "/kernel?file=square", "/learn/columns", "/lab"])
def test_a_link_on_another_site_leads_to_a_page(client, path):
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert client.get(path, headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["/", "/_dash-layout", "/assets/smemviz.js", CSV, "/_dash-component-suites/none/x.js"])
def test_every_answer_says_what_the_browser_may_do_with_it(client, path):
    with client.get(path) as answer:
        told = answer.headers
    policy = dict(part.split(" ", 1) for part in told["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"].startswith("'self' 'sha256-")
    assert "unsafe" not in policy["script-src"]
    assert (told["X-Content-Type-Options"], told["Referrer-Policy"]) == ("nosniff", "same-origin")


def test_the_scripts_in_a_page_are_those_that_may_run(client):
    page = client.get("/")
    inline = re.findall(
        r"<script(?: id=\"_dash-renderer\" type=\"application/javascript\")?>(.+?)</script>", page.text, re.S
    )
    assert len(inline) == 3
    for text in inline:
        assert script_hash(text) in page.headers["Content-Security-Policy"]


def answer(environ, respond):
    body = environ["wsgi.input"].read(int(str(environ.get("CONTENT_LENGTH") or 0)))  # type: ignore[attr-defined]
    respond("200 OK", [("Content-Type", "text/plain")])
    return [f"{len(body)} bytes".encode()]


@pytest.fixture
def address():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = server_on(listening, "127.0.0.1", answer)  # type: ignore[arg-type]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield listening.getsockname()
        server.shutdown()
        thread.join()


def test_what_is_sent_is_answered_without_telling_what_answers(address):
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
def test_who_does_not_finish_asking_is_hung_up_on(address, monkeypatch, capfd, sent):
    monkeypatch.setattr(serving, "SECONDS", 0.2)
    with socket.create_connection(address) as connection:
        connection.sendall(sent)
        assert b"bytes" not in received(connection)
    assert capfd.readouterr().err == ""


def test_who_asks_letter_by_letter_is_hung_up_on(address, monkeypatch):
    monkeypatch.setattr(serving, "SECONDS", 0.5)
    with socket.create_connection(address) as connection, pytest.raises(OSError):
        drip(connection)


@pytest.mark.filterwarnings("error")
def test_nonsense_is_answered_and_leaves_no_line_behind(address, capfd):
    with socket.create_connection(address) as connection:
        connection.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
        assert b"400" in received(connection)
    assert capfd.readouterr().err == ""
