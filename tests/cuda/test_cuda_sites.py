"""The accesses of CUDA C++ as they are written: which there are, and what they are called."""

from collections import Counter

import numpy as np
import pytest
from helpers.tiers import one_in

import smemviz


def sites(text, *arguments, threads=32, view="source"):
    """Return source, space, operation and width of every access of a kernel ``k``, in order of the file."""
    (launch,) = smemviz.cuda_cpp(text, view=view)["k"][1, threads](*arguments).launches
    return [(site.source, site.space, site.op, site.width) for site in launch.sites]


def test_values_without_a_name_and_constant_memory_are_no_global_memory():
    text = """
struct Plus { __device__ float operator()(float a, float b) const { return a + b; } };
struct Pair { float x, y; __device__ constexpr Pair(float x, float y) : x(x), y(y) {} };
template <class Op> __device__ float apply(const Pair &pair, Op op) { return op(pair.x, pair.y); }
__constant__ float scale[4] = {1, 2, 3, 4};
__device__ float other[4] = {10, 20, 30, 40};
__device__ float at(const float *from, int i) { return from[i]; }
__global__ void k(float *out, int n) {
    out[threadIdx.x] = apply(Pair(1, 2), Plus{}) + (n > 3 ? Pair(3, 4) : Pair(5, 6)).y + at(scale, n) + other[n];
}
"""
    out = np.zeros(32, np.float32)
    stored = ("out[threadIdx.x]", "global", "store", 4)
    assert sites(text, out, 2) == [("other[n]", "global", "load", 4), stored]
    assert (out == 1 + 2 + 6 + 3 + 30).all()
    assert sites(text, out, 2, view="compiled") == [("other[n]", "global", "load", 4), stored]


def test_texts_and_arrays_of_the_file_are_global_memory():
    text = """
__global__ void k(int *out, int n) {
    static const int fixed[3] = {7, 8, 9};
    out[threadIdx.x] = "abc"[n] + fixed[n];
}
"""
    out = np.zeros(32, np.int32)
    assert [site[1:] for site in sites(text, out, 2)] == [
        ("global", "load", 1), ("global", "load", 4), ("global", "store", 4)
    ]  # fmt: skip
    assert (out == ord("c") + 9).all()


def test_accesses_are_named_by_their_subscript_and_stores_by_their_left_side():
    text = """
struct Row { float elements[4]; };
struct Rows { Row of[8]; };
__global__ void k(float *out, const float *in, Rows *rows, float4 *q, int n) {
    __shared__ float s[512];
    __shared__ float tile[4][33];
    __shared__ float4 w[32];
    __shared__ int total;
    int t = threadIdx.x;
    s[t * 16 + (3 ^ (t & 7))] = in[n * 2 + (1 + threadIdx.x)];
    out[n + (t)] = s[min(t, (n) * (2))];
    rows->of[(t & 1)].elements[(t)] = 1;
    tile[(t & 3)][(n)] = *(in + (t));
    *(out + (t)) = tile[min(t, 3)][(t * (t + 1)) % 33];
    reinterpret_cast<float *>(s)[(t + 2)] = ((float *)w)[(t)];
    *reinterpret_cast<float4 *>(&s[(t * 4)]) = make_float4(1, 2, 3, n);
    *q = w[3 * (t & 1)];
    total = (0);
    s[atomicAdd(&total, 1)] = 2;
}
"""
    arguments = [np.zeros(64, np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32), np.zeros(4, np.float32)]
    assert [(source, op) for source, _, op, _ in sites(text, *arguments, 2, threads=4)] == [
        ("in[n * 2 + (1 + threadIdx.x)]", "load"),
        ("s[t * 16 + (3 ^ (t & 7))]", "store"),
        ("s[min(t, (n) * (2))]", "load"),
        ("out[n + (t)]", "store"),
        ("rows->of[(t & 1)].elements[(t)]", "store"),
        ("*(in + (t))", "load"),
        ("tile[(t & 3)][(n)]", "store"),
        ("tile[min(t, 3)][(t * (t + 1)) % 33]", "load"),
        ("*(out + (t))", "store"),
        ("((float *)w)[(t)]", "load"),
        ("reinterpret_cast<float *>(s)[(t + 2)]", "store"),
        ("s[(t * 4)]", "store"),
        ("w[3 * (t & 1)]", "load"),
        ("*q", "store"),
        ("total", "store"),
        ("atomicAdd(&total, 1)", "atomic_add"),
        ("s[atomicAdd(&total, 1)]", "store"),
    ]


def test_arrays_of_templates_have_their_own_names():
    """The numbers among template arguments are no lengths of names in a mangled name, wherever they lead."""
    for number in [18, 19, 20, -3]:
        text = """
enum Mode { SLOW, FAST };
namespace inner {
template <int A, unsigned B, Mode M, bool Q, typename T>
__global__ void k(T *out, T (*rows)[12345], T *again) {
    __shared__ T buf[32];
    __shared__ T _b[32];
    buf[threadIdx.x] = A + _b[threadIdx.x];
    out[threadIdx.x] = buf[threadIdx.x];
}
}
"""
        kernel = smemviz.cuda_cpp(text)[f"inner::k<{number}, 12345678, FAST, true, float>"]
        out = np.zeros(32, np.float32)
        recording = kernel[1, 32](out, out, out)
        assert [array.name for array in recording.launches[0].arrays if array.is_shared] == ["buf", "_b"]
        assert recording.findings[0].message.startswith("_b[0] is read, but nothing wrote it: shared memory does not")


