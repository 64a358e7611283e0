"""The accesses of CUDA C++ as they are written: which there are, and what they are called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import smemviz

Sites = list[tuple[str, str, str, int]]


def sites(text: str, *arguments: Any, threads: int = 32, view: str = "source") -> Sites:
    """Return source, space, operation and width of every access of a kernel ``k``, in order of the file."""
    (launch,) = smemviz.cuda_cpp(text, view=view)["k"][1, threads](*arguments).launches
    return [(site.source, site.space, site.op, site.width) for site in launch.sites]


def test_values_without_a_name_and_constant_memory_are_no_global_memory() -> None:
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


def test_texts_and_arrays_of_the_file_are_global_memory() -> None:
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


def test_accesses_are_named_by_their_subscript_and_stores_by_their_left_side() -> None:
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


@pytest.mark.parametrize("number", [18, 19, 20, -3])
def test_arrays_of_templates_have_their_own_names(number: int) -> None:
    """The numbers among template arguments are no lengths of names in a mangled name, wherever they lead."""
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
