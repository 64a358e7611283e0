"""What a person, a script and a shell see of the command line."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.commands import Command
from helpers.gallery import RECORDINGS
from helpers.servers import free_port
from helpers.strategies import a_launch, a_recording, totals
from rich.console import Console

from smemviz import engines, progress
from smemviz import paths as resources
from smemviz.cli import main as cli
from smemviz.errors import KernelFileError, MissingError
from smemviz.recordings.file import load
from smemviz.recordings.recording import Recording
from smemviz.version import __version__

KERNELS = resources.kernels_dir()
SQUARE, REVERSE = RECORDINGS / "square.smem.npz", RECORDINGS / "reverse.smem.npz"
Calls = list[tuple[object, ...]]
Pretend = Callable[..., Calls]
COMMAND = [sys.executable, "-m", "smemviz"]


@pytest.fixture
def pretended_run(monkeypatch: pytest.MonkeyPatch) -> Pretend:
    """Put a recording, an error or an action in the place of the engines; return the calls they get."""

    def pretend(outcome: Recording | BaseException, action: Callable[[], None] = lambda: None) -> Calls:
        calls: Calls = []

        def run(
            file: Path, constants: dict[str, str], engine: str, report: Callable[..., None], **choices: object
        ) -> Recording:
            calls.append((file, constants, engine))
            action()
            report(1, 2, "counting")
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        monkeypatch.setattr(engines, "run", run)
        return calls

    return pretend


# --- show


def test_show_prints_the_counts_of_the_h200(command: Command) -> None:
    lines = command("show", REVERSE).out.splitlines()
    assert lines[0].startswith(
        "kernels/reverse.py: recorded by gpu engine on NVIDIA H200 (compute capability 9.0, driver "
    )
    assert lines[1] == "constants: N = 64"
    assert lines[2] == "counted for compute capability 9.0 with banks of 4 bytes, by measured rules"
    assert lines[4].rstrip() == "static_reverse: grid 1 x 1 x 1, block 64 x 1 x 1, 256 bytes of shared memory"
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if line.startswith("│")]
    assert cells[:4] == [
        ["19", "values[i]", "global", "load", "4", "2", "-", "-", "-", "-", "8", "4", "100 %", "0", "agrees"],
        ["19", "held[i]", "shared", "store", "4", "2", "2", "2", "0", "1", "-", "-", "-", "0", "agrees"],
        ["21", "held[N - 1 - i]", "shared", "load", "4", "2", "2", "2", "0", "1", "-", "-", "-", "0", "agrees"],
        ["21", "values[i]", "global", "store", "4", "2", "-", "-", "-", "-", "8", "4", "100 %", "0", "agrees"],
    ]


def test_show_prints_the_same_facts_as_json(command: Command) -> None:
    data = command("show", REVERSE, "--json").json
    date = load(REVERSE).date
    device = data.pop("device")
    assert device["name"] == "NVIDIA H200"
    assert device["compute_capability"] == [9, 0]
    launches = data.pop("launches")
    assert data == {
        "schema": 1,
        "engine": "gpu",
        "file": "kernels/reverse.py",
        "date": date,
        "cc": [9, 0],
        "basis": "measured",
        "bank_bytes": 4,
        "constants": {"N": 64},
        "findings": [],
        "unrecorded": 0,
    }
    assert [launch["kernel"] for launch in launches] == ["static_reverse", "dynamic_reverse"]
    assert {name: launches[1][name] for name in ("grid", "block", "dynamic_shared", "shared_bytes")} == {
        "grid": [1, 1, 1],
        "block": [64, 1, 1],
        "dynamic_shared": 256,
        "shared_bytes": 256,
    }
    assert launches[0]["sites"][1] == {
        "line": 19,
        "column": 4,
        "source": "held[i]",
        "function": "static_reverse",
        "calls": [],
        "array": "held",
        "space": "shared",
        "op": "store",
        "width": 4,
        "requests": 2,
        "wavefronts": 2,
        "ideal": 2,
        "excess": 0,
        "max_degree": 1,
        "sectors": None,
        "sectors_per_request": None,
        "bytes_used": None,
        "efficiency": None,
        "bytes_wasted": 0,
        "basis": "measured",
        "explanation": {
            "pattern": "stride of 1 word",
            "because": "Neighbouring lanes are 1 word apart: "
            "gcd(1, 32) = 1, so 32 lanes fall into 32 of 32 banks, one each.",
            "cure": None,
            "patterns": [{"kind": "stride", "levels": [[32, 4]], "spacing": 1, "requests": 2}],
            "pad": None,
            "swizzle": None,
        },
        "hardware": {"requests": 2, "wavefronts": 2, "ideal": 2, "sectors": None},
        "verdict": "agrees",
        "because": "2 requests and 2 wavefronts, as recorded",
    }
    traffic = ("sectors", "sectors_per_request", "bytes_used", "efficiency", "bytes_wasted")
    assert [launches[0]["sites"][3][name] for name in traffic] == [8, 4, 256, 1, 0]
    time = launches[0]["time"]
    assert time["net_us"] == time["median_us"] - time["floor_us"]
    assert launches[0]["sites"][3]["wavefronts"] is None


def test_show_counts_as_another_compute_capability(command: Command) -> None:
    """On 1.x a warp's 32 lanes are two half-warps with 16 banks each: twice the wavefronts (CUDA programming guide)."""
    data = command("show", REVERSE, "--json", "--cc", "1.3").json
    assert data["cc"] == [1, 3]
    assert data["launches"][0]["sites"][1]["wavefronts"] == 4
    assert data["basis"] == "documented"


