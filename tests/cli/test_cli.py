"""What a person, a script and a shell see of the command line."""

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.commands import COMMAND, ESCAPES
from helpers.gallery import RECORDINGS
from helpers.strategies import a_recording
from rich.console import Console

from smemviz import engines, progress
from smemviz import paths as resources
from smemviz.errors import KernelFileError, MissingError
from smemviz.recordings.file import load
from smemviz.version import __version__

KERNELS = resources.kernels_dir()
REVERSE = RECORDINGS / "reverse.smem.npz"
Calls = list[tuple[object, ...]]


@pytest.fixture
def pretended_run(monkeypatch):
    """Put a recording, an error or an action in the place of the engines; return the calls they get."""

    def pretend(outcome, action=lambda: None):
        calls: Calls = []

        def run(file, constants, engine, report, **choices):
            calls.append((file, constants, engine))
            action()
            report(1, 2, "counting")
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        monkeypatch.setattr(engines, "run", run)
        return calls

    return pretend


# --- run


def test_run_hands_the_file_the_constants_and_the_engine_on(pretended_run, command):
    calls = pretended_run(replace(a_recording(), findings=()))
    err = command("run", "a.py", "--set", "IPAD=2", "--set", "DTYPE = float32", "--engine", "lockstep").err
    assert calls == [(Path("a.py"), {"IPAD": "2", "DTYPE": "float32"}, "lockstep")]
    assert err == ""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no/r.smem.npz", "there is no folder {folder}/no"),
        ("mine.py", "the result ends in .npz"),
        pytest.param(
            "pipe.npz",
            "cannot be written: it is not a regular file; name another",
            marks=pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders"),
        ),
    ],
)
def test_run_runs_nothing_and_replaces_nothing_where_it_cannot_save(name, said, pretended_run, tmp_path, command):
    calls, path = pretended_run(a_recording()), tmp_path / name
    (tmp_path / "mine.py").write_text("A = 1\n")
    if name == "pipe.npz":
        os.mkfifo(path)
    err = command("run", "a.py", "-o", path, code=2).err
    assert err == f"smemviz: {path}: {said.format(folder=tmp_path)}; nothing was run\n"
    assert (calls, (tmp_path / "mine.py").read_text()) == ([], "A = 1\n")
    assert path.is_fifo() == (name == "pipe.npz")


def found(written):
    """Return what stands before the empty line and the last line, which says what to do next."""
    before, _, last = written.rpartition("\n\n")
    assert last.startswith("Recorded ")
    return f"{before}\n"


def test_run_exits_1_and_names_what_it_found(pretended_run, command):
    pretended_run(a_recording())
    assert found(command("run", "a.py", code=1).out).endswith(
        "\nkernels/square.py:3: out of bounds in set_row_read_col, block (0, 0, 0), threads (1, 2, 0), (2, 2, 0): "
        "out[1024] of 1024\n"
    )
    assert "out of bounds in set_row_read_col" in command("run", "a.py", "--no-fail").out


TWO_CALLS = """\
import numpy as np
from numba import cuda, int32

@cuda.jit(device=True)
def get(a, i):
    return a[i]

@cuda.jit
def kernel(out):
    tile = cuda.shared.array(16, int32)
    t = cuda.threadIdx.x
    tile[t] = t
    cuda.syncthreads()
    out[t] = get(tile, t) + get(tile, 0)

def main():
    out = cuda.to_device(np.zeros(32, np.int32))
    kernel[1, 32](out)
    assert out.copy_to_host()[31] == 31, "the last is wrong"
"""


def test_run_keeps_what_it_found_when_main_is_not_content_with_the_result(tmp_path, command):
    """The cause, a store out of bounds, is what a reader needs; main()'s own check is only the consequence."""
    path = tmp_path / "short.py"
    path.write_text(TWO_CALLS, encoding="utf-8")

    out = command("run", path, "--engine", "lockstep", "-o", tmp_path / "short.smem.npz", code=1).out
    assert f"{path}:12: out of bounds in kernel, block (0, 0, 0)" in out
    assert found(out).endswith(f"{path}:19: main() ended with AssertionError: the last is wrong\n")
    kinds = [finding.kind for finding in load(tmp_path / "short.smem.npz").findings]
    assert kinds[0] == "out_of_bounds"
    assert kinds[-1] == "main_failed"


