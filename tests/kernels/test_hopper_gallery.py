"""The gallery's kernels with instructions of Hopper: what was recorded of them is what an H200 counts."""

import pytest

import smemviz
from smemviz.frontends.reading import read_program
from smemviz.paths import hopper_gallery, kernels_dir, recording_for

# Nsight Compute 2025.3 on an H200, driver 580.159, of the programs as nvcc 13.0 compiles them for sm_90a: wavefronts
# of l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld and _gmma, and requests, smsp__inst_executed_op_ldsm and
# l1tex__lsuin_requests_op_gmma, of which there is one a warp for each product, and l1tex__tmain_requests.
COUNTED = {
    "turn_plain": {"ldmatrix_x4": (64, 2048), "bulk_store": 4},
    "turn_swizzled": {"ldmatrix_x4": (64, 256), "bulk_store": 4},
    "product": {"wgmma": (2 * 256, 2048), "bulk_store": 32},  # a request for A and one for B
}
KEPT = [recording_for(path) for path in hopper_gallery()]


def test_recordings_are_of_these_files_and_have_no_findings():
    assert [path.name for path in hopper_gallery()] == ["product.cu", "turn.cu"]
    for path in hopper_gallery():
        kept = recording_for(path)
        assert kept is not None
        recording = smemviz.load(kept)
        assert recording.sha256 == read_program(path).sha256, f"record {path.name} again"
        assert recording.findings == ()


def counts():
    found: dict[str, dict[str, object]] = {}
    for kept in KEPT:
        assert kept is not None
        for launch in smemviz.load(kept):
            rows = {site.op: row for site, row in zip(launch.sites, launch.summary(), strict=True) if site.is_shared}
            found[launch.kernel] = {
                op: row.requests if row.wavefronts is None else (row.requests, row.wavefronts)
                for op, row in rows.items()
                if not op.startswith("mbarrier")
            }
    return found


def test_what_is_recorded_is_what_an_h200_counts():
    assert counts() == COUNTED


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["product", "turn"])
def test_lockstep_records_the_same_again(name):
    kept = recording_for(kernels_dir() / "hopper" / f"{name}.cu")
    assert kept is not None
    again = smemviz.run(kernels_dir() / "hopper" / f"{name}.cu", engine="lockstep")
    for one, other in zip(smemviz.load(kept), again, strict=True):
        assert one.sites == other.sites
        assert (one.requests.addresses == other.requests.addresses).all()
