"""``smemviz suggest``: what it prints, what it leaves alone, and its exit codes."""

import shutil
import subprocess
from pathlib import Path

import pytest

from smemviz.paths import kernels_dir

LOCKSTEP = ["--engine", "lockstep"]


@pytest.fixture
def square(tmp_path, monkeypatch):
    """Give a copy of square.py in a folder of its own, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(kernels_dir() / "square.py", tmp_path / "square.py")
    return Path("square.py")


def test_the_table_has_what_was_predicted_and_counted(square, command):
    said = command("suggest", f"{square}:set_row_read_col", *LOCKSTEP).out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in said.splitlines() if line.startswith("│")]
    assert rows == [
        ["set_row_read_col", "tile", "swizzle to tile[r, c ^ r]", "1,056", "64", "64"],
        [
            "set_row_read_col", "tile", "pad the row of tile by 1, (32, 32) -> (32, 33) (128 bytes more)",
            "1,056", "64", "64",
        ],
    ]  # fmt: skip
    assert "+    out[idx] = tile[tx, ty ^ tx]" in said.splitlines()


def test_the_difference_can_be_applied_and_leaves_nothing_to_suggest(square, command):
    before = square.read_text()
    command("suggest", square, *LOCKSTEP, "-o", "better.patch")
    assert square.read_text() == before
    subprocess.run(["git", "apply", "better.patch"], check=True)
    out = command("suggest", square, *LOCKSTEP).out
    assert out == "square.py: no shared array has excess; there is nothing to change\n"


@pytest.mark.exhaustive
def test_a_difference_has_the_line_ends_of_its_file(square, command):
    square.write_bytes(square.read_bytes().replace(b"\n", b"\r\n"))
    command("suggest", square, *LOCKSTEP, "-o", "better.patch")
    subprocess.run(["git", "apply", "better.patch"], check=True)
    assert b"    out[idx] = tile[tx, ty ^ tx]\r\n" in square.read_bytes()


def test_json_has_every_site_s_promise(square, command):
    found = command("suggest", f"{square}:set_row_read_col", *LOCKSTEP, "--json").json
    assert (found["schema"], found["file"], found["refused"], found["notes"]) == (1, "square.py", [], [])
    one = found["suggestions"][0]
    assert one["layout"] == {"kind": "swizzle", "row": 32, "bits": 5, "base": 0, "shift": 0}
    assert (one["wavefronts"], one["predicted"], one["excess_left"], one["more_bytes"]) == (1056, 64, 0, 0)
    assert one["verified"] == {"lockstep": {"wavefronts": 64, "problem": None, "notes": []}}
    sites = [(site["source"], site["wavefronts"], site["predicted"], site["counted"]) for site in one["sites"]]
    assert sites == [("tile[ty, tx]", 32, 32, {"lockstep": 32}), ("tile[tx, ty]", 1024, 32, {"lockstep": 32})]


def test_a_constant_set_on_the_command_line_is_what_is_looked_at(square, command):
    found = command("suggest", f"{square}:set_row_read_col_pad", "--set", "IPAD=0", *LOCKSTEP, "--json").json
    texts = [one["text"] for one in found["suggestions"]]
    assert texts == ["swizzle to tile[r, c ^ r]", "IPAD = 1, as the file has it (128 bytes more)"]


def test_a_recording_is_verified_where_its_file_is(square, command):
    command("run", square, *LOCKSTEP, "-o", "square.smem.npz")
    here = command("suggest", "square.smem.npz:set_row_read_col", *LOCKSTEP, "--json").json
    square.write_text(square.read_text() + "\n")
    changed = command("suggest", "square.smem.npz:set_row_read_col", *LOCKSTEP, "--json").json
    assert here["diff"] == changed["diff"] != ""
    assert (here["notes"], changed["notes"]) == ([], ["not verified: square.py has changed since it was recorded"])
    assert [list(one["verified"]) for one in here["suggestions"]] == [["lockstep"]] * 2
    assert [list(one["verified"]) for one in changed["suggestions"]] == [[]] * 2


def test_no_text_of_a_recording_is_executed(square, command):
    square.write_text(square.read_text() + "\nopen('executed', 'w').close()\n")
    command("run", square, *LOCKSTEP, "-o", "square.smem.npz")
    square.unlink()
    Path("executed").unlink()
    out = command("suggest", "square.smem.npz", *LOCKSTEP).out
    assert not Path("executed").exists()
    assert "not verified: its kernel file is not here (square.py: no such file)" in out


def test_a_promise_that_is_not_kept_is_an_exit_code_of_1(square, command, monkeypatch):
    from smemviz.suggest import verify

    monkeypatch.setattr(verify, "_other_output", lambda before, after: "turn leaves different results in its arrays")
    said = command("suggest", f"{square}:set_row_read_col", *LOCKSTEP, code=1).out
    assert "swizzle to tile[r, c ^ r]: failed lockstep: turn leaves different results in its arrays" in said
    assert "+++" not in said


def test_what_is_not_there_is_an_exit_code_of_2(square, command):
    for named, said in [
        ("square.py:turn", "square.py: launches no kernel turn; it launches set_row_read_row, set_col_read_col, "),
        ("missing.py:turn", "missing.py: no such file"),
        ("square.smem.npz", "square.smem.npz: "),
    ]:
        assert command("suggest", named, *LOCKSTEP, code=2).err.startswith(f"smemviz: {said}")


def test_a_missing_folder_is_told_before_anything_runs(square, command):
    err = command("suggest", square, *LOCKSTEP, "-o", "no/better.patch", code=2).err
    assert err == "smemviz: no/better.patch: there is no folder no; nothing was run\n"


def test_the_difference_never_takes_the_place_of_the_kernel_file(square, command):
    before = square.read_bytes()
    err = command("suggest", square, *LOCKSTEP, "-o", square, code=2).err
    told = f"smemviz: {square}: is no name for a difference; it may end in .patch; nothing was run\n"
    assert err == told
    assert square.read_bytes() == before


def test_a_script_is_answered_and_not_verified(tmp_path, command):
    (tmp_path / "script.py").write_text(
        "import numpy as np\n"
        "from numba import cuda, float32\n\n\n"
        "@cuda.jit\n"
        "def turn(out):\n"
        "    tile = cuda.shared.array((32, 32), float32)\n"
        "    tile[cuda.threadIdx.x, cuda.threadIdx.y] = 1\n"
        "    cuda.syncthreads()\n"
        "    out[cuda.threadIdx.y, cuda.threadIdx.x] = tile[cuda.threadIdx.y, cuda.threadIdx.x]\n\n\n"
        "turn[1, (32, 32)](np.zeros((32, 32), np.float32))\n"
    )
    out = command("suggest", str(tmp_path / "script.py")).out
    assert f"not verified: {tmp_path / 'script.py'} is a script" in out.replace("\n", " ")
    assert "1,056" in out
