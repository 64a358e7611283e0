"""Sweeping matrix products on a real GPU: small sizes, whose counts lockstep knows."""

import json
import os
import subprocess
import sys

import pytest

from smemviz.engines import run
from smemviz.model.counting.matmul import traffic
from smemviz.paths import kernels_dir
from smemviz.recordings.sweep import load_sweep, parse_sweep

pytestmark = pytest.mark.gpu

FILE = kernels_dir() / "matmul.py"
CUDA_FILE = kernels_dir() / "matmul.cu"


def smemviz(*arguments, file=FILE):
    command = [sys.executable, "-m", "smemviz", "sweep", str(file), "--set", "TILE=16", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def swept(*arguments, file=FILE):
    done = smemviz("--sizes", "64", "--json", *arguments, file=file)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Give the sweep of a file for one size, which one of the processes that share the tests has made for all."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if os.environ.get("PYTEST_XDIST_WORKER") else folder

    def small_of(file):
        path = folder / f"{file.name}.sweep.json"
        if not path.exists():
            own = path.with_suffix(f".{os.getpid()}")
            own.write_text(swept(file=file))
            own.replace(path)
        return load_sweep(path)

    return small_of


@pytest.mark.parametrize(("file", "view"), [(FILE, None), (CUDA_FILE, "compiled")])
def test_the_card_counts_what_lockstep_counts(small, file, view):
    constants = {"M": 64, "K": 64, "N": 64, "TILE": 16}
    launches = run(file, constants, "lockstep", view=view).launches
    counted = {point.kernel: point for point in small(file).points if point.tile}
    assert len(counted) == len(launches)
    for launch in launches:
        expected, found = traffic(launch), counted[launch.kernel].moved
        for name in ("load_requests", "load_sectors", "store_sectors", "shared_loads", "shared_stores", "excess"):
            assert getattr(found, name) == getattr(expected, name), (launch.kernel, name)


@pytest.mark.parametrize("file", [FILE, CUDA_FILE])
def test_every_product_is_right_and_timed(small, file):
    for point in small(file).points:
        assert point.time.low_us <= point.time.median_us <= point.time.high_us
        if point.error is not None:
            assert point.error <= 1e-6 * point.largest, point.kernel
        if point.dtype == "int32":
            assert point.error == 0
        if point.tile:
            assert point.time.whole_us > point.time.median_us


@pytest.mark.alone
def test_ceilings_lie_below_what_the_parts_could_do():
    found = {ceiling.name: ceiling for ceiling in parse_sweep(swept()).ceilings}
    assert list(found) == ["memory copy", "memory read", "L2 read", "shared read", "float32"]
    assert found["L2 read"].rate > found["memory read"].rate
    assert found["shared read"].rate > found["L2 read"].rate
    # A multiprocessor of 7.0 and later has 128 bytes of shared memory per clock, and at most 128 multiply-adds.
    assert found["float32"].rate < 2.05 * found["shared read"].rate
    for ceiling in found.values():
        assert ceiling.low <= ceiling.rate <= ceiling.high


def test_what_would_take_too_long_is_skipped_and_says_so():
    done = smemviz("--sizes", "256,1024", "--limit", "0.05", "--json")
    assert done.returncode == 0, done.stderr
    (loops,) = (p for p in parse_sweep(done.stdout).points if p.kernel == "three loops" and p.size.m == 1024)
    assert loops.time is None
    assert loops.skipped.endswith("more than the limit of 0.05 s")


def test_results_are_kept_beside_what_is_there(tmp_path):
    path = tmp_path / "matmul.sweep.json"
    for size in ("32", "20x24x36"):
        assert smemviz("--sizes", size, "-o", path).returncode == 0
    assert {point.size.name for point in load_sweep(path).points} == {"32", "20x24x36"}
    text = path.read_text()
    facts = json.loads(text)
    facts["sha256"], facts["kernels"] = "0" * 64, {}
    path.write_text(json.dumps(facts))
    done = smemviz("--sizes", "32", "-o", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "another version of the kernel file; nothing was measured, name another file" in done.stderr
