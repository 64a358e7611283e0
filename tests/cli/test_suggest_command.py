"""``smemviz suggest``: what it prints, what it leaves alone, and its exit codes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from smemviz.cli.main import main
from smemviz.paths import kernels_dir

LOCKSTEP = ["--engine", "lockstep"]


@pytest.fixture
def square(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a copy of square.py in a folder of its own, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(kernels_dir() / "square.py", tmp_path / "square.py")
    return Path("square.py")


def facts(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_the_table_has_what_was_predicted_and_counted(square: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suggest", f"{square}:set_row_read_col", *LOCKSTEP]) == 0
    said = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in said.splitlines() if line.startswith("│")]
    assert rows == [
        ["set_row_read_col", "tile", "swizzle to tile[r, c ^ r]", "1,056", "64", "64"],
        [
            "set_row_read_col", "tile", "pad the row of tile by 1, (32, 32) -> (32, 33) (128 bytes more)",
            "1,056", "64", "64",
        ],
    ]  # fmt: skip
    assert "+    out[idx] = tile[tx, ty ^ tx]" in said.splitlines()


def test_the_difference_can_be_applied_and_leaves_nothing_to_suggest(
    square: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = square.read_text()
    assert main(["suggest", str(square), *LOCKSTEP, "-o", "better.patch"]) == 0
    assert square.read_text() == before
    subprocess.run(["git", "apply", "better.patch"], check=True)
    capsys.readouterr()
    assert main(["suggest", str(square), *LOCKSTEP]) == 0
    assert capsys.readouterr().out == "square.py: no shared array has excess; there is nothing to change\n"


def test_a_difference_has_the_line_ends_of_its_file(square: Path) -> None:
    square.write_bytes(square.read_bytes().replace(b"\n", b"\r\n"))
    assert main(["suggest", str(square), *LOCKSTEP, "-o", "better.patch"]) == 0
    subprocess.run(["git", "apply", "better.patch"], check=True)
    assert b"    out[idx] = tile[tx, ty ^ tx]\r\n" in square.read_bytes()


def test_json_has_every_site_s_promise(square: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suggest", f"{square}:set_row_read_col", *LOCKSTEP, "--json"]) == 0
    found = facts(capsys)
    assert (found["schema"], found["file"], found["refused"], found["notes"]) == (1, "square.py", [], [])
    one = found["suggestions"][0]  # type: ignore[index]
    assert one["layout"] == {"kind": "swizzle", "row": 32, "bits": 5, "base": 0, "shift": 0}
    assert (one["wavefronts"], one["predicted"], one["excess_left"], one["more_bytes"]) == (1056, 64, 0, 0)
    assert one["verified"] == {"lockstep": {"wavefronts": 64, "problem": None, "notes": []}}
    sites = [(site["source"], site["wavefronts"], site["predicted"], site["counted"]) for site in one["sites"]]
    assert sites == [("tile[ty, tx]", 32, 32, {"lockstep": 32}), ("tile[tx, ty]", 1024, 32, {"lockstep": 32})]


def test_a_constant_set_on_the_command_line_is_what_is_looked_at(
    square: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["suggest", f"{square}:set_row_read_col_pad", "--set", "IPAD=0", *LOCKSTEP, "--json"]) == 0
    texts = [one["text"] for one in facts(capsys)["suggestions"]]  # type: ignore[attr-defined]
    assert texts == ["swizzle to tile[r, c ^ r]", "IPAD = 1, as the file has it (128 bytes more)"]


def test_a_recording_is_verified_where_its_file_is(square: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(square), *LOCKSTEP, "-o", "square.smem.npz"]) == 0
    capsys.readouterr()
    assert main(["suggest", "square.smem.npz:set_row_read_col", *LOCKSTEP, "--json"]) == 0
    here = facts(capsys)
    square.write_text(square.read_text() + "\n")
    assert main(["suggest", "square.smem.npz:set_row_read_col", *LOCKSTEP, "--json"]) == 0
    changed = facts(capsys)
    assert here["diff"] == changed["diff"] != ""
    assert (here["notes"], changed["notes"]) == ([], ["not verified: square.py has changed since it was recorded"])
    assert [list(one["verified"]) for one in here["suggestions"]] == [["lockstep"]] * 2  # type: ignore[attr-defined]
    assert [list(one["verified"]) for one in changed["suggestions"]] == [[]] * 2  # type: ignore[attr-defined]


def test_no_text_of_a_recording_is_executed(square: Path, capsys: pytest.CaptureFixture[str]) -> None:
    square.write_text(square.read_text() + "\nopen('executed', 'w').close()\n")
    assert main(["run", str(square), *LOCKSTEP, "-o", "square.smem.npz"]) == 0
    square.unlink()
    Path("executed").unlink()
    assert main(["suggest", "square.smem.npz", *LOCKSTEP]) == 0
    assert not Path("executed").exists()
    assert "not verified: its kernel file is not here (square.py: no such file)" in capsys.readouterr().out


def test_a_promise_that_is_not_kept_is_an_exit_code_of_1(
    square: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from smemviz.suggest import verify

    monkeypatch.setattr(verify, "_other_output", lambda before, after: "turn leaves something else in its arrays")
    assert main(["suggest", f"{square}:set_row_read_col", *LOCKSTEP]) == 1
    said = capsys.readouterr().out
    assert "swizzle to tile[r, c ^ r]: failed lockstep: turn leaves something else in its arrays" in said
    assert "+++" not in said


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("square.py:turn", "square.py: launches no kernel turn; it launches set_row_read_row, set_col_read_col, "),
        ("missing.py:turn", "missing.py: no such file"),
        ("square.smem.npz", "square.smem.npz: "),
    ],
)
def test_what_is_not_there_is_an_exit_code_of_2(
    square: Path, capsys: pytest.CaptureFixture[str], named: str, said: str
) -> None:
    assert main(["suggest", named, *LOCKSTEP]) == 2
    assert capsys.readouterr().err.startswith(f"smemviz: {said}")


def test_a_missing_folder_is_told_before_anything_runs(square: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suggest", str(square), *LOCKSTEP, "-o", "no/better.patch"]) == 2
    assert capsys.readouterr().err == "smemviz: no/better.patch: there is no folder no; nothing was run\n"


def test_the_difference_never_takes_the_place_of_the_kernel_file(
    square: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = square.read_bytes()
    assert main(["suggest", str(square), *LOCKSTEP, "-o", str(square)]) == 2
    told = f"smemviz: {square}: is no name for a difference; it may end in .patch; nothing was run\n"
    assert capsys.readouterr().err == told
    assert square.read_bytes() == before
