"""Lockstep against an H100: what Nsight Compute counted there of the gallery, and what its own clock said."""

import pytest
from helpers.gallery import H100, SLOW, h200
from helpers.tiers import but

import smemviz
from smemviz.frontends.reading import read_program
from smemviz.paths import kernels_dir
from smemviz.recordings.calibration import load_calibration

FILES = sorted(path.name.removesuffix(".smem.npz") for path in H100.glob("*.smem.npz"))


@pytest.fixture(scope="module", params=but(SLOW, FILES))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def recorded(name):
    return smemviz.load(H100 / f"{name}.smem.npz")


def test_it_was_made_from_this_kernel_file(name, recorded):
    path = kernels_dir() / (name if name.endswith(".cu") else f"{name}.py")

    assert recorded.device.name == "NVIDIA H100 80GB HBM3"
    assert recorded.sha256 == read_program(path).sha256, f"verify {path.name} on an H100 again"


def test_every_site_was_held_against_the_hardware_counters(name, recorded):
    path = kernels_dir() / (name if name.endswith(".cu") else f"{name}.py")
    run = smemviz.run(path, engine="lockstep")

    for launch, predicted in zip(recorded.launches, run.launches, strict=True):
        assert launch.unaccounted == ()
        assert launch.summary() == predicted.summary()
        for site, counted, hardware in zip(launch.sites, predicted.summary(), launch.hardware, strict=True):
            assert hardware.verdict in ("agrees", "explained"), (launch.kernel, site.line, hardware.because)
            if hardware.verdict == "agrees":
                seen = (hardware.requests, hardware.wavefronts, hardware.ideal, hardware.sectors)
                assert seen == (counted.requests, counted.wavefronts, counted.ideal, counted.sectors)


def test_an_h200_counted_the_same(name, recorded):
    for here, there in zip(recorded.launches, h200(name).launches, strict=True):
        for one, other in zip(here.hardware, there.hardware, strict=True):
            seen, expected = ((row.requests, row.wavefronts, row.ideal, row.sectors) for row in (one, other))
            assert seen == expected


def test_its_clock_agrees_with_every_assumption():
    calibration = load_calibration(kernels_dir() / "recordings" / "h100" / "calibration.json")

    assert len(calibration.rows) == 46
    assert all(row.agrees for row in calibration.rows)
    assert all(abs(slope - 1) < 0.001 for slope in calibration.slopes.values())
