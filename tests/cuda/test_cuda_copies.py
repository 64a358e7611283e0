"""Copies with a source size, ``cp.async``: what is not read is zero, and who reads nothing touches no global memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import smemviz
from smemviz.recordings.data import Launch

THREADS = 64
KERNEL = """
__global__ void k(unsigned char *out, const unsigned char *in, const int *sizes) {{
    __shared__ __align__(16) unsigned char t[{threads} * {width}];
    int i = threadIdx.x, size = sizes[i];
    for (int b = 0; b < {width}; b++) t[i * {width} + b] = 255;
    unsigned to = (unsigned)__cvta_generic_to_shared(&t[i * {width}]);
    asm volatile("{copy}" :: "r"(to), "l"(in + i * {width}), "r"(size), "l"(0ull));
    asm volatile("cp.async.wait_all;");
    for (int b = 0; b < {width}; b++) out[i * {width} + b] = t[i * {width} + b];
}}
"""
IGNORING = "{{ .reg .pred p; setp.eq.s32 p, %2, 0; cp.async.{0}.shared.global{1} [%0], [%1], {2}, p{3}; }}"


def copied(copy: str, width: int, sizes: Any, given: int = THREADS) -> tuple[np.ndarray, smemviz.Recording]:
    """Copy ``width`` bytes a thread, of which so many are read, from what is there for the first ``given`` threads."""
    source = np.arange(1, given * width + 1, dtype=np.uint8)
    out = np.zeros((THREADS, width), np.uint8)
    text = KERNEL.format(threads=THREADS, width=width, copy=copy)
    recording = smemviz.cuda_cpp(text)["k"][1, THREADS](out, source, np.array(sizes, np.int32))
    return out, recording


def expected(width: int, sizes: Any) -> np.ndarray:
    whole = np.arange(1, THREADS * width + 1, dtype=np.uint8).reshape(THREADS, width)
    return np.where(np.arange(width) < np.array(sizes)[:, None], whole, 0)


def addresses(launch: Launch, space: str, op: str, width: int) -> np.ndarray:
    """Return the addresses of the copy, a row of 32 lanes a warp, from the first byte of the array on."""
    (site,) = (n for n, one in enumerate(launch.sites) if (one.space, one.op) == (space, op) and "asm" in one.source)
    assert launch.sites[site].width == width
    start = next(array.address for array in launch.arrays if array.name == {"global": "in", "shared": "t"}[space])
    rows = launch.requests.addresses[launch.requests.site == site]
    return np.where(rows < 0, -1, rows - start)


@pytest.mark.parametrize(
    ("copy", "width"),
    [
        ("cp.async.ca.shared.global [%0], [%1], 4, %2;", 4),
        ("cp.async.ca.shared::cta.global.L2::64B [%0], [%1], 8, %2;", 8),
        ("cp.async.cg.shared.global [%0], [%1], 16, %2;", 16),
        ("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;", 16),
        ("cp.async.cg.shared.global.L2::cache_hint.L2::256B [%0], [%1], 16, %2, %3;", 16),
        ("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 8, %2, %3;", 8),
    ],
)
def test_bytes_beyond_the_source_size_are_zero(copy: str, width: int) -> None:
    sizes = [(i * 7) % (width + 1) for i in range(THREADS)]
    out, recording = copied(copy, width, sizes)
    np.testing.assert_array_equal(out, expected(width, sizes))
    assert not recording.findings

    (launch,) = recording.launches
    at = np.arange(THREADS).reshape(2, 32) * width
    reads = np.array(sizes).reshape(2, 32) > 0
    np.testing.assert_array_equal(addresses(launch, "global", "load", width), np.where(reads, at, -1))
    np.testing.assert_array_equal(addresses(launch, "shared", "store", width), at)


@pytest.mark.parametrize(
    ("copy", "width"),
    [
        (IGNORING.format("ca", "", 4, ""), 4),
        (IGNORING.format("cg", ".L2::128B", 16, ""), 16),
        (IGNORING.format("cg", ".L2::cache_hint", 16, ", %3"), 16),
    ],
)
def test_a_source_that_is_ignored_is_zero(copy: str, width: int) -> None:
    sizes = [width * (i % 3 > 0) for i in range(THREADS)]
    out, recording = copied(copy, width, sizes)
    np.testing.assert_array_equal(out, expected(width, sizes))
    reads = np.array(sizes).reshape(2, 32) > 0
    np.testing.assert_array_equal(addresses(recording.launches[0], "global", "load", width) >= 0, reads)


def test_a_policy_alone_is_no_source_size() -> None:
    out, recording = copied("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %3;", 16, [0] * THREADS)
    np.testing.assert_array_equal(out, expected(16, [16] * THREADS))
    assert (addresses(recording.launches[0], "global", "load", 16) >= 0).all()


def test_a_warp_that_reads_nothing_makes_no_request_and_no_mistake() -> None:
    sizes = [16] * 32 + [0] * 32
    out, recording = copied("cp.async.cg.shared.global [%0], [%1], 16, %2;", 16, sizes, given=32)
    np.testing.assert_array_equal(out, expected(16, sizes))
    assert not recording.findings
    np.testing.assert_array_equal(addresses(recording.launches[0], "global", "load", 16), [np.arange(32) * 16])
    assert len(addresses(recording.launches[0], "shared", "store", 16)) == 2


def test_what_is_read_beyond_the_end_is_a_mistake_of_those_that_read_it() -> None:
    sizes = [16] * 32 + [0, 4, 0, 12] + [0] * 28
    out, recording = copied("cp.async.cg.shared.global [%0], [%1], 16, %2;", 16, sizes, given=32)
    np.testing.assert_array_equal(out, expected(16, [*sizes[:32], *[0] * 32]))
    (finding,) = recording.findings
    assert (finding.kind, finding.threads) == ("out_of_bounds", ((33, 0, 0), (35, 0, 0)))


def test_the_last_row_may_end_within_a_copy() -> None:
    text = """
__global__ void k(float *out, const float *in, int n) {
    __shared__ __align__(16) float t[64];
    int i = threadIdx.x * 4, bytes = i < n ? min(4, n - i) * 4 : 0;
    unsigned to = (unsigned)__cvta_generic_to_shared(&t[i]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to), "l"(in + i), "r"(bytes));
    asm volatile("cp.async.wait_all;");
    for (int b = 0; b < 4; b++) out[i + b] = t[i + b];
}
"""
    out = np.full(64, -1, np.float32)
    recording = smemviz.cuda_cpp(text)["k"][1, 16](out, np.arange(1, 43, dtype=np.float32), 42)
    assert not recording.findings
    np.testing.assert_array_equal(out, [*range(1, 43), *[0] * 22])


def test_the_header_of_cuda_fills_with_zeros() -> None:
    text = """#include <cuda_pipeline.h>
__global__ void k(float4 *out, const float4 *in) {
    __shared__ float4 t[32];
    __pipeline_memcpy_async(&t[threadIdx.x], in + threadIdx.x, 16, threadIdx.x % 2 ? 12 : 0);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = t[threadIdx.x];
}
"""
    given, out = np.ones((32, 4), np.float32), np.full((32, 4), -1, np.float32)
    smemviz.cuda_cpp(text)["k"][1, 32](out, given)
    np.testing.assert_array_equal(out, [[1, 1, 1, 1], [1, 0, 0, 0]] * 16)