DOUBLES = """import numpy as np
from numba import cuda, float64


@cuda.jit
def copy(out):
    held = cuda.shared.array(32, float64)
    held[cuda.threadIdx.x] = 1
    out[cuda.threadIdx.x] = held[cuda.threadIdx.x]


def main():
    copy[1, 32](cuda.to_device(np.zeros(32, np.float64)))
"""


def test_a_rule_that_is_assumed_is_shown_as_such(tmp_path: Path, command: Command) -> None:
    """8-byte accesses were measured on 9.0; for 8.6 no guide says how they are served."""
    path, recording = tmp_path / "doubles.py", str(tmp_path / "doubles.smem.npz")
    path.write_text(DOUBLES, encoding="utf-8")
    command("run", path, "--engine", "lockstep", "-o", recording)
    for cc, kind in (("9.0", "measured"), ("8.6", "assumed")):
        data = command("show", recording, "--json", "--cc", cc).json
        kinds = {site["space"]: site["basis"] for site in data["launches"][0]["sites"]}
        assert (data["basis"], kinds) == (kind, {"shared": kind, "global": None})
    printed = command("show", recording, "--cc", "8.6").out
    assert "counted for compute capability 8.6 with banks of 4 bytes, by rules that are partly assumed" in printed
    assert (
        "line 8, held[cuda.threadIdx.x]: its rule is assumed. "
        "As measured on compute capability 9.0; the CUDA C++ programming guide does not say."
    ) in printed


def test_show_counts_in_the_8_byte_bank_mode_of_3_x(command: Command) -> None:
    """A row of 33 ints: lane i of column c is in 8-byte word (33 i + c) // 2, and for odd c lane 31 meets lane 0."""
    wavefronts = {}
    for cc in ("3.5", "3.5-8"):
        data = command("show", SQUARE, "--json", "--cc", cc).json
        launch = next(one for one in data["launches"] if one["kernel"] == "set_row_read_col_pad")
        wavefronts[cc, data["bank_bytes"]] = [site["wavefronts"] for site in launch["sites"]]
    assert wavefronts == {("3.5", 4): [32, 32, None], ("3.5-8", 8): [32, 16 + 2 * 16, None]}


def test_show_says_what_is_missing(tmp_path: Path, command: Command) -> None:
    launch = a_launch(10)
    a_recording(replace(launch, totals=totals(launch, more=500)), launch).save(tmp_path / "r.smem.npz")
    assert "\n1500 requests were counted but not logged one by one\n" in command("show", tmp_path / "r.smem.npz").out
    launches = command("show", tmp_path / "r.smem.npz", "--json").json["launches"]
    assert [launch.get("missing") for launch in launches] == [1500, None]


