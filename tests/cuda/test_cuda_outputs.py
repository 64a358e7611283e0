"""What is made of a recording of CUDA C++: data, pages, notebooks, differences, pytest; each with its own numbers."""

import csv
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import smemviz
from smemviz.app.library import Library
from smemviz.app.pages.gallery_page import gallery_page
from smemviz.figures.registry import FIGURES, FigureInput
from smemviz.model.hardware.hardware import H200
from smemviz.model.playback import request_view
from smemviz.paths import kernels_dir
from smemviz.reports.html.playback import played_block
from smemviz.wording.explanations import explain

pytest_plugins = ["pytester"]


@pytest.fixture
def square(tmp_path, monkeypatch):
    """Give a copy of square.cu in a folder of its own, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(kernels_dir() / "square.cu", tmp_path / "square.cu")
    return Path("square.cu")


def test_data_has_a_row_for_each_lane(square, command):
    command("export", square, "--kernel", "set_row_read_col", "-o", "lanes.csv")
    rows = list(csv.DictReader(Path("lanes.csv").read_text().splitlines()))
    assert len(rows) == 3 * 32 * 32
    loads = [row for row in rows if row["source"] == "tile[tx][ty]"]
    first = [row for row in loads if (row["warp"], row["block"]) == ("0", "0")]
    assert {(row["line"], row["space"], row["op"], row["wavefronts"]) for row in first} == {
        ("52", "shared", "load", "32")
    }
    assert {row["bank"] for row in first} == {"0"}
    start = int(first[0]["address"])
    assert [int(row["address"]) - start for row in first] == [128 * lane for lane in range(32)]


@pytest.mark.exhaustive
def test_a_figure_and_a_page_are_exported(square, command):
    command("export", square, "--kernel", "set_row_read_col", "--figure", "banks", "-o", "banks.html")
    command("export", square, "-o", "square.html")
    text = Path("square.html").read_text()
    assert "tile[tx][ty]" in text
    assert "2,048" in text  # wavefronts of set_col_read_col


def test_a_report_of_the_compiled_view_plays_its_requests(square, command):
    recording = smemviz.run(square, view="compiled")
    recording.save("square.smem.npz")
    command("export", "square.smem.npz", "-o", "square.html")
    assert "set_row_read_col_pad" in Path("square.html").read_text()


@pytest.mark.parametrize(("file", "first"), [("transpose.cu", "{}[0][0]"), ("transpose.py", "{}[0, 0]")])
def test_pictures_name_elements_as_the_language_does(file, first):
    recording = smemviz.run(kernels_dir() / file)
    now = request_view(recording["tile"]).spelled(recording)
    shown = played_block(now, H200)
    asked = FigureInput(recording, H200, "light", now, array="held")
    assert shown["arrays"][0]["names"][0] == first.format("held")
    assert {each["between"] for each in shown["globals"]} == {first[4:-2]}
    for figure, array in (("tile", "held"), ("sectors", "matrix"), ("elements", "matrix")):
        assert first.format(array) in json.dumps(FIGURES[figure].draw(asked).to_plotly_json(), default=list)


def test_the_numbers_of_a_float4_are_no_columns():
    text = """__global__ void k(float4 *out) {
    __shared__ float4 t[4][32];
    t[threadIdx.x / 32][threadIdx.x % 32] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = t[threadIdx.x % 4][threadIdx.x / 4];
}
"""
    launch = smemviz.cuda_cpp(text)["k"][1, 128](np.zeros((128, 4), np.float32)).launches[0]
    said = {site.op: one.because for site, one in zip(launch.sites, explain(launch), strict=True) if site.array == "t"}
    assert said["store"].startswith("Neighbouring lanes are 4 words apart, 1 column right: ")
    assert "row" not in said["load"]


def test_a_notebook_shows_the_table(square):
    shown = re.sub(r"<[^>]*>", " ", smemviz.run(square)._repr_html_())
    assert "tile[tx][ty]" in shown
    assert "1,056" in shown  # 32 wavefronts of the rows, 1,024 of the columns


@pytest.mark.exhaustive
def test_two_files_of_cuda_are_compared(square, command):
    other = Path("padded.cu")
    other.write_text(square.read_text().replace("tile[BDIMY][BDIMX]", "tile[BDIMY][PITCH]"))
    assert command("diff", square, other, "--json").json["worse"] is False
    lines = command("diff", other, square, code=1).out.splitlines()
    (load,) = [line.split("│")[1:-1] for line in lines if "tile[tx][ty]" in line]
    cells = ["52", "tile[tx][ty]", "shared load", "32", "32 → 1,024", "0 → 992", "1 → 32", "-"]
    assert [cell.strip() for cell in load] == cells
    assert lines[-1] == "Worse in B: set_row_read_col in wavefronts."


@pytest.mark.exhaustive
def test_a_kernel_file_is_run_in_pytest(pytester):
    shutil.copy(kernels_dir() / "square.cu", pytester.path / "square.cu")
    pytester.makepyfile(
        """
        def test_padded(smem):
            smem.assert_excess(smem.run("square.cu", constants={"IPAD": 1})["set_row_read_col_pad"], 0)

        def test_not_padded(smem):
            smem.assert_excess(smem.run("square.cu", constants={"IPAD": 0})["set_row_read_col_pad"], 0)
        """
    )
    ran = pytester.runpytest_subprocess("-n0", "-p", "no:benchmark", "-p", "no:randomly")
    ran.assert_outcomes(passed=1, failed=1)
    ran.stdout.fnmatch_lines(["*992*"])


def test_the_gallery_shows_files_of_both_languages_side_by_side():
    both = Library([kernels_dir() / "square.py", kernels_dir() / "square.cu"])
    assert both.files == ("square", "square.cu", "square.cu@compiled")
    page = str(gallery_page(both))
    for file in ("square", "square.cu"):
        assert f"/kernel?file={file}&kernel=set_col_read_col" in page
    assert "/kernel?file=square.cu%40compiled" not in page  # the page of the file shows what the compiler left


def test_what_a_loop_works_out_anew_follows_registers_that_some_threads_changed():
    text = (
        "__global__ void k(int *out, int n) {\n    int t = threadIdx.x, total = 0, step = 1;\n"
        "    for (int i = 0; i < n; i++) {\n        total += t * step + blockIdx.x * 100;\n"
        "        if (i == 2 && t % 3 == 0)\n            step = 5;\n    }\n"
        "    out[blockIdx.x * blockDim.x + t] = total;\n}\n"
    )
    out = np.zeros((3, 64), np.int32)
    for view in ("source", "compiled"):
        out[:] = 0
        smemviz.cuda_cpp(text, view=view)["k"][3, 64](out, 6)
        t = np.arange(64)
        expected = 3 * t + 3 * t * np.where(t % 3 == 0, 5, 1) + 600 * np.arange(3)[:, None]
        assert np.array_equal(out, expected)
