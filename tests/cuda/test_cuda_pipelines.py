"""Stages that copies and tensor cores use while threads do: what is overwritten or read too early."""

from functools import cache

import numpy as np
import pytest

import smemviz

TEXT = """
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void wait(unsigned long long *bar, int parity) {
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(at(bar)), "r"(parity) : "memory");
}
__device__ void init(unsigned long long *bar, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(bar)), "r"(count));
}
__device__ void arrive(unsigned long long *bar) {
    asm volatile("{ .reg .b64 a; mbarrier.arrive.shared::cta.b64 a, [%0]; }" :: "r"(at(bar)) : "memory");
}
__device__ void copy(int *to, const int *from, unsigned long long *bar) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" :: "r"(at(bar)));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];"  // COPY
                 :: "r"(at(to)), "l"(from), "r"(at(bar)) : "memory");
}
__global__ void pipeline(int *out, const int *in, int wrong) {
    out += 256 * blockIdx.x;
    __shared__ alignas(128) int stage[2][128];
    __shared__ alignas(8) unsigned long long full[2], empty[2];
    int t = threadIdx.x;
    if (t == 0)
        for (int s = 0; s < 2; s++) init(&full[s], 1), init(&empty[s], wrong == 4 ? 64 : 128);
    __syncthreads();
    if (t == 128)
        for (int n = 0; n < (wrong == 4 ? 3 : 8); n++) {
            if (wrong != 1) wait(&empty[n % 2], n / 2 % 2 ^ 1);
            copy(stage[n % 2], in + n * 128, &full[n % 2]);
        }
    if (t < 128) {
        int sum = 0;
        for (int n = 0; n < (wrong == 4 ? 3 : 8); n++) {
            if (wrong != 2) wait(&full[n % 2], n / 2 % 2);
            if (wrong == 3) arrive(&empty[n % 2]);
            sum += stage[n % 2][127 - t] * (n + 1);  // READ
            if (wrong != 3 && !(wrong == 4 && t >= 64)) arrive(&empty[n % 2]);
        }
        out[t] = sum;
    }
}
__global__ void refill(int *out, const int *in, int wrong) {
    out += 256 * blockIdx.x;
    __shared__ alignas(128) int tile[128];
    __shared__ alignas(8) unsigned long long full;
    int t = threadIdx.x, sum = 0;
    if (t == 0) init(&full, 1);
    __syncthreads();
    for (int n = 0; n < 8; n++) {
        if (t == 0) copy(tile, in + n * 128, &full);
        wait(&full, n % 2);
        sum += tile[127 - t] * (n + 1);
        if (!wrong) __syncthreads();
        if (wrong == 2 && t < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
    }
    out[t] = sum;
}
__global__ void named(int *out, const int *in, int wrong) {
    out += 256 * blockIdx.x;
    __shared__ alignas(128) int tile[128];
    __shared__ alignas(8) unsigned long long full;
    int t = threadIdx.x, sum = 0;
    if (t == 0) init(&full, 1);
    __syncthreads();
    if (t >= 128)
        for (int n = 0; n < 8; n++) {
            if (t == 128) copy(tile, in + n * 128, &full);
            asm volatile("bar.sync %0, 160;" :: "r"(1 + n % 2) : "memory");
        }
    else
        for (int n = 0; n < 8; n++) {
            wait(&full, n % 2);
            if (wrong) asm volatile("bar.arrive %0, 160;" :: "r"(1 + n % 2) : "memory");
            sum += tile[127 - t] * (n + 1);  // NAMED
            if (!wrong) asm volatile("bar.arrive %0, 160;" :: "r"(1 + n % 2) : "memory");
        }
    if (t < 128) out[t] = sum;
}
__global__ void leave(int *out, const int *in, int wrong) {
    out += 256 * blockIdx.x;
    __shared__ alignas(128) int tile[128];
    int t = threadIdx.x;
    for (int n = 0; n < 2; n++) {
        if (wrong != 1 && t == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        if (wrong != 2) __syncthreads();
        tile[t] = in[n * 128 + t];  // STORE
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (t == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;"
                         :: "l"(out + n * 128), "r"(at(tile)) : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
    if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
__global__ void multiply(float *out, const int *in, int wrong) {
    out += 256 * blockIdx.x;
    __shared__ alignas(1024) int tiles[2][1024];
    int t = threadIdx.x;
    float d[4] = {};
    for (int n = 0; n < 4; n++) {
        for (int i = 0; i < 8; i++) tiles[n % 2][i * 128 + t] = in[(n * 8 + i) * 128 + t];  // FILL
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        unsigned long long tile = at(tiles[n % 2]) >> 4 | 8ull << 16 | 16ull << 32;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(tile) : "memory");
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (wrong == 0) asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (wrong == 1) asm volatile("wgmma.wait_group.sync.aligned 2;" ::: "memory");
        __syncthreads();
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    out[t] = d[0];
}
"""
LINES = {name: next(n for n, line in enumerate(TEXT.splitlines(), 1) if name in line) for name in
         ("COPY", "READ", "NAMED", "STORE", "FILL")}  # fmt: skip
