"""What smemviz show prints of a recording, as a table and as JSON."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.commands import COMMAND, ESCAPES
from helpers.gallery import RECORDINGS
from helpers.strategies import a_launch, a_recording, totals

from smemviz import paths as resources
from smemviz.cli import main as cli
from smemviz.recordings.file import load

KERNELS = resources.kernels_dir()
SQUARE, REVERSE = RECORDINGS / "square.smem.npz", RECORDINGS / "reverse.smem.npz"


def test_show_prints_the_counts_of_the_h200(command):
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


def test_show_prints_the_same_facts_as_json(command):
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


def test_show_counts_as_another_compute_capability(command):
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


def test_a_rule_that_is_assumed_is_shown_as_such(tmp_path, command):
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


def test_show_counts_in_the_8_byte_bank_mode_of_3_x(command):
    """A row of 33 ints: lane i of column c is in 8-byte word (33 i + c) // 2, and for odd c lane 31 meets lane 0."""
    wavefronts = {}
    for cc in ("3.5", "3.5-8"):
        data = command("show", SQUARE, "--json", "--cc", cc).json
        launch = next(one for one in data["launches"] if one["kernel"] == "set_row_read_col_pad")
        wavefronts[cc, data["bank_bytes"]] = [site["wavefronts"] for site in launch["sites"]]
    assert wavefronts == {("3.5", 4): [32, 32, None], ("3.5-8", 8): [32, 16 + 2 * 16, None]}


def test_show_says_what_is_missing(tmp_path, command):
    launch = a_launch(10)
    a_recording(replace(launch, totals=totals(launch, more=500)), launch).save(tmp_path / "r.smem.npz")
    assert "\n1500 requests were counted but not logged one by one\n" in command("show", tmp_path / "r.smem.npz").out
    launches = command("show", tmp_path / "r.smem.npz", "--json").json["launches"]
    assert [launch.get("missing") for launch in launches] == [1500, None]


def test_show_says_which_counts_cover_a_part_only(tmp_path, command):
    """Totals hold from 5.0 on; for an older part only logged requests can be counted."""
    launch = a_launch(10)
    a_recording(replace(launch, totals=totals(launch, more=500))).save(tmp_path / "r.smem.npz")
    out = command("show", tmp_path / "r.smem.npz", "--cc", "2.0").out
    assert "line 2, tile[ty, tx]: counts cover only the requests that were logged\n" in out
    sites = command("show", tmp_path / "r.smem.npz", "--cc", "2.0", "--json").json["launches"][0]["sites"]
    assert [site.get("complete") for site in sites] == [False, False, None]


def test_show_says_why_a_count_cannot_be_told(tmp_path, command):
    launch = a_launch(4)
    site = replace(launch.sites[0], op="atomic_add", dtype="float32", source="total[0]")
    a_recording(replace(launch, sites=(site, *launch.sites[1:]))).save(tmp_path / "r.smem.npz")
    first = command("show", tmp_path / "r.smem.npz", "--json").json["launches"][0]["sites"][0]
    assert first["wavefronts"] is None
    assert f"line 2, total[0]: {first['reason']}\n" in command("show", tmp_path / "r.smem.npz").out


def test_show_of_no_recording_is_one_line_and_exit_2(command):
    path = KERNELS / "square.py"
    out, err = command("show", path, code=2)
    assert (out, err) == ("", f"smemviz: {named(path)}: is a kernel file; record it with smemviz run\n")


def named(path):
    """Return what errors call a file: one that comes with smemviz by its place in there."""
    return str(path).partition("/smemviz/_data/")[2] or str(path)


def test_run_of_a_recording_says_what_prints_it(command):
    assert command("run", REVERSE, code=2).err == (
        f"smemviz: {named(REVERSE)}: is a recording; print it with smemviz show, or name the kernel file\n"
    )


@pytest.mark.exhaustive
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_standard_output_that_is_full_is_one_line_and_exit_2():
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
def test_show_refuses_what_is_no_compute_capability(cc, capsys):
    try:
        code = cli.main(["show", str(REVERSE), "--cc", cc])
    except SystemExit as stop:
        code = int(stop.code or 0)
    assert code == 2
    assert "compute capability" in capsys.readouterr().err


def test_nothing_that_a_recording_holds_reaches_the_terminal_as_a_command(tmp_path, capsys):
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


@pytest.mark.exhaustive
def test_letters_that_the_output_cannot_hold_are_escaped(tmp_path):
    """As on Windows, where a pipe takes the letters of one code page only."""
    launch = a_launch(4)
    site = replace(launch.sites[0], source="\uacf5\uc720[i]")
    a_recording(replace(launch, sites=(site, *launch.sites[1:]))).save(tmp_path / "r.smem.npz")
    command = [*COMMAND, "show", str(tmp_path / "r.smem.npz")]
    environment = os.environ | {"PYTHONIOENCODING": "cp1252"}
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\uacf5\uc720[i]" in done.stdout
