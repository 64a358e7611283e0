"""What ``smemviz diff`` prints, and how it exits."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from helpers.strategies import a_recording

import smemviz
from smemviz.cli import main as cli
from smemviz.recordings.recording import save

KERNEL = """
import numpy as np
from numba import cuda, float32

PITCH = 33

@cuda.jit
def turn(a, out):
    tile = cuda.shared.array((32, PITCH), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[y, x]
    cuda.syncthreads()
    out[y, x] = tile[x, y]

def main():
    a = np.ones((32, 32), np.float32)
    turn[1, (32, 32)](a, a.copy())
"""
MARKDOWN = """\
**Worse in B: turn in wavefronts.**

A: `turn.py`, B: `turn.py (PITCH=32)`; counted for compute capability 9.0.

| launch | requests | wavefronts | excess | degree | sectors | time |
| --- | --- | --- | --- | --- | --- | --- |
| `turn` | 128 | 64 → 1,056 | 0 → 992 | 1 → 32 | 256 | not measured |

`turn`, by line:

| line | access | operation | requests | wavefronts | excess | degree | sectors |
| --- | --- | --- | --- | --- | --- | --- | --- |
| 13 | `tile[x, y]` | shared load | 32 | 32 → 1,024 | 0 → 992 | 1 → 32 | - |
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with a kernel file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turn.py").write_text(KERNEL)
    return tmp_path


def diff(*arguments: str) -> int:
    return cli.main(["diff", *arguments, "--engine", "lockstep"])


def git(*arguments: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *arguments], check=True, capture_output=True, timeout=60)


@pytest.fixture
def repository(here: Path) -> Path:
    """Commit the kernel file, then one with the pad taken away and a line put before it."""
    git("init")
    git("add", "turn.py")
    git("commit", "-m", "Pad the tile")
    (here / "turn.py").write_text("# Without a pad.\n" + KERNEL.replace("PITCH = 33", "PITCH = 32"))
    return here


def test_markdown_tells_totals_and_the_lines_that_changed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff("turn.py", "--set-b", "PITCH=32", "--markdown") == 1
    assert capsys.readouterr().out == MARKDOWN


def test_a_table_says_the_same(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff("turn.py", "turn.py", "--set-b", "PITCH=32") == 1
    out = capsys.readouterr().out
    assert out.startswith("A: turn.py\nB: turn.py (PITCH=32)\ncounted for compute capability 9.0\n")
    assert "│ turn   │      128 │ 64 → 1,056 │ 0 → 992 │ 1 → 32 │     256 │ not measured │" in out
    assert "│   13 │ tile[x, y] │ shared load │       32 │ 32 → 1,024 │ 0 → 992 │ 1 → 32 │       - │" in out
    assert out.endswith("\nWorse in B: turn in wavefronts.\n")


def test_json_holds_every_site_of_both(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff("turn.py", "--set-b", "PITCH=32", "--json") == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["schema"], data["cc"], data["tolerance_percent"], data["worse"]) == (1, [9, 0], 0.0, True)
    assert (data["a"]["constants"], data["b"]["constants"]) == ({"PITCH": 33}, {"PITCH": 32})
    (launch,) = data["launches"]
    assert launch["worse"] == ["wavefronts"]
    assert (launch["a"]["wavefronts"], launch["b"]["wavefronts"]) == (64, 1056)
    load = launch["sites"][2]
    assert (load["array"], load["space"], load["op"]) == ("tile", "shared", "load")
    assert [(load[side]["line"], load[side]["max_degree"]) for side in "ab"] == [(13, 1), (13, 32)]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--set-a", "PITCH=32"), 0, "No launch is worse in B."),
        (("--set-b", "PITCH=34"), 1, "Worse in B: turn in wavefronts."),  # 2-way: 96 wavefronts, 50 % more
        (("--set-b", "PITCH=34", "--tolerance", "50"), 0, "No launch is worse in B by more than 50 %."),
        (("--set-b", "PITCH=34", "--tolerance", "49.9%"), 1, "Worse in B by more than 49.9 %: turn in wavefronts."),
        (("--set", "PITCH=32", "--set-b", "PITCH=34"), 0, "No launch is worse in B."),
    ],
)
def test_it_fails_when_b_costs_more_than_the_tolerance(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, said: str
) -> None:
    assert diff("turn.py", *arguments) == code
    assert capsys.readouterr().out.splitlines()[-1] == said


