"""Instructions that are Hopper's own, from CUDA C++, against what NumPy says, as an H200 does: see ``tests/model``."""

from functools import cache

import numpy as np
import pytest
from helpers.hopper_cases import TensorMap, cases
from helpers.hopper_kernels import by_value, texts
from helpers.hopper_results import expected

import smemviz
from smemviz.engines.lockstep.ptx.host.arguments import StructureValue
from smemviz.engines.lockstep.ptx.tensor_maps import encoded
from smemviz.errors import RefusedLaunchError, UnsupportedError

_KINDS = {"u1": 0, "u2": 1, "u4": 2, "i4": 3, "f2": 6, "f4": 7}
_BF16 = 9
RNG = np.random.default_rng(5)


@cache
def kernel(name):
    text = next(text for text in texts() if f" {name}(" in text or f"\n{name}(" in text)
    return smemviz.cuda_cpp(by_value(text))[name]


def given(value):
    """Return an argument as a launch in lockstep takes it."""
    if not isinstance(value, TensorMap):
        return value
    kind = _BF16 if value.bf16 else _KINDS[value.data.dtype.str[1:]]
    sizes, strides = value.data.shape[::-1], value.data.strides[-2::-1]
    data = encoded(kind, sizes, strides, value.box, value.steps, width=value.swizzle, fills_nan=value.nan)
    return StructureValue(data, {0: ("", value.data)})


def run(case):
    shape = (case.blocks, case.threads, case.shared)
    return kernel(case.kernel)[shape](*map(given, case.given))


def stops(case):
    return any(name in case.label for name in ("store", "reduce")) and "-8" in case.label


def waits(case):
    return case.label in ("tensor_load_2 128B narrow padded", "tensor_load_2 64B narrow")


ALL = {case.label: case for case in cases() if case.kernel != "addresses"}
QUICK = {
    *("wgmma_f16_00 128B", "wgmma_f16_11 32B", "wgmma_registers 128B", "wgmma_e4m3 128B", "tensor_load_2 64B before"),
    *("tensor_load_3 words", "tensor_store_2 128B at 80 50", "multicast", "bulk_load 4096", "bulk_store 16"),
    *("stmatrix_x4trans 144", "movmatrix", "cluster 1 128", "cluster 2 4", "cluster 3 4", "cluster 5 128"),
}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=label, marks=() if label in QUICK else pytest.mark.exhaustive)
        for label, case in ALL.items()
        if not stops(case) and not waits(case)
    ],
)
def test_lockstep_leaves_what_the_gpu_left(case):
    wanted = expected(case)
    recording = run(case)
    result = case.given[case.out_at]
    found = result.data if isinstance(result, TensorMap) else result
    assert np.array_equal(found, wanted)
    assert [finding.message for finding in recording.findings] == []


@pytest.mark.parametrize("label", [label for label, case in ALL.items() if stops(case)][:1])
def test_a_store_below_zero_is_refused(label):
    with pytest.raises(UnsupportedError, match="a coordinate below zero"):
        run(ALL[label])


@pytest.mark.exhaustive
def test_a_barrier_that_expects_more_bytes_than_come_is_a_deadlock():
    (finding,) = run(next(case for case in ALL.values() if waits(case))).findings
    assert finding.kind == "deadlock"


