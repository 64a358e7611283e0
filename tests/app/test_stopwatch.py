"""Measuring from the dashboard, with a command of ours in place of ``smemviz time``."""

import sys
from pathlib import Path

import pytest
from helpers.measured_app import HERE, SQUARE, printing, time_json, write_gallery
from helpers.servers import until

from smemviz.app.library import Library
from smemviz.app.state import RunState
from smemviz.app.tasks import stopwatch as module
from smemviz.app.tasks.stopwatch import Stopwatch, command
from smemviz.paths import gallery
from smemviz.wording.impact import impact


@pytest.fixture
def library(tmp_path):
    return Library(write_gallery(tmp_path))


def shown_run(library, **constants):
    return library.show(RunState("square", constants=constants))


def start(stopwatch, library, **constants):
    path = library.kernel_file("square")
    assert path is not None
    return stopwatch.start(shown_run(library, **constants), path)


def replace_command(monkeypatch, instead):
    monkeypatch.setattr(module, "command", lambda path, overrides: instead)


def test_the_command_is_our_own_with_the_constants_that_differ():
    assert command(Path("/a/square.py"), {"IPAD": 2, "DTYPE": "float32"}) == [
        sys.executable, "-m", "smemviz", "time", "/a/square.py", "--set", "IPAD=2", "--set", "DTYPE=float32", "--json",
    ]  # fmt: skip


def test_a_recordings_times_hold_for_its_constants_only(library):
    stopwatch, same = Stopwatch(), shown_run(library)
    one = stopwatch.measured(same, same.recording["set_col_read_col"])
    assert one is not None
    assert (one.time.median_us, one.device.name, one.here) == (1.75, "NVIDIA H200", False)
    assert one.launch.hardware
    other = shown_run(library, IPAD="0")
    assert stopwatch.measured(other, other.recording["set_col_read_col"]) is None


@pytest.mark.parametrize("file", ["square", "reduce", "matmul"])
def test_what_a_card_was_calibrated_to_holds_for_all_its_recordings(file):
    """The recordings of square.py hold the calibration; those of the others were made before it."""
    same = Library(gallery()).show(RunState(file))
    found = [Stopwatch().measured(same, launch) for launch in same.recording.launches]
    said = [impact(one) for one in found if one]
    excess = [one.basis for one in said if one.cost.wavefronts]
    assert excess
    assert all("cycles per wavefront as calibrated on NVIDIA H200" in basis for basis in excess)


def test_a_lockstep_run_with_the_recordings_constants_has_its_times(library):
    run = library.show(RunState("square", source="lockstep"))
    assert not run.from_file
    one = Stopwatch().measured(run, run.recording["set_col_read_col"])
    assert one is not None
    assert one.time.median_us == 1.75


def test_what_is_measured_here_is_kept_for_its_constants(library, monkeypatch):
    replace_command(monkeypatch, printing(time_json(SQUARE, 2.5)))
    stopwatch, unpadded = Stopwatch(), shown_run(library, IPAD="0")
    assert stopwatch.latest == 0
    assert start(stopwatch, library, IPAD="0")
    until(lambda: not stopwatch.running())
    assert stopwatch.latest == 1
    one = stopwatch.measured(unpadded, unpadded.recording["set_row_read_col_pad"])
    assert one is not None
    assert (one.time.median_us, one.device, one.here) == (2.5, HERE, True)
    assert one.launch.hardware == ()  # what an H200 counted says nothing about this card
    recorded = shown_run(library)
    elsewhere = stopwatch.measured(recorded, recorded.recording["set_row_read_col_pad"])
    assert elsewhere is not None
    assert not elsewhere.here


def test_progress_is_read_from_what_the_command_says(library, monkeypatch):
    replace_command(monkeypatch, printing("", seconds=600, said="2/3 set_row_read_col"))
    stopwatch = Stopwatch()
    assert start(stopwatch, library)
    until(lambda: not (now := stopwatch.running()) or now.kernel)
    now = stopwatch.running()
    assert now is not None
    assert (now.file, now.done, now.kernel) == ("square.py", 2, "set_row_read_col")
    assert not start(stopwatch, library, IPAD="0")
    stopwatch.cancel()
    until(lambda: not stopwatch.running())
    assert stopwatch.latest == 0
    assert stopwatch.problem(shown_run(library)) is None


def test_what_cannot_be_read_is_a_problem_in_words(library, monkeypatch):
    replace_command(monkeypatch, printing('{"device": 1, "launches": []}'))
    stopwatch = Stopwatch()
    assert start(stopwatch, library)
    until(lambda: not stopwatch.running())
    assert stopwatch.problem(shown_run(library)) == "its output cannot be read: device has the wrong type"


def test_a_file_that_changes_meanwhile_has_no_time(library, monkeypatch, tmp_path):
    replace_command(monkeypatch, printing(time_json(SQUARE, 2.5), until=tmp_path / "changed"))
    stopwatch, before = Stopwatch(), shown_run(library)
    path = library.kernel_file("square")
    assert path is not None
    stopwatch.start(before, path)
    path.write_text(path.read_text() + "\n# changed\n")
    (tmp_path / "changed").touch()
    until(lambda: not stopwatch.running())
    assert stopwatch.problem(before) == "the file changed while it was measured"
    assert stopwatch.latest == 0


@pytest.mark.exhaustive
def test_a_real_command_without_a_gpu_fails_in_its_own_words(library):
    stopwatch = Stopwatch()
    if stopwatch.available:
        pytest.skip("there is a GPU here")
    assert start(stopwatch, library)
    until(lambda: not stopwatch.running())
    problem = stopwatch.problem(shown_run(library))
    assert problem is not None
    assert problem.startswith("smemviz: ")
    assert "gpu" in problem.lower()
