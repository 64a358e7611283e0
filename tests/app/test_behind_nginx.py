"""The configuration of nginx that the documentation gives, as it stands there."""

import json
import re
import shutil
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from helpers.callbacks import CALLBACKS, asking_for
from helpers.servers import LONGEST, free_port, until

pytestmark = pytest.mark.skipif(
    not (shutil.which("nginx") and shutil.which("openssl")), reason="nginx or openssl is not installed"
)

DOCUMENT = Path(__file__).parents[2] / "docs" / "how-to" / "serve.md"
_AROUND = """daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors;
events {{}}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/1; uwsgi_temp_path {folder}/2; scgi_temp_path {folder}/3;
{site}
}}
"""


@pytest.fixture
def site(tmp_path):
    """Serve behind nginx; yields its port and the process of smemviz."""
    text = DOCUMENT.read_text(encoding="utf-8")
    given = re.search(r"```nginx\n(.*?)```", text, re.DOTALL)
    told = re.search(r"smemviz (serve --prefix .*)\n", text)
    assert given is not None
    assert told is not None
    port, inner, pem = free_port(), free_port(), tmp_path / "site.pem"
    subprocess.run(
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=lab.example -keyout {pem} -out {pem}.crt".split(),
        check=True,
        capture_output=True,
    )
    here = {"443": str(port), "/etc/ssl/lab.example.pem": f"{pem}.crt", "/etc/ssl/lab.example.key": str(pem)}
    here["127.0.0.1:8050"] = f"127.0.0.1:{inner}"
    written = given[1]
    for there, own in here.items():
        assert there in written
        written = written.replace(there, own)
    (tmp_path / "nginx.conf").write_text(_AROUND.format(folder=tmp_path, site=written))
    command = [sys.executable, "-m", "smemviz", *told[1].split(), "--port", str(inner), "--workers", "1"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as smemviz,
        subprocess.Popen(["nginx", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]) as nginx,
    ):
        try:
            assert smemviz.stdout is not None
            assert "/smemviz/ (Ctrl-C to stop)" in smemviz.stdout.readline()
            until(lambda: ask(port, "/smemviz/healthz")[0] == 200)
            yield port, smemviz
        finally:
            nginx.terminate()
            smemviz.terminate()
            smemviz.communicate(timeout=LONGEST)


def ask(port, path, body=None, **headers):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    data = None if body is None else json.dumps(body).encode()
    sent = {"Host": f"lab.example:{port}", "Content-Type": "application/json"} | headers
    request = urllib.request.Request(f"https://127.0.0.1:{port}{path}", data, sent)
    try:
        with urllib.request.urlopen(request, context=context, timeout=LONGEST) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError:
        return 0, ""


@pytest.mark.exhaustive
def test_it_is_served_below_a_path_over_tls_and_knows_who_asks(site):
    port, smemviz = site
    status, page = ask(port, "/smemviz/")
    assert status == 200
    links = re.findall(r'(?:href|src)="(/[^"]*)"', page)
    assert [link for link in links if not link.startswith("/smemviz/")] == []
    script = next(link for link in links if link.endswith(".js") or ".js?" in link)
    assert ask(port, script)[0] == 200
    asked = asking_for({"path": "/", "file": None})
    callbacks = f"/smemviz{CALLBACKS}"
    own = f"https://lab.example:{port}"
    assert "set_row_read_row" in ask(port, callbacks, asked, Origin=own)[1]
    assert ask(port, callbacks, asked, Origin="https://evil.example")[0] == 403
    assert ask(port, "/smemviz/", Host="evil.example")[0] == 403
    ask(port, "/smemviz/learn", **{"X-Forwarded-For": "203.0.113.5"})
    smemviz.terminate()
    out, _ = smemviz.communicate(timeout=LONGEST)
    lines = [json.loads(line) for line in out.splitlines()]
    assert {line["visitor"] for line in lines} == {"127.0.0.1"}  # not what somebody said of himself
    assert "/learn" in {line["path"] for line in lines}
