"""Ways in which a script may end or change the process that records it: what was recorded is kept, and it is said."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.commands import COMMAND

from smemviz.recordings.file import load

SCRIPT = """
import ctypes, os, signal, sys, tempfile, time
import numpy as np
from numba import cuda

@cuda.jit
def kernel(out):
    out[cuda.threadIdx.x] = 1

def launch():
    kernel[1, 32](np.zeros(32, np.int32))

launch()
"""
_LINE = SCRIPT.count("\n") + 1  # of what follows
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no signal to one process")


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Return the path of a script to write, in the working folder."""
    monkeypatch.chdir(tmp_path)
    return Path("script.py")


def run_alone(script, *arguments):
    """Record a script in a process of its own."""
    command = [*COMMAND, "run", str(script), "--engine", "lockstep", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONFAULTHANDLER": ""})


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("os.chdir(tempfile.gettempdir())", 0),
        ("with tempfile.TemporaryDirectory() as folder:\n    os.chdir(folder)", 0),
        ("with tempfile.TemporaryDirectory() as folder:\n    os.chdir(folder)\n1 / 0", 1),
        ("def main():\n    with tempfile.TemporaryDirectory() as folder:\n        os.chdir(folder)", 0),
        ("os._exit(0)", 0),
        ("os._exit(3)", 1),
        ("import io\nsys.stdout = io.StringIO()", 0),
        ("sys.stdout = sys.stderr = None", 0),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows removes no folder that a process is in")
def test_what_was_recorded_is_saved_where_it_was_asked_for(script, command, ending, code):
    script.write_text(SCRIPT + ending)
    said = command("run", script, "-o", "r.smem.npz", "--engine", "lockstep", code=code)
    assert (said.out.splitlines()[-1].endswith("smemviz r.smem.npz"), said.err) == (True, "")
    assert len(load("r.smem.npz").launches) == 1
    assert Path.cwd() == script.resolve().parent


def test_what_cannot_be_saved_is_shown_all_the_same(script, command):
    Path("out").mkdir()
    script.write_text(f"{SCRIPT}os.rmdir('out')\n")
    said = command("run", script, "-o", "out/r.smem.npz", "--engine", "lockstep", code=2)
    assert said.err == "smemviz: out/r.smem.npz: cannot be written: No such file or directory\n"
    assert said.out.startswith("script.py: recorded by lockstep engine")


@pytest.mark.exhaustive
@pytest.mark.parametrize("ending", ["sys.stdout.close()", "os.close(1)"])
def test_a_script_may_close_what_it_prints_to(script, ending):
    script.write_text(SCRIPT + ending)
    done = run_alone(script)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("Recorded 1 launch of 1 kernel.")


@pytest.mark.parametrize(
    ("ending", "code", "line"),
    [
        ("raise KeyboardInterrupt", 130, _LINE),
        ("try:\n    raise KeyboardInterrupt\nexcept KeyboardInterrupt:\n    sys.exit(1)", 130, _LINE + 1),
        pytest.param("os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(9)", 143, _LINE, marks=needs_signals),
        pytest.param(
            "try:\n    os.kill(os.getpid(), signal.SIGTERM)\nexcept Exception:\n    pass",
            143,
            _LINE + 1,
            marks=needs_signals,
        ),
    ],
)
def test_what_was_recorded_before_a_signal_is_kept(script, command, ending, code, line):
    script.write_text(SCRIPT + ending)
    said = command("run", script, "-o", "r.smem.npz", "--engine", "lockstep", code=code)
    assert said.err == (
        f"smemviz: stopped at script.py:{line}, so this is cut short; the launch before that is recorded and saved in "
        "r.smem.npz\n"
    )
    assert said.out.splitlines()[-1] == f"script.py:{line}: stopped here; the launches after it are missing"
    recording = load("r.smem.npz")
    assert [finding.line for finding in recording.findings] == [line]
    assert len(recording.launches) == 1


@needs_signals
@pytest.mark.parametrize(("signal", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_before_any_launch_leaves_nothing(script, command, signal, code):
    script.write_text(SCRIPT.replace("launch()\n", f"os.kill(os.getpid(), signal.{signal})\n"))
    said = command("run", script, "-o", "r.smem.npz", "--engine", "lockstep", code=code)
    assert said == ("", "smemviz: stopped before it was done; nothing was saved\n")
    assert os.listdir() == [script.name]


def test_ctrl_c_ends_every_verb_that_runs_a_file(script, command):
    """None of them goes on with the part that was recorded."""
    script.write_text(f"{SCRIPT}raise KeyboardInterrupt\n")
    Path("whole.py").write_text(SCRIPT)
    said = "smemviz: stopped before it was done; nothing was saved\n"
    assert command("diff", "whole.py", script, "--engine", "lockstep", code=130) == ("", said)


def test_ctrl_c_ends_a_search_for_layouts(script, command):
    script.write_text(f"{SCRIPT}\ndef main():\n    launch()\n    raise KeyboardInterrupt\n".replace("\nlaunch()\n", ""))
    said = "smemviz: stopped before it was done; nothing was saved\n"
    assert command("suggest", script, "--engine", "lockstep", code=130) == ("", said)


@pytest.mark.exhaustive
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process can be forked here")
def test_a_process_that_a_script_forks_tells_nothing_itself(script):
    fork = "pid = os.fork()\nlaunch()\nif pid:\n    os.waitpid(pid, 0)\nprint('end', flush=True)\n"
    script.write_text(SCRIPT + fork)
    done = run_alone(script)
    assert (done.returncode, done.stderr) == (0, "")
    assert (done.stdout.count("end\n"), done.stdout.count("Recorded")) == (2, 1)
    assert "Recorded 3 launches of 1 kernel." in done.stdout


@pytest.mark.exhaustive
@needs_signals
def test_processes_of_a_script_are_terminated_as_ever(script):
    work = (
        "import multiprocessing\n"
        "process = multiprocessing.get_context('fork').Process(target=time.sleep, args=(60,))\n"
        "process.start()\nprocess.terminate()\nprocess.join()\nprint(process.exitcode)\n"
    )
    script.write_text(SCRIPT + work)
    done = run_alone(script)
    assert (done.returncode, done.stderr, done.stdout.splitlines()[0]) == (0, "", "-15")


@needs_signals
@pytest.mark.parametrize(
    ("ending", "signal", "what"),
    [
        ("ctypes.string_at(1)", "SIGSEGV", "Segmentation fault"),
        pytest.param("os.abort()", "SIGABRT", "Aborted", marks=pytest.mark.exhaustive),
    ],
)
def test_a_crash_names_its_line(script, ending, signal, what):
    import signal as signals

    script.write_text(SCRIPT + ending)
    done = run_alone(script)
    assert (done.returncode, done.stdout) == (-getattr(signals, signal), "")
    assert done.stderr == (f"smemviz: script.py:{_LINE}: the process ended here ({what}); what was recorded is lost\n")


@pytest.mark.exhaustive
@needs_signals
def test_os_exit_with_threads_that_run_on_ends_the_process(script):
    threads = "import threading\nthreading.Thread(target=time.sleep, args=(600,)).start()\nos._exit(3)\n"
    script.write_text(SCRIPT + threads)
    done = run_alone(script)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "smemviz: os._exit() with threads running; what was recorded is lost\n"
