"""Kernels written in CUDA C++ and in Python make the same requests."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from helpers.same_requests import relative_requests

import smemviz
from smemviz.paths import kernels_dir
from smemviz.recordings.recording import Recording

FILES = ("square", "rectangle", "transpose", "reduce", "reverse", "matmul")


def both(name: str) -> tuple[Recording, Recording]:
    cpp, python = (smemviz.run(kernels_dir() / f"{name}{ending}", engine="lockstep") for ending in (".cu", ".py"))
    return cpp, python


@pytest.mark.parametrize("name", FILES)
def test_both_languages_make_the_same_requests(name: str) -> None:
    cpp, python = both(name)
    twins = [launch for launch in python.launches if launch.kernel in {one.kernel for one in cpp.launches}]
    assert len(cpp.launches) >= 2
    assert [launch.kernel for launch in cpp.launches] == [launch.kernel for launch in twins]
    for one, other in zip(cpp.launches, twins, strict=True):
        assert relative_requests(one) == relative_requests(other), one.kernel
        assert one.shared_bytes == other.shared_bytes
    assert not cpp.findings


@pytest.mark.parametrize("name", FILES)
def test_both_languages_have_the_same_table(name: str) -> None:
    cpp, python = both(name)
    for one in cpp.launches:
        other = python[one.kernel]
        ours = Counter((s.array, s.space, s.op, s.width, row) for s, row in zip(one.sites, one.summary(), strict=True))
        theirs = [(s.array, s.space, s.op, s.width, row) for s, row in zip(other.sites, other.summary(), strict=True)]
        assert ours == Counter(theirs), one.kernel


@pytest.mark.parametrize("name", FILES)
def test_shared_arrays_have_the_shapes_and_types_of_the_source(name: str) -> None:
    cpp, python = both(name)
    for one in cpp.launches:
        shapes = [
            [(a.name, a.shape, a.strides, a.dtype, a.dynamic) for a in launch.shared_arrays]
            for launch in (one, python[one.kernel])
        ]
        assert shapes[0] == shapes[1], one.kernel


@pytest.mark.parametrize("name", FILES)
def test_the_compiled_view_runs_every_kernel(name: str) -> None:
    source, compiled = (smemviz.run(kernels_dir() / f"{name}.cu", view=view) for view in ("source", "compiled"))
    assert compiled.view == "compiled"
    assert [launch.kernel for launch in compiled.launches] == [launch.kernel for launch in source.launches]
    assert not compiled.findings


def test_the_square_kernels_cost_what_the_h200_counted() -> None:
    recording = smemviz.run(Path(kernels_dir()) / "square.cu")
    wavefronts = {
        launch.kernel: tuple(row.wavefronts for row in launch.summary() if row.wavefronts is not None)
        for launch in recording.launches
    }
    # (store, load); Nsight Compute on the H200: row/row 32/32, col/col 1,024/1,024, padded 32/32.
    assert wavefronts == {
        "set_row_read_row": (32, 32),
        "set_col_read_col": (1024, 1024),
        "set_row_read_col": (32, 1024),
        "set_row_read_col_dyn": (32, 1024),
        "set_row_read_col_pad": (32, 32),
        "set_row_read_col_dyn_pad": (32, 32),
    }


def test_a_tiled_product_costs_what_the_h200_counted_for_unmerged_loads() -> None:
    launch = smemviz.run(kernels_dir() / "matmul.cu", kernels="tiled")["tiled"]
    assert (
        sum(row.wavefronts or 0 for s, row in zip(launch.sites, launch.summary(), strict=True) if s.op == "load")
        == 16384
    )


@pytest.mark.parametrize("view", ["source", "compiled"])
def test_counts_are_those_of_the_h200(view: str) -> None:
    recording = smemviz.run(Path(__file__).parents[1] / "data" / "cuda" / "counted.cu", view=view)
    counts = {}
    for launch in recording.launches:
        rows = [(s.op, row.wavefronts or 0) for s, row in zip(launch.sites, launch.summary(), strict=True)]
        counts[launch.kernel] = tuple(sum(n for op, n in rows if op == which) for which in ("load", "store"))
    # (load, store), Nsight Compute on the H200.
    assert counts == {"panel": (2560, 256), "interleaved": (380, 220), "shuffled": (2, 16)}
    assert not recording.findings