def test_show_says_which_counts_cover_a_part_only(tmp_path: Path, command: Command) -> None:
    """Totals hold from 5.0 on; for an older part only logged requests can be counted."""
    launch = a_launch(10)
    a_recording(replace(launch, totals=totals(launch, more=500))).save(tmp_path / "r.smem.npz")
    out = command("show", tmp_path / "r.smem.npz", "--cc", "2.0").out
    assert "line 2, tile[ty, tx]: counts cover only the requests that were logged\n" in out
    sites = command("show", tmp_path / "r.smem.npz", "--cc", "2.0", "--json").json["launches"][0]["sites"]
    assert [site.get("complete") for site in sites] == [False, False, None]


def test_show_says_why_a_count_cannot_be_told(tmp_path: Path, command: Command) -> None:
    launch = a_launch(4)
    site = replace(launch.sites[0], op="atomic_add", dtype="float32", source="total[0]")
    a_recording(replace(launch, sites=(site, *launch.sites[1:]))).save(tmp_path / "r.smem.npz")
    first = command("show", tmp_path / "r.smem.npz", "--json").json["launches"][0]["sites"][0]
    assert first["wavefronts"] is None
    assert f"line 2, total[0]: {first['reason']}\n" in command("show", tmp_path / "r.smem.npz").out


def test_show_of_no_recording_is_one_line_and_exit_2(command: Command) -> None:
    path = KERNELS / "square.py"
    out, err = command("show", path, code=2)
    assert (out, err) == ("", f"smemviz: {named(path)}: is a kernel file; record it with smemviz run\n")


def named(path: Path) -> str:
    """Return what errors call a file: one that comes with smemviz by its place in there."""
    return str(path).partition("/smemviz/_data/")[2] or str(path)


def test_run_of_a_recording_says_what_prints_it(command: Command) -> None:
    assert command("run", REVERSE, code=2).err == (
        f"smemviz: {named(REVERSE)}: is a recording; print it with smemviz show, or name the kernel file\n"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_standard_output_that_is_full_is_one_line_and_exit_2() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "smemviz", "show", REVERSE],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        2,
        "smemviz: standard output cannot be written: No space left on device\n",
    )