@pytest.mark.parametrize(
    ("label", "op", "requests"),
    [
        # Two matrices of a warp's 16 rows of A, for each of its 8 rows; B, of 64 rows, is as much for all four.
        ("wgmma_f16_00 128B", "wgmma", (4 * (4 + 4), 4 * (16 + 16))),
        ("wgmma_n8 128B", "wgmma", (4 * (4 + 1), 4 * (16 + 2))),
        ("wgmma_registers 128B", "wgmma", (4 * 4, 4 * 16)),
        ("bulk_load 4096", "bulk_store", (1, None)),
        ("bulk_store 16", "bulk_load", (1, None)),
        ("tensor_load_2 128B", "bulk_store", (1, None)),
        ("cluster 1 128", "cluster_load", (8, None)),
        ("cluster 2 4", "cluster_store", (8, None)),
        ("cluster 3 4", "cluster_update", (8, None)),
    ],
)
def test_what_is_counted_is_what_the_gpu_counts_and_none_where_it_counts_nothing(label, op, requests):
    launch = run(ALL[label]).launches[0]
    rows = [row for site, row in zip(launch.sites, launch.summary(), strict=True) if site.op == op]
    assert sum(row.requests for row in rows) == requests[0]
    if requests[1] is None:
        assert {row.wavefronts for row in rows} == {None}
        assert all(row.reason for row in rows)
    else:
        assert sum(row.wavefronts or 0 for row in rows) == sum(row.ideal or 0 for row in rows) == requests[1]


