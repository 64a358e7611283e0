"""The gallery in Triton, without Triton: what is recorded is what its PTX does, and pages show it."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

import smemviz
from smemviz.app.library import Library
from smemviz.app.pages.compare.compare_picks import offered
from smemviz.app.pages.kernel.run_view import view_run
from smemviz.app.state import RunState
from smemviz.engines.options import RunOptions
from smemviz.engines.ptx_runner import run_in_lockstep
from smemviz.frontends.program import source_sha256
from smemviz.frontends.reading import read_program
from smemviz.paths import cute_gallery, gallery, recording_for, triton_gallery

NAMES = ["flash_attention", "layer_norm", "matmul", "softmax", "transpose"]
TARGETS = ("sm_80", "sm_90")


def counted(launch):
    """Return how often each access made so many requests, wavefronts and sectors."""
    return Counter(
        (site.line, site.column, site.space, site.op, site.width, row.requests, row.wavefronts, row.sectors)
        for site, row in zip(launch.sites, launch.summary(), strict=True)
    )


def of(name):
    """Return a kernel file of the gallery in Triton."""
    return next(path for path in triton_gallery() if path.stem == name)


def test_each_is_there_with_its_recordings():
    assert [path.stem for path in triton_gallery()] == NAMES
    for path in triton_gallery():
        for target in TARGETS:
            recording = smemviz.load(path.parent / "recordings" / target / f"{path.stem}.smem.npz")
            assert recording.sha256 == source_sha256(path.read_text(encoding="utf-8")), f"record {path.name} again"
            assert recording.findings == ()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_its_ptx_makes_the_requests_that_are_recorded(name, target):
    path = of(name)
    (recorded,) = smemviz.load(path.parent / "recordings" / target / f"{name}.smem.npz")
    (launch,) = smemviz.run(path.with_suffix(f".{target}.ptx"), engine="lockstep")
    assert counted(launch) == counted(recorded)


def test_no_access_has_a_conflict_and_operands_of_the_dot_are_read_by_ldmatrix():
    (launch,) = smemviz.load(recording_for(of("matmul")))
    rows = list(zip(launch.sites, launch.summary(), strict=True))
    assert [row.excess for site, row in rows if site.is_shared] == [0] * sum(site.is_shared for site in launch.sites)
    assert {site.op for site in launch.sites if site.is_shared} == {"load", "store", "ldmatrix_x4"}
    assert {array.name for array in launch.arrays if array.space == "shared"} >= {"a", "b"}


def test_what_the_ptx_leaves_is_right():
    left: list[Any] = []
    program = read_program(of("matmul").with_suffix(".sm_80.ptx"))
    run_in_lockstep(program, RunOptions(), lambda kernel, arrays: left.extend(arrays))
    out, one, other = (np.asarray(array, np.float32) for array in left[:3])
    assert np.abs(out - one @ other).max() < 0.01


def test_the_gallery_shows_them_where_triton_is_not_installed(monkeypatch):
    library = Library([*gallery(), *triton_gallery()])
    assert library.files[-5:] == ("flash_attention", "layer_norm", "triton/matmul", "softmax", "triton/transpose")
    monkeypatch.setattr(library, "_result_of", lambda program, key: pytest.fail("it is run"))
    for file in library.files[-5:]:
        assert library.show(RunState(file)).from_file
    groups = {group["group"]: group["items"] for group in offered(library, [])}
    assert groups["triton/matmul"] == [{"value": "triton/matmul:matmul", "label": "triton/matmul: matmul"}]
    assert "tl.dot(" in str(view_run(library, {"file": "triton/matmul", "kernel": "matmul"})["source.html"])


def test_a_tile_of_cute_is_turned_without_conflicts_behind_its_swizzle():
    (path,) = cute_gallery()
    left: list[Any] = []
    (plain, swizzled), findings = run_in_lockstep(
        read_program(path), RunOptions(), lambda kernel, arrays: left.extend(arrays)
    )
    assert (plain.kernel, swizzled.kernel, findings) == ("turn_plain", "turn_swizzled", ())
    assert all((out == matrix.T).all() for matrix, out in (left[:2], left[2:]))
    for launch, wavefronts in ((plain, 32), (swizzled, 1)):
        rows = {site.source: row for site, row in zip(launch.sites, launch.summary(), strict=True) if site.is_shared}
        # 6 blocks of 32 warps: a row is a request, and so is a column.
        counts = {source: (row.requests, row.wavefronts) for source, row in rows.items()}
        assert counts == {"tile[row, column]": (192, 192), "tile[column, row]": (192, 192 * wavefronts)}