def test_a_device_function_called_from_two_places_has_a_row_for_each(tmp_path, command):
    path = tmp_path / "two.py"
    path.write_text(TWO_CALLS.replace("array(16", "array(32"), encoding="utf-8")

    lines = command("run", path, "--engine", "lockstep").out.splitlines()
    cells = [[cell.strip() for cell in line.split("│")[1:3]] for line in lines if line.startswith("│")]
    assert cells == [["12", "tile[t]"], ["14 > 6", "a[i]"], ["14 > 6", "a[i]"], ["14", "out[t]"]]
    sites = command("run", path, "--engine", "lockstep", "--json").json["launches"][0]["sites"]
    assert [(site["function"], site["calls"]) for site in sites[1:3]] == [("get", [[14, 13]]), ("get", [[14, 28]])]


def test_a_main_that_launches_nothing_is_named(tmp_path, command):
    path = tmp_path / "idle.py"
    path.write_text("from numba import cuda\n@cuda.jit\ndef k(a): pass\ndef main(): pass\n", encoding="utf-8")

    assert command("run", path, "--engine", "lockstep", code=2).err == (
        f"smemviz: {path}:4: main() launches no kernel; write kernel[grid, block](...)\n"
    )


def test_run_with_json_keeps_what_main_prints_out_of_it(pretended_run, command):
    pretended_run(a_recording(), action=lambda: print("main says hello"))
    out, err = command("run", "a.py", "--json", code=1)
    assert err == "main says hello\n"
    (finding,) = json.loads(out)["findings"]
    assert finding == {
        "kind": "out_of_bounds",
        "kernel": "set_row_read_col",
        "line": 3,
        "block": [0, 0, 0],
        "threads": [[1, 2, 0], [2, 2, 0]],
        "message": "out[1024] of 1024",
        "launch": None,
    }


def test_run_saves_what_show_shows(pretended_run, tmp_path, command):
    pretended_run(replace(a_recording(), findings=()))
    ran = command("run", "a.py", "--json", "-o", tmp_path / "r.smem.npz").out
    assert command("show", tmp_path / "r.smem.npz", "--json").out == ran


def test_a_long_run_draws_a_bar_on_a_terminal(monkeypatch):
    terminal = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda stderr: Console(file=terminal, force_terminal=stderr))
    with progress.progress_bar() as report:
        report(1, 4, "counting")
        assert terminal.getvalue() == ""  # not before anyone wonders
        monkeypatch.setattr(progress, "_WONDER_SECONDS", 0)
        report(2, 4, "counting")
    assert "counting" in terminal.getvalue()
    assert "50%" in terminal.getvalue()


# C code that goes on after an interrupt gets a SystemError from Python, caused by it.
INTERRUPTED = SystemError("<built-in method> returned a result with an exception set")
INTERRUPTED.__cause__ = KeyboardInterrupt()


def test_an_error_is_one_line_and_its_exit_code(pretended_run, command):
    """What the system refuses is not blamed on standard output."""
    stopped, refused = "stopped before it was done; nothing was saved\n", "the system refused something: "
    for error, code, said in [
        (KernelFileError("a.py", 3, "no main() here"), 2, "a.py:3: no main() here\n"),
        (MissingError("there is no GPU here"), 3, "there is no GPU here\n"),
        (KeyboardInterrupt(), 130, stopped),
        (INTERRUPTED, 130, stopped),
        (OSError("libcublas.so: cannot open shared object file"), 3, f"{refused}libcublas.so: cannot "),
        (OSError(12, "Cannot allocate memory"), 3, f"{refused}[Errno 12] Cannot allocate memory\n"),
        (MemoryError(), 3, "this machine has not enough memory for that\n"),
        (ImportError("x.so: failed to map segment"), 3, "this machine cannot load what that needs: x.so: failed to "),
        (RuntimeError("can't start new thread"), 3, "this machine gives no more threads\n"),
    ]:
        pretended_run(error)
        out, err = command("run", "a.py", code=code)
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith(f"smemviz: {said}")


def test_what_is_no_option_or_no_setting_is_exit_2(command):
    assert "unrecognized arguments: --brwser" in command("--brwser", code=2).err
    for setting in ["IPAD", "=2", "IPAD="]:
        err = command("run", "a.py", "--set", setting, code=2).err
        assert f"argument --set: '{setting}' is not NAME=VALUE" in err


