"""Verifying CUDA C++ without a GPU: what the profiled process runs, and the way back from its lines to the text."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from helpers import captured

import smemviz
from smemviz.engines.lockstep.ptx.memory import GlobalMemory
from smemviz.frontends.cuda import CudaProgram, compile_program, parse_cuda
from smemviz.frontends.reading import read_program
from smemviz.measure.ncu.counters import ProfiledLaunch
from smemviz.measure.ncu.cuda_ncu import placed, run_clean
from smemviz.measure.ncu.reconcile import Reconciled, reconcile
from smemviz.measure.ncu.sass import Instruction
from smemviz.measure.ncu.verify import through_compiled
from smemviz.recordings.measured import SiteHardware

TEXT = """\
#include "own.h"
// smemviz: turned<<<1, dim3(8, 8)>>>(zeros(64))
__global__ void turned(float *out) {
    __shared__ float tile[8][8];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = y + twice(x);
    float own = tile[y][x];
    __syncthreads();
    float sum = own;
    for (int k = 0; k < 4; k++) sum += tile[x][k];
    out[8 * y + x] = sum;
}
"""
CC = (9, 0)


@pytest.fixture
def program(tmp_path):
    (tmp_path / "own.h").write_text("__device__ inline int twice(int x) { return 2 * x; }\n")
    (tmp_path / "turned.cu").write_text(TEXT)
    found = read_program(tmp_path / "turned.cu")
    assert isinstance(found, CudaProgram)
    return found


def test_the_profiled_process_runs_the_compiled_view_beside_the_lines_that_it_names(program, tmp_path, monkeypatch):
    driver = pytest.importorskip("smemviz.engines.gpu.ptx.driver", reason="numba-cuda is not installed")
    ran: list[tuple[str, tuple[int, ...]]] = []

    class Card:
        def __init__(self, *, with_lines):
            assert with_lines
            self.memory = GlobalMemory()
            self.place = self.memory.place

        def run(self, kernel, configuration, parameters):
            ran.append((kernel.ptx, configuration.block))

    monkeypatch.setattr(driver, "Gpu", Card)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "lines"
    folder.mkdir()
    run_clean(program, folder)
    ((ptx, block),) = ran
    assert block == (8, 8, 1)
    assert ptx == compile_program(program, ["turned"], "compiled").ptx
    named = [Path(name) for name in re.findall(r'\.file\s+\d+ "([^"]*)"', ptx)]
    assert folder.resolve() / "turned.cu" in [name.resolve() for name in named]
    lines = (folder / "turned.cu").read_text().splitlines()
    assert "tile" in lines
    assert all(len(line.split()) < 3 or line.startswith("#") for line in lines)


def instruction(kind, line, **counts):
    made = {"requests": 2, "lanes": 64, "wavefronts": 2, "ideal": 2, "sectors": 0, "width": 4} | counts
    return Instruction("/somewhere/turned.cu", line, "LDS R0, [R1]", "LDS", "shared", kind, **made)


def test_instructions_stand_at_the_accesses_that_they_make(program):
    compiled = compile_program(program, ["turned"], "compiled")
    text = compiled.texts["turned.cu"]
    number = max(
        n for n, place in enumerate(text.places, 1) if place.line == 10 and text.lines.split("\n")[n - 1] == "["
    )
    given = ProfiledLaunch("turned", (instruction("load", number), instruction("load", 7777)), {})
    first, other = placed(given, compiled.text, program.file).instructions
    assert (first.file, first.line, first.column) == (program.file, 10, TEXT.split("\n")[9].index("tile"))
    assert (other.file, other.line, other.column) == ("/somewhere/turned.cu", 7777, None)


def test_two_accesses_of_one_line_are_told_apart_by_their_columns(program):
    text = "// smemviz: k<<<1, 32>>>(zeros(32))\n__global__ void k(float *out) {\n    __shared__ float a[64];\n"
    text += "    int i = threadIdx.x;\n    a[i] = i; a[i + 32] = i;\n    __syncthreads();\n"
    text += "    out[i] = a[31 - i] + a[63 - i];\n}\n"
    Path(program.file).write_text(text)
    launch = smemviz.run(program.file, engine="lockstep", view="compiled").launches[0]
    loads = [site for site in launch.sites if (site.space, site.op) == ("shared", "load")]
    assert len(loads) == 2
    only = instruction("load", 7, requests=1, lanes=32, wavefronts=1, ideal=1, column=loads[1].column)
    profiled = ProfiledLaunch("k", (replace(only, file=program.file),), {})
    found = reconcile(launch, profiled, text, program.file, CC)
    rows = [row for site, row in zip(launch.sites, found.hardware, strict=True) if site in loads]
    assert [(row.verdict, row.requests) for row in rows] == [("explained", 0), ("agrees", 1)]


def test_every_access_of_the_reductions_is_accounted_for_as_an_h200_counted_it():
    """``reduce_cu`` is kernels/reduce.cu, its source view, under Nsight Compute, which saw a token on each line.

    The 14 tokens of ``constexpr int BLOCKS = (N + THREADS - 1) / THREADS;``, which no kernel uses, stood before the
    kernels then; they are left out of what is compiled now.
    """
    left_out = 14
    recording = captured.recording("reduce_cu")
    program = parse_cuda(recording.source, recording.file)
    compiled = compile_program(program, [launch.kernel for launch in recording.launches], "compiled")
    counts: dict[str, int] = {}
    for launch, profiled in zip(recording.launches, captured.profiled("reduce_cu"), strict=True):
        moved = tuple(replace(one, line=one.line - left_out) for one in profiled.instructions)
        given = placed(replace(profiled, instructions=moved), compiled.text, recording.file)
        found = reconcile(launch, given, recording.source, recording.file, CC)
        assert found.sound
        assert found.unaccounted == ()
        for site, row, one in zip(launch.sites, found.hardware, launch.summary(CC), strict=True):
            counts[row.verdict] = counts.get(row.verdict, 0) + 1
            assert (row.wavefronts, row.sectors) == (one.wavefronts, one.sectors), site
            assert "stands at line" not in row.because
    assert counts == {"agrees": 21, "explained": 9}


def test_half_of_an_element_and_the_last_store_of_each_lane_are_explained(tmp_path):
    """Met on an H200: ptxas loads the half that is used, and stores once behind a loop that lanes leave in turn."""
    text = "// smemviz: k<<<1, 32>>>(zeros(32))\n__global__ void k(int *out) {\n    __shared__ long long t[32];\n"
    text += "    int i = threadIdx.x, x = 0;\n    t[i] = i;\n    __syncthreads();\n    x = (int)t[31 - i];\n"
    text += "    for (int n = 0; n <= (i & 1); n++) out[i] = x + n;\n}\n"
    (tmp_path / "k.cu").write_text(text)
    launch = smemviz.run(tmp_path / "k.cu", engine="lockstep").launches[0]
    kinds = [(site.space, site.op, site.width) for site in launch.sites]
    assert kinds == [("shared", "store", 8), ("shared", "load", 8), ("global", "store", 4)]
    once = {"requests": 1, "lanes": 32}
    held = instruction("store", 5, wavefronts=2, width=8, **once)
    half = instruction("load", 7, wavefronts=2, ideal=1, **once)  # 32 lanes 8 bytes apart
    last = replace(instruction("store", 8, wavefronts=0, ideal=0, sectors=4, **once), space="global")
    profiled = ProfiledLaunch("k", (held, half, last), {})
    found = reconcile(launch, profiled, text, "turned.cu", CC)
    assert found.sound
    assert [row.verdict for row in found.hardware] == ["agrees", "explained", "explained"]
    assert [row.because for row in found.hardware[1:]] == [
        "no more than 4 bytes of each t[31 - i] are used: 1 -> 1 request, 2 wavefronts each",
        "out[i] is stored once for all lanes of a warp, behind its loop or branch: 2 -> 1 request, 4 sectors",
    ]


def both(program):
    one, other = (smemviz.run(program, engine="lockstep", view=view).launches[0] for view in ("source", "compiled"))
    return one, other


def agreeing(launch):
    rows = [SiteHardware(r.requests, r.wavefronts, r.ideal, r.sectors, "agrees", "so") for r in launch.summary(CC)]
    return Reconciled(tuple(rows), (), True)


def test_what_the_compiler_made_of_an_access_is_its_verdict(program):
    written, compiled = both(program)
    found = through_compiled(written, compiled, agreeing(compiled), CC)
    rows = {(site.line, site.op): row for site, row in zip(written.sites, found.hardware, strict=True)}
    assert (rows[6, "store"].verdict, rows[6, "store"].because) == ("agrees", "so")
    assert rows[7, "load"].because == "the compiler leaves none of its 2 requests"
    assert (rows[7, "load"].requests, rows[7, "load"].wavefronts, rows[7, "load"].sectors) == (0, 0, None)
    loads = rows[10, "load"]
    assert loads.verdict == "explained" or loads.because == "so"
    assert sum(row.requests for row in found.hardware) == sum(row.requests for row in compiled.summary(CC))


def test_an_access_of_the_compiler_that_is_none_of_the_source_explains_nothing(program):
    written, compiled = both(program)
    odd = replace(compiled.sites[0], line=99, array="other")
    strange = replace(compiled, sites=(odd, *compiled.sites[1:]))
    assert through_compiled(written, strange, agreeing(compiled), CC) is None
