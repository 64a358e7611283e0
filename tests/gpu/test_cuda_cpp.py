"""CUDA C++ on a real GPU: the same as lockstep, without changing a result."""

import json
from dataclasses import replace

import numpy as np
import pytest
from helpers.feature_kernels_cuda import TEXT, TOGETHER

import smemviz
from smemviz.cli.main import main
from smemviz.engines.launch_shape import configuration
from smemviz.engines.lockstep.ptx.host.arguments import StructureValue
from smemviz.frontends.cuda import compile_program, nvrtc, parse_cuda
from smemviz.frontends.cuda.launches import planned_launches
from smemviz.model.layout.array_requests import relative_addresses
from smemviz.paths import kernels_dir

pytestmark = pytest.mark.gpu

# Lanes leave a loop one by one; while the log is written they may stand apart where they counted as one request. What
# was counted stays, and the log is of as many warps as it has room for.
APART = ("parted",)

# ptxas makes one instruction of a product and a sum; lockstep rounds both.
FUSED = ("naive", "naive_swapped", "tiled", "tiled_swapped", "tiled_dynamic", "tiled_any")
FUSED += ("from_global_memory", "by_sub_matrices", "by_whole_strips")


def programs():
    found = {path.stem: parse_cuda(path.read_text(), path.as_posix()) for path in sorted(kernels_dir().glob("*.cu"))}
    del found["mistakes"]  # test_mistakes.py; most of its launches had better not be made
    found["features"] = parse_cuda(TEXT, "features.cu")
    if any((folder / "nv" / "target").exists() for folder in nvrtc.include_folders()):
        found["cooperative"] = parse_cuda(TOGETHER, "together.cu")
    return found


def cases():
    for name, program in programs().items():
        for one in planned_launches(program):
            for view in ("source", "compiled"):
                yield pytest.param(replace(program, view=view), one.kernel, id=f"{name}-{one.kernel}-{view}")


CASES = list(cases())


def arrays_in(arguments):
    """Give the arguments of a launch, of a structure its bytes and the arrays that it points to."""
    for one in arguments:
        if isinstance(one, StructureValue):
            yield one.data
            yield from (array for _, array in one.arrays.values())
        else:
            yield one


@pytest.mark.parametrize(("program", "kernel"), CASES)
def test_lockstep_makes_the_same_requests_and_results(program, kernel):
    from smemviz.engines.gpu.ptx.driver import Gpu
    from smemviz.engines.gpu.ptx.ptx_launch import record
    from smemviz.engines.lockstep.ptx.host.cuda_in_lockstep import _arguments
    from smemviz.engines.lockstep.ptx.host.cuda_launch import launch
    from smemviz.engines.lockstep.ptx.host.entry import Entry

    outputs = []

    class Watched(Gpu):
        def run(self, *given):
            super().run(*given)
            outputs.append([held.data[: held.nbytes] for held in self._placed])

    wanted = planned_launches(program)
    one = next(one for one in wanted if one.kernel == kernel)
    entry = Entry(program, compile_program(program, [each.kernel for each in wanted], program.view), kernel)
    place = (program.file, one.line)
    shape = configuration(place, (one.grid, one.block, 0, one.dynamic_shared))
    ours, theirs = _arguments(one, entry, program), _arguments(one, entry, program)

    seen = record(Watched(), entry, shape, ours, place, 1 << 27)
    expected, _ = launch(entry, shape, theirs, place)
    counted = record(Gpu(), entry, shape, _arguments(one, entry, program), place, 0)

    for mine, other in zip(arrays_in(ours), arrays_in(theirs), strict=True):
        if kernel in FUSED:
            np.testing.assert_allclose(mine, other, rtol=1e-6)
        else:
            np.testing.assert_array_equal(mine, other)
    for passed in outputs:  # each pass left what the clean kernel does
        for mine, other in zip(passed, outputs[-1], strict=True):
            np.testing.assert_array_equal(mine, other)
    assert seen.sites == expected.sites
    assert seen.summary() == expected.summary() == counted.summary()
    assert len(counted.requests) == 0
    if kernel in APART:
        logged = np.isin(expected.requests.warp, np.unique(seen.requests.warp))
        expected = replace(expected, requests=expected.requests.select(logged))
    order = [np.lexsort((r.step, r.site, r.warp, r.block)) for r in (seen.requests, expected.requests)]
    for name in ("site", "block", "warp", "epoch"):
        pair = (getattr(launch.requests, name)[by] for launch, by in zip((seen, expected), order, strict=True))
        np.testing.assert_array_equal(*pair)
    for mine, other in zip(relative_addresses(seen), relative_addresses(expected), strict=True):
        np.testing.assert_array_equal(mine[order[0]], other[order[1]])


def test_a_file_is_recorded_on_the_gpu_where_there_is_one():
    recording = smemviz.run(kernels_dir() / "square.cu")

    assert recording.engine == "gpu"
    assert recording.device is not None
    assert [row.wavefronts for row in recording["set_col_read_col"].summary()] == [1024, 1024, None]


def test_launches_are_timed(capsys):
    assert main(["time", str(kernels_dir() / "square.cu"), "--json"]) == 0

    timed = {launch["kernel"]: launch["time"] for launch in json.loads(capsys.readouterr().out)["launches"]}
    assert len(timed) == 8
    conflicts, none = timed["set_col_read_col"], timed["set_row_read_row"]
    assert conflicts["median_us"] > none["median_us"] > none["floor_us"]


def test_a_launch_that_stores_outside_of_its_array_is_not_made(tmp_path):
    file = tmp_path / "past.cu"
    file.write_text(
        "// smemviz: past<<<1, 32>>>(zeros(31))\n"
        "__global__ void past(int *out) { out[threadIdx.x] = 1; }\n"
        "// smemviz: fine<<<1, 32>>>(zeros(32))\n"
        "__global__ void fine(int *out) { out[threadIdx.x] = 1; }\n"
    )
    recording = smemviz.run(file, engine="gpu")

    assert [launch.kernel for launch in recording.launches] == ["fine"]
    assert [finding.kind for finding in recording.findings] == ["out_of_bounds"]
