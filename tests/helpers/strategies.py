"""Recordings made up for tests: one by hand, and any number by Hypothesis."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from smemviz.frontends.program import source_sha256
from smemviz.recordings.data import ArrayInfo, Launch, Requests, Site, Totals
from smemviz.recordings.findings import Finding
from smemviz.recordings.measured import Device
from smemviz.recordings.recording import Recording

KERNEL = "set_row_read_col"
SOURCE = "# 행과 열\ntile[ty, tx] = idx\nout[idx] = tile[tx, ty]\n"


def requests(count: int, sites: int = 3, blocks: int = 1, warps: int = 32, seed: int = 0) -> Requests:
    """Make requests up, with inactive lanes and with values where something was stored."""
    random = np.random.default_rng(seed)
    addresses = random.integers(0, 1 << 40, (count, 32)) * 4
    addresses[random.random((count, 32)) < 0.1] = -1
    values = np.where(random.random((count, 32)) < 0.5, random.integers(0, 9999, (count, 32)), np.nan)
    return Requests(
        addresses,
        random.integers(0, sites, count, dtype=np.int32),
        np.sort(random.integers(0, blocks, count)),
        random.integers(0, warps, count, dtype=np.int32),
        np.arange(count, dtype=np.int32),
        np.zeros(count, np.int32),
        values,
    )


def a_launch(count: int = 96) -> Launch:
    """Make a launch of a 32 x 32 tile up."""
    site = Site(2, 0, 2, 12, "tile[ty, tx]", "tile", "shared", "store", 4, "int32", KERNEL)
    load = Site(3, 11, 3, 23, "tile[tx, ty]", "tile", "shared", "load", 4, "int32", KERNEL, ((3, 0),))
    out = Site(3, 0, 3, 8, "out[idx]", "out", "global", "store", 4, "int32", KERNEL)
    arrays = (
        ArrayInfo("tile", "shared", (32, 32), (128, 4), "int32", 1024, 1),
        ArrayInfo("out", "global", (1024,), (4,), "int32", 1 << 40, 1),
    )
    own = requests(count)
    return Launch(KERNEL, 1, (1, 1, 1), (32, 32, 1), 0, 4096, (site, load, out), arrays, own)


def totals(launch: Launch, more: int = 1000) -> Totals:
    """Make totals up for a launch that had more requests at each site than it logged."""
    logged = np.bincount(launch.requests.site, minlength=len(launch.sites))
    degrees = np.zeros((len(launch.sites), 33), np.int64)
    degrees[:, 1] = logged + more
    return Totals(logged + more, logged * 32, logged + more, logged * 4, degrees)


def a_recording(*launches: Launch) -> Recording:
    """Make a recording up."""
    return Recording(
        file="kernels/square.py",
        source=SOURCE,
        sha256=source_sha256(SOURCE),
        constants={"BDIMX": 32, "SCALE": 0.5, "FAST": True, "DTYPE": "float32"},
        engine="gpu",
        device=Device("NVIDIA H200", (9, 0), "580.159", "CUDA 13.0"),
        date="2025-11-21T02:26:00+00:00",
        version="0.1.0",
        launches=launches or (a_launch(),),
        findings=(
            Finding("out_of_bounds", "set_row_read_col", 3, (0, 0, 0), ((1, 2, 0), (2, 2, 0)), "out[1024] of 1024"),
        ),
    )


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    """Draw recordings with none to three launches, each with or without requests and totals."""
    launches = []
    for _ in range(draw(st.integers(0, 3))):
        launch = a_launch(draw(st.integers(0, 40)))
        launch = replace(
            launch, kernel=draw(st.text(min_size=1, max_size=9)), dynamic_shared=draw(st.integers(0, 1 << 17))
        )
        launch = replace(launch, requests=requests(len(launch.requests), seed=draw(st.integers(0, 99))))
        if draw(st.booleans()):
            launch = replace(launch, totals=totals(launch))
        launches.append(launch)
    values = st.integers() | st.floats(allow_nan=False) | st.booleans() | st.sampled_from(["int32", "float32"])
    return replace(
        a_recording(),
        source=draw(st.text()),
        constants=draw(st.dictionaries(st.text(), values, max_size=4)),
        engine=draw(st.sampled_from(["gpu", "lockstep"])),
        device=draw(st.sampled_from([None, a_recording().device])),
        launches=tuple(launches),
        findings=draw(st.sampled_from([(), a_recording().findings])),
    )
