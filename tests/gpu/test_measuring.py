"""Timing and calibrating on a real GPU."""

import json
import subprocess
import sys

import pytest

from smemviz.paths import kernels_dir

pytestmark = pytest.mark.gpu


def smemviz(*arguments):
    command = [sys.executable, "-m", "smemviz", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def times():
    done = smemviz("time", kernels_dir() / "square.py", "--json")
    assert done.returncode == 0, done.stderr
    return {launch["kernel"]: launch["time"] for launch in json.loads(done.stdout)["launches"]}


@pytest.mark.alone
def test_two_runs_agree_within_one_percent_and_say_so():
    first, second = times(), times()

    for kernel, time in first.items():
        assert (time["high_us"] - time["low_us"]) / 2 < 0.01 * time["median_us"]
        assert second[kernel]["median_us"] == pytest.approx(time["median_us"], rel=0.01)
        assert time["p5_us"] <= time["low_us"] <= time["median_us"] <= time["high_us"] <= time["p95_us"]
        assert 0 < time["floor_us"] < time["median_us"]


@pytest.mark.alone
def test_conflicts_cost_time():
    found = times()

    assert found["set_col_read_col"]["median_us"] > 1.5 * found["set_row_read_row"]["median_us"]
    assert found["set_row_read_col"]["median_us"] > 1.2 * found["set_row_read_col_pad"]["median_us"]


def test_times_are_stored_in_the_recording(tmp_path):
    from smemviz import load

    path = tmp_path / "reverse.smem.npz"
    assert smemviz("time", kernels_dir() / "reverse.py", "-o", path).returncode == 0

    static, dynamic = load(path).launches
    assert static.time.nodes >= 100
    assert len(static.time.samples_us) == static.time.samples
    assert "writes its input values: each replay sees what the last one left" in dynamic.time.notes
    refused = smemviz("time", kernels_dir() / "reverse.py", "--set", "N=96", "-o", path)
    assert refused.returncode == 2
    assert "was made from another version of the file, other constants or on another card" in refused.stderr


def test_the_card_does_what_the_model_says(tmp_path):
    done = smemviz("calibrate", "--json", "-o", tmp_path / "calibration.json")

    assert done.returncode == 0, done.stdout
    assert all(row["agrees"] for row in json.loads(done.stdout)["rows"])
