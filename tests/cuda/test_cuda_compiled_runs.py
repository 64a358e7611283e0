"""Launches that run compiled record what NumPy records of them; what looks like a mistake is left to NumPy."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.tiers import but

import smemviz
from smemviz.engines.launch_shape import configuration
from smemviz.engines.lockstep import log, shares
from smemviz.engines.lockstep.ptx import scheduler
from smemviz.engines.lockstep.ptx.code.parse import parse
from smemviz.engines.lockstep.ptx.compiled import cores, running
from smemviz.engines.lockstep.ptx.host import cuda_launch
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.steps import steps_of
from smemviz.engines.options import LOG_BYTES, LaunchOptions, Limits
from smemviz.frontends.cuda import compile_program, parse_cuda
from smemviz.paths import kernels_dir
from smemviz.recordings.recording import Recording

Record = Callable[[Path | str, bool], tuple[Recording, list[bool]]]


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> Record:
    """Record a file compiled from its first visit of a block on, or by NumPy alone; and whether each run was well."""
    done: list[bool] = []
    run = cores.run_compiled

    def noted(*arguments: Any) -> tuple[Machine, bool]:
        machine, is_well = run(*arguments)
        done.append(is_well)
        return machine, is_well

    monkeypatch.setattr(cores, "run_compiled", noted)

    def of(path: Path | str, compiled: bool) -> tuple[Recording, list[bool]]:
        monkeypatch.setattr(scheduler, "LONG_LAUNCH_SECONDS", -1.0 if compiled else 1e9)
        monkeypatch.setattr(scheduler, "_FEW_VISITS", 1 << 60)
        cuda_launch._made_ready.cache_clear()
        done.clear()
        return smemviz.run(path, engine="lockstep"), done.copy()

    return of


def assert_the_same(one: Recording, other: Recording) -> None:
    assert [launch.kernel for launch in one.launches] == [launch.kernel for launch in other.launches]
    for left, right in zip(one.launches, other.launches, strict=True):
        assert left.sites == right.sites
        for name in ("addresses", "site", "block", "warp", "step", "epoch"):
            assert np.array_equal(getattr(left.requests, name), getattr(right.requests, name)), (left.kernel, name)
        assert np.array_equal(left.requests.values, right.requests.values, equal_nan=True), left.kernel
        assert (left.totals is None) == (right.totals is None)
    assert one.findings == other.findings


@pytest.mark.parametrize("name", but(["transpose"], ["transpose", "reduce"]))
def test_the_gallery(record: Record, name: str) -> None:
    path = kernels_dir() / f"{name}.cu"
    compiled, were_well = record(path, True)
    plain, none = record(path, False)
    assert all(were_well)
    assert (len(were_well), none) == (len(plain.launches), [])
    assert_the_same(compiled, plain)


KERNELS = {
    "ways apart and together": """
    int v = a[i], s = 0;
    for (int j = 0; j <= i % 7; j++) { if (j == 3 && v > 0) continue; s += j * v; if (s > 50) break; }
    switch (v & 7) { case 0: s += 1; break; case 1: s *= 3; break; case 2: s ^= 5; break; case 3: s -= 7; break;
                     case 4: s <<= 2; break; case 5: s = ~s; break; default: s = -s; }
    tile[i] = s; __syncthreads(); out[i] = tile[(i + 1) % 64];""",
    "lanes of a warp": """
    unsigned all = 0xffffffffu; int v = a[i];
    out[i] = __shfl_down_sync(all, v, 3) + 10 * __shfl_xor_sync(all, v, 5) + __popc(__ballot_sync(all, v > 0));
    out[64 + i] = __match_any_sync(all, v & 3) + __reduce_add_sync(all, v) + __any_sync(all, v == 7);
    if (i % 3 == 0) out[128 + i] = __activemask();
    if (i % 2) out[128 + i] += __reduce_max_sync(0xaaaaaaaa, v);
    out[192 + i] = __syncthreads_count(v > 0) + 100 * __syncthreads_or(v > 9);""",
    "barriers with numbers": """
    int yes;
    tile[i] = a[i]; asm volatile("bar.sync 1;" ::: "memory"); int v = tile[63 - i]; asm volatile("bar.sync 1;");
    asm volatile("{ .reg .pred p, q; setp.gt.s32 p, %1, 5; bar.red.and.pred q, 2, p; selp.s32 %0, 1, 2, q; }"
                 : "=r"(yes) : "r"(a[i]) : "memory");
    tile[i] = v; __syncthreads(); out[i] = tile[63 - i] + 1000 * yes;""",
    "updates": """
    if (i < 8) tile[i] = 0;
    __syncthreads(); atomicAdd(&tile[a[i] & 7], 1); atomicMax((unsigned *)&out[100], (unsigned)i);
    __syncthreads(); if (i < 8) atomicAdd(&out[i], tile[i]);
    atomicAdd((float *)&out[110], 0.5f); atomicXor(&out[111], 1 << i % 32);""",
    "numbers of every width": """
    short h = (short)a[i]; long long w = a[i] * 5000000000LL; double d = a[i] / 3.0;
    float f = sqrtf(fabsf((float)a[i]));
    out[i] = h / 3 + (int)(w >> 33) + (int)d + __float2int_rn(f) + __clz(a[i]) + __brev(a[i]) % 1000 + a[i] % 5;
    out[64 + i] = (int)__umulhi(a[i] * 123456789u, 987654321u) + __byte_perm(a[i], i, 0x5140) + __ffs(a[i]);
    out[128 + i] = min(a[i], 3) + max((unsigned)a[i], 5u);
    out[192 + i] = (a[i] << (i & 31)) + (a[i] >> (i & 31)) + (int)(unsigned char)h;""",
    "rounding and carries": """
    float f = a[i] / 7.0f, g = f * f - 3; unsigned low, high;
    asm("add.cc.u32 %0, %2, %3; addc.u32 %1, %2, 5;" : "=r"(low), "=r"(high) : "r"(a[i] * 0x7ffffff1u), "r"(~0u - i));
    out[i] = low ^ high; out[64 + i] = __float_as_int(expf(g) + __saturatef(g));
    out[128 + i] = __float_as_int(__fmaf_rd(f, g, -f)); out[192 + i] = __float_as_int(__fmaf_ru(f, g, 1e-9f * f));
    asm("sub.cc.u32 %0, %2, %3; subc.u32 %1, %3, %2;" : "=r"(low), "=r"(high) : "r"(a[i]), "r"(64 - i));
    out[i] += 3 * low + high;
    asm("mad.lo.cc.u32 %0, %2, %3, %2; madc.hi.u32 %1, %2, %3, 0;" : "=r"(low), "=r"(high) : "r"(~a[i]), "r"(~i));
    out[i] ^= 5 * low + high;""",
    "arrays of a thread, and of any memory": """
    int own[8]; int *any = i % 64 < 32 ? tile : out;
    for (int j = 0; j < 8; j++) own[(j * a[i] & 7)] = j + a[i];
    any[i] = own[a[i] & 7] + own[i & 7]; __syncthreads(); out[64 + i] = any[i];""",
    "copies of all, or of nothing": """
    unsigned to = (unsigned)__cvta_generic_to_shared(&tile[i]); int size = a[i] % 3 ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(to), "l"(a + i), "r"(size) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory"); __syncthreads(); out[i] = tile[63 - i];""",
    "a word that all load, and one stores": """
    tile[i] = a[i]; __syncthreads(); int v = tile[i / 32 * 32]; __syncwarp(); if (i % 32 == 7) tile[i - 7] = v + 1;
    __syncthreads(); out[i] = tile[0] + tile[32] + v;""",
    "numbers of every type in shared memory": """
    __shared__ __half h[64]; __shared__ short n[64]; __shared__ bool odd[64]; __shared__ signed char c[64];
    __shared__ double d[64]; __shared__ unsigned long long u[64]; __shared__ long long w[64]; __shared__ float f[64];
    h[i] = __float2half(a[i] / 3.0f); n[i] = -a[i]; odd[i] = a[i] & 1; c[i] = -i; d[i] = a[i] / -7.0;
    u[i] = ~0ull - i; w[i] = -5000000000LL * i; f[i] = a[i] * 0.1f; tile[i] = -i;
    __syncthreads();
    out[i] = (int)__half2float(h[63 - i]) + n[i ^ 1] + odd[i ^ 2] + c[i ^ 3] + (int)d[i ^ 4] + (int)u[i ^ 5] + (int)w[i]
             + (int)f[i ^ 7] + tile[i];""",
    "one place, and some of the arrays": """
    __shared__ int one[64], other[64], third[64]; one[i] = third[i] = i; other[i] = a[i]; __syncthreads();
    int *p = i % 2 ? one : third; for (int j = 0; j < 3; j++) { out[i] += p[(i + j) % 64]; p = a[0] > j ? third : p; }
    out[64 + i] = (i < 7 ? other : one)[i];""",
    "a wait for some time": """
    long long since = clock64(); while (clock64() - since < 100000) { } out[i] = a[i] + (clock() != 0);""",
    "a warp that waits for itself": """
    volatile int *v = tile; v[i] = a[i]; __syncwarp();
    if (i % 32 < 16) { int x = v[i + 16]; __syncwarp(0xffff); v[i] = v[i] + x; }
    __syncthreads(); out[i] = v[i];""",
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel(record: Record, tmp_path: Path, name: str) -> None:
    path = tmp_path / "k.cu"
    path.write_text(
        "// smemviz: k<<<2, 64>>>(zeros(512), arange(128))\n"
        + ("#include <cuda_fp16.h>\n" if "__half" in KERNELS[name] else "")
        + "__global__ void k(int *out, const int *b) {\n"
        "__shared__ int tile[64]; int i = threadIdx.x; const int *a = b + 64 * blockIdx.x;\n"
        "out += 256 * blockIdx.x;\n" + KERNELS[name] + "\n}\n"
    )
    compiled, were_well = record(path, True)
    plain, _ = record(path, False)
    assert were_well == [name != "a warp that waits for itself"]  # part of it; that is left to NumPy
    assert_the_same(compiled, plain)