@pytest.mark.parametrize("cc", ["9", "x", "4.2", "9.0-8", "3.5-", "3.5-16"])
def test_show_refuses_what_is_no_compute_capability(cc: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = cli.main(["show", str(REVERSE), "--cc", cc])
    except SystemExit as stop:
        code = int(stop.code or 0)
    assert code == 2
    assert "compute capability" in capsys.readouterr().err


# --- run


def test_run_hands_the_file_the_constants_and_the_engine_on(pretended_run: Pretend, command: Command) -> None:
    calls = pretended_run(replace(a_recording(), findings=()))
    err = command("run", "a.py", "--set", "IPAD=2", "--set", "DTYPE = float32", "--engine", "lockstep").err
    assert calls == [(Path("a.py"), {"IPAD": "2", "DTYPE": "float32"}, "lockstep")]
    assert err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_run_refuses_a_pipe_as_output_before_it_runs(pretended_run: Pretend, tmp_path: Path, command: Command) -> None:
    calls, path = pretended_run(a_recording()), tmp_path / "pipe.npz"
    os.mkfifo(path)
    err = command("run", "a.py", "-o", path, code=2).err
    said = "cannot be written: it is no regular file; name another; nothing was run"
    assert err == f"smemviz: {path}: {said}\n"
    assert calls == []
    assert path.is_fifo()


@pytest.mark.parametrize("setting", ["IPAD", "=2", "IPAD="])
def test_run_refuses_what_is_no_setting(setting: str, command: Command) -> None:
    assert f"argument --set: '{setting}' is not NAME=VALUE" in command("run", "a.py", "--set", setting, code=2).err


def found(written: str) -> str:
    """Return what stands before the empty line and the last line, which says what to do next."""
    before, _, last = written.rpartition("\n\n")
    assert last.startswith("Recorded ")
    return f"{before}\n"


def test_run_exits_1_and_names_what_it_found(pretended_run: Pretend, command: Command) -> None:
    pretended_run(a_recording())
    assert found(command("run", "a.py", code=1).out).endswith(
        "\nkernels/square.py:3: out of bounds in set_row_read_col, block (0, 0, 0), threads (1, 2, 0), (2, 2, 0): "
        "out[1024] of 1024\n"
    )


def test_run_exits_0_in_spite_of_what_it_found_when_asked_to(pretended_run: Pretend, command: Command) -> None:
    pretended_run(a_recording())
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


def test_run_keeps_what_it_found_when_main_is_not_content_with_the_result(tmp_path: Path, command: Command) -> None:
    """The cause, a store out of bounds, is what a reader needs; main()'s own check is only the consequence."""
    path = tmp_path / "short.py"
    path.write_text(TWO_CALLS, encoding="utf-8")

    out = command("run", path, "--engine", "lockstep", "-o", tmp_path / "short.smem.npz", code=1).out
    assert f"{path}:12: out of bounds in kernel, block (0, 0, 0)" in out
    assert found(out).endswith(f"{path}:19: main() ended with AssertionError: the last is wrong\n")
    kinds = [finding.kind for finding in load(tmp_path / "short.smem.npz").findings]
    assert kinds[0] == "out_of_bounds"
    assert kinds[-1] == "main_failed"


def test_a_device_function_called_from_two_places_has_a_row_for_each(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "two.py"
    path.write_text(TWO_CALLS.replace("array(16", "array(32"), encoding="utf-8")

    lines = command("run", path, "--engine", "lockstep").out.splitlines()
    cells = [[cell.strip() for cell in line.split("│")[1:3]] for line in lines if line.startswith("│")]
    assert cells == [["12", "tile[t]"], ["14 > 6", "a[i]"], ["14 > 6", "a[i]"], ["14", "out[t]"]]
    sites = command("run", path, "--engine", "lockstep", "--json").json["launches"][0]["sites"]
    assert [(site["function"], site["calls"]) for site in sites[1:3]] == [("get", [[14, 13]]), ("get", [[14, 28]])]


def test_a_main_that_launches_nothing_is_named(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "idle.py"
    path.write_text("from numba import cuda\n@cuda.jit\ndef k(a): pass\ndef main(): pass\n", encoding="utf-8")

    assert command("run", path, "--engine", "lockstep", code=2).err == (
        f"smemviz: {path}:4: main() launches no kernel; write kernel[grid, block](...)\n"
    )


def test_run_with_json_keeps_what_main_prints_out_of_it(pretended_run: Pretend, command: Command) -> None:
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


def test_run_saves_what_show_shows(pretended_run: Pretend, tmp_path: Path, command: Command) -> None:
    pretended_run(replace(a_recording(), findings=()))
    ran = command("run", "a.py", "--json", "-o", tmp_path / "r.smem.npz").out
    assert command("show", tmp_path / "r.smem.npz", "--json").out == ran


def test_run_runs_nothing_when_there_is_nowhere_to_save(
    pretended_run: Pretend, tmp_path: Path, command: Command
) -> None:
    calls = pretended_run(a_recording())
    err = command("run", "a.py", "-o", tmp_path / "no" / "r.smem.npz", code=2).err
    assert f"there is no folder {tmp_path / 'no'}; nothing was run" in err
    assert calls == []


def test_run_replaces_no_file_that_is_not_named_as_a_recording(
    pretended_run: Pretend, tmp_path: Path, command: Command
) -> None:
    calls = pretended_run(a_recording())
    kernels = tmp_path / "mine.py"
    kernels.write_text("A = 1\n")
    err = command("run", "a.py", "-o", kernels, code=2).err
    assert err == f"smemviz: {kernels}: the result ends in .npz; nothing was run\n"
    assert (calls, kernels.read_text()) == ([], "A = 1\n")


def test_a_long_run_draws_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda stderr: Console(file=terminal, force_terminal=stderr))
    with progress.progress_bar() as report:
        report(1, 4, "counting")
        assert terminal.getvalue() == ""  # not before anyone wonders
        monkeypatch.setattr(progress, "_WONDER_SECONDS", 0)
        report(2, 4, "counting")
    assert "counting" in terminal.getvalue()
    assert "50%" in terminal.getvalue()


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KernelFileError("a.py", 3, "no main() here"), 2, "smemviz: a.py:3: no main() here\n"),
        (MissingError("there is no GPU here"), 3, "smemviz: there is no GPU here\n"),
        (KeyboardInterrupt(), 130, "smemviz: stopped before it was done; nothing was saved\n"),
    ],
)
def test_an_error_is_one_line_and_its_exit_code(
    pretended_run: Pretend,
    command: Command,
    error: BaseException,
    code: int,
    said: str,
) -> None:
    pretended_run(error)
    assert command("run", "a.py", code=code) == ("", said)