CLUSTERS = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2, 2, 1) k(int *out) {
    __shared__ int mine[32];
    auto cluster = cg::this_cluster();
    int rank = cluster.block_rank(), i = threadIdx.x;
    mine[i] = 100 * (blockIdx.x + gridDim.x * blockIdx.y) + i;
    cluster.sync();
    unsigned of = 0, at = __cvta_generic_to_shared(&mine[0]), far;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far) : "r"(at), "r"(3 - rank));
    asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(of) : "r"(far));
    int *o = out + 64 * (blockIdx.x + gridDim.x * blockIdx.y);
    o[i] = cluster.map_shared_rank(mine, (rank + 1) % cluster.num_blocks())[31 - i];
    o[32 + i] = rank + 10 * of + 100 * cluster.dim_blocks().y;
    if (i == 0) atomicAdd(cluster.map_shared_rank(mine, 0), 1);
    cluster.sync();
    if (i == 0 && rank == 0) o[0] = mine[0];
}
"""


def test_clusters_of_cooperative_groups_read_and_update_each_others_memory():
    out = np.zeros((4, 4, 64), np.int32)  # by y, x
    recording = smemviz.cuda_cpp(CLUSTERS)["k"][(4, 4), 32](out)
    for y in range(4):
        for x in range(4):
            rank, (x0, y0) = x % 2 + 2 * (y % 2), (x - x % 2, y - y % 2)
            after = (rank + 1) % 4
            number = (x0 + after % 2) + 4 * (y0 + after // 2)
            got = 100 * number + 31 - np.arange(32)
            got[0] = 100 * (x + 4 * y) + 4 if rank == 0 else got[0]
            assert np.array_equal(out[y, x, :32], got)
            assert set(out[y, x, 32:].tolist()) == {rank + 10 * (3 - rank) + 200}
    assert recording.findings == ()
    assert {"cluster_load", "cluster_update"} <= {site.op for site in recording.launches[0].sites}


def test_a_grid_that_is_not_made_of_clusters_is_refused():
    with pytest.raises(RefusedLaunchError, match="3 x 2 x 1 blocks is not made of whole clusters of 2 x 2 x 1"):
        smemviz.cuda_cpp(CLUSTERS)["k"][(3, 2), 32](np.zeros(6 * 64, np.int32))


PIPELINE = """__global__ void k(int *out, const int *in) {
    __shared__ alignas(128) int stage[2][128];
    __shared__ alignas(8) unsigned long long full[2], empty[2];
    auto at = [](void *p) { return (unsigned)__cvta_generic_to_shared(p); };
    auto wait = [&](unsigned long long *bar, int parity) {
        unsigned done = 0;
        while (!done)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(at(bar)), "r"(parity) : "memory");
    };
    int t = threadIdx.x;
    if (t == 0) {
        for (int s = 0; s < 2; s++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&full[s])));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" :: "r"(at(&empty[s])));
        }
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    if (t >= 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        unsigned elected;
        asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(elected));
        if (t < 160 && elected)
            for (int n = 0; n < 8; n++) {
                int s = n % 2;
                wait(&empty[s], n / 2 % 2 ^ 1);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" :: "r"(at(&full[s])));
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];"
                             :: "r"(at(stage[s])), "l"(in + n * 128), "r"(at(&full[s])) : "memory");
            }
    } else {
        int sum = 0;
        for (int n = 0; n < 8; n++) {
            int s = n % 2;
            wait(&full[s], n / 2 % 2);
            sum += stage[s][127 - t] * (n + 1);
            asm volatile("{ .reg .b64 a; mbarrier.arrive.shared::cta.b64 a, [%0]; }" :: "r"(at(&empty[s])) : "memory");
        }
        out[t] = sum;
    }
}
"""


def test_a_producer_fills_stages_that_consumers_empty():
    given = RNG.integers(0, 1000, (8, 128)).astype(np.int32)
    out = np.zeros(128, np.int32)
    recording = smemviz.cuda_cpp(PIPELINE)["k"][1, 256](out, given.reshape(-1))
    assert np.array_equal(out, (given[:, ::-1] * np.arange(1, 9)[:, None]).sum(0))
    assert recording.findings == ()


def test_a_barrier_that_waits_for_bytes_that_nobody_sends_is_a_deadlock():
    text = PIPELINE.replace("[%0], 512;", "[%0], 528;")
    recording = smemviz.cuda_cpp(text)["k"][1, 256](np.zeros(128, np.int32), np.zeros(1024, np.int32))
    assert [finding.kind for finding in recording.findings] == ["deadlock"]


def test_a_copy_that_ends_outside_of_shared_memory_and_one_to_no_barrier_are_out_of_bounds():
    for to, barrier in (("a + 1000", "a + 8"), ("a", "0")):
        text = f"""__global__ void k(const int *in) {{
    __shared__ alignas(16) char t[1024];
    unsigned a = __cvta_generic_to_shared(t);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(a + 8));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 64, [%2];"
                 :: "r"(({to}) & ~15), "l"(in), "r"({barrier}) : "memory");
}}
"""
        (finding,) = smemviz.cuda_cpp(text)["k"][1, 1](np.zeros(16, np.int32)).findings
        assert (finding.kind, finding.line) == ("out_of_bounds", 5)


STORED_BY_COPY = """__global__ void k(int *out) {
    __shared__ alignas(128) int tile[128];
    tile[threadIdx.x] = threadIdx.x;
    FENCE
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;"
                     :: "l"(out), "r"((unsigned)__cvta_generic_to_shared(tile)) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
"""
FENCES = (
    'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");',
    'asm volatile("fence.proxy.async;" ::: "memory");',
)


def test_what_threads_stored_is_read_by_a_bulk_copy_behind_a_proxy_fence_only():
    for fence in ("", "__threadfence_block();", *FENCES):
        out = np.zeros(128, np.int32)
        recording = smemviz.cuda_cpp(STORED_BY_COPY.replace("FENCE", fence))["k"][1, 128](out)
        assert (out == np.arange(128)).all()
        found = [(one.kind, one.line, one.facts["array"], one.facts["reader"]) for one in recording.findings]
        assert found == ([] if fence in FENCES else [("missing_proxy_fence", 7, "tile", "cp.async.bulk")]), fence


def test_wgmma_reads_what_threads_stored_behind_a_proxy_fence_only():
    case = ALL["wgmma_f16_00 128B"]
    text = next(text for text in texts() if f" {case.kernel}(" in text)
    assert FENCES[0] in text
    launched = smemviz.cuda_cpp(by_value(text.replace(FENCES[0], "")))[case.kernel]
    (finding,) = launched[case.blocks, case.threads, case.shared](*map(given, case.given)).findings
    assert (finding.kind, finding.facts["reader"]) == ("missing_proxy_fence", "wgmma")
