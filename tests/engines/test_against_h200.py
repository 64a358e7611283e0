"""Lockstep against what an H200 recorded: the checked-in recordings of the gallery.

The figures are the hardware's own counters, read with Nsight Compute on the H200 for these kernels: wavefronts of the
shared store and load, and sectors of the global store.
"""

import numpy as np
import pytest

import smemviz
from smemviz.model.relative import relative_addresses
from smemviz.program import read_program
from smemviz.resources import gallery, kernels_dir

KERNELS = [
    "set_row_read_row",
    "set_col_read_col",
    "set_row_read_col",
    "set_row_read_col_dyn",
    "set_row_read_col_pad",
    "set_row_read_col_dyn_pad",
]
WAVEFRONTS = {
    "square": [(32, 32), (1024, 1024), (32, 1024), (32, 1024), (32, 32), (32, 32)],
    "rectangle": [(16, 16), (256, 256), (16, 256), (16, 256), (16, 16), (16, 16)],
}
SECTORS = {"square": 128, "rectangle": 64}


@pytest.fixture(scope="module", params=[path.stem for path in gallery()])
def pair(request):
    """A kernel file's H200 recording and a lockstep run of the same file."""
    path = kernels_dir() / f"{request.param}.py"
    recorded = smemviz.load(kernels_dir() / "recordings" / "h200" / f"{request.param}.smem.npz")
    return path, recorded, smemviz.run(path, engine="lockstep")


def test_the_recording_was_made_from_this_kernel_file(pair):
    path, recorded, _ = pair

    assert read_program(path).sha256 == recorded.sha256, f"record {path.name} on the GPU again"


def test_it_was_made_on_a_gpu(pair):
    _, recorded, _ = pair

    assert recorded.engine == "gpu"
    assert recorded.device.name == "NVIDIA H200"
    assert recorded.device.compute_capability == (9, 0)


def test_sites_and_launches_are_the_same(pair):
    _, recorded, run = pair

    for one, other in zip(recorded.launches, run.launches, strict=True):
        assert (one.kernel, one.grid, one.block) == (other.kernel, other.grid, other.block)
        assert (one.dynamic_shared, one.shared_bytes) == (other.dynamic_shared, other.shared_bytes)
        assert one.sites == other.sites


def test_requests_are_the_same_in_address_mask_and_order(pair):
    _, recorded, run = pair

    for one, other in zip(recorded.launches, run.launches, strict=True):
        for column in ("site", "block", "warp", "step", "epoch"):
            np.testing.assert_array_equal(getattr(one.requests, column), getattr(other.requests, column))
        for seen, predicted in zip(relative_addresses(one), relative_addresses(other), strict=True):
            np.testing.assert_array_equal(seen, predicted)
        np.testing.assert_array_equal(one.requests.values, other.requests.values)


def test_shared_arrays_are_the_same(pair):
    _, recorded, run = pair

    for one, other in zip(recorded.launches, run.launches, strict=True):
        assert one.shared_arrays == other.shared_arrays


@pytest.mark.parametrize("source", ["recording", "lockstep"])
@pytest.mark.parametrize("name", ["square", "rectangle"])
def test_wavefronts_and_sectors_are_what_the_hardware_counted(name, source):
    path = kernels_dir() / f"{name}.py"
    if source == "recording":
        recording = smemviz.load(kernels_dir() / "recordings" / "h200" / f"{name}.smem.npz")
    else:
        recording = smemviz.run(path, engine="lockstep")

    found = []
    for kernel in KERNELS:
        store, load, result = recording[kernel].summary(cc=(9, 0))
        found.append((store.wavefronts, load.wavefronts))
        assert result.sectors == SECTORS[name]
    assert found == WAVEFRONTS[name]


def test_static_and_dynamic_reverse_count_the_same():
    recording = smemviz.load(kernels_dir() / "recordings" / "h200" / "reverse.smem.npz")

    assert recording["static_reverse"].summary() == recording["dynamic_reverse"].summary()
    assert [row.wavefronts for row in recording["static_reverse"].summary()] == [None, 2, 2, None]
