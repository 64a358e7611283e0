"""``smemviz sweep`` where it refuses, which needs no GPU; what it measures is tested on one."""

import argparse

import numpy as np
import pytest

from smemviz.cli.main import main
from smemviz.cli.verbs.sweep import SIZES, _sizes
from smemviz.engines.backend import gpu_engine
from smemviz.engines.launch_shape import Configuration
from smemviz.frontends.reading import read_program
from smemviz.measure.sweep.launches import Job, Matrices, Measure
from smemviz.paths import kernels_dir
from smemviz.recordings.sweep import Size

FILE = str(kernels_dir() / "matmul.py")

OTHER = """\
from numba import cuda
M = 1
K = 1
N = 1
@cuda.jit
def kernel(out):
    out[0] = 1
def main():
    pass
"""


def test_sizes_are_cubes_or_three_numbers():
    assert _sizes("64,228x240x112") == [Size(64, 64, 64), Size(228, 240, 112)]
    assert [size.m for size in _sizes(SIZES)] == [64, 128, 256, 512, 1024, 2048, 4096, 8192]


def test_other_sizes_are_refused():
    for text in ["", "0", "64,", "64x64", "1x2x3x4", "40000", "-1", "a"]:
        with pytest.raises(argparse.ArgumentTypeError, match="is no size: 1024, or 228x240x112, numbers up to 32768"):
            _sizes(text)


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_a_limit_is_a_number_of_seconds(seconds, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["sweep", FILE, "--limit", seconds])
    assert ended.value.code == 2
    assert "is not a number of seconds" in capsys.readouterr().err


def test_a_file_without_the_constants_is_refused(command):
    assert command("sweep", kernels_dir() / "square.py", code=2).err.endswith(
        "square.py:1: a sweep sets M, K and N; there is no constant M, K, N\n"
    )


def test_a_kernel_in_cuda_that_is_no_product_is_refused(tmp_path, command):
    path = tmp_path / "other.cu"
    path.write_text("#define M 1\n#define K 1\n#define N 1\n__global__ void kernel(int *out) { *out = 1; }\n")
    assert "has no launch; add a comment" in command("sweep", path, code=2).err
    path.write_text(path.read_text() + "// smemviz: kernel<<<1, 1>>>(zeros(1))\n")
    err = command("sweep", path, code=2).err
    assert err == f"smemviz: {path}:4: a sweep needs kernels of (c, a, b); kernel is none\n"


def test_a_kernel_that_is_no_product_is_refused(tmp_path, command):
    path = tmp_path / "other.py"
    path.write_text(OTHER)
    err = command("sweep", path, code=2).err
    assert err == f"smemviz: {path}:6: a sweep needs kernels of (c, a, b); kernel is none\n"


def test_where_to_keep_it_is_checked_before_anything_is_measured(tmp_path, command):
    assert "there is no folder" in command("sweep", FILE, "-o", tmp_path / "none" / "x.sweep.json", code=2).err
    broken = tmp_path / "broken.sweep.json"
    broken.write_text("{}")
    assert "is not a sweep: its schema is not 1" in command("sweep", FILE, "-o", broken, code=2).err


def test_without_a_gpu_there_is_nothing_to_measure(command):
    if gpu_engine().available():
        pytest.skip("there is a GPU here")
    assert "no GPU here" in command("sweep", FILE, code=3).err


@pytest.mark.parametrize("name", ["PITCH", "M"])
def test_points_that_a_sweep_would_take_for_one_are_refused(name, capsys):
    assert main(["sweep", FILE, "--over", f"{name}=64,128", "--over", "DTYPE=float32,float64"]) == 2
    assert capsys.readouterr().err == (
        f"smemviz: --over {name}: points of a sweep differ in size, TILE and type; "
        "give sizes with --sizes, any other constant with --set and a file of its own\n"
    )


def test_larger_sizes_are_foretold_from_what_was_measured_before():
    job = Job(10.0, None, None, 1)
    job.learn("tiled", "launch", Size(64, 64, 64), 64**3 * 2 / 1e6)
    assert job.predicted("tiled", "launch", Size(128, 128, 128)) == pytest.approx(128**3 * 2 / 1e6)
    assert job.predicted("cuBLAS", "launch", Size(128, 128, 128)) == 0


def test_a_count_is_foretold_from_those_of_smaller_sizes():
    size, larger = Size(64, 64, 64), Size(128, 128, 128)
    program = read_program(FILE)
    job = Job(10.0, None, None, 1)
    job.learn("tiled", "count", size, 2.0)
    matrix = np.zeros((64, 64), np.float32)
    points = [
        Measure(job, program, one, Matrices())._point("tiled", [matrix] * 3, None, grid=(2, 2))
        for one in (size, larger)
    ]
    assert [point.count_s for point in points] == [2.0, None]
    assert job.predicted("tiled", "count", larger) == pytest.approx(2.0 * 8)
    config = Configuration((4, 4, 1), (32, 32, 1))
    counted = Measure(job, program, larger, Matrices())._count("tiled", config, pytest.fail, ())  # type: ignore[arg-type]
    assert counted is None  # 16 seconds are above the limit, so nothing is asked to count
