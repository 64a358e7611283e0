"""Every family of PTX instructions, from CUDA C++, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import smemviz
from smemviz.errors import InputError, LaunchError, UnsupportedError
from smemviz.model.counting import banks
from smemviz.recordings.recording import Recording

N = 256
RNG = np.random.default_rng(7)
INTS = RNG.integers(-(2**31), 2**31, (2, N)).astype(np.int32)
INTS[:, :8] = [[0, 1, -1, 2**31 - 1, -(2**31), 5, -7, 32], [3, -1, 1, 2, 3, 0, 2, 31]]
FLOATS = (RNG.standard_normal((2, N)) * 100).astype(np.float32)


def compute(
    body: str, out: NDArray[Any], *given: NDArray[Any], more: str = "", view: str = "source", block: int = N
) -> Recording:
    """Run ``out[i] = <body>`` for every i; arguments are a and b, and ``i`` is the thread."""
    kinds = {
        "int32": "int",
        "uint32": "unsigned",
        "float32": "float",
        "uint64": "unsigned long long",
        "float16": "__half",
    }
    parameters = ", ".join(f"const {kinds[str(one.dtype)]} *{name}" for one, name in zip(given, "ab", strict=False))
    head = f"{more}\n__global__ void k({kinds[str(out.dtype)]} *out, {parameters})"
    text = f"{head} {{\n    int i = threadIdx.x;\n    {body}\n}}\n"
    return smemviz.cuda_cpp(text, view=view)["k"][len(out) // block or 1, block](out, *given)


def long(values: NDArray[Any]) -> NDArray[np.int64]:
    return values.astype(np.int64)


def low(values: NDArray[Any]) -> NDArray[np.int32]:
    """The lower 32 bits."""
    return values.astype(np.int64).astype(np.int32)


def c_quotient(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return np.trunc(long(a) / np.where(b == 0, 1, long(b))).astype(np.int64)


A, B = INTS
NONZERO = np.where(B == 0, 3, B).astype(np.int32)
UA, UB = A.view(np.uint32), B.view(np.uint32)
BYTES = np.concatenate([UA[:, None], UB[:, None]], axis=1).view(np.uint8)[:, [0, 4, 1, 5]]
INTEGER = {
    "a[i] + b[i]": A + B,
    "a[i] - b[i]": A - B,
    "a[i] * b[i]": A * B,
    "__mulhi(a[i], b[i])": long(A) * long(B) >> 32,
    "(int)__umulhi(a[i], b[i])": (UA.astype(np.uint64) * UB.astype(np.uint64)) >> np.uint64(32),
    "min(a[i], b[i])": np.minimum(A, B),
    "max((unsigned)a[i], (unsigned)b[i])": np.maximum(UA, UB),
    "a[i] & b[i]": A & B,
    "a[i] | ~b[i]": A | ~B,
    "a[i] ^ b[i] ^ 77": A ^ B ^ 77,
    "a[i] >> (b[i] & 31)": A >> (B & 31),
    "(unsigned)a[i] >> (b[i] & 31)": UA >> (UB & 31),
    "a[i] << (b[i] & 31)": UA << (UB & 31),
    "abs(a[i] / 2)": np.abs(np.trunc(A / 2)),
    "__popc(a[i])": np.bitwise_count(UA),
    "__clz(a[i])": np.array([32 - int(x).bit_length() for x in UA]),
    "__ffs(a[i])": np.array([(int(x) & -int(x)).bit_length() for x in UA]),
    "__brev(a[i])": np.array([int(f"{int(x):032b}"[::-1], 2) for x in UA]),
    "__byte_perm(a[i], b[i], 0x5140)": np.ascontiguousarray(BYTES).view(np.uint32)[:, 0],
    "__funnelshift_l(a[i], b[i], 5)": (UB << np.uint32(5)) | (UA >> np.uint32(27)),
    "a[i] > b[i] ? 1 : a[i] == b[i] ? 2 : 3": np.where(A > B, 1, np.where(A == B, 2, 3)),
    "(int)(((long long)a[i] * b[i]) >> 7)": long(A) * long(B) >> 7,
    "(int)(signed char)a[i]": A.astype(np.int8),
    "__sad(a[i], b[i], 0u)": np.abs(long(A) - long(B)),
    "(a[i] >> 3) & 0x1ff": (A >> 3) & 0x1FF,
}


@pytest.mark.parametrize("view", ["source", "compiled"])
def test_integers(view: str) -> None:
    """All in one kernel: compiling takes longer than running."""
    expressions = list(INTEGER)
    body = "\n    ".join(f"out[{n} * {N} + i] = {text};" for n, text in enumerate(expressions))
    out = np.zeros(len(expressions) * N, np.int32)
    text = f"__global__ void k(int *out, const int *a, const int *b) {{\n    int i = threadIdx.x;\n    {body}\n}}\n"
    smemviz.cuda_cpp(text, view=view)["k"][1, N](out, A, B)
    wrong = [e for n, e in enumerate(expressions) if not np.array_equal(out[n * N : (n + 1) * N], low(INTEGER[e]))]
    assert wrong == []


def test_division_and_remainder_go_towards_zero() -> None:
    out = np.zeros(N, np.int32)
    compute("out[i] = a[i] / b[i] * 3 + a[i] % b[i];", out, A, NONZERO)
    quotient = c_quotient(A, NONZERO)
    expected = quotient * 3 + (long(A) - quotient * long(NONZERO))
    assert np.array_equal(out, expected.astype(np.int32))


def test_64_bit_products_and_shifts() -> None:
    a = RNG.integers(0, 2**63, N).astype(np.uint64)
    b = RNG.integers(0, 2**63, N).astype(np.uint64)
    out = np.zeros(N, np.uint64)
    compute("out[i] = __umul64hi(a[i], b[i]) + (a[i] >> 60) + __popcll(b[i]) + __clzll(a[i]);", out, a, b)
    expected = [
        ((int(x) * int(y)) >> 64) + (int(x) >> 60) + int(y).bit_count() + 64 - int(x).bit_length()
        for x, y in zip(a, b, strict=True)
    ]
    assert out.tolist() == expected


def test_carries_of_wide_additions() -> None:
    text = """__global__ void k(unsigned *out, const unsigned *a, const unsigned *b) {
    int i = threadIdx.x;
    unsigned low, high;
    asm("add.cc.u32 %0, %2, %3; addc.u32 %1, %4, %5;"
        : "=r"(low), "=r"(high) : "r"(a[i]), "r"(b[i]), "r"(b[i]), "r"(a[i]));
    out[2 * i] = low;
    out[2 * i + 1] = high;
}
"""
    out = np.zeros(2 * N, np.uint32)
    smemviz.cuda_cpp(text)["k"][1, N](out, UA, UB)
    wide = (UA.astype(object) + (UB.astype(object) << 32)) + (UB.astype(object) + (UA.astype(object) << 32))
    assert out.tolist() == [int(x) >> shift & 0xFFFFFFFF for x in wide for shift in (0, 32)]


def test_sums_of_products_of_bytes() -> None:
    out = np.zeros(N, np.int32)
    compute('asm("dp4a.s32.s32 %0, %1, %2, 5;" : "=r"(out[i]) : "r"(a[i]), "r"(b[i]));', out, A, B)
    parts = A.view(np.int8).reshape(-1, 4).astype(np.int32) * B.view(np.int8).reshape(-1, 4)
    assert np.array_equal(out, parts.sum(1) + 5)


FA, FB = FLOATS
POSITIVE = np.abs(FA) + 1
FLOATING = {
    "a[i] + b[i]": FA + FB,
    "a[i] * b[i]": FA * FB,
    "a[i] / b[i]": FA / FB,
    "fmaf(a[i], b[i], 1.0f)": (FA.astype(np.float64) * FB + 1).astype(np.float32),
    "sqrtf(fabsf(a[i]) + 1.0f)": np.sqrt(POSITIVE),
    "1.0f / (fabsf(a[i]) + 1.0f)": 1 / POSITIVE,
    "fminf(a[i], b[i])": np.minimum(FA, FB),
    "fmaxf(a[i], -b[i])": np.maximum(FA, -FB),
    "floorf(a[i]) + ceilf(b[i])": np.floor(FA) + np.ceil(FB),
    "(float)(int)a[i]": np.trunc(FA),
    "rintf(a[i])": np.rint(FA),
    "(float)(unsigned char)(int)fabsf(a[i])": np.abs(FA).astype(np.int32).astype(np.uint8).astype(np.float32),
    "(float)((double)a[i] * 3.0)": (FA.astype(np.float64) * 3).astype(np.float32),
    "copysignf(a[i], b[i])": np.copysign(FA, FB),
    "__saturatef(a[i])": np.clip(FA, 0, 1),
    "isfinite(a[i] / 0.0f) ? 1.0f : 2.0f": np.full(N, 2, np.float32),
    "a[i] < b[i] ? a[i] : 7.0f": np.where(FA < FB, FA, 7).astype(np.float32),
    "exp2f(a[i] / 100.0f)": np.exp2(FA / np.float32(100)),
    "sinf(a[i])": np.sin(FA),
    "tanhf(a[i] / 50.0f)": np.tanh(FA / np.float32(50)),
    "__int_as_float(__float_as_int(a[i]) ^ 1)": (FA.view(np.int32) ^ 1).view(np.float32),
}


@pytest.mark.parametrize("view", ["source", "compiled"])
def test_floats(view: str) -> None:
    expressions = list(FLOATING)
    body = "\n    ".join(f"out[{n} * {N} + i] = {text};" for n, text in enumerate(expressions))
    out = np.zeros(len(expressions) * N, np.float32)
    text = (
        f"__global__ void k(float *out, const float *a, const float *b) {{\n    int i = threadIdx.x;\n    {body}\n}}\n"
    )
    smemviz.cuda_cpp(text, view=view)["k"][1, N](out, FA, FB)
    found = {e: out[n * N : (n + 1) * N] for n, e in enumerate(expressions)}
    # A few units in the last place: the library's functions are not NumPy's.
    wrong = [e for e in expressions if not np.allclose(found[e], FLOATING[e], rtol=3e-6, atol=1e-6)]
    assert wrong == []


@pytest.mark.parametrize(
    ("kind", "a", "b", "c", "expected"),
    [
        # The product lies halfway between two floats; what is added, and is far too small for a double, decides.
        ("float", 24929 / 4096, 673 / 4096, 2.0**-60, 1 + 2.0**-23),
        ("float", 24929 / 4096, 673 / 4096, -(2.0**-60), 1),
        ("double", 1 + 2.0**-30, 1 + 2.0**-30, -1 - 2.0**-29, 2.0**-60),
    ],
)
@pytest.mark.parametrize("view", ["source", "compiled"])
def test_a_fused_product_is_rounded_once(kind: str, a: float, b: float, c: float, expected: float, view: str) -> None:
    text = f"__global__ void k({kind} *x) {{ x[3] = fma(x[0], x[1], x[2]); }}"
    given = np.array([a, b, c, 0], np.float32 if kind == "float" else np.float64)
    smemviz.cuda_cpp(text, view=view)["k"][1, 1](given)
    assert given[3] == expected


def test_halves() -> None:
    a, b = FA.astype(np.float16), FB.astype(np.float16)
    out = np.zeros(N, np.float16)
    compute("out[i] = __hadd(a[i], __hmul(b[i], __float2half(0.5f)));", out, a, b, more="#include <cuda_fp16.h>")
    assert np.array_equal(out, a + b * np.float16(0.5))


def test_bfloat16_is_rounded_to_even() -> None:
    text = """#include <cuda_bf16.h>
