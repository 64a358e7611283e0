"""What serving says on the command line: ports, browsers, other machines, and how it ends."""

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.gallery import RECORDINGS
from helpers.servers import free_port

from smemviz import paths as resources
from smemviz.app.library import Library, Started
from smemviz.cli import main as cli
from smemviz.cli.servers import check
from smemviz.cli.settings import compiled_as, compiler_words
from smemviz.cli.verbs import dashboard
from smemviz.errors import InputError

KERNELS = resources.kernels_dir()
SQUARE, REVERSE = RECORDINGS / "square.smem.npz", RECORDINGS / "reverse.smem.npz"


SERVING = """
import sys, types, webbrowser

class PretendedApp:  # a Dash app as the server sees it: something with a WSGI application
    @staticmethod
    def server(_, respond):
        respond("200 OK", [("Content-Type", "text/plain")])
        return [b"the dashboard"]

app = types.ModuleType("smemviz.app.factory")
app.create_app = lambda paths, **options: PretendedApp()
sys.modules["smemviz.app.factory"] = app
webbrowser.open = lambda url: print("browser at", url, flush=True)
from smemviz.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@contextmanager
def serving(*arguments, before=""):
    """Serve a pretended app, after some statements; give the lines printed so far and a way to stop."""
    command = [sys.executable, "-c", before + SERVING, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield SimpleNamespace(process=process, line=process.stdout.readline)
        finally:
            process.kill()


def test_serve_takes_the_next_free_port_opens_the_page_of_a_file_named_alone_and_stops_on_ctrl_c():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with serving(str(REVERSE), "--port", str(port)) as server:
            said = server.line()
            url = said.split()[1]
            assert said == f"smemviz: {url} (Ctrl-C to stop)\n"
            address, _, query = url.removeprefix("http://127.0.0.1:").partition("/")
            assert port < int(address) < port + 100
            assert query == "kernel?file=reverse"
            assert server.line() == f"browser at {url}\n"
            with urllib.request.urlopen(url) as response:
                assert response.read() == b"the dashboard"
            server.process.send_signal(signal.SIGINT)
            out, err = server.process.communicate(timeout=60)
            assert (server.process.returncode, out, err) == (0, "", "")


def test_where_others_reach_the_server_it_says_how_a_script_is_shown(tmp_path, command):
    script = tmp_path / "train.py"
    script.write_text("from numba import cuda\n@cuda.jit\ndef kernel(a):\n    a[0] = 1\n")
    written = command(script, "--no-browser", "--host", "0.0.0.0", code=2)
    recorded = f"record it, smemviz run {script} -o train.smem.npz, and show that\n"
    assert written == ("", f"smemviz: {script}: has no main() to run; {recorded}")


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGTERM")
def test_serve_open_to_other_machines_says_what_they_may_do(tmp_path):
    for paths, served in (((), "the gallery"), ((str(KERNELS / "square.py"),), "the files named here")):
        with serving("--no-browser", "--host", "0.0.0.0", "--port", str(free_port()), *paths) as server:
            assert server.line().startswith("smemviz: http://0.0.0.0:")
            server.process.send_signal(signal.SIGINT)
            out, err = server.process.communicate(timeout=60)
            assert out == ""  # no browser was opened
            assert err == (
                f"smemviz: 0.0.0.0 is open to other machines; {served} and the editor are served, every run within the "
                "editor's limits. Nothing is measured, no revision read\n"
            )


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
def test_serve_leaves_the_editor_out_where_others_could_take_all_memory():
    elsewhere = (
        "import smemviz.engines.sandbox.sandbox_limits as limits; limits.memory_is_bounded = lambda: False; "
        "import smemviz.engines.sandbox.confine as confine; confine.lacking = lambda: ('files', 'network')"
    )
    with serving("--no-browser", "--host", "0.0.0.0", "--port", str(free_port()), before=elsewhere) as server:
        assert server.line().startswith("smemviz: http://0.0.0.0:")
        server.process.send_signal(signal.SIGINT)
        _, err = server.process.communicate(timeout=60)
        first, second = err.splitlines()
        assert first.endswith(
            "; the gallery is served, every run within the editor's limits. Nothing is measured, no revision read"
        )
        assert second == (
            "smemviz: the editor is left out, because only Linux bounds the memory of what others write in it"
        )


@pytest.mark.exhaustive
def test_serve_told_to_stop_ends_as_a_program_does():
    # Not as one that was killed: what runs when an interpreter ends still runs, such as ending a measurement.
    with serving("--no-browser", "--port", str(free_port())) as server:
        with urllib.request.urlopen(server.line().split()[1]) as response:
            assert response.read() == b"the dashboard"
        server.process.terminate()
        assert server.process.wait(timeout=60) == 143


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.py"], "none.py: no such file"),
        (["none.smem.npz"], "none.smem.npz: no such file"),
        (["--host", "192.0.2.1"], "cannot listen on 192.0.2.1: "),
        (["--host", "no such host"], "cannot listen on no such host: "),
    ],
)
def test_serve_checks_everything_before_it_loads_the_server(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for heavy in ("smemviz.app.factory", "dash"):
        monkeypatch.setitem(sys.modules, heavy, None)  # importing it fails
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("smemviz: ")
    assert err.count("\n") == 1
    assert said in err


def test_serve_says_that_no_port_is_free(command):
    with socket.create_server(("127.0.0.1", 65535)):
        written = command("--port", "65535", code=2)
    said = "smemviz: no free port on 127.0.0.1 from 65535 to 65535; choose others with --port\n"
    assert written == ("", said)


def test_serve_refuses_what_is_no_port(command):
    for port in ["65536", "-1", "http"]:
        err = command(f"--port={port}", code=2).err
        assert f"argument --port: '{port}' is not a port, a number from 0 to 65535\n" in err


def test_a_file_named_like_a_verb_can_be_served(tmp_path, monkeypatch, command):
    (tmp_path / "run").write_bytes(os.urandom(8))
    monkeypatch.chdir(tmp_path)
    command("./run", code=2)  # read as a kernel file, which it is not


PROGRAM = """\
#include <cstdio>
#ifndef N
#error N is not given
#endif
__global__ void k(float *x) { __shared__ float s[N]; s[threadIdx.x] = x[threadIdx.x]; x[threadIdx.x] = s[threadIdx.x]; }
int main(int, char **argv) { printf("%s %d\\n", argv[1], N); float *d; cudaMalloc(&d, 4 * N); k<<<1, N>>>(d); }
"""


def asked(*words):
    parser = argparse.ArgumentParser()
    dashboard.add_arguments(parser)
    return parser.parse_args(words)


@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="needs a C++ compiler")
def test_the_page_runs_a_program_with_its_options_and_arguments(tmp_path):
    path = tmp_path / "p.cu"
    path.write_text(PROGRAM)
    arguments = asked(str(path), "-D", "N=64", "-I", str(tmp_path))
    assert compiler_words(arguments) == ["-I", str(tmp_path), "-D", "N=64"]
    check(path, compiled_as(arguments))
    library = Library([path], started=Started(compiled_as(arguments), ["seven"]))
    recording = library.run(library.program("p.cu"))
    assert recording.printed == "seven 64\n"
    assert [launch.block for launch in recording.launches] == [(64, 1, 1)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("k.py", "-D", "N=64"), "-D is for CUDA C"),
        (("-std", "c++20"), "-std is for CUDA C"),
        (("k.cu", "-I", "not here"), "-I not here: there is no such folder"),
    ],
)
def test_options_of_a_compiler_want_something_to_compile(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    Path("k.py").write_text("from numba import cuda\n\n\ndef main():\n    pass\n")
    arguments = asked(*words)
    arguments.arguments = None
    with pytest.raises(InputError) as caught:
        dashboard.execute(arguments)
    assert message in str(caught.value)