def test_ctrl_c_inside_of_an_extension_is_ctrl_c(pretended_run: Pretend, command: Command) -> None:
    """C code that goes on after an interrupt gets a SystemError from Python, caused by it."""
    error = SystemError("<built-in method> returned a result with an exception set")
    error.__cause__ = KeyboardInterrupt()
    pretended_run(error)
    assert command("run", "a.py", code=130).err == "smemviz: stopped before it was done; nothing was saved\n"


@pytest.mark.parametrize("older", [False, True])
def test_ctrl_c_while_printing_says_that_the_recording_is_saved(
    pretended_run: Pretend,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: Command,
    older: bool,
) -> None:
    def interrupted(*_: object, **options: object) -> None:
        raise KeyboardInterrupt

    pretended_run(a_recording())
    monkeypatch.setattr("smemviz.reports.recording.print_recording", interrupted)
    path = tmp_path / "r.smem.npz"
    if older:
        a_recording().save(path)
    err = command("run", "a.py", "-o", path, code=130).err
    assert err == f"smemviz: stopped before it was done; {path} was saved before\n"
    assert load(path).file == a_recording().file


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            OSError("libcublas.so: cannot open shared object file"),
            "the system refused something: libcublas.so: cannot ",
        ),
        (OSError(12, "Cannot allocate memory"), "the system refused something: [Errno 12] Cannot allocate memory\n"),
        (MemoryError(), "this machine has not enough memory for that\n"),
    ],
)
def test_what_the_system_refuses_is_not_blamed_on_standard_output(
    pretended_run: Pretend, command: Command, error: BaseException, said: str
) -> None:
    pretended_run(error)
    out, err = command("run", "a.py", code=3)
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"smemviz: {said}")


ESCAPES = "\x1b[2J\x1b]0;title\x07\x1b]52;c;Z29uZQ==\x07\x9b31m\x7f\r"


def test_nothing_that_a_recording_holds_reaches_the_terminal_as_a_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launch = a_launch()
    site = replace(launch.sites[0], source=f"tile[{ESCAPES}]")
    launch = replace(launch, kernel=f"k{ESCAPES}", sites=(site, *launch.sites[1:]))
    finding = replace(a_recording().findings[0], message=f"out{ESCAPES}[1024]")
    recording = replace(a_recording(launch), constants={f"N{ESCAPES}": 3}, findings=(finding,))
    recording.save(tmp_path / "a.smem.npz")
    replace(recording, launches=(a_launch(),)).save(tmp_path / "b.smem.npz")
    said = {}
    for verb in ("show", "diff", "export", "suggest"):
        more = {"diff": [str(tmp_path / "b.smem.npz")], "export": ["-o", str(tmp_path / "r.csv")]}.get(verb, [])
        cli.main([verb, str(tmp_path / "a.smem.npz"), *more])
        said[verb] = "".join(capsys.readouterr())
        assert set(re.findall("[^ -~\n]", said[verb])) <= set("│┃━┏┓┡┩─└┘┳╇┴┬├┤┼╴╶…²◆")
    assert "tile[[2J]0;title" in said["show"]