__global__ void k(float *out, const float *a) { out[threadIdx.x] = __bfloat162float(__float2bfloat16(a[threadIdx.x])); }
"""
    out = np.zeros(N, np.float32)
    smemviz.cuda_cpp(text)["k"][1, N](out, FA)
    bits = FA.view(np.uint32).astype(np.uint64)
    expected = (((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) << 16).astype(np.uint32).view(np.float32)
    assert np.array_equal(out, expected)


def test_shuffles_votes_and_matches() -> None:
    text = """#define ALL 0xffffffffu
__global__ void k(int *out, const int *a) {
    int i = threadIdx.x, v = a[i], n = blockDim.x;
    out[i] = __shfl_down_sync(ALL, v, 3);
    out[n + i] = __shfl_up_sync(ALL, v, 2, 8);
    out[2 * n + i] = __shfl_xor_sync(ALL, v, 5);
    out[3 * n + i] = __shfl_sync(ALL, v, i + 1);
    out[4 * n + i] = __ballot_sync(ALL, v > 0);
    out[5 * n + i] = __any_sync(ALL, v == 7) + 2 * __all_sync(ALL, v > -1000);
    out[6 * n + i] = __match_any_sync(ALL, v & 3);
    out[7 * n + i] = __reduce_add_sync(ALL, v) + (int)__reduce_max_sync(ALL, (unsigned)i);
    if (i % 3 == 0) out[8 * n + i] = __activemask();
}
"""
    a = RNG.integers(-8, 9, N).astype(np.int32)
    out = np.zeros((9, N), np.int32)
    smemviz.cuda_cpp(text)["k"][1, N](out, a)
    lane = np.arange(N) % 32
    warp = np.arange(N) - lane
    assert np.array_equal(out[0], a[warp + np.where(lane + 3 < 32, lane + 3, lane)])
    assert np.array_equal(out[1], a[warp + np.where(lane % 8 >= 2, lane - 2, lane)])
    assert np.array_equal(out[2], a[warp + (lane ^ 5)])
    assert np.array_equal(out[3], a[warp + (np.arange(N) + 1) % 32])
    rows = a.reshape(-1, 32)
    bits = 1 << np.arange(32, dtype=np.int64)
    assert np.array_equal(out[4].view(np.uint32), np.repeat(((rows > 0) * bits).sum(1), 32))
    assert np.array_equal(out[5], np.repeat((rows == 7).any(1) * 1 + 2, 32))
    same = (rows[:, :, None] & 3) == (rows[:, None, :] & 3)
    assert np.array_equal(out[6].view(np.uint32), (same * bits).sum(2).reshape(-1))
    assert np.array_equal(out[7], np.repeat(rows.sum(1) + np.arange(N).reshape(-1, 32).max(1), 32))
    for i in range(0, N, 3):
        assert int(out[8, i]) & 0xFFFFFFFF == sum(1 << k for k in range(32) if (i - i % 32 + k) % 3 == 0)


def test_atomics_in_both_memories() -> None:
    text = """__global__ void k(int *out, const int *a) {
    __shared__ int t[8];
    int i = threadIdx.x, bin = a[i] & 7;
    if (i < 8) t[i] = 0;
    __syncthreads();
    int old = atomicAdd(&t[bin], a[i]);
    __syncthreads();
    if (i < 8) out[i] = t[i];
    atomicMax(&out[8 + bin], a[i]);
    atomicMin(&out[16 + bin], a[i]);
    atomicXor(&out[24 + bin], a[i]);
    atomicInc((unsigned *)&out[32 + bin], 1000);
    if (atomicCAS(&out[40 + bin], 0, i + 1) == 0) atomicExch(&out[48 + bin], old < 0 ? 8 : 9);
}
"""
    a = RNG.integers(0, 1000, N).astype(np.int32)
    out = np.zeros(56, np.int32)
    out[16:24] = 5000
    recording = smemviz.cuda_cpp(text)["k"][1, N](out, a)
    bins = a & 7
    groups = [a[bins == b] for b in range(8)]
    assert out[:8].tolist() == [int(g.sum()) for g in groups]
    assert out[8:16].tolist() == [int(g.max()) for g in groups]
    assert out[16:24].tolist() == [int(g.min()) for g in groups]
    assert out[24:32].tolist() == [int(np.bitwise_xor.reduce(g)) for g in groups]
    assert out[32:40].tolist() == [len(g) for g in groups]
    assert out[40:48].tolist() == [int(np.flatnonzero(bins == b)[0]) + 1 for b in range(8)]
    assert out[48:].tolist() == [9] * 8
    ops = {site.op for site in recording.launches[0].sites}
    assert {"atomic_add", "reduce_max", "reduce_min", "reduce_xor", "reduce_inc", "atomic_cas"} <= ops


@pytest.mark.parametrize("view", ["source", "compiled"])
def test_an_atomic_that_adds_one_and_returns_nothing_is_a_count(view: str) -> None:
    out, a = np.zeros(8, np.int32), RNG.integers(0, 8, N).astype(np.int32)
    recording = compute("atomicAdd(&out[a[i]], 1);", out, a, view=view, block=N)
    assert np.array_equal(out, np.bincount(a, minlength=8))
    assert {site.op for site in recording.launches[0].sites} == {"load", "reduce_inc"}


def test_asynchronous_copies_load_and_store() -> None:
    text = """#include <cuda_pipeline.h>
