"""The accesses of CUDA C++ as they are written: which there are, and what they are called."""

from __future__ import annotations

from typing import Any

import numpy as np

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
