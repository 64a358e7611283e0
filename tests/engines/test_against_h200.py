"""Lockstep against what an H200 recorded: the checked-in recordings of the gallery.

The figures are the hardware's own counters, read with Nsight Compute on the H200 for these kernels: wavefronts of the
shared store and load, and sectors of the global store.
"""

from dataclasses import replace

import numpy as np
import pytest
from helpers.gallery import H100, SLOW, h200
from helpers.tiers import but

import smemviz
from smemviz.frontends.reading import read_program
from smemviz.model.layout.array_requests import relative_addresses
from smemviz.paths import gallery, kernels_dir
from smemviz.recordings.calibration import load_calibration

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
# What the compiler made of requests so that they cost something else: one wide instruction of several, two of one.
CHANGED = ("became one", "is two floats", "is two doubles")


@pytest.fixture(scope="module", params=but(SLOW, (path.stem for path in gallery() if path.stem != "mistakes")))
def pair(request):
    """A kernel file's H200 recording and a lockstep run of the same file."""
    path = kernels_dir() / f"{request.param}.py"
    recorded = h200(request.param)
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
        assert one.summary() == other.summary()


def test_shared_arrays_are_the_same(pair):
    _, recorded, run = pair

    def without_place(launch):  # which array comes first is up to the assembler, and has changed with its versions
        return [replace(array, address=0) for array in launch.shared_arrays]

    for one, other in zip(recorded.launches, run.launches, strict=True):
        assert without_place(one) == without_place(other)


def test_wavefronts_and_sectors_are_what_the_hardware_counted():
    for source in ["recording", "lockstep"]:
        for name in ["square", "rectangle"]:
            path = kernels_dir() / f"{name}.py"
            recording = h200(name) if source == "recording" else smemviz.run(path, engine="lockstep")

            found = []
            for kernel in KERNELS:
                store, load, result = recording[kernel].summary(cc=(9, 0))
                found.append((store.wavefronts, load.wavefronts))
                assert result.sectors == SECTORS[name]
            assert found == WAVEFRONTS[name]


def test_every_site_was_held_against_the_hardware_counters(pair):
    _, recorded, _ = pair

    for launch in recorded.launches:
        assert launch.unaccounted == ()
        for site, counted, hardware in zip(launch.sites, launch.summary(), launch.hardware, strict=True):
            assert hardware.verdict in ("agrees", "explained"), (launch.kernel, site.line, hardware.because)
            seen = (hardware.wavefronts, hardware.ideal, hardware.sectors)
            if not any(change in hardware.because for change in CHANGED):
                assert seen == (counted.wavefronts, counted.ideal, counted.sectors)
            if hardware.verdict == "agrees":
                assert hardware.requests == counted.requests


def test_every_launch_was_timed(pair):
    _, recorded, _ = pair

    for launch in recorded.launches:
        longest = 400 if launch.kernel == "global_memory" else 200 if launch.kernel == "l2_cache" else 40
        assert 0 < launch.time.floor_us < launch.time.median_us < longest
        assert (launch.time.high_us - launch.time.low_us) / 2 < 0.01 * launch.time.median_us


def test_an_update_that_costs_what_the_data_makes_it_cost_is_counted_as_the_hardware_does():
    """Wavefronts of the shared update on even, then on skewed values, from Nsight Compute on the H200."""
    run = smemviz.run(kernels_dir() / "histogram.py", engine="lockstep")

    costs = {name: [] for name in ("count_in_shared_memory", "weigh_in_shared_memory")}
    for launch in run.launches:
        for site, row in zip(launch.sites, launch.summary(), strict=True):
            if site.space == "shared" and site.op.startswith("reduce"):
                costs[launch.kernel].append(row.wavefronts)
    assert costs == {"count_in_shared_memory": [408, 130], "weigh_in_shared_memory": [449, 952]}


def test_adding_neighbours_has_the_excess_that_others_published():
    """420 for 1,024 elements and 256 threads: 140 in each of two loads and a store."""
    run = smemviz.run(kernels_dir() / "reduce.py", engine="lockstep")

    excess = {launch.kernel: sum(row.excess or 0 for row in launch.summary()) for launch in run.launches}
    assert excess == {
        "neighbours_in_global_memory": 0,
        "neighbours_by_spread_threads": 0,
        "neighbours_by_close_threads": 420,
        "halves": 0,
        "halves_of_two_loads": 0,
        "shuffles": 0,
    }


def test_a_tile_trades_strided_sectors_for_conflicts_and_padding_or_swizzling_cures_those():
    run = smemviz.run(kernels_dir() / "transpose.py", engine="lockstep")

    found = {
        launch.kernel: (
            sum(row.sectors or 0 for row in launch.summary()),
            sum(row.excess or 0 for row in launch.summary()),
        )
        for launch in run.launches
    }
    assert found == {
        "copy": (768 + 768, 0),
        "load_rows_store_columns": (768 + 6144, 0),
        "load_columns_store_rows": (6144 + 768, 0),
        "tile": (768 + 768, 31 * 192),
        "padded_tile": (768 + 768, 0),
        "swizzled_tile": (768 + 768, 0),
    }


def test_static_and_dynamic_reverse_count_the_same():
    recording = h200("reverse")

    assert recording["static_reverse"].summary() == recording["dynamic_reverse"].summary()
    assert [row.wavefronts for row in recording["static_reverse"].summary()] == [None, 2, 2, None]


FILES = sorted(path.name.removesuffix(".smem.npz") for path in H100.glob("*.smem.npz"))


@pytest.fixture(scope="module", params=but(SLOW, FILES))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def recorded(name):
    return smemviz.load(H100 / f"{name}.smem.npz")


def test_the_recording_of_an_h100_was_made_from_this_kernel_file(name, recorded):
    path = kernels_dir() / (name if name.endswith(".cu") else f"{name}.py")

    assert recorded.device.name == "NVIDIA H100 80GB HBM3"
    assert recorded.sha256 == read_program(path).sha256, f"verify {path.name} on an H100 again"


def test_an_h100_counted_the_same(name, recorded):
    for launch, there in zip(recorded.launches, h200(name).launches, strict=True):
        assert launch.unaccounted == ()
        assert launch.summary() == there.summary()
        for site, counted, hardware in zip(launch.sites, launch.summary(), launch.hardware, strict=True):
            assert hardware.verdict in ("agrees", "explained"), (launch.kernel, site.line, hardware.because)
            if hardware.verdict == "agrees":
                seen = (hardware.requests, hardware.wavefronts, hardware.ideal, hardware.sectors)
                assert seen == (counted.requests, counted.wavefronts, counted.ideal, counted.sectors)
        for one, other in zip(launch.hardware, there.hardware, strict=True):
            seen, expected = ((row.requests, row.wavefronts, row.ideal, row.sectors) for row in (one, other))
            assert seen == expected


def test_the_clock_of_an_h100_agrees_with_every_assumption():
    calibration = load_calibration(kernels_dir() / "recordings" / "h100" / "calibration.json")

    assert len(calibration.rows) == 46
    assert all(row.agrees for row in calibration.rows)
    assert all(abs(slope - 1) < 0.001 for slope in calibration.slopes.values())