__global__ void k(float *out, const float *in) {
    __shared__ float4 t[64];
    int i = threadIdx.x;
    __pipeline_memcpy_async(&t[i], reinterpret_cast<const float4 *>(in) + i, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[i] = t[63 - i].y;
}
"""
    given, out = np.arange(256, dtype=np.float32), np.zeros(64, np.float32)
    recording = smemviz.cuda_cpp(text)["k"][1, 64](out, given)
    assert np.array_equal(out, given.reshape(64, 4)[::-1, 1])
    assert ("shared", "store", 16) in {(s.space, s.op, s.width) for s in recording.launches[0].sites}
    assert not recording.findings


@pytest.mark.parametrize("view", ["source", "compiled"])
def test_an_mbarrier_lets_consumers_wait_for_producers(view: str) -> None:
    text = """__global__ void k(int *out, const int *in) {
    __shared__ unsigned long long bar;
    __shared__ int t[64];
    int i = threadIdx.x;
    unsigned at = __cvta_generic_to_shared(&bar);
    if (i == 0) asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(at));
    __syncthreads();
    if (i < 32) {
        unsigned done = 0;
        while (!done)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(at) : "memory");
        out[i] = t[63 - i];
    } else {
        t[i] = in[i];
        asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" :: "r"(at) : "memory");
    }
}
"""
    given, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    smemviz.cuda_cpp(text, view=view)["k"][1, 64](out, given)
    assert np.array_equal(out[:32], given[:31:-1])


MMA = """#include <cuda_fp16.h>
__global__ void k(float *out, const __half *a, const __half *b) {
    __shared__ __align__(16) __half as[16][16];
    __shared__ __align__(16) __half bs[16][8];
    int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) as[i / 16][i % 16] = a[i];
    for (int i = lane; i < 128; i += 32) bs[i / 8][i % 8] = b[i];
    __syncwarp();
    unsigned ra[4], rb[2];
    float d[4] = {0, 0, 0, 0};
    unsigned pa = __cvta_generic_to_shared(&as[lane % 16][lane / 16 * 8]);
    unsigned pb = __cvta_generic_to_shared(&bs[lane % 16][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int r = 0; r < 4; r++) out[(lane / 4 + 8 * (r / 2)) * 8 + lane % 4 * 2 + r % 2] = d[r];
}
"""


def test_ldmatrix_and_mma_multiply_matrices() -> None:
    a = RNG.integers(-4, 5, (16, 16)).astype(np.float16)
    b = RNG.integers(-4, 5, (16, 8)).astype(np.float16)
    out = np.zeros((16, 8), np.float32)
    recording = smemviz.cuda_cpp(MMA)["k"][1, 32](out, a, b)
    assert np.array_equal(out, a.astype(np.float32) @ b.astype(np.float32))
    rows = {s.op: row for s, row in zip(recording.launches[0].sites, recording.launches[0].summary(), strict=True)}
    # Rows of 32 bytes: the 8 rows of a matrix meet two by two; rows of 16 bytes fill all banks.
    assert (rows["ldmatrix_x4"].wavefronts, rows["ldmatrix_x4"].ideal) == (8, 4)
    assert (rows["ldmatrix_x2"].wavefronts, rows["ldmatrix_x2"].ideal) == (2, 2)
    assert not recording.findings


def test_wmma_runs_and_its_wavefronts_are_not_told() -> None:
    text = """#include <mma.h>
