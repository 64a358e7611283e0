"""What runs gave is found by the other processes of a server."""

import os

import pytest

from smemviz.engines.sandbox import Supervisor, run_text, sharing
from smemviz.engines.sandbox.sharing import Result, Results, SharedFolder
from smemviz.recordings.recording import packed

TEXT = """from numba import cuda
import numpy as np

STRIDE = 1


@cuda.jit
def store(a):
    a[cuda.threadIdx.x * STRIDE] = 1


def main():
    print("stride", STRIDE)
    store[1, 32](np.zeros(256, np.int32))
"""


def run_here(worker, source, constants, file):
    """Stand in for a process that runs a text."""
    ran = run_text(source, constants, file=file)
    return Result(ran.printed, packed(ran.recording, file))


def test_a_run_of_one_process_is_not_run_again_in_another(tmp_path, monkeypatch):
    one, other = Supervisor(results=Results(tmp_path)), Supervisor(results=Results(tmp_path))
    monkeypatch.setattr(one, "_take", lambda: None)
    monkeypatch.setattr(one, "_drop", lambda worker: None)
    monkeypatch.setattr(one, "warm", lambda: None)
    monkeypatch.setattr(one, "_ask", run_here)
    first = one.run(TEXT, {"STRIDE": 2}, "mine.py")
    monkeypatch.setattr(other, "_take", None)  # so that it can start nothing
    again = other.run(TEXT, {"STRIDE": 2}, "mine.py")
    assert again.printed == first.printed == "stride 2\n"
    assert again.recording.constants == {"STRIDE": 2}
    assert (
        again.recording.launches[0].requests.addresses.tolist()
        == first.recording.launches[0].requests.addresses.tolist()
    )
    with pytest.raises(TypeError):  # other constants are another run
        other.run(TEXT, {"STRIDE": 4}, "mine.py")


def test_the_latest_results_are_kept_as_long_as_there_is_room(tmp_path, monkeypatch):
    monkeypatch.setattr(sharing, "_MOST_BYTES", 2500)
    results = Results(tmp_path)
    for n in range(4):
        results.write(Result("", bytes(1000)), n)
    assert len(list(tmp_path.iterdir())) == 2
    assert results.read(3) == Result("", bytes(1000))


def test_a_folder_that_was_taken_away_costs_nobody_an_answer(tmp_path):
    results = Results(tmp_path / "results")
    (tmp_path / "results").rmdir()
    results.write(Result("", b"1"), 1)
    assert results.read(1) is None


CONTENT = bytes(1000)


def written(folder, path, names):
    """Write files one second after the other, all long ago; the draft of a process that ended comes first."""
    (path / ".draft").write_bytes(CONTENT)
    for name in names:
        folder.write(name, CONTENT)
    for second, name in enumerate([".draft", *names]):
        os.utime(path / name, (second, second))


@pytest.mark.parametrize(
    ("room", "left"),
    [
        ({"most_files": 3}, "cde"),
        ({"most_bytes": 2500}, "de"),
        ({"most_files": 3, "most_bytes": 2500}, "de"),
        ({"most_files": 1, "most_bytes": 2500}, "e"),
        ({"most_bytes": 999}, ""),
    ],
)
def test_the_latest_are_kept_and_drafts_that_were_left_go_first(tmp_path, room, left):
    folder = SharedFolder(tmp_path)
    written(folder, tmp_path, "abcd")
    SharedFolder(tmp_path, **room).write("e", CONTENT)
    assert sorted(path.name for path in tmp_path.iterdir()) == list(left)


def test_what_is_written_again_is_the_latest_and_stays_as_it_was(tmp_path):
    folder = SharedFolder(tmp_path, most_files=3)
    written(folder, tmp_path, "ab")
    folder.write("a", b"another")
    folder.write("c", CONTENT)
    folder.write("d", CONTENT)
    assert [folder.read(name) for name in "abcd"] == [CONTENT, None, CONTENT, CONTENT]


def test_the_one_just_written_stays_where_all_have_the_same_time(tmp_path):
    folder = SharedFolder(tmp_path, most_files=1)
    for name in "abcd":
        folder.write(name, CONTENT)
        os.utime(tmp_path / name, (1 << 40, 1 << 40))
        assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_that_was_taken_away_is_empty(tmp_path):
    folder = SharedFolder(tmp_path / "shared", most_files=1)
    (tmp_path / "shared").rmdir()
    folder.write("a", CONTENT)
    assert folder.read("a") is None
