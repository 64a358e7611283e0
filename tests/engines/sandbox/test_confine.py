"""What a process that runs texts cannot do, were somebody to get out of the language."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from helpers.made_kernels import SHORT

from smemviz.cli.servers import say_what_is_off
from smemviz.engines.sandbox import Supervisor, confine

pytestmark = pytest.mark.skipif(bool(confine.lacking()), reason=f"not kept from here: {', '.join(confine.lacking())}")

_TRY = """
import os, socket, subprocess, sys, threading
from smemviz.engines.sandbox.confine import confine

def attempts():
    for what in {attempts!r}:
        try:
            eval(what)
        except OSError as error:
            print(error.errno)
        else:
            print(0)

go = threading.Event()
before = threading.Thread(target=lambda: go.wait() and attempts())
before.start()
confine()
if {in_thread}:
    go.set()
    before.join()
else:
    attempts()
    os._exit(os.EX_OK if sys.stdout.flush() is None else 1)
"""
_EPERM, _EACCES = 1, 13


def tried(*attempts, in_thread=False):
    """Return the errors that a confined process gets, 0 for none; or a thread of it that was there before."""
    code = _TRY.format(attempts=attempts, in_thread=in_thread)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [int(line) for line in done.stdout.split()]


def test_no_file_is_read_but_those_of_python_and_smemviz(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    paths = [tmp_path / "mine.txt", Path("/etc/passwd"), Path("/proc/self/environ")]
    assert tried(*(f"open({str(path)!r}).read()" for path in paths), f"os.listdir({str(tmp_path)!r})") == [_EACCES] * 4
    assert tried(f"open({confine.__file__!r}).read()", "__import__('colorsys')") == [0, 0]


@pytest.mark.exhaustive
def test_what_counts_large_launches_is_loaded_all_the_same():
    assert tried("__import__('smemviz.model.counting.jit')") == [0]


def test_packages_outside_the_environment_are_read_where_they_lie(monkeypatch, tmp_path):
    """Those of a user's own folder, or where PYTHONPATH points: NumPy loads parts of itself during a run."""
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").touch()
    assert tmp_path not in confine.readable()
    monkeypatch.delitem(sys.modules, "numpy")
    monkeypatch.syspath_prepend(tmp_path)
    assert tmp_path in confine.readable()


@pytest.mark.exhaustive
def test_no_file_is_written_moved_or_made_even_beside_smemviz(tmp_path):
    own = Path(confine.__file__).with_name("new.txt")
    made = [f"open({str(own)!r}, 'w')", f"open({str(tmp_path / 'new')!r}, 'w')", f"os.mkdir({str(own)!r})"]
    assert tried(*made) == [_EACCES] * 3
    assert not own.exists()
    assert list(tmp_path.iterdir()) == []


def test_what_the_system_lacks_is_said_on_start(monkeypatch, capsys):
    monkeypatch.setattr(confine, "lacking", lambda: ("files (Landlock)", "network (seccomp)"))
    say_what_is_off("0.0.0.0", [], editor=True, with_editor=True)
    assert capsys.readouterr().err.splitlines()[1] == (
        "smemviz: this system keeps the processes of runs from no files (Landlock) and no network (seccomp); the "
        "language of texts and the limits hold all the same"
    )


@pytest.mark.parametrize("in_thread", [pytest.param(False, marks=pytest.mark.exhaustive), True])
def test_there_is_no_network_and_no_other_program(in_thread):
    attempts = (
        "socket.socket()",
        "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)",
        "socket.socket(socket.AF_UNIX)",
        "socket.socketpair()",
        "os.execv('/bin/true', ['true'])",
        "os.kill(os.getppid(), 0)",
    )
    found = tried(*attempts, in_thread=in_thread)
    assert len(found) == len(attempts)
    assert set(found) <= {_EPERM, _EACCES}


@pytest.mark.exhaustive
def test_a_text_runs_without_a_place_to_write():
    """The first run of a process looks for no folder for temporary files."""
    with closing(Supervisor()) as supervisor:
        assert supervisor.run(SHORT).printed == "stride 2\n"