def test_a_revision_is_named_as_git_names_it(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff("HEAD:turn.py", "turn.py", "--json") == 1
    data = json.loads(capsys.readouterr().out)
    assert [data[side]["name"] for side in "ab"] == ["HEAD:turn.py", "turn.py"]
    assert [data[side]["constants"]["PITCH"] for side in "ab"] == [33, 32]
    load = data["launches"][0]["sites"][2]
    assert [(load[side]["line"], load[side]["max_degree"]) for side in "ab"] == [(13, 1), (14, 32)]


def test_a_revision_is_found_from_a_folder_below(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "below").mkdir()
    monkeypatch.chdir(repository / "below")
    assert diff("HEAD:turn.py", "../turn.py") == 1
    assert diff("HEAD:../turn.py", "../turn.py", "--set-b", "PITCH=33") == 0


def test_recordings_are_compared_as_they_are(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    smemviz.run("turn.py", engine="lockstep").save("padded.smem.npz")
    smemviz.run("turn.py", {"PITCH": 32}, engine="lockstep").save("plain.smem.npz")
    assert diff("padded.smem.npz", "plain.smem.npz") == 1
    assert diff("plain.smem.npz", "padded.smem.npz") == 0
    assert diff("padded.smem.npz", "turn.py") == 0
    capsys.readouterr()
    assert diff("padded.smem.npz", "plain.smem.npz", "--cc", "3.5") == 1
    assert "counted for compute capability 3.5\n" in capsys.readouterr().out
    assert diff("padded.smem.npz", "plain.smem.npz", "--cc", "3.5-8", "--json") == 1
    assert json.loads(capsys.readouterr().out)["bank_bytes"] == 8


def test_what_main_prints_stays_out_of_markdown_and_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "turn.py").write_text(KERNEL + "    print('done')\n")
    assert diff("turn.py", "--set-b", "PITCH=32", "--markdown") == 1
    written = capsys.readouterr()
    assert (written.out, written.err) == (MARKDOWN, "done\ndone\n")


def test_counts_that_do_not_cover_all_requests_say_so(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    smemviz.run("turn.py", engine="lockstep").save("all.smem.npz")
    smemviz.run("turn.py", engine="lockstep", log_bytes=0).save("few.smem.npz")
    assert diff("all.smem.npz", "few.smem.npz") == 0
    assert "counts cover only" not in capsys.readouterr().out  # exact totals, whatever was logged
    assert diff("all.smem.npz", "few.smem.npz", "--cc", "3.5") == 0
    assert "turn: counts cover only the requests that were logged\n" in capsys.readouterr().out
    assert diff("all.smem.npz", "few.smem.npz", "--cc", "3.5", "--json") == 0
    assert json.loads(capsys.readouterr().out)["launches"][0]["complete"] is False


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("turn.py",), "turn.py: A and B are the same; name two, or give --set-a or --set-b"),
        (("turn.py", "nowhere.py"), "nowhere.py: no such file"),
        (("HEAD:turn.py", "turn.py"), "HEAD:turn.py: git does not have it: "),
        (("-x:turn.py", "turn.py"), ""),
        ((":turn.py", "turn.py"), ":turn.py: no such file; write FILE, or REVISION:FILE such as HEAD~1:turn.py"),
        (("turn.py", "--set-b", "ROWS=1"), "turn.py:1: there is no constant ROWS; the file has: PITCH"),
        (("made_up.smem.npz", "turn.py"), "made_up.smem.npz and turn.py: no kernel is launched in both; "),
        (("made_up.smem.npz", "--set-b", "PITCH=1"), "made_up.smem.npz: is a recording; constants are set for "),
    ],
)
def test_a_mistake_is_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    launches = a_recording().launches * 2  # one launch of each would be a pair
    from dataclasses import replace

    save(replace(a_recording(), launches=launches, findings=()), here / "made_up.smem.npz")
    if not said:  # an option to us as it would be to git
        with pytest.raises(SystemExit) as stopped:
            diff(*arguments)
        assert stopped.value.code == 2
        return
    assert diff(*arguments) == 2
    written = capsys.readouterr()
    assert written.err.startswith(f"smemviz: {said}")
    assert (written.out, written.err.count("\n")) == ("", 1)


def test_a_percentage_is_a_number_from_0_on(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("-1", "nan", "inf", "much"):
        with pytest.raises(SystemExit) as stopped:
            diff("turn.py", "--set-b", "PITCH=32", f"--tolerance={text}")
        assert stopped.value.code == 2
        assert f"{text!r} is no percentage, a number from 0 on" in capsys.readouterr().err


def test_launches_that_say_the_same_are_said_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "turn.py").write_text(KERNEL.replace("    turn[1", "    for _ in range(100):\n        turn[1"))
    assert diff("turn.py", "--set-b", "PITCH=32", "--markdown") == 1
    said = capsys.readouterr().out
    assert said == MARKDOWN.replace("Worse in B: turn", "Worse in B: turn (100 launches alike)").replace(
        "`turn`", "`turn (100 launches alike)`"
    )
    assert diff("turn.py", "--set-b", "PITCH=32", "--json") == 1
    assert [one["number"] for one in json.loads(capsys.readouterr().out)["launches"]] == list(range(100))


def test_a_mistake_that_only_b_makes_is_told_and_exits_1(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "raced.py").write_text(KERNEL.replace("    cuda.syncthreads()\n", ""))
    assert diff("turn.py", "raced.py", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["worse"], found["launches"][0]["worse"]) == (True, [])
    assert [(one["kind"], one["line"]) for one in found["findings"]] == [("race", 12)]
    assert diff("turn.py", "raced.py") == 1
    told = capsys.readouterr().out.splitlines()[-3:]
    assert told[0].startswith("Found in B and not in A: raced.py:12: race in turn, block (0, 0, 0), threads ")
    assert told[1:] == ["", "No launch is worse in B."]
    assert diff("raced.py", "turn.py") == 0
    assert diff("raced.py", "raced.py", "--set-b", "PITCH=34", "--tolerance", "1000") == 0


def test_a_launch_that_only_one_has_shows_what_it_costs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = KERNEL.replace("@cuda.jit", "@cuda.jit\ndef fill(a):\n    a[cuda.threadIdx.x, 0] = 1\n\n@cuda.jit")
    (here / "more.py").write_text(more + "    fill[1, 32](a)\n")
    assert diff("turn.py", "more.py", "--markdown") == 0
    assert "| `fill` | only in B | - | - | - | 32 |  |" in capsys.readouterr().out.splitlines()
