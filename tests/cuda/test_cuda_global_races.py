"""Races in global memory of kernels in CUDA C++."""

import pytest

import smemviz

VIEWS = pytest.mark.parametrize("view", ["source", "compiled"])
LAST_BLOCK = """
__global__ void k(float *part, unsigned *count, float *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = blockIdx.x;
        FENCE
        last = atomicAdd(count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (int b = 0; b < gridDim.x; b++) sum += part[b];
        out[0] = sum;
    }
}
// smemviz: k<<<6, 64>>>(zeros(6), zeros(1), zeros(1))
"""
GRID = """#include <cooperative_groups.h>
__global__ void k(int *out) {
    auto grid = cooperative_groups::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int n = 0; n < 3; n++) {
        out[i] = n;
        BARRIER
        int x = out[255 - i];
        BARRIER
        out[256 + i] = x;
    }
}
// smemviz: k<<<4, 64>>>(zeros(512))
"""


def messages(folder, text, view="source"):
    path = folder / "kernel.cu"
    path.write_text(text)
    findings = smemviz.run(path, view=view).findings
    assert {finding.kind for finding in findings} <= {"race"}
    return [finding.message for finding in findings]


ADDED = "__global__ void k(int *out, int *a) {\n  out[0] += a[threadIdx.x];\n}\n"
TWO = "// smemviz: k<<<2, 64>>>(zeros(1), zeros(64))"
FLAG = (
    "__global__ void k(int *out, volatile int *flag) {\n  if (threadIdx.x) return;\n"
    "  if (blockIdx.x == 0) {\n    out[0] = 7;\n    __threadfence();\n    flag[0] = 1;\n"
    "  } else {\n    while (flag[0] == 0) {}\n    out[1] = out[0];\n  }\n}\n"
    "// smemviz: k<<<2, 32>>>(zeros(2), zeros(1))"
)


@VIEWS
def test_what_nothing_orders_races(tmp_path, view):
    different = (
        "__global__ void k(int *out) {\n  out[threadIdx.x] = blockIdx.x;\n}\n// smemviz: k<<<2, 64>>>(zeros(64))"
    )
    counted = "__device__ int count;\n__global__ void k(int *out) {\n  count++;\n  out[threadIdx.x] = 1;\n}\n"
    for text, said in [
        (ADDED + TWO, " at line 2, and one of the two results is lost. Use atomicAdd() or its like."),
        (different, "out[0] is stored by thread (0, 0, 0) of block (0, 0, 0) and thread (0, 0, 0) of block "),
        (f"{counted}// smemviz: k<<<1, 64>>>(zeros(64))", "count[0] is loaded by"),  # a variable of the module
        (LAST_BLOCK.replace("FENCE", ""), "or order them with __threadfence() and an atomic."),
        (FLAG.replace("    __threadfence();\n", ""), "nothing orders the blocks"),
    ]:
        (message,) = messages(tmp_path, text, view)
        assert said in message


@VIEWS
def test_atomics_fences_and_what_only_is_loaded_race_with_nothing(tmp_path, view):
    many = (
        "__global__ void k(int *out) {\n  atomicAdd(out + threadIdx.x % 3, 1);\n}\n// smemviz: k<<<4, 64>>>(zeros(3))"
    )
    loaded = "__global__ void k(int *out, const int *a) {\n  out[threadIdx.x] = a[0] + a[threadIdx.x ^ 5];\n}\n"
    for text in [
        ADDED.replace("out[0] += a[threadIdx.x]", "atomicAdd(out, a[threadIdx.x])") + TWO,
        many,
        f"{loaded}// smemviz: k<<<1, 64>>>(zeros(64), zeros(64))",
        LAST_BLOCK.replace("FENCE", "__threadfence();"),
        FLAG,  # a volatile flag behind a fence
    ]:
        assert messages(tmp_path, text, view) == []


@VIEWS
@pytest.mark.exhaustive  # cooperative groups take seconds to compile
def test_a_barrier_of_the_grid_orders_its_blocks(tmp_path, view):
    assert messages(tmp_path, GRID.replace("BARRIER", "grid.sync();"), view) == []
    assert len(messages(tmp_path, GRID.replace("BARRIER", "__syncthreads();"), view)) == 1
