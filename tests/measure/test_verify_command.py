"""``smemviz verify`` with a recording and counters of an H200 in place of a GPU."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers import captured

from smemviz.cli.verbs import verify as verb
from smemviz.engines import backend
from smemviz.errors import MissingError, RecordingError
from smemviz.measure.ncu import counters, verify
from smemviz.recordings.file import load
from smemviz.recordings.findings import Finding

MERGED = captured.FOLDER / "merged.py"


class Gpu:
    """Stands for the gpu engine."""

    def available(self):
        return True


@pytest.fixture
def h200(monkeypatch):
    """Let a GPU and Nsight Compute be there, whose counts are those captured of merged.py."""
    monkeypatch.setattr(backend, "gpu_engine", Gpu)
    monkeypatch.setattr(counters, "find_ncu", lambda: Path("ncu"))
    monkeypatch.setattr(counters, "profile", lambda *_: captured.profiled("merged"))
    monkeypatch.setattr(verb, "recording_for", lambda *_: captured.recording("merged"))


def test_without_a_gpu_it_exits_3_and_says_so(command, monkeypatch):
    monkeypatch.setattr(backend, "gpu_engine", lambda: type("Gpu", (), {"available": staticmethod(lambda: False)}))
    assert command("verify", MERGED, code=3).err.startswith("smemviz: no GPU here")


def test_without_nsight_compute_it_exits_3_and_says_how_to_get_it(command, monkeypatch):
    def missing():
        raise MissingError("Nsight Compute (ncu) is not installed here")

    monkeypatch.setattr(backend, "gpu_engine", Gpu)
    monkeypatch.setattr(counters, "find_ncu", missing)
    assert "not installed here" in command("verify", MERGED, code=3).err


@pytest.mark.usefixtures("h200")
def test_a_launch_that_may_do_harm_is_not_made_under_the_profiler(command, monkeypatch):
    finding = Finding("out_of_bounds", "kernel", 7, (0, 0, 0), ((0, 0, 0),), "c[20] is outside. It was not run.")
    found = replace(captured.recording("merged"), findings=(finding,))
    monkeypatch.setattr(verb, "recording_for", lambda *_: found)
    monkeypatch.setattr(counters, "profile", lambda *_: pytest.fail("it was profiled"))
    said = command("verify", MERGED, code=2).err
    assert said.endswith(":7: out of bounds in kernel: c[20] is outside. It was not run. Mend it, then verify\n")


@pytest.mark.usefixtures("h200")
def test_the_table_has_recorded_and_counted_numbers_and_the_reason(command):
    lines = command("verify", MERGED).out.splitlines()
    row = next(line for line in lines if "left[ty, k]" in line)
    assert "128 -> 32" in row
    assert "128 -> 64" in row
    assert "explained" in row
    assert lines.count("1.952 us under the profiler") == 1
    text = " ".join(" ".join(line.split("┃")[-2:]) for line in lines)
    assert "unexplained" not in text


@pytest.mark.usefixtures("h200")
def test_json_has_hardware_verdict_and_because_beside_what_was_recorded(command):
    document = command("verify", MERGED, "--json").json
    site = next(s for s in document["launches"][0]["sites"] if s["source"] == "left[ty, k]")
    assert (site["requests"], site["wavefronts"]) == (128, 128)
    assert site["hardware"] == {"requests": 32, "wavefronts": 64, "ideal": 64, "sectors": None}
    assert site["verdict"] == "explained"
    assert site["because"].startswith("4 loads of left[ty, k] became one LDS.128")
    assert document["launches"][0]["counters"]["gpu__time_duration.sum"] == 1952.0


@pytest.mark.usefixtures("h200")
def test_the_recording_keeps_verdicts_and_counters(tmp_path, command):
    out = tmp_path / "merged.smem.npz"
    command("verify", MERGED, "-o", out)
    stored_launches = load(out).launches
    assert [row.verdict for row in stored_launches[0].hardware].count("explained") == 1
    assert stored_launches[0].hardware[4].requests == 32
    assert stored_launches[0].counters == captured.profiled("merged")[0].metrics


@pytest.mark.usefixtures("h200")
def test_something_unexplained_exits_1(monkeypatch, command):
    first, *others = captured.profiled("merged")
    broken = replace(first, instructions=first.instructions[:-1])  # the store to c is not there
    monkeypatch.setattr(counters, "profile", lambda *_: (broken, *others))
    assert "unexplained" in command("verify", MERGED, code=1).out


def test_a_launch_that_part_of_the_log_does_not_explain_is_recorded_again_in_full(monkeypatch):
    whole = captured.recording("merged")

    def half_logged(launch):
        from smemviz.model.counting.summary import totals_of

        rows = launch.requests.site == 4
        odd = rows & (launch.requests.step % 2 == 1)  # no two neighbours are in the log
        return replace(launch, requests=launch.requests.select(odd), totals=totals_of(launch.sites, launch.requests))

    asked: list[dict[str, Any]] = []

    def run(*_, **options):
        asked.append(options)
        return whole

    monkeypatch.setattr("smemviz.engines.run", run)
    cut = replace(whole, launches=(half_logged(whole.launches[0]), *whole.launches[1:]))
    program: Any = None
    assert not verify.reconcile_all(cut, captured.profiled("merged"))[0].sound
    found = verify.reconcile_fully(program, cut, captured.profiled("merged"), lambda *_: None)
    assert all(one.sound for one in found)
    assert [options["log_bytes"] for options in asked] == [verify.DETAILED_LOG_BYTES]


def test_a_recording_of_another_version_of_the_file_is_refused(tmp_path, monkeypatch, command):
    device = captured.recording("merged").device
    monkeypatch.setattr(
        backend, "gpu_engine", lambda: type("G", (), {"available": lambda: True, "device": lambda: device})
    )
    monkeypatch.setattr(counters, "find_ncu", lambda: Path("ncu"))
    out = tmp_path / "other.smem.npz"
    captured.recording("removed").save(out)
    assert "was made from another version of the file" in command("verify", MERGED, "-o", out, code=2).err


def test_a_file_whose_verdicts_do_not_fit_its_sites_is_refused(tmp_path):
    whole = captured.recording("calls")
    hardware = captured.reconciled("calls", whole.launches[0], captured.profiled("calls")[0]).hardware
    out = tmp_path / "calls.smem.npz"
    replace(whole, launches=(replace(whole.launches[0], hardware=hardware[:-1]),)).save(out)
    with pytest.raises(RecordingError, match="hardware counts that do not fit its sites"):
        load(out)