THREADS = {"pipeline": 256, "named": 160}
GIVEN = np.random.default_rng(5).integers(0, 1000, (32, 128)).astype(np.int32)


@cache
def _program():
    return smemviz.cuda_cpp(TEXT)


def _findings(kernel, wrong, blocks=2):
    out = np.zeros((blocks, 256), np.float32 if kernel == "multiply" else np.int32)
    recording = _program()[kernel][blocks, THREADS.get(kernel, 128)](out.reshape(-1), GIVEN.reshape(-1), wrong)
    if kernel in ("pipeline", "refill", "named") and not wrong:
        assert (out[:, :128] == (GIVEN[:8, ::-1] * np.arange(1, 9)[:, None]).sum(0)).all()
    if kernel == "leave":
        assert (out == GIVEN[:2].reshape(-1)).all()
    return recording.findings


@pytest.mark.parametrize("kernel", ["pipeline", "refill", "named", "leave", "multiply"])
def test_nothing_is_said_of_stages_that_are_waited_for(kernel):
    assert _findings(kernel, 0) == ()


@pytest.mark.parametrize(
    ("kernel", "wrong", "place", "facts"),
    [
        ("pipeline", 1, "COPY", {"writer": "cp.async.bulk", "reader": "", "unfinished": True}),
        ("pipeline", 3, "COPY", {"writer": "cp.async.bulk", "reader": "threads", "unfinished": False}),
        ("refill", 1, "COPY", {"writer": "cp.async.bulk", "reader": "threads", "unfinished": False}),
        ("refill", 2, "COPY", {"writer": "cp.async.bulk", "reader": "threads", "unfinished": False}),
        ("leave", 1, "STORE", {"writer": "threads", "reader": "cp.async.bulk", "unfinished": True}),
        ("leave", 2, "STORE", {"writer": "threads", "reader": "cp.async.bulk", "unfinished": False}),
        ("multiply", 1, "FILL", {"writer": "threads", "reader": "wgmma", "unfinished": True}),
        ("multiply", 2, "FILL", {"writer": "threads", "reader": "wgmma", "unfinished": True}),
    ],
)
def test_a_stage_that_is_overwritten_too_early_is_found(kernel, wrong, place, facts):
    found = [one for one in _findings(kernel, wrong) if one.kind == "early_overwrite"]
    array = {"pipeline": "stage", "multiply": "tiles"}.get(kernel, "tile")
    assert [(one.line, one.facts) for one in found] == [(LINES[place], {"array": array, **facts})]


def test_half_of_the_readers_do_not_free_a_stage():
    (found,) = _findings("pipeline", 4)
    assert (found.kind, found.facts["reader"]) == ("early_overwrite", "threads")


@pytest.mark.parametrize(("kernel", "wrong"), [("pipeline", 2), ("named", 1)])
def test_a_stage_that_is_read_before_its_copy_is_waited_for_is_found(kernel, wrong):
    (found,) = [one for one in _findings(kernel, wrong) if one.kind == "early_read"]
    line, array = (LINES["READ"], "stage") if kernel == "pipeline" else (LINES["NAMED"], "tile")
    assert (found.line, found.facts) == (line, {"array": array, "reader": "threads"})