using namespace nvcuda;
__global__ void k(float *out, const __half *a, const __half *b) {
    __shared__ __align__(32) __half as[256];
    for (int i = threadIdx.x; i < 256; i += 32) as[i] = a[i];
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 1.0f);
    wmma::load_matrix_sync(fa, as, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(out, fc, 16, wmma::mem_row_major);
}
"""
    a, b = RNG.integers(-4, 5, (2, 16, 16)).astype(np.float16)
    out = np.zeros((16, 16), np.float32)
    recording = smemviz.cuda_cpp(text)["k"][1, 32](out, a, b)
    assert np.array_equal(out, a.astype(np.float32) @ b.astype(np.float32).T + 1)
    (row,) = [
        row
        for s, row in zip(recording.launches[0].sites, recording.launches[0].summary(), strict=True)
        if s.op == "wmma_load" and s.space == "shared"
    ]
    assert (row.requests, row.wavefronts) == (1, None)
    assert row.reason == "PTX does not tell which lane of a warp loads or stores which element of a wmma matrix."
    assert not recording.findings


def test_stmatrix_stores_rows_of_eight_halves() -> None:
    text = """__global__ void k(unsigned *out) {
    __shared__ __align__(16) unsigned short t[32][8];
    int lane = threadIdx.x;
    unsigned at = __cvta_generic_to_shared(&t[lane][0]);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(at), "r"(lane), "r"(lane + 100), "r"(lane + 200), "r"(lane + 300));
    __syncwarp();
    for (int m = 0; m < 4; m++) out[m * 32 + lane] = *(unsigned *)&t[m * 8 + lane / 4][lane % 4 * 2];
}
"""
    out = np.zeros((4, 32), np.uint32)
    recording = smemviz.cuda_cpp(text)["k"][1, 32](out)
    assert np.array_equal(out, np.arange(32) + 100 * np.arange(4)[:, None])
    rows = {s.op: row for s, row in zip(recording.launches[0].sites, recording.launches[0].summary(), strict=True)}
    assert (rows["stmatrix_x4"].requests, rows["stmatrix_x4"].wavefronts) == (1, 4)
    assert not recording.findings


# Which element a lane has in which register is from the PTX manual's pictures of m16n8k8 and m16n8k32.
TF32 = """__global__ void k(float *out, const float *a, const float *b) {
    int lane = threadIdx.x, g = lane / 4, q = lane % 4;
    unsigned ra[4], rb[2];
    float d[4] = {1, 1, 1, 1};
    for (int r = 0; r < 4; r++)
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(ra[r]) : "f"(a[(g + 8 * (r % 2)) * 8 + q + 4 * (r / 2)]));
    for (int r = 0; r < 2; r++) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rb[r]) : "f"(b[(q + 4 * r) * 8 + g]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int r = 0; r < 4; r++) out[(g + 8 * (r / 2)) * 8 + q * 2 + r % 2] = d[r];
}
"""
INT8 = """__global__ void k(int *out, const int *a, const int *b) {
    int lane = threadIdx.x, g = lane / 4, q = lane % 4;
    int d[4] = {1, 1, 1, 1}, ra[4], rb[2];
    for (int r = 0; r < 4; r++) ra[r] = a[(g + 8 * (r % 2)) * 8 + q + 4 * (r / 2)];
    for (int r = 0; r < 2; r++) rb[r] = b[g * 8 + q + 4 * r];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int r = 0; r < 4; r++) out[(g + 8 * (r / 2)) * 8 + q * 2 + r % 2] = d[r];
}
"""


def test_mma_multiplies_tf32_and_bytes() -> None:
    a, b = RNG.integers(-4, 5, (16, 8)).astype(np.float32), RNG.integers(-4, 5, (8, 8)).astype(np.float32)
    out = np.zeros((16, 8), np.float32)
    smemviz.cuda_cpp(TF32)["k"][1, 32](out, a, b)
    assert np.array_equal(out, a @ b + 1)
    p, q = RNG.integers(-128, 128, (16, 32)).astype(np.int8), RNG.integers(-128, 128, (8, 32)).astype(np.int8)
    whole = np.zeros((16, 8), np.int32)
    smemviz.cuda_cpp(INT8)["k"][1, 32](whole, p.view(np.int32), q.view(np.int32))
    assert np.array_equal(whole, p.astype(np.int32) @ q.T.astype(np.int32) + 1)


WMMA = """#include <mma.h>
using namespace nvcuda;
__global__ void k({to} *out, const {element} *a, const {element} *b) {{
    wmma::fragment<wmma::matrix_a, 16, 16, {depth}, {kind}, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, {depth}, {kind}, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, {depth}, {to}> fc;
    wmma::fill_fragment(fc, 2);
    wmma::load_matrix_sync(fa, a, {depth});
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(out, fc, 16, wmma::mem_row_major);
}}
"""


@pytest.mark.parametrize(
    ("kind", "element", "to", "depth", "dtype"),
    [
        ("wmma::precision::tf32", "float", "float", 8, np.float32),
        ("signed char", "signed char", "int", 16, np.int8),
        ("unsigned char", "unsigned char", "int", 16, np.uint8),
    ],
)
def test_wmma_multiplies_tf32_and_bytes(kind: str, element: str, to: str, depth: int, dtype: Any) -> None:
    low = 0 if dtype is np.uint8 else -9
    a, b = RNG.integers(low, 10, (16, depth)).astype(dtype), RNG.integers(low, 10, (depth, 16)).astype(dtype)
    out = np.zeros((16, 16), np.float32 if to == "float" else np.int32)
    text = WMMA.format(kind=kind, element=element, to=to, depth=depth)
    recording = smemviz.cuda_cpp(text)["k"][1, 32](out, a, b)
    assert np.array_equal(out, a.astype(out.dtype) @ b.astype(out.dtype) + 2)
    assert {site.op for site in recording.launches[0].sites} == {"wmma_load", "wmma_store"}


REFUSED = {
    "wmma.load.a.sync.aligned.row.m8n8k4.f64": (
        "wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> f;\n"
        "    wmma::load_matrix_sync(f, (double *)out, 4);\n    out[0] = f.x[0];"
    ),
    "mma.sp::ordered_metadata": (
        'unsigned a = 0;\n    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 '
        '{%0,%0,%0,%0}, {%1,%1}, {%1,%1}, {%0,%0,%0,%0}, %1, 0x0;" : "+f"(out[0]) : "r"(a));'
    ),
    "cp.async.bulk": (
        'unsigned a = 0;\n    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes '
        '[%0], [%1], 16, [%0];" :: "r"(a), "l"(out));'
    ),
    "tex.1d": "float f;\n    f = tex1Dfetch<float>(0, 0);\n    out[0] = f;",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_executed_is_refused_by_name_and_line(what: str) -> None:
    text = f"#include <mma.h>\nusing namespace nvcuda;\n__global__ void k(float *out) {{\n    {REFUSED[what]}\n}}\n"
    with pytest.raises(UnsupportedError, match=r"<text>\.cu:5: .* is not executed$") as refused:
        smemviz.cuda_cpp(text)["k"][1, 32](np.zeros(64, np.float32))
    assert what in str(refused.value)


def test_a_trap_ends_the_launch_at_its_line() -> None:
    text = "__global__ void k(int *out) {\n    if (threadIdx.x == 3)\n        __trap();\n    out[0] = 1;\n}\n"
    (finding,) = smemviz.cuda_cpp(text)["k"][1, 32](np.zeros(1, np.int32)).findings
    assert (finding.kind, finding.line, finding.threads) == ("trap", 3, ((3, 0, 0),))


GRID = """#include <cooperative_groups.h>
__global__ void k(int *out) {
    auto grid = cooperative_groups::this_grid();
    int i = grid.thread_rank(), n = grid.size();
    for (int round = 0; round < 3; round++) {
        out[round * n + i] = i + round;
        grid.sync();
        out[(3 + round) * n + i] = out[round * n + n - 1 - i];
    }
}
"""


def test_blocks_of_a_cooperative_grid_wait_for_each_other() -> None:
    out = np.zeros((6, 256), np.int32)
    recording = smemviz.cuda_cpp(GRID)["k"][4, 64](out)
    assert np.array_equal(out[3:], np.arange(256)[::-1] + np.arange(3)[:, None])
    assert not recording.findings
    # What the barrier itself stores and loads is none of the kernel's accesses.
    assert {site.source for site in recording.launches[0].sites} == {
        "out[round * n + i]",
        "out[(3 + round) * n + i]",
        "out[round * n + n - 1 - i]",
    }
    with pytest.raises(LaunchError, match="300,032"):
        smemviz.cuda_cpp(GRID)["k"][293, 1024](out)


@pytest.mark.parametrize("op", ["wmma_load", "wmma_store"])
def test_addresses_of_wmma_are_not_counted(op: str) -> None:
    for function in (smemviz.wavefronts, banks.assign):
        with pytest.raises(InputError, match=f"{op} cannot be counted from addresses: PTX does not tell which lane"):
            function(np.arange(32) * 16, 16, op)


def test_functions_that_are_not_inlined_switches_and_local_arrays() -> None:
    text = """__device__ __noinline__ int pick(int what, const int *of, int n) {
    int held[8];
    for (int k = 0; k < 8; k++) held[k] = of[k] * (k + 1);
    switch (what) {
        case 0: return held[n];
        case 1: return held[n] + 1;
        case 2: return -held[n];
        case 3: return held[0];
        case 4: return 44;
        case 5: return held[7 - n];
        default: return what;
    }
}
__constant__ int table[4] = {1, 2, 3, 4};
__device__ float scale = 2.5f;
__global__ void k(int *out, const int *a) {
    int i = threadIdx.x;
    out[i] = pick(i % 8, a, i & 7) + table[i % 4] + (int)(scale * 2);
}
"""
    a = np.arange(1, 9, dtype=np.int32)
    expected = []
    for i in range(64):
        held = [int(x) * (k + 1) for k, x in enumerate(a)]
        n = i & 7
        what = [held[n], held[n] + 1, -held[n], held[0], 44, held[7 - n]]
        expected.append((what[i % 8] if i % 8 < 6 else i % 8) + i % 4 + 1 + 5)
    for view in ("source", "compiled"):
        out = np.zeros(64, np.int32)
        smemviz.cuda_cpp(text, view=view)["k"][1, 64](out, a)
        assert out.tolist() == expected


def test_barriers_that_reduce_and_barriers_of_a_part_of_a_block() -> None:
    text = """__global__ void k(int *out, const int *a) {
    int i = threadIdx.x;
    out[i] = __syncthreads_count(a[i] > 0) + 1000 * __syncthreads_or(a[i] == 3);
    if (i < 64) {
        asm volatile("bar.sync 1, 64;");
        out[i] += 1;
    }
}
"""
    a = RNG.integers(-8, 9, 128).astype(np.int32)
    out = np.zeros(128, np.int32)
    recording = smemviz.cuda_cpp(text)["k"][1, 128](out, a)
    expected = np.full(128, int((a > 0).sum()) + 1000 * bool((a == 3).any()))
    expected[:64] += 1
    assert np.array_equal(out, expected)
    assert not recording.findings


@pytest.mark.exhaustive
def test_cooperative_groups_reduce_a_tile() -> None:
    text = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void k(int *out, const int *a) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int sum = cg::reduce(tile, a[threadIdx.x], cg::plus<int>());
    if (tile.thread_rank() == 0) out[threadIdx.x / 16] = sum;
}
"""
    a = RNG.integers(-8, 9, 64).astype(np.int32)
    out = np.zeros(4, np.int32)
    smemviz.cuda_cpp(text)["k"][1, 64](out, a)
    assert np.array_equal(out, a.reshape(4, 16).sum(1))


def test_the_threads_of_a_block_without_a_cluster_meet_at_the_barrier_of_their_cluster() -> None:
    text = (
        "__global__ void k(int *out) {\n    __shared__ int t[64];\n    int i = threadIdx.x;\n    t[i] = i;\n"
        '    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");\n'
        '    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");\n    out[i] = t[63 - i];\n}\n'
    )
    out = np.zeros(64, np.int32)
    recording = smemviz.cuda_cpp(text)["k"][1, 64](out)
    assert np.array_equal(out, np.arange(64)[::-1])
    assert not recording.findings


def test_every_thread_of_several_blocks_updates_one_element() -> None:
    text = "__global__ void k(int *out, int *old) { old[blockIdx.x * 64 + threadIdx.x] = atomicAdd(out, 1); }"
    out, old = np.zeros(1, np.int32), np.zeros(192, np.int32)
    smemviz.cuda_cpp(text)["k"][3, 64](out, old)
    assert out[0] == 192
    assert np.array_equal(np.sort(old), np.arange(192))
