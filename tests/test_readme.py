"""The pictures of README and docs are there and are made by the script, and their figures are those of the product."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import smemviz
from smemviz.reports.recording import facts

ROOT = Path(__file__).parents[1]
RECORDINGS = ROOT / "kernels" / "recordings" / "h200"
README = (ROOT / "README.md").read_text("utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROSE = " ".join(" ".join(page.read_text("utf-8").split()) for page in PAGES)
SHOWN = re.compile(r"!?\[([^\]]*)\]\((\S+\.(?:png|svg))\)")
PICTURES = [(words, page.parent / path) for page in PAGES for words, path in SHOWN.findall(page.read_text("utf-8"))]


def test_every_picture_is_there_and_is_described() -> None:
    assert len(PICTURES) >= 8
    for words, path in PICTURES:
        assert path.stat().st_size > 10_000, path
        assert len(words.split()) >= 4 or words in ("Korean", "Simplified Chinese"), path


def test_the_readme_is_a_door_and_not_a_manual() -> None:
    assert README.count("\n") <= 120
    assert len(SHOWN.findall(README)) >= 3
    for word in ("bank conflict", "Nsight Compute", "people who learn CUDA, teach it, or write kernels"):
        assert word in README.partition("## Install")[0]


def test_every_picture_is_one_that_the_script_makes() -> None:
    script = (ROOT / "tools" / "pictures.py").read_text("utf-8")
    made = set(re.findall(r'Shot\(\s*"(\w+)"', script)) | set(re.findall(r'"(\w+)": \("', script))
    assert {path.stem for _, path in PICTURES} == made
    assert {path.stem for path in (ROOT / "docs" / "pictures").iterdir()} == made


def test_the_json_is_what_run_prints() -> None:
    printed = json.loads(
        re.findall(r"```json\n(.*?)```", (ROOT / "docs" / "reference" / "json.md").read_text("utf-8"), flags=re.S)[0]
    )
    real = json.loads(json.dumps(facts(smemviz.run(ROOT / "kernels" / "square.py", engine="lockstep"))))
    (launch,) = printed["launches"]
    real["launches"] = [real["launches"][0] | {"sites": real["launches"][0]["sites"][: len(launch["sites"])]}]
    volatile = {"date": printed["date"], "file": printed["file"]}
    real["launches"][0]["file"] = printed["file"]
    assert printed == real | volatile
    assert list(launch["sites"][0]) == list(real["launches"][0]["sites"][0])


def test_times_are_those_of_the_recording() -> None:
    recording = smemviz.load(RECORDINGS / "square.smem.npz")
    kernels = ("set_row_read_row", "set_col_read_col", "set_row_read_col_pad")
    row, column, padded = (f"{time.median_us:.3f}" for time in (recording[kernel].time for kernel in kernels) if time)
    assert f"has row by row {row}, column by column {column}, padded {padded} us" in PROSE


def test_what_the_gpu_ran_is_all_of_the_gallery_but_the_mistakes() -> None:
    kernels = {path.stem for path in (ROOT / "kernels").glob("*.py")}
    recorded = {path.name.partition(".")[0] for path in RECORDINGS.glob("*.smem.npz")}
    assert kernels - recorded == {"mistakes"}
    assert all(
        launch.hardware for name in recorded for launch in smemviz.load(RECORDINGS / f"{name}.smem.npz").launches
    )
    assert (
        "Every access of the gallery was held against Nsight Compute's counters on the H200, but for `mistakes.py`"
        in PROSE
    )
    assert "every kernel that the H200 ran, all of the gallery but `mistakes.py`" in PROSE


@pytest.mark.exhaustive
def test_the_requests_of_a_tiled_product_are_counted_with_the_tile_that_is_named() -> None:
    (size, tile, millions) = re.findall(
        r"product of (\d+) x \1 with tiles of (\d+) and its ([\d.]+) million requests", PROSE
    )[0]

    def requests(n: int, side: int) -> int:
        """Of a warp: for each tile two loads, two stores, two loads for each of its steps; at the end a store."""
        return (n // side) ** 2 * (side * side // 32) * (n // side * (4 + 2 * side) + 1)

    constants = {"M": 64, "K": 64, "N": 64, "TILE": int(tile)}
    small = smemviz.run(ROOT / "kernels" / "matmul.py", constants=constants, engine="lockstep", kernels=["tiled"])
    assert small.launches[0].request_count == requests(64, int(tile))
    assert f"{requests(int(size), int(tile)) / 1e6:.1f}" == millions
