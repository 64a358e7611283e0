"""What threads do together, from CUDA C++: shuffles, votes, atomics, barriers, cooperative groups; and functions."""

import numpy as np
import pytest
from helpers.cuda_compute import N, compute

import smemviz
from smemviz.errors import LaunchError
from smemviz.frontends.cuda import compile_program, parse_cuda

RNG = np.random.default_rng(7)


def test_shuffles_votes_and_matches():
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


@pytest.mark.parametrize(
    ("more", "there"),
    [("", False), pytest.param("cuda::atomic_ref<int>(out[1]).fetch_add(2);", True, marks=pytest.mark.exhaustive)],
)
def test_groups_come_without_the_atomics_of_the_standard_library_where_nobody_names_them(more, there):
    """The compiler takes two seconds to read these."""
    text = f"""#include <cooperative_groups.h>
__global__ void k(int *out) {{
    out[0] = cooperative_groups::this_thread_block().size();
    {more}
}}
"""
    assert ("cuda/std/__atomic" in compile_program(parse_cuda(text, "k.cu"), ["k"]).ptx) is there


def test_atomics_in_both_memories():
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


def test_an_atomic_that_adds_one_and_returns_nothing_is_a_count():
    for view in ["source", "compiled"]:
        out, a = np.zeros(8, np.int32), RNG.integers(0, 8, N).astype(np.int32)
        recording = compute("atomicAdd(&out[a[i]], 1);", out, a, view=view, block=N)
        assert np.array_equal(out, np.bincount(a, minlength=8))
        assert {site.op for site in recording.launches[0].sites} == {"load", "reduce_inc"}


def test_an_mbarrier_lets_consumers_wait_for_producers():
    for view in ["source", "compiled"]:
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


def test_a_trap_ends_the_launch_at_its_line():
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


def test_blocks_of_a_cooperative_grid_wait_for_each_other():
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


def test_functions_that_are_not_inlined_switches_and_local_arrays():
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


def test_barriers_that_reduce_and_barriers_of_a_part_of_a_block():
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
def test_cooperative_groups_reduce_a_tile():
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


def test_the_threads_of_a_block_without_a_cluster_meet_at_the_barrier_of_their_cluster():
    text = (
        "__global__ void k(int *out) {\n    __shared__ int t[64];\n    int i = threadIdx.x;\n    t[i] = i;\n"
        '    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");\n'
        '    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");\n    out[i] = t[63 - i];\n}\n'
    )
    out = np.zeros(64, np.int32)
    recording = smemviz.cuda_cpp(text)["k"][1, 64](out)
    assert np.array_equal(out, np.arange(64)[::-1])
    assert not recording.findings


def test_every_thread_of_several_blocks_updates_one_element():
    text = "__global__ void k(int *out, int *old) { old[blockIdx.x * 64 + threadIdx.x] = atomicAdd(out, 1); }"
    out, old = np.zeros(1, np.int32), np.zeros(192, np.int32)
    smemviz.cuda_cpp(text)["k"][3, 64](out, old)
    assert out[0] == 192
    assert np.array_equal(np.sort(old), np.arange(192))
