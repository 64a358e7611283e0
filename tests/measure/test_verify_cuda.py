"""Verifying CUDA C++ without a GPU: what the profiled process runs, and the way back from its lines to the text."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import smemviz
from smemviz.engines.lockstep.ptx.memory import GlobalMemory
from smemviz.frontends.cuda import CudaProgram, compile_program
from smemviz.frontends.reading import read_program
from smemviz.measure.ncu.clean_cuda import as_written, run_clean
from smemviz.measure.ncu.counters import ProfiledLaunch
from smemviz.measure.ncu.reconcile import Reconciled, reconcile
from smemviz.measure.ncu.sass import Instruction, function_name
from smemviz.measure.ncu.views import through_compiled
from smemviz.recordings.data import Launch, SiteHardware

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
def program(tmp_path: Path) -> CudaProgram:
    (tmp_path / "own.h").write_text("__device__ inline int twice(int x) { return 2 * x; }\n")
    (tmp_path / "turned.cu").write_text(TEXT)
    found = read_program(tmp_path / "turned.cu")
    assert isinstance(found, CudaProgram)
    return found


def test_the_profiled_process_runs_the_compiled_view_beside_the_lines_that_it_names(
    program: CudaProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = pytest.importorskip("smemviz.engines.gpu.ptx.driver", reason="numba-cuda is not installed")
    ran: list[tuple[str, tuple[int, ...]]] = []

    class Card:
        def __init__(self, *, with_lines: bool) -> None:
            assert with_lines
            self.memory = GlobalMemory()
            self.place = self.memory.place

        def run(self, kernel: Any, configuration: Any, parameters: Any) -> None:
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


def instruction(kind: str, line: int, **counts: Any) -> Instruction:
    made = {"requests": 2, "lanes": 64, "wavefronts": 2, "ideal": 2, "sectors": 0, "width": 4} | counts
    return Instruction("/somewhere/turned.cu", line, "LDS R0, [R1]", "LDS", "shared", kind, **made)


def test_instructions_stand_at_the_accesses_that_they_make(program: CudaProgram) -> None:
    compiled = compile_program(program, ["turned"], "compiled")
    text = compiled.texts["turned.cu"]
    number = max(
        n for n, place in enumerate(text.places, 1) if place.line == 10 and text.lines.split("\n")[n - 1] == "["
    )
    given = ProfiledLaunch("turned", (instruction("load", number), instruction("load", 7777)), {})
    first, other = as_written(given, compiled, program.file).instructions
    assert (first.file, first.line, first.column) == (program.file, 10, TEXT.split("\n")[9].index("tile"))
    assert (other.file, other.line, other.column) == ("/somewhere/turned.cu", 7777, None)


def test_two_accesses_of_one_line_are_told_apart_by_their_columns(program: CudaProgram) -> None:
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


def both(program: CudaProgram) -> tuple[Launch, Launch]:
    one, other = (smemviz.run(program, engine="lockstep", view=view).launches[0] for view in ("source", "compiled"))
    return one, other


def agreeing(launch: Launch) -> Reconciled:
    rows = [SiteHardware(r.requests, r.wavefronts, r.ideal, r.sectors, "agrees", "so") for r in launch.summary(CC)]
    return Reconciled(tuple(rows), (), True)


def test_what_the_compiler_made_of_an_access_is_its_verdict(program: CudaProgram) -> None:
    written, compiled = both(program)
    found = through_compiled(written, compiled, agreeing(compiled), CC)
    assert found is not None
    rows = {(site.line, site.op): row for site, row in zip(written.sites, found.hardware, strict=True)}
    assert (rows[6, "store"].verdict, rows[6, "store"].because) == ("agrees", "so")
    assert rows[7, "load"].because == "the compiler leaves none of its 2 requests"
    assert (rows[7, "load"].requests, rows[7, "load"].wavefronts, rows[7, "load"].sectors) == (0, 0, None)
    loads = rows[10, "load"]
    assert loads.verdict == "explained" or loads.because == "so"
    assert sum(row.requests for row in found.hardware) == sum(row.requests for row in compiled.summary(CC))


def test_an_access_of_the_compiler_that_is_none_of_the_source_explains_nothing(program: CudaProgram) -> None:
    written, compiled = both(program)
    odd = replace(compiled.sites[0], line=99, array="other")
    strange = replace(compiled, sites=(odd, *compiled.sites[1:]))
    assert through_compiled(written, strange, agreeing(compiled), CC) is None


@pytest.mark.parametrize(
    ("named", "plain"),
    [
        ("set_row(int *)", "set_row"),
        ("void copy<float, (int)32>(T1 *, const T1 *)", "copy"),
        ("void space::copy<16>(float *)", "copy"),
        ("(anonymous namespace)::hidden(int *)", "hidden"),
        ("copy<float, 32>", "copy"),
        ("square::set_row[abi:v1,cw51c](Array<int, 1, C>)", "set_row"),
    ],
)
def test_kernels_are_known_by_their_plain_names(named: str, plain: str) -> None:
    assert function_name(named) == plain
