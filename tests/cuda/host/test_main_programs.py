"""Programs whose own ``main()`` is run: what they print, and what is recorded of their launches."""

import csv
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.main_programs import CALLS, PRINTED, TURN

import smemviz
from smemviz.engines.cpp_host.program_run import advising
from smemviz.engines.lockstep.running_launch import Expecting
from smemviz.frontends.cuda import parse_cuda
from smemviz.frontends.reading import read_program
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import Hardware
from smemviz.suggest import verify
from smemviz.suggest.find import Suggestion, suggestions
from smemviz.suggest.verify import Verifier

Write = Callable[..., Path]


@pytest.mark.exhaustive
def test_what_is_suggested_for_a_program_is_run_and_held_against_what_its_launches_leave(write, capsys):
    program = read_program(write(turn_cu=TURN))
    recording = smemviz.run(program, engine="lockstep")
    capsys.readouterr()
    verifier = Verifier(program, recording, "lockstep", (), Hardware.of(recording))
    found = [one for one in suggestions(recording, program) if isinstance(one, Suggestion) and one.rewrite]
    assert [verifier.check([one]).problem for one in found] == [None] * 2
    other = replace(program, source=program.source.replace("= in[y * n + x]", "= in[y * n + x] + 1"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(verify, "rewritten", lambda *_: other)
        assert "turn" in str(verifier.check([found[0]]).problem)
    assert capsys.readouterr().out == ""


def test_a_program_runs_and_a_launch_that_repeats_another_is_counted(write, capsys):
    recording = smemviz.run(write(turn_cu=TURN), arguments=["a", "b"])
    assert capsys.readouterr().out == recording.printed == "0 wrong, 2 arguments\n"
    # The first launch finds zeros in out; the second finds what the first left, as do the others.
    assert [(launch.grid, launch.block, launch.repeats) for launch in recording.launches] == [
        ((2, 2, 1), (32, 32, 1), 0),
        ((2, 2, 1), (32, 32, 1), 8),
    ]
    for launch in recording.launches:
        degrees = {site.source: row.max_degree for site, row in zip(launch.sites, summarize(launch), strict=True)}
        assert degrees["tile[threadIdx.x][threadIdx.y]"] == 32
    assert [(array.name, array.shape) for array in recording.launches[0].arrays] == [
        ("tile", (32, 32)),
        ("out", (4096,)),
        ("in", (4096,)),
    ]


def test_what_programs_call_of_cuda_does_what_it_does_on_a_gpu(write, capsys):
    recording = smemviz.run(write(calls_cu=CALLS))
    assert capsys.readouterr().out == recording.printed == PRINTED
    kernels = [launch.kernel for launch in recording.launches]
    scaled = [f"inner::scale<{name}, 32>" for name in ("double", "float", "int")]
    assert [*sorted(kernels[:3]), *kernels[3:5]] == [*scaled, "weigh", "both"]
    assert [(launch.kernel, launch.block, launch.repeats) for launch in recording.launches[5:]] == [
        ("plain", (32, 1, 1), 0),
        ("plain", (16, 2, 1), 0),
        ("plain", (32, 1, 1), 0),
        ("whole", (32, 1, 1), 0),
        ("dynamic", (1024, 1, 1), 0),
    ]
    assert [(finding.kind, finding.kernel) for finding in recording.findings] == [
        ("launch_refused", "plain"),
        ("launch_refused", "dynamic"),
    ]


def test_a_constant_holds_for_the_host_and_the_device(write, capsys):
    recording = smemviz.run(write(turn_cu=TURN), {"TILE": 16}, arguments=[])
    assert capsys.readouterr().out == "0 wrong, 0 arguments\n"
    assert (recording.launches[0].grid, recording.launches[0].block) == ((4, 4, 1), (16, 16, 1))


def test_launches_in_comments_are_run_in_place_of_main(write, capsys):
    note = "    // smemviz: turn<<<1, dim3(32, 32)>>>(zeros(1024), zeros(1024), 32)\n"
    recording = smemviz.run(write(turn_cu=TURN + note))
    assert capsys.readouterr().out == ""
    assert [launch.grid for launch in recording.launches] == [(1, 1, 1)]


@pytest.mark.exhaustive
def test_headers_files_and_macros_of_a_project(write, capsys, command):
    path = write(
        src__main_cu="""\
            #include <cstdio>
            #include "kernels.h"
            #include "stopwatch.h"
            int main() {
                Stopwatch watch;
                double *out, host[SIZE];
                cudaMalloc(&out, sizeof host);
                twice<double><<<1, SIZE>>>(out);
                cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
                int beside = 0;
                if (FILE *file = fopen("kernels.h", "r")) beside = fgetc(file) == '#';
                printf("%g %d\\n", host[SIZE - 1], beside);
            }
        """,
        src__kernels_h="""\
            #pragma once
            #include "../include/shape.h"
            template <class T> __global__ void twice(T *out) { out[threadIdx.x] = half_of(4 * threadIdx.x); }
        """,
        include__shape_h="#define SIZE EDGE\n__device__ int half_of(int value) { return value / 2; }\n",
        include__stopwatch_h="""\
            #include <chrono>
            struct Stopwatch {
                cudaEvent_t from;
                std::chrono::steady_clock::time_point at;
                Stopwatch() : at{std::chrono::steady_clock::now()} { cudaEventCreate(&from); }
                ~Stopwatch() { cudaEventDestroy(from); }
            };
        """,
    )
    told = command("run", path, "-I", path.parent.parent / "include", "-DEDGE=8", "-std=c++20")
    assert told.out.startswith("14 1\n")  # type: ignore[attr-defined]
    assert "twice<double>: grid 1 x 1 x 1, block 8 x 1 x 1" in told.out  # type: ignore[attr-defined]


def test_a_kernel_of_a_header_has_its_text_and_the_shapes_of_its_arrays(write):
    path = write(
        src__main_cu="""\
            #include "turn.h"
            int main() { float *p; cudaMalloc(&p, 4096); turn<float><<<1, dim3(32, 32)>>>(p); }
        """,
        include__turn_h="""\
            #define SIDE 32
            template <class T> __global__ void turn(T *all) {
                __shared__ T tile[SIDE][SIDE + 1];
                tile[threadIdx.y][threadIdx.x] = all[threadIdx.y * SIDE + threadIdx.x];
                __syncthreads();
                all[threadIdx.y * SIDE + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
            }
        """,
    )
    header = path.parent.parent / "include" / "turn.h"
    program = replace(read_program(path), folders=(str(header.parent),))  # type: ignore[call-arg]
    (launch,) = (recording := smemviz.run(program)).launches
    assert [(array.name, array.shape, array.dtype) for array in launch.arrays] == [
        ("tile", (32, 33), "float32"),
        ("all", (1024,), "float32"),
    ]
    assert (recording.file_of(launch), launch.line) == (header.as_posix(), 2)
    assert {recording.source_of(launch, site) for site in launch.sites} == {header.read_text()}


@pytest.mark.exhaustive
def test_ctrl_c_keeps_what_was_recorded(write):
    path = write(
        wait_cu="""\
            #include <cstdio>
            #include <unistd.h>
            __global__ void k(int *out) { out[threadIdx.x] = 1; }
            int main() { int *p; cudaMalloc(&p, 128); k<<<1, 32>>>(p); puts("asleep"); fflush(stdout); sleep(600); }
        """
    )
    output = path.with_name("kept.smem.npz")
    words = [sys.executable, "-m", "smemviz", "run", str(path), "-o", str(output), "--kernel", "k"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout.readline() == b"asleep\n"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    recording = smemviz.load(output)
    assert [launch.kernel for launch in recording.launches] == ["k"]
    assert [finding.line for finding in recording.findings] == [4]  # that of main()


CUB = """\
#include <cub/cub.cuh>
#include <cstdio>
__global__ void k(const int *in, int *out) {
  typedef cub::BlockReduce<int, 128> Reduce;
  typedef cub::WarpReduce<int> Warp;
  __shared__ typename Reduce::TempStorage block;
  __shared__ typename Warp::TempStorage warps[4];
  int sum = Reduce(block).Sum(in[threadIdx.x]);
  int most = Warp(warps[threadIdx.x / 32]).Reduce(in[threadIdx.x], cub::Max());
  if (threadIdx.x == 0) out[0] = sum, out[1] = most;
}
int main() {
  int from[128], to[2], *a, *b;
  for (int i = 0; i < 128; i++) from[i] = i;
  cudaMalloc(&a, sizeof from), cudaMalloc(&b, sizeof to);
  cudaMemcpy(a, from, sizeof from, cudaMemcpyHostToDevice);
  k<<<1, 128>>>(a, b);
  cudaMemcpy(to, b, sizeof to, cudaMemcpyDeviceToHost);
  printf("%d %d\\n", to[0], to[1]);
}
"""


@pytest.mark.exhaustive  # its headers take a quarter of a minute
def test_the_whole_of_cub_is_its_part_for_blocks_and_warps(write, capsys):
    launch = smemviz.run(write(p_cu=CUB))["k"]
    assert capsys.readouterr().out == "8128 31\n"  # 0 + ... + 127, and the most of the first warp
    # What the library does in registers is no memory: only what it keeps in the arrays that it is given.
    assert {(site.array, site.space, site.width) for site in launch.sites} == {
        ("block", "shared", 4),
        ("in", "global", 4),
        ("out", "global", 4),
    }


NAMED = """\
#include <cstdio>
typedef void (*Step)(int *);
struct Twice { __device__ int operator()(int a) const { return 2 * a; } };
__device__ void one(int *out) { *out = 1; }
template <Step step, class Change> __global__ void k(int *out) { step(out); *out = Change()(*out); }
template <Step step> int made() {
  int *out, found;
  cudaMalloc(&out, sizeof found);
  k<step, Twice><<<1, 1>>>(out);
  cudaMemcpy(&found, out, sizeof found, cudaMemcpyDeviceToHost);
  return found;
}
int main() { printf("%d\\n", made<one>()); }
"""


def test_functions_and_types_that_only_the_host_gives_to_a_kernel_are_compiled_with_it(write, capsys):
    smemviz.run(write(p_cu=NAMED))
    assert capsys.readouterr().out == "2\n"


KERNEL = "__global__ void k(int *x) {}\n"


class Told:
    def __init__(self):
        self.texts: list[str] = []

    def __call__(self, done, total, text):
        self.texts.append(text)

    def expect(self, seconds, text):
        self.texts.append(f"{text} {seconds:.0f}")


def test_what_takes_long_says_once_what_makes_it_shorter():
    for main, arguments, advice in [
        ("#define TILE 32\nint main() { const int N = 1 << 20; }", [], " (N is 1048576; give less with --set N=...)"),
        (
            "int main(int c, char **argv) {}",
            [],
            " (it reads arguments: write them after --, as in smemviz run FILE -- 1024)",
        ),
        ("int main(int c, char **argv) {}", ["9"], ""),
        ("#define TILE 32\nint main() {}", [], ""),
    ]:
        told = Told()
        progress = advising(told, parse_cuda(KERNEL + main + "\n", "p.cu"), arguments)
        assert isinstance(progress, Expecting)
        progress(1, 2, "k")
        for seconds in (5, 40, 50):
            progress.expect(seconds, "k")
        assert told.texts == ["k", "k 5", f"k{advice} 40", "k 50"]


UNITS = {
    "api.h": "#pragma once\nvoid scale(float *a, int n, float by);\nvoid turn(float *a, int n);\n",
    "scale.cu": """\
#include "api.h"
__constant__ float factor;
static __global__ void work(float *a) {
    __shared__ float tile[64];
    tile[threadIdx.x] = a[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    a[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x] * factor;
}
void scale(float *a, int n, float by) {
    cudaMemcpyToSymbol(factor, &by, sizeof(by));
    work<<<n / 64, 64>>>(a);
}
""",
    "turn.cu": """\
#include "api.h"
static __global__ void work(float *a) {
    __shared__ float tile[64];
    tile[63 - threadIdx.x] = a[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    a[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x];
}
template <class T> __global__ void negate(T *a) { a[threadIdx.x] = -a[threadIdx.x]; }
void turn(float *a, int n) { work<<<n / 64, 64>>>(a); negate<<<1, 64>>>(a); }
""",
    "main.cpp": """\
#include <cuda_runtime.h>
#include <vector>
#include "api.h"
int main(int argc, char **argv) {
    const int n = 128;
    float *d;
    std::vector<float> h(n);
    for (int i = 0; i < n; i++) h[i] = i;
    cudaMalloc(&d, n * 4);
    cudaMemcpy(d, h.data(), n * 4, cudaMemcpyHostToDevice);
    scale(d, n, 3);
    turn(d, n);
    cudaMemcpy(h.data(), d, n * 4, cudaMemcpyDeviceToHost);
    return h[0] == -189 && h[63] == 0 && h[64] == 381 && argc == 2 ? 0 : 1;
}
""",
}


@pytest.fixture
def units(tmp_path, monkeypatch):
    """Be in a folder with files that belong together."""
    monkeypatch.chdir(tmp_path)
    for name, text in UNITS.items():
        Path(name).write_text(text)


@pytest.mark.usefixtures("units")
def test_files_that_are_linked_are_one_program(command):
    command("run", "scale.cu", "turn.cu", "main.cpp", "-o", "run.smem.npz", "--", "7")
    recording = smemviz.load("run.smem.npz")
    # Both have a kernel of one name, which is seen by its own file alone.
    launches = [(launch.kernel, launch.file) for launch in recording.launches]
    assert launches == [("work", ""), ("work", "turn.cu"), ("negate<float>", "turn.cu")]
    sources = [{site.source for site in launch.sites if site.is_shared} for launch in recording.launches]
    assert sources[:2] == [{"tile[threadIdx.x]"}, {"tile[63 - threadIdx.x]", "tile[threadIdx.x]"}]
    assert "turn.h: is not C++" in command("run", "scale.cu", "turn.h", code=2).err
    Path("a.py").write_text("x = 1\n")
    assert "a.py: is run by itself" in command("run", "a.py", "turn.cu", code=2).err


@pytest.mark.exhaustive
@pytest.mark.usefixtures("units")
def test_files_that_cannot_be_linked_say_why(command):
    told = command("run", "scale.cu", "main.cpp", code=2).err
    assert "turn(float*, int), which is missing here; where another file has it, name that too" in told
    Path("turn.cu").write_text(f"__constant__ float factor;\n{UNITS['turn.cu']}")
    told = command("run", "scale.cu", "turn.cu", "main.cpp", code=2).err
    assert "factor is a variable of the device in two of the files" in told
    Path("turn.cu").write_text(f"int main() {{}}\n{UNITS['turn.cu']}")
    assert "main is defined in two of the files" in command("run", "scale.cu", "turn.cu", "main.cpp", code=2).err


ABSENT = {"library", "hardware", "header", "data", "arguments", "other source", "memory"}  # what is not there
NO_PROGRAM = {"not CUDA", "unfinished", "removed"}  # nvcc of CUDA 13 compiles none of these


def test_the_documentation_counts_the_programs_of_the_table():
    with open("tests/data/cu_programs.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 100
    assert {row["half"] for row in rows} == {"seen", "held out"}
    assert all((row["kind"] == "") == (row["result"] == "end") for row in rows)
    assert all((row["kind"] == "slow") == (row["result"] == "over") for row in rows)
    text = " ".join(Path("docs/explanation/what-runs.md").read_text(encoding="utf-8").split())
    repositories = len({row["repository"] for row in rows})
    assert f"{len(rows)} public programs of {repositories} repositories" in text
    for half in ("seen", "held out"):
        of_half = [row for row in rows if row["half"] == half]
        kinds = Counter(row["kind"] for row in of_half)
        absent, none = sum(kinds[kind] for kind in ABSENT), sum(kinds[kind] for kind in NO_PROGRAM)
        others = sum(kinds.values()) - kinds[""] - kinds["slow"] - absent - none
        line = f"| {half} | {len(of_half)} | {kinds['']} | {kinds['slow']} | {absent} | {none} | {others} |"
        assert line in text
    whole = [row for row in rows if row["kind"] not in ABSENT | NO_PROGRAM]
    share = round(100 * sum(row["result"] == "end" for row in whole) / len(whole))
    assert f"Of the {len(whole)} programs that lack nothing and that CUDA 13 compiles, {share} % end." in text
    slow = [row["on_gpu"] for row in rows if row["kind"] == "slow"]
    assert all(row["on_gpu"] == "" for row in rows if row["kind"] != "slow")
    tried, same, end = len(slow) - slow.count(""), slow.count("same"), slow.count("same") + slow.count("end")
    assert (
        f"Of the {len(slow)} that take longer, {tried} were run on an H200 too, in 100 seconds each: {end} end," in text
    )
    assert f"and {same} of them were held against what nvcc makes of them, which prints the same but for times." in text
