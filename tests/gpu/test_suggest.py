"""Suggestions on a real GPU: what was predicted is what it counts, and it is faster."""

import json
import shutil

import pytest

from smemviz.cli.main import main
from smemviz.paths import kernels_dir

pytestmark = [pytest.mark.gpu, pytest.mark.alone]


@pytest.mark.parametrize(
    ("kernel", "before", "after"),
    # as Nsight Compute counted tile and padded_tile, set_row_read_col and set_row_read_col_pad on an H200
    [
        ("transpose.py:tile", 6336, 384),
        ("rectangle.py:set_row_read_col", 272, 32),
        ("transpose.cu:tile", 6336, 384),
        ("rectangle.cu:set_row_read_col", 272, 32),
    ],
)
def test_the_gpu_counts_what_was_promised_and_is_faster(tmp_path, monkeypatch, capsys, kernel, before, after):
    monkeypatch.chdir(tmp_path)
    shutil.copy(kernels_dir() / kernel.partition(":")[0], tmp_path)
    assert main(["suggest", kernel, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["layout"]["kind"] for one in found["suggestions"]] == ["swizzle", "pad"]
    for one in found["suggestions"]:
        assert (one["wavefronts"], one["predicted"]) == (before, after)
        assert {name: check["wavefronts"] for name, check in one["verified"].items()} == {
            "lockstep": after,
            "gpu": after,
        }
        assert all(time["after"]["high_us"] < time["before"]["low_us"] for time in one["time"])