def test_an_error_keeps_what_a_path_holds_to_one_line(command: Command) -> None:
    err = command("show", f"no{ESCAPES}\nfile.smem.npz", code=2).err
    assert err == "smemviz: no[2J]0;title]52;c;Z29uZQ==31m file.smem.npz: no such file\n"


def test_the_version_is_said(command: Command) -> None:
    assert command("--version").out == f"smemviz {__version__}\n"


def test_help_answers_without_docstrings() -> None:
    done = subprocess.run([sys.executable, "-OO", *COMMAND[1:], "--help"], capture_output=True, text=True, check=True)
    assert re.search(r"\n  smemviz run +\n", done.stdout)


def test_run_counts_in_lockstep(command: Command) -> None:
    """Square, row/column with IPAD = 0: the padded kernel is as bad as the plain one, 1,024 wavefronts for 32."""
    data = command("run", KERNELS / "square.py", "--set", "IPAD=0", "--engine", "lockstep", "--json").json
    assert (data["engine"], data["device"]) == ("lockstep", None)
    assert data["constants"] == {"BDIMX": 32, "BDIMY": 32, "IPAD": 0, "PITCH": 32}
    loads = [[s for s in launch["sites"] if s["op"] == "load"] for launch in data["launches"]]
    assert [[s["wavefronts"] for s in sites] for sites in loads] == [[32], [1024], [1024], [1024], [1024], [1024]]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("PAD=1", "square.py:1: there is no constant PAD; the file has: BDIMX, BDIMY, IPAD, PITCH"),
        ("IPAD=two", "IPAD is an integer (1); 'two' is not"),
    ],
)
def test_run_refuses_an_impossible_constant(setting: str, said: str, command: Command) -> None:
    out, err = command("run", KERNELS / "square.py", "--set", setting, "--engine", "lockstep", code=2)
    assert out == ""
    assert err.startswith("smemviz: ")
    assert err.count("\n") == 1
    assert said in err


# --- the command itself


def test_letters_that_the_output_cannot_hold_are_escaped(tmp_path: Path) -> None:
    """As on Windows, where a pipe takes the letters of one code page only."""
    launch = a_launch(4)
    site = replace(launch.sites[0], source="\uacf5\uc720[i]")
    a_recording(replace(launch, sites=(site, *launch.sites[1:]))).save(tmp_path / "r.smem.npz")
    command = [*COMMAND, "show", str(tmp_path / "r.smem.npz")]
    environment = os.environ | {"PYTHONIOENCODING": "cp1252"}
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\uacf5\uc720[i]" in done.stdout


def test_help_answers_at_once() -> None:
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


def test_an_unknown_option_is_exit_2(command: Command) -> None:
    assert "unrecognized arguments: --brwser" in command("--brwser", code=2).err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no broken pipes")