@pytest.mark.parametrize("rows", [1_000_000, 90])
def test_a_few_threads(record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    path = tmp_path / "few.cu"
    path.write_text(
        "__global__ void k(int *out, int n) {\n"
        "    __shared__ int s[32]; int t = threadIdx.x, b = blockDim.x * blockIdx.x; s[t] = n - t; __syncthreads();\n"
        "    for (int j = 0; j < n; j++) { s[t] += j; if (t + 1 < n - j) out[b + t] += s[t] + j; }\n"
        "    out[b + t] += s[t];\n}\n"
        "__global__ void g(int *out) { out[threadIdx.x] += 1; }\n"
        "// smemviz: k<<<1, 1>>>(zeros(8), 9)\n// smemviz: k<<<4, 5>>>(zeros(32), 9)\n"
        "// smemviz: g<<<1, 3>>>(zeros(8))\n"
    )
    monkeypatch.setattr(log, "ROW_BYTES", LOG_BYTES // rows)
    (compiled, were_well), (plain, _) = record(path, True), record(path, False)
    assert were_well == [True] * 3
    if rows == 1_000_000:
        assert_the_same(compiled, plain)
    assert [launch.totals is None for launch in compiled.launches] == [True, rows == 1_000_000, True]
    assert [launch.summary() for launch in compiled.launches] == [launch.summary() for launch in plain.launches]
    copied = pickle.loads(pickle.dumps(compiled.launches[0].requests))
    assert copied.addresses.tolist() == plain.launches[0].requests.addresses.tolist()


MISTAKES = {
    "race": "tile[i] = a[i]; out[i] = tile[63 - i];",
    "race ": "volatile int *v = tile; v[i] = a[i]; out[i] = v[63 - i];",
    "race  ": "tile[i] = a[i]; __syncthreads(); int v = tile[0]; tile[i] = v; out[i] = v;",
    "race   ": "tile[i] = a[i]; __syncthreads(); int v = tile[i % 32]; __syncwarp(); if (i == 40) tile[8] = v;",
    "unwritten_read": "out[i] = tile[i];",
    "out_of_bounds": "out[i * 1000] = a[i];",
    "barrier_divergence": "if (i < 40) __syncthreads(); out[i] = a[i];",
    "deadlock": "int n = a[0] + 5; if (i == 3) for (int j = 0; j < 300000; j++) n += j; while (n) n ^= 0; out[i] = n;",
}


@pytest.mark.parametrize("kind", but(["deadlock"], MISTAKES))  # NumPy takes half a minute to that one
def test_a_mistake_is_found_as_by_numpy(record: Record, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "k.cu"
    path.write_text(
        "// smemviz: k<<<1, 64>>>(zeros(64), arange(64))\n"
        "__global__ void k(int *out, const int *a) {\n"
        "__shared__ int tile[64]; int i = threadIdx.x;\n" + MISTAKES[kind] + "\n}\n"
    )
    compiled, were_well = record(path, True)
    assert were_well == [False]
    assert kind.strip() in {finding.kind for finding in compiled.findings}
    if kind != "deadlock":
        assert_the_same(compiled, record(path, False)[0])


def test_what_rarely_prints_or_fails_runs_compiled_and_no_line_is_printed_twice(
    record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k.cu"
    text = (
        "// smemviz: k<<<1, 64>>>(zeros(64), LIMIT)\n#include <cstdio>\n#include <cassert>\n"
        '__global__ void k(int *out, int limit) { int i = threadIdx.x; if (i >= limit) printf("thread %d\\n", i);\n'
        "out[i] = i; __syncthreads(); assert(i < 1000); }\n"
    )
    path.write_text(text.replace("LIMIT", "64"))
    assert record(path, True)[1] == [True]
    path.write_text(text.replace("LIMIT", "62"))
    assert record(path, True)[1] == [False]
    assert capsys.readouterr().out == "thread 62\nthread 63\n"


def test_few_threads_run_compiled_and_many_by_numpy(
    tmp_path: Path, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "k.cu"
    path.write_text(
        "// smemviz: k<<<1, 1>>>(zeros(64), 2000)\n"
        "// smemviz: wide<<<256, 256>>>(zeros(65536))\n"
        "__global__ void k(int *out, int n) { for (int j = 0; j < n; j++) out[j & 63] += j; }\n"
        "__global__ void wide(int *out) { out[blockIdx.x * 256 + threadIdx.x] = 1; }\n"
    )
    record(path, False)
    monkeypatch.setattr(scheduler, "_FEW_VISITS", 600)
    cuda_launch._made_ready.cache_clear()
    made: list[Kernel] = []
    compile_kernel = running.compile_kernel

    def compiled(kernel: Kernel) -> running.CompiledKernel | None:
        made.append(kernel)
        return compile_kernel(kernel)

    monkeypatch.setattr(running, "compile_kernel", compiled)
    smemviz.run(path, engine="lockstep")
    assert [kernel.function.name for kernel in made] == ["_Z1kPii"]
    cuda_launch._made_ready.cache_clear()


@pytest.mark.usefixtures("record")
def test_what_strangers_send_is_not_made_into_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "__global__ void k(int *out, int n) { for (int j = 0; j < n; j++) out[j & 63] += j; }\n"
    program = parse_cuda(text, "k.cu")
    entry = Entry(program, compile_program(program, ("k",)), "k")
    monkeypatch.setattr(scheduler, "_FEW_VISITS", 1)
    compiled: list[object] = []
    monkeypatch.setattr(running, "compile_kernel", compiled.append)
    for limits in (Limits(all_loops=True), Limits()):
        shape, arguments = configuration(("k.cu", 1), (1, 1, 0, 0)), [np.zeros(64, np.int32), 700]
        cuda_launch.launch(entry, shape, arguments, ("k.cu", 1), LaunchOptions(limits=limits))
        assert bool(compiled) == (not limits.all_loops)


APART = """
extern __shared__ int tile[];
__global__ void k(const int* a, int* out, int n) {
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    for (int j = 0; j < n; j++) { tile[t] = a[i] + j; __syncthreads(); %s __syncthreads(); }
}
// smemviz: k<<<40, 64, 256>>>(arange(2560), zeros(2560), 9)
"""


@pytest.mark.parametrize(("store", "are_apart"), [("out[i] = tile[t ^ j & 63];", True), ("out[t] = 7;", False)])
@pytest.mark.parametrize("rows", [1_000_000, 300, 40])
def test_several_cores_record_what_one_does(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str, rows: int, are_apart: bool
) -> None:
    """Where blocks store what others store too one core makes the launch, then NumPy, which finds a race."""
    path = tmp_path / "apart.cu"
    path.write_text(APART % store)
    monkeypatch.setattr(log, "ROW_BYTES", LOG_BYTES // rows)
    monkeypatch.setattr(shares, "_ROOM", 50)
    were_apart, together = list[bool](), cores._run_together

    def noted(*launch: Any) -> bool:
        were_apart.append(together(*launch))
        return were_apart[-1]

    monkeypatch.setattr(cores, "_run_together", noted)
    recordings = []
    for count in (1, 3):
        monkeypatch.setattr(cores, "_cores", lambda count=count: count)
        recording, were_well = record(path, True)
        assert were_well == [are_apart]
        recordings.append(recording)
    assert were_apart == [are_apart]
    assert_the_same(*recordings)
    totals = [recording.launches[0].totals for recording in recordings]
    counts = [one and [column.tolist() for column in vars(one).values()] for one in totals]
    assert counts[0] == counts[1]
    assert (counts[0] is None) == (rows == 1_000_000)


COUNTED = {
    "side by side, all at one, in rows of 16": "s[t] = a[i + j]; __syncthreads(); v += s[j] + s[t ^ 16 * (j & 1)];",
    "down a column, and another one each time": "s[t * (j + 1) & 127] = v; __syncthreads(); v += s[t * j * 2 & 127];",
    "a few lanes now and then": "if (j != 3 || t & 1) s[t] = v + j; __syncthreads(); if (j & 1) v += s[63 - t];",
    "not by whole sectors": "v += a[i + j] + a[i * 2 + j]; s[t] = v; __syncthreads(); v ^= s[t];",
    "wide elements": "((int2*)s)[t] = ((int2*)a)[t + j]; __syncthreads(); v += ((int4*)s)[t & 31].z + ((int4*)a)[j].y;",
    "either memory": "const int* p = t < 32 ? s : a + j; if (t < 32) s[t] = j; __syncthreads(); v += p[t & 31];",
    "where nobody has stored": "if (t < 32) s[t] = j; __syncthreads(); v += j < 5 ? s[t & 31] : s[t]; ",
    "beside a barrier": "s[t] = v + j; v += s[j == 6 && b == 9 ? t ^ 32 : t];",
}


@pytest.mark.parametrize("name", COUNTED)
def test_what_is_counted_as_it_runs_is_what_numpy_counts(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / "counted.cu"
    path.write_text(
        "__global__ void k(const int* a, int* out) {\n"
        "    __shared__ __align__(16) int s[128]; int t = threadIdx.x, b = blockIdx.x, i = b * 64 + t, v = 0;\n"
        f"    for (int j = 0; j < 7; j++) {{ {COUNTED[name]} __syncthreads(); }}\n"
        "    out[i] = v;\n}\n"
        "// smemviz: k<<<24, 64>>>(arange(4096), zeros(1536))\n"
    )
    monkeypatch.setattr(log, "ROW_BYTES", LOG_BYTES // 300)
    monkeypatch.setattr(running, "_ROWS", 60)
    compiled, were_well = record(path, True)
    plain, _ = record(path, False)
    assert were_well == [name not in ("where nobody has stored", "beside a barrier")]
    assert compiled.findings == plain.findings
    one, other = compiled.launches[0].totals, plain.launches[0].totals
    assert one is not None
    assert other is not None
    assert [column.tolist() for column in vars(one).values()] == [column.tolist() for column in vars(other).values()]


@pytest.mark.parametrize(
    ("instruction", "are_apart"),
    [
        ("atom.shared.add.u32 %r1, [%r1], 1;", True),
        ("ld.global.u32 %r1, [%rd1];", True),
        ("atom.global.add.u32 %r1, [%rd1], 1;", False),
        ("ld.volatile.global.u32 %r1, [%rd1];", False),
        ("mov.u32 %r1, %clock;", False),
    ],
)
def test_blocks_that_may_wait_for_others_run_in_order(instruction: str, are_apart: bool) -> None:
    registers = ".reg .b32 %r<2>; .reg .b64 %rd<2>;"
    ptx = f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {{ {registers} {instruction} ret; }}"
    kernel = Kernel(parse(ptx), "k")
    steps_of(kernel)
    assert cores.blocks_are_apart(kernel) == are_apart