@pytest.mark.parametrize("older", [False, True])
def test_ctrl_c_while_printing_says_that_the_recording_is_saved(pretended_run, tmp_path, monkeypatch, command, older):
    def interrupted(*_, **options):
        raise KeyboardInterrupt

    pretended_run(a_recording())
    monkeypatch.setattr("smemviz.reports.annotations.print_found", interrupted)
    path = tmp_path / "r.smem.npz"
    if older:
        a_recording().save(path)
    err = command("run", "a.py", "-o", path, code=130).err
    assert err == f"smemviz: stopped before it was done; {path} was saved before\n"
    assert load(path).file == a_recording().file


def test_a_fault_of_smemviz_is_one_line_that_can_be_reported(pretended_run, command, monkeypatch):
    pretended_run(ZeroDivisionError("a\nb"))
    out, err = command("run", "a.py", code=4)
    assert out == ""
    assert re.fullmatch(
        rf"smemviz: a fault of smemviz {__version__}: ZeroDivisionError in test_cli.py:\d+: a b. Please report this "
        r"line and what was run; SMEMVIZ_DEBUG=1 in the environment shows the whole traceback\n",
        err,
    )
    monkeypatch.setenv("SMEMVIZ_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        command("run", "a.py")


def test_a_verb_that_cannot_be_loaded_is_one_line(command, monkeypatch):
    """So with Ctrl-C while it is loaded."""

    def interrupted(name):
        raise KeyboardInterrupt

    monkeypatch.setattr("smemviz.cli.main.import_module", interrupted)
    assert command("show", "a.smem.npz", code=130).err == "smemviz: stopped before it was done; nothing was saved\n"


def test_an_error_keeps_what_a_path_holds_to_one_line(command):
    err = command("show", f"no{ESCAPES}\nfile.smem.npz", code=2).err
    assert err == "smemviz: no[2J]0;title]52;c;Z29uZQ==31m file.smem.npz: no such file\n"


def test_the_version_is_said(command):
    assert command("--version").out == f"smemviz {__version__}\n"


def test_help_answers_without_docstrings():
    done = subprocess.run([sys.executable, "-OO", *COMMAND[1:], "--help"], capture_output=True, text=True, check=True)
    assert re.search(r"\n  smemviz run +\n", done.stdout)


def test_run_counts_in_lockstep(command):
    """Square, row/column with IPAD = 0: the padded kernel is as bad as the plain one, 1,024 wavefronts for 32."""
    data = command("run", KERNELS / "square.py", "--set", "IPAD=0", "--engine", "lockstep", "--json").json
    assert (data["engine"], data["device"]) == ("lockstep", None)
    assert data["constants"] == {"BDIMX": 32, "BDIMY": 32, "IPAD": 0, "PITCH": 32}
    loads = [[s for s in launch["sites"] if s["op"] == "load"] for launch in data["launches"]]
    assert [[s["wavefronts"] for s in sites] for sites in loads] == [[32], [1024], [1024], [1024], [1024], [1024]]


def test_run_refuses_an_impossible_constant(command):
    for setting, said in [
        ("PAD=1", "square.py:1: there is no constant PAD; the file has: BDIMX, BDIMY, IPAD, PITCH"),
        ("IPAD=two", "IPAD is an integer (1); 'two' is not"),
    ]:
        out, err = command("run", KERNELS / "square.py", "--set", setting, "--engine", "lockstep", code=2)
        assert out == ""
        assert err.startswith("smemviz: ")
        assert err.count("\n") == 1
        assert said in err


def test_help_answers_at_once():
    """In under 0.3 s of a processor, the interpreter's own start included, once others leave it its caches."""
    for _ in range(20):
        before = os.times()
        done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True)
        after = os.times()
        seconds = after.children_user + after.children_system - before.children_user - before.children_system
        if seconds < 0.3:
            break
    assert seconds < 0.3
    assert done.stdout.startswith("usage: smemviz [-h]")
    assert re.search(r"\n  smemviz run +Run a kernel file's main\(\), or any script, and count", done.stdout)
    assert re.search(r"\n  smemviz show +Print what a recording counted", done.stdout)


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no broken pipes")
def test_a_reader_that_leaves_early_causes_no_complaint():
    for options in ([], ["--json"]):
        command = [*COMMAND, "show", REVERSE, *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 141
