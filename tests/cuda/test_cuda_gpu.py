"""What the gpu engine does with CUDA C++, without a GPU: rewritten PTX runs in the interpreter, and ptxas takes it."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.feature_kernels_cuda import TEXT, TOGETHER
from helpers.interpreted_ptx import LockstepCard

from smemviz.engines.gpu.ptx.access_calls import ROW_BYTES
from smemviz.engines.gpu.ptx.accesses import Instructions
from smemviz.engines.gpu.ptx.instrument import instrumented
from smemviz.engines.gpu.ptx.passes import Passes
from smemviz.engines.gpu.ptx.ptx_launch import CudaPasses, record
from smemviz.engines.gpu.ptx.ptx_text import for_driver
from smemviz.engines.launch_shape import Configuration, configuration
from smemviz.engines.lockstep.ptx.host.arguments import arrays_among, bind_arguments
from smemviz.engines.lockstep.ptx.host.cuda_in_lockstep import _arguments
from smemviz.engines.lockstep.ptx.host.cuda_launch import launch, prepare
from smemviz.engines.lockstep.ptx.host.entry import Entry, Variables
from smemviz.engines.options import Limits
from smemviz.engines.selection import as_blocks
from smemviz.frontends.cuda import compile_program, parse_cuda
from smemviz.frontends.cuda.launches import planned_launches
from smemviz.model.layout.array_requests import relative_addresses
from smemviz.paths import kernels_dir

FEATURES = parse_cuda(TEXT, "features.cu")
COOPERATIVE = parse_cuda(TOGETHER, "together.cu")
DATA = Path(__file__).parent.parent / "data" / "cuda"
PTXAS = shutil.which("ptxas")


def gallery(name):
    return parse_cuda((kernels_dir() / f"{name}.cu").read_text(), f"kernels/{name}.cu")


class RequestedLaunch:
    """One launch that a file asks for."""

    def __init__(self, program, kernel, view="source"):
        program = replace(program, view=view)
        wanted = planned_launches(program)
        compiled = compile_program(program, [one.kernel for one in wanted], program.view)
        self.plan = next(one for one in wanted if one.kernel == kernel)
        self.program = program
        self.entry = Entry(program, compiled, kernel)
        self.place = (program.file, self.plan.line)
        shape = (self.plan.grid, self.plan.block, 0, self.plan.dynamic_shared)
        self.configuration: Configuration = configuration(self.place, shape)

    def arguments(self):
        return _arguments(self.plan, self.entry, self.program)

    def on_card(self, arguments, log_bytes=1 << 27, **options):
        card = LockstepCard(self.entry)
        return record(card, self.entry, self.configuration, arguments, self.place, log_bytes, **options), card

    def in_lockstep(self, arguments):
        requested, findings = launch(self.entry, self.configuration, arguments, self.place)
        assert not findings
        return requested


PROGRAMS = ("features", "cooperative", "reverse", "square", "reduce", "submatrix", "transpose", "rectangle", "matmul")
QUICK = [
    ("features", "parted", "compiled"),
    ("features", "either", "source"),
    ("features", "stays", "source"),
    ("features", "matrices", "compiled"),
    ("reverse", "static_reverse", "source"),
]


def launches_of(name):
    program = {"features": FEATURES, "cooperative": COOPERATIVE}.get(name) or gallery(name)
    for one in planned_launches(program):
        yield from ((program, one.kernel, view) for view in ("source", "compiled"))


@pytest.mark.parametrize(("name", "kernel", "view"), QUICK)
def test_a_rewritten_kernel_reports_what_lockstep_sees_and_changes_no_result(name, kernel, view):
    reports_what_lockstep_sees(*next(one for one in launches_of(name) if one[1:] == (kernel, view)))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_rewritten_kernel_of_a_program_does(name):
    for program, kernel, view in launches_of(name):
        reports_what_lockstep_sees(program, kernel, view)


def reports_what_lockstep_sees(program, kernel, view):
    requested = RequestedLaunch(program, kernel, view)
    ours, theirs = requested.arguments(), requested.arguments()

    seen, card = requested.on_card(ours)
    expected = requested.in_lockstep(theirs)

    for one, other in zip(arrays_among(ours), arrays_among(theirs), strict=True):
        np.testing.assert_array_equal(one, other)
    counted, written, clean = card.outputs
    for one, other, third in zip(counted, written, clean, strict=True):
        np.testing.assert_array_equal(one, third)
        np.testing.assert_array_equal(other, third)
    assert seen.sites == expected.sites
    assert seen.totals is None
    assert seen.summary() == expected.summary()
    assert seen.shared_arrays == expected.shared_arrays
    assert seen.shared_bytes == expected.shared_bytes
    for name in ("site", "block", "warp", "step", "epoch", "values"):
        one, other = getattr(seen.requests, name), getattr(expected.requests, name)
        if name == "values" and kernel == "copied":  # the card does not tell what an asynchronous copy brings
            continue
        np.testing.assert_array_equal(one, other)
    for one, other in zip(relative_addresses(seen), relative_addresses(expected), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("program", "kernel"),
    [
        (FEATURES, "wide"),
        *(
            pytest.param(FEATURES, kernel, marks=pytest.mark.exhaustive)
            for kernel in ("either", "pairs", "parted", "counted", "matrices")
        ),
        pytest.param(COOPERATIVE, "together", marks=pytest.mark.exhaustive),
        pytest.param(gallery("square"), "set_col_read_col", marks=pytest.mark.exhaustive),
        pytest.param(gallery("matmul"), "tiled", marks=pytest.mark.exhaustive),
    ],
)
def test_totals_counted_on_the_card_are_those_of_the_log(program, kernel):
    requested = RequestedLaunch(program, kernel, "compiled")

    logged, _ = requested.on_card(requested.arguments())
    counted, card = requested.on_card(requested.arguments(), log_bytes=0)

    assert len(counted.requests) == 0
    assert counted.missing == len(logged.requests) > 0
    assert len(card.outputs) == 2  # counted, and run clean
    assert [s.source for s in counted.sites] == [s.source for s in logged.sites]
    assert counted.summary() == logged.summary()


def test_a_log_that_does_not_fit_keeps_whole_warps_of_the_first_middle_and_last_block():
    text = "// smemviz: twice<<<100, 32>>>(random(3200))\n__global__ void twice(int *a) {\n"
    text += "    int i = blockIdx.x * 32 + threadIdx.x;\n    a[i] = 2 * a[i];\n}\n"
    requested = RequestedLaunch(parse_cuda(text, "twice.cu"), "twice")

    seen, _ = requested.on_card(requested.arguments(), log_bytes=6 * ROW_BYTES)

    assert seen.requests.block.tolist() == [0, 0, 50, 50, 99, 99]
    assert seen.requests.step.tolist() == [0, 1, 0, 1, 0, 1]
    assert seen.request_count == 200
    assert [row.sectors for row in seen.summary()] == [400, 400]
    few, _ = requested.on_card(requested.arguments(), log_bytes=5 * ROW_BYTES)
    assert few.requests.block.tolist() == [0, 0, 50, 50]
    asked, _ = requested.on_card(requested.arguments(), logged=as_blocks("7,9"))
    assert asked.requests.block.tolist() == [7, 7, 9, 9]
    assert asked.missing == 196


def test_totals_are_kept_where_lanes_that_stood_apart_filled_the_log(monkeypatch):
    """Met on an H200: three warps of four wrote as many requests as all four had counted."""
    text = "// smemviz: twice<<<4, 32>>>(random(128))\n__global__ void twice(int *a) {\n"
    text += "    int i = blockIdx.x * 32 + threadIdx.x;\n    a[i] = 2 * a[i];\n}\n"
    requested = RequestedLaunch(parse_cuda(text, "twice.cu"), "twice")
    counted = Passes.count

    def fewer(passes):
        totals = counted(passes)
        return replace(totals, requests=totals.requests * 3 // 4)

    monkeypatch.setattr(Passes, "count", fewer)
    seen, _ = requested.on_card(requested.arguments())
    assert seen.requests.block.tolist() == [0, 0, 1, 1, 2, 2]
    assert seen.totals is not None
    assert [row.sectors for row in seen.summary()] == [16, 16]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("*reinterpret_cast<int4 *>(out + 1) = make_int4(1, 1, 1, 1);", "misaligned"),
        ("assert(out[threadIdx.x] == 1);", "assertion"),
        ('asm volatile("trap;");', "trap"),
        ("out[threadIdx.x + 64] = 1;", "out_of_bounds"),
        # Lockstep does not go on to the end, and has met the mistake by then.
        ("out[threadIdx.x + 64] = 1; for (int i = 0; i < 999; i++) atomicAdd(out, i);", "out_of_bounds"),
    ],
)
def test_a_launch_that_would_end_the_context_is_not_made(body, kind, monkeypatch):
    """After it the process could launch nothing more."""
    pytest.importorskip("numba_cuda")
    from smemviz.engines.gpu.ptx import cuda_on_gpu

    def touched():
        raise AssertionError("the launch was made")

    monkeypatch.setattr(cuda_on_gpu, "Gpu", touched)
    monkeypatch.setattr(cuda_on_gpu, "LIMITS", Limits(iterations=50))
    text = "#include <cassert>\n// smemviz: harm<<<1, 32>>>(zeros(64))\n__global__ void harm(int *out) {\n"
    requested = RequestedLaunch(parse_cuda(f"{text}    {body}\n}}\n", "harm.cu"), "harm", "compiled")
    run, (finding,) = cuda_on_gpu.Recorder().launch(
        requested.entry, requested.configuration, requested.arguments(), ("harm.cu", 3)
    )
    assert run is None
    assert finding.kind == kind
    assert finding.launch is None


def test_what_a_card_logged_is_read():
    """The words are those that an H200 wrote for this launch."""
    requested = RequestedLaunch(gallery("square"), "set_col_read_col")
    words = np.load(DATA / "h200_log_set_col_read_col.npz")["words"].reshape(96, -1)
    expected = requested.in_lockstep(requested.arguments())
    ready = prepare(requested.entry, requested.configuration, requested.place)

    card = LockstepCard(requested.entry)
    given = bind_arguments(requested.entry, ready.kernel, requested.arguments(), requested.place, card)
    seen = CudaPasses(card, ready, requested.configuration, given).requests_of(words, expected.arrays)

    order = np.lexsort((expected.requests.step, expected.requests.warp))
    shared = expected.in_shared[expected.requests.site[order]]
    np.testing.assert_array_equal(seen.addresses[shared], expected.requests.addresses[order][shared])
    for name in ("block", "warp", "step", "epoch", "values"):
        np.testing.assert_array_equal(getattr(seen, name), getattr(expected.requests, name)[order])
    stored = seen.values[~np.isnan(seen.values).all(axis=1)]
    assert stored.shape == (32, 32)  # one store a warp: the thread's own number
    np.testing.assert_array_equal(stored, np.arange(1024.0).reshape(32, 32))


@pytest.mark.skipif(PTXAS is None, reason="needs ptxas, of the CUDA toolkit")
@pytest.mark.parametrize(
    "wanted",
    [[("wide", "compiled"), ("counted", "source")], pytest.param(None, marks=pytest.mark.exhaustive, id="all")],
)
def test_ptxas_takes_a_rewritten_kernel(wanted, tmp_path):
    for kernel, view in wanted or [one[1:] for one in launches_of("features")]:
        ptxas_takes(kernel, view, tmp_path)


def ptxas_takes(kernel, view, tmp_path):
    requested = RequestedLaunch(FEATURES, kernel, view)
    ready = prepare(requested.entry, requested.configuration, requested.place)
    for mode in ("count", "write"):
        accesses = Instructions(ready.kernel, ready.sites)
        ptx = instrumented(ready.kernel, requested.entry.compiled.ptx, accesses, mode, 1024, (9, 0))
        (tmp_path / "a.ptx").write_text(for_driver(ptx, 13000, (9, 0)))
        command = [str(PTXAS), "-arch", "sm_90", "-o", str(tmp_path / "a.cubin"), str(tmp_path / "a.ptx")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_ptx_is_lowered_to_what_the_driver_and_the_card_know():
    for driver, capability, head in [
        (13000, (9, 0), ".version 9.0\n.target sm_90\n"),
        (13050, (10, 0), ".version 9.5\n.target sm_90\n"),
        (13060, (9, 0), ".version 9.5\n.target sm_90\n"),
        (12040, (8, 6), ".version 8.4\n.target sm_86\n"),
        (12060, (9, 0), ".version 8.5\n.target sm_90\n"),
        (12090, (9, 0), ".version 8.8\n.target sm_90\n"),
    ]:
        assert for_driver(".version 9.5\n.target sm_90\n", driver, capability) == head


def test_variables_of_a_module_last_from_launch_to_launch():
    text = """
    // smemviz: count<<<1, 32>>>(zeros(64))
    __device__ int calls;
    __global__ void count(float *a) { a[threadIdx.x + calls] = 1; __syncthreads(); if (threadIdx.x == 0) calls += 7; }
    """
    requested = RequestedLaunch(parse_cuda(text, "count.cu"), "count")
    firsts = []
    requested.entry = replace(requested.entry, variables=Variables())
    for _ in range(3):
        made, _card = requested.on_card(requested.arguments())
        stores = next(number for number, site in enumerate(made.sites) if site.op == "store")
        first = made.requests.addresses[made.requests.site == stores][0, 0]
        firsts.append(int(first - made.arrays[0].address))
    assert firsts == [0, 28, 56]