def test_a_reader_that_leaves_early_causes_no_complaint() -> None:
    for options in ([], ["--json"]):
        command = [*COMMAND, "show", REVERSE, *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 141


# --- serve


class PretendedApp:
    """A Dash app as the server sees it: something with a WSGI application."""

    @staticmethod
    def server(_: object, respond: Callable[[str, list[tuple[str, str]]], object]) -> list[bytes]:
        respond("200 OK", [("Content-Type", "text/plain")])
        return [b"the dashboard"]


SERVING = """
import sys, types
app = types.ModuleType("smemviz.app.factory")
sys.path.insert(0, {tests!r})
from cli.test_cli import PretendedApp
app.create_app = lambda paths, **options: PretendedApp()
sys.modules["smemviz.app.factory"] = app
import webbrowser
webbrowser.open = lambda url: print("browser at", url, flush=True)
from smemviz.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@contextmanager
def serving(*arguments: str, before: str = "") -> Iterator[SimpleNamespace]:
    """Serve a pretended app, after some statements; give the lines printed so far and a way to stop."""
    served = SERVING.format(tests=str(Path(__file__).parents[1]))
    code = f"{before}\n{served}"
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield SimpleNamespace(process=process, line=process.stdout.readline)
        finally:
            process.kill()


def test_serve_takes_the_next_free_port_prints_it_and_opens_the_browser() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with serving(str(KERNELS / "reverse.py"), str(REVERSE), "--port", str(port)) as server:
            said = server.line()
            url = said.split()[1]
            assert said == f"smemviz: {url} (Ctrl-C to stop)\n"
            assert port < int(url.rstrip("/").rpartition(":")[2]) < port + 100
            assert url.startswith("http://127.0.0.1:")
            assert server.line() == f"browser at {url}\n"
            with urllib.request.urlopen(url) as response:
                assert response.read() == b"the dashboard"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
def test_serve_opens_the_page_of_a_file_named_alone() -> None:
    with serving(str(REVERSE), "--port", str(free_port())) as server:
        url = server.line().split()[1]
        assert url.endswith("/kernel?file=reverse")
        assert server.line() == f"browser at {url}\n"


def test_serve_says_how_a_script_is_shown(tmp_path: Path, command: Command) -> None:
    script = tmp_path / "train.py"
    script.write_text("from numba import cuda\n@cuda.jit\ndef kernel(a):\n    a[0] = 1\n")
    written = command(script, "--no-browser", code=2)
    recorded = f"record it, smemviz run {script} -o train.smem.npz, and show that\n"
    assert written == ("", f"smemviz: {script}: has no main() to run; {recorded}")


def test_serve_opens_no_browser_when_told_and_stops_on_ctrl_c() -> None:
    with serving("--no-browser", "--port", str(free_port())) as server:
        said = server.line()
        url = said.split()[1]
        assert said == f"smemviz: {url} (Ctrl-C to stop)\n"
        with urllib.request.urlopen(url) as response:
            assert response.read() == b"the dashboard"
        server.process.send_signal(signal.SIGINT)
        out, err = server.process.communicate(timeout=60)
        assert (server.process.returncode, out, err) == (0, "", "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGTERM")
def test_serve_open_to_other_machines_says_what_they_may_do(tmp_path: Path) -> None:
    for paths, served in (((), "the gallery"), ((str(KERNELS / "square.py"),), "the files named here")):
        with serving("--no-browser", "--host", "0.0.0.0", "--port", str(free_port()), *paths) as server:
            assert server.line().startswith("smemviz: http://0.0.0.0:")
            server.process.send_signal(signal.SIGINT)
            _, err = server.process.communicate(timeout=60)
            assert err == (
                f"smemviz: 0.0.0.0 is open to other machines; {served} and the editor are served, every run within the "
                "editor's limits. Nothing is measured, no revision read\n"
            )


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
def test_serve_leaves_the_editor_out_where_others_could_take_all_memory() -> None:
    elsewhere = (
        "import smemviz.engines.sandbox.limits as limits; limits.memory_is_bounded = lambda: False; "
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


def test_serve_told_to_stop_ends_as_a_program_does() -> None:
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
def test_serve_checks_everything_before_it_loads_the_server(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for heavy in ("smemviz.app.factory", "dash"):
        monkeypatch.setitem(sys.modules, heavy, None)  # importing it fails
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("smemviz: ")
    assert err.count("\n") == 1
    assert said in err


def test_serve_says_that_no_port_is_free(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 65535)):
        written = command("--port", "65535", code=2)
    said = "smemviz: no free port on 127.0.0.1 from 65535 to 65535; choose others with --port\n"
    assert written == ("", said)


@pytest.mark.parametrize("port", ["65536", "-1", "http"])
def test_serve_refuses_what_is_no_port(port: str, command: Command) -> None:
    err = command(f"--port={port}", code=2).err
    assert f"argument --port: '{port}' is not a port, a number from 0 to 65535\n" in err


def test_a_file_named_like_a_verb_can_be_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    (tmp_path / "run").write_bytes(os.urandom(8))
    monkeypatch.chdir(tmp_path)
    command("./run", code=2)  # read as a kernel file, which it is not
