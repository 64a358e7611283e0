"""Every family of PTX instructions, from CUDA C++, against NumPy."""

import numpy as np
import pytest
from helpers.cuda_compute import N, compute

import smemviz

RNG = np.random.default_rng(7)
INTS = RNG.integers(-(2**31), 2**31, (2, N)).astype(np.int32)
INTS[:, :8] = [[0, 1, -1, 2**31 - 1, -(2**31), 5, -7, 32], [3, -1, 1, 2, 3, 0, 2, 31]]
FLOATS = (RNG.standard_normal((2, N)) * 100).astype(np.float32)


def long(values):
    return values.astype(np.int64)


def low(values):
    """The lower 32 bits."""
    return values.astype(np.int64).astype(np.int32)


def c_quotient(a, b):
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
def test_integers(view):
    """All in one kernel: compiling takes longer than running."""
    expressions = list(INTEGER)
    body = "\n    ".join(f"out[{n} * {N} + i] = {text};" for n, text in enumerate(expressions))
    out = np.zeros(len(expressions) * N, np.int32)
    text = f"__global__ void k(int *out, const int *a, const int *b) {{\n    int i = threadIdx.x;\n    {body}\n}}\n"
    smemviz.cuda_cpp(text, view=view)["k"][1, N](out, A, B)
    wrong = [e for n, e in enumerate(expressions) if not np.array_equal(out[n * N : (n + 1) * N], low(INTEGER[e]))]
    assert wrong == []


def test_division_and_remainder_go_towards_zero():
    out = np.zeros(N, np.int32)
    compute("out[i] = a[i] / b[i] * 3 + a[i] % b[i];", out, A, NONZERO)
    quotient = c_quotient(A, NONZERO)
    expected = quotient * 3 + (long(A) - quotient * long(NONZERO))
    assert np.array_equal(out, expected.astype(np.int32))


def test_64_bit_products_and_shifts():
    a = RNG.integers(0, 2**63, N).astype(np.uint64)
    b = RNG.integers(0, 2**63, N).astype(np.uint64)
    out = np.zeros(N, np.uint64)
    compute("out[i] = __umul64hi(a[i], b[i]) + (a[i] >> 60) + __popcll(b[i]) + __clzll(a[i]);", out, a, b)
    expected = [
        ((int(x) * int(y)) >> 64) + (int(x) >> 60) + int(y).bit_count() + 64 - int(x).bit_length()
        for x, y in zip(a, b, strict=True)
    ]
    assert out.tolist() == expected


def test_carries_of_wide_additions():
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


def test_sums_of_products_of_bytes():
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
def test_floats(view):
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


def test_a_fused_product_is_rounded_once():
    for kind, a, b, c, expected in [
        # The product lies halfway between two floats; what is added, and is far too small for a double, decides.
        ("float", 24929 / 4096, 673 / 4096, 2.0**-60, 1 + 2.0**-23),
        ("float", 24929 / 4096, 673 / 4096, -(2.0**-60), 1),
        ("double", 1 + 2.0**-30, 1 + 2.0**-30, -1 - 2.0**-29, 2.0**-60),
    ]:
        for view in ["source", "compiled"]:
            text = f"__global__ void k({kind} *x) {{ x[3] = fma(x[0], x[1], x[2]); }}"
            given = np.array([a, b, c, 0], np.float32 if kind == "float" else np.float64)
            smemviz.cuda_cpp(text, view=view)["k"][1, 1](given)
            assert given[3] == expected


def test_halves():
    a, b = FA.astype(np.float16), FB.astype(np.float16)
    out = np.zeros(N, np.float16)
    compute("out[i] = __hadd(a[i], __hmul(b[i], __float2half(0.5f)));", out, a, b, more="#include <cuda_fp16.h>")
    assert np.array_equal(out, a + b * np.float16(0.5))


def test_bfloat16_is_rounded_to_even():
    text = """#include <cuda_bf16.h>
__global__ void k(float *out, const float *a) { out[threadIdx.x] = __bfloat162float(__float2bfloat16(a[threadIdx.x])); }
"""
    out = np.zeros(N, np.float32)
    smemviz.cuda_cpp(text)["k"][1, N](out, FA)
    bits = FA.view(np.uint32).astype(np.uint64)
    expected = (((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) << 16).astype(np.uint32).view(np.float32)
    assert np.array_equal(out, expected)


@pytest.mark.exhaustive
def test_asynchronous_copies_load_and_store():
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