TEXT = """
struct Plain {{ float x, y, z, w; }};
struct __align__(16) Aligned {{ float x, y, z, w; }};
struct Two {{ float2 a, b; }};
template <class T> __device__ T made(float a) {{ T made; made.x = a; made.y = 1; made.z = 2; made.w = 3; return made; }}
__device__ Two made_two(float a) {{ Two made; made.a = make_float2(a, 1); made.b = make_float2(2, 3); return made; }}
template <class T> __device__ T same(T a, int i) {{ return a; }}
__global__ void k({type} *out) {{
    __shared__ {type} s[64];
    int t = threadIdx.x;
    s[t] = {made};
    __syncthreads();
    {type} *p = s + t, v = s[63 - t];
    __syncthreads();
    *p = t > 3 ? v : {made};
    __syncthreads();
    v = same(s[63 - t], t);
    out[t] = t < 100 ? v : out[t];
}}
"""
TYPES = [
    ("float4", "make_float4(t, 1, 2, 3)", [16]),
    ("float2", "make_float2(t, 1)", [8]),
    ("double2", "make_double2(t, 1)", [16]),
    ("double4", "make_double4(t, 1, 2, 3)", [16]),
    ("longlong2", "make_longlong2(t, 1)", [16]),
    ("short4", "make_short4(t, 1, 2, 3)", [8]),
    ("uchar4", "make_uchar4(t, 1, 2, 3)", [4]),
    ("uchar2", "make_uchar2(t, 1)", [2]),
    ("float3", "make_float3(t, 1, 2)", [4]),
    ("Plain", "made<Plain>(t)", [4]),
    ("Aligned", "made<Aligned>(t)", [16]),
    ("Two", "made_two(t)", [8]),
]


@pytest.mark.parametrize(("kind", "made", "widths"), one_in(3, TYPES))
def test_a_vector_is_one_request_whatever_makes_it(kind, made, widths):
    text = TEXT.format(type=kind, made=made)
    results, shared = [], []
    for view in ("source", "compiled"):
        out = np.zeros(64 * 32, np.uint8)
        (launch,) = smemviz.cuda_cpp(text, view=view)["k"][1, 64](out).launches
        results.append(out)
        here = [site for site in launch.sites if site.space == "shared"]
        numbers = np.bincount(launch.requests.site, minlength=len(launch.sites))
        requests = Counter[str]()
        for number, site in enumerate(launch.sites):
            if site.space == "shared":
                requests[site.op] += int(numbers[number])
        assert sorted({site.width for site in here}) == widths
        shared.append(requests)
    assert results[0].any()
    assert np.array_equal(*results)
    assert shared[0] == shared[1]


def test_elements_of_arrays_stay_apart():
    """Operands of assembly, what memcpy copies, and characters: nothing says that they are aligned to more than one."""
    text = """
struct Text { int length; char text[8]; };
__global__ void k(float *out, Text *texts) {
    __shared__ float s[68];
    float *p = s + 1 + threadIdx.x;
    asm("mov.f32 %0, 1.0; mov.f32 %1, 2.0; mov.f32 %2, 3.0; mov.f32 %3, 4.0;"
        : "=f"(p[0]), "=f"(p[1]), "=f"(p[2]), "=f"(p[3]));
    memcpy(p + 4, p, 16);
    texts[0] = texts[1];
    out[threadIdx.x] = s[5] + s[6] + s[7] + s[8];
}
"""
    out, texts = np.zeros(1, np.float32), np.arange(24, dtype=np.uint8)
    (launch,) = smemviz.cuda_cpp(text)["k"][1, 1](out, texts).launches
    assert out == [10]
    assert texts.tolist() == [*range(12, 24), *range(12, 24)]
    assert {site.width for site in launch.sites} == {1, 4}


def test_a_recording_of_vectors_is_loaded_as_it_was_saved(tmp_path):
    text = """
__global__ void k(float *out, const float *in) {
    __shared__ float4 s[32];
    s[threadIdx.x] = reinterpret_cast<const float4 *>(in)[threadIdx.x];
    out[threadIdx.x] = s[threadIdx.x].y;
}
"""
    kernel = smemviz.cuda_cpp(text)["k"]
    recording = kernel[1, 32](np.zeros(32, np.float32), np.zeros(128, np.float32))
    recording.save(tmp_path / "k.smem.npz")
    (launch,) = smemviz.load(tmp_path / "k.smem.npz").launches
    assert launch.sites == recording.launches[0].sites
    assert [(site.op, site.width) for site in launch.sites] == [("load", 16), ("store", 16), ("load", 4), ("store", 4)]


def test_structures_that_functions_return_are_as_aligned_as_they_are_declared():
    """Where nothing else says how a pointer is aligned."""
    text = """
struct Four { double a, b, c, d; };
__device__ Four four(double v) { return Four{v, v, v, v}; }
__device__ void put(double3 *p, Four *q, double v) { *p = make_double3(v, v, v); *q = four(v); }
__global__ void k(double3 *a, double *b) {
    int i = threadIdx.x;
    double3 mine;
    Four other;
    put(a + i, (Four *)(b + 1) + i, i);
    put(&mine, &other, i);
    a[i] = make_double3(a[i].x + mine.x, mine.y, other.d);
}
"""
    a, b = np.zeros((32, 3)), np.zeros(129)
    recording = smemviz.cuda_cpp(text)["k"][1, 32](a, b)
    assert recording.findings == ()
    assert np.array_equal(a, np.outer(np.arange(32), [2, 1, 1]))
    assert np.array_equal(b[1:], np.repeat(np.arange(32), 4))
    assert {site.width for site in recording.launches[0].sites} == {8}
