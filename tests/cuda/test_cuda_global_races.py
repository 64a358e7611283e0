"""Races in global memory of kernels in CUDA C++."""

from pathlib import Path

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


def messages(folder: Path, text: str, view: str = "source") -> list[str]:
    path = folder / "kernel.cu"
    path.write_text(text)
    findings = smemviz.run(path, view=view).findings
    assert {finding.kind for finding in findings} <= {"race"}
    return [finding.message for finding in findings]


@VIEWS
def test_a_counter_without_an_atomic(tmp_path: Path, view: str) -> None:
    text = "__global__ void k(int *out, int *a) {\n  out[0] += a[threadIdx.x];\n}\n"
    (message,) = messages(tmp_path, text + "// smemviz: k<<<2, 64>>>(zeros(1), zeros(64))", view)
    assert message.endswith(" at line 2, and one of the two results is lost. Use atomicAdd() or its like.")

    with_atomic = text.replace("out[0] += a[threadIdx.x]", "atomicAdd(out, a[threadIdx.x])")
    assert messages(tmp_path, with_atomic + "// smemviz: k<<<2, 64>>>(zeros(1), zeros(64))", view) == []


@VIEWS
def test_two_blocks_that_store_different_values(tmp_path: Path, view: str) -> None:
    text = "__global__ void k(int *out) {\n  out[threadIdx.x] = blockIdx.x;\n}\n// smemviz: k<<<2, 64>>>(zeros(64))"
    (message,) = messages(tmp_path, text, view)
    assert message.startswith("out[0] is stored by thread (0, 0, 0) of block (0, 0, 0) and thread (0, 0, 0) of block ")


@VIEWS
def test_a_variable_of_the_module(tmp_path: Path, view: str) -> None:
    text = "__device__ int count;\n__global__ void k(int *out) {\n  count++;\n  out[threadIdx.x] = 1;\n}\n"
    (message,) = messages(tmp_path, text + "// smemviz: k<<<1, 64>>>(zeros(64))", view)
    assert message.startswith("count[0] is loaded by")


@VIEWS
def test_the_last_block_may_add_up(tmp_path: Path, view: str) -> None:
    assert messages(tmp_path, LAST_BLOCK.replace("FENCE", "__threadfence();"), view) == []
    (message,) = messages(tmp_path, LAST_BLOCK.replace("FENCE", ""), view)
    assert message.endswith("or order them with __threadfence() and an atomic.")


@VIEWS
def test_a_volatile_flag_behind_a_fence_orders_blocks(tmp_path: Path, view: str) -> None:
    text = (
        "__global__ void k(int *out, volatile int *flag) {\n  if (threadIdx.x) return;\n"
        "  if (blockIdx.x == 0) {\n    out[0] = 7;\n    __threadfence();\n    flag[0] = 1;\n"
        "  } else {\n    while (flag[0] == 0) {}\n    out[1] = out[0];\n  }\n}\n"
        "// smemviz: k<<<2, 32>>>(zeros(2), zeros(1))"
    )
    assert messages(tmp_path, text, view) == []
    assert len(messages(tmp_path, text.replace("    __threadfence();\n", ""), view)) == 1


@VIEWS
@pytest.mark.exhaustive  # cooperative groups take seconds to compile
def test_a_barrier_of_the_grid_orders_its_blocks(tmp_path: Path, view: str) -> None:
    assert messages(tmp_path, GRID.replace("BARRIER", "grid.sync();"), view) == []
    assert len(messages(tmp_path, GRID.replace("BARRIER", "__syncthreads();"), view)) == 1


def test_atomics_of_all_threads_of_several_blocks_go_to_their_elements(tmp_path: Path) -> None:
    text = (
        "__global__ void k(int *out) {\n  atomicAdd(out + threadIdx.x % 3, 1);\n}\n// smemviz: k<<<4, 64>>>(zeros(3))"
    )
    assert messages(tmp_path, text) == []


def test_what_only_is_loaded_is_not_watched(tmp_path: Path) -> None:
    text = "__global__ void k(int *out, const int *a) {\n  out[threadIdx.x] = a[0] + a[threadIdx.x ^ 5];\n}\n"
    assert messages(tmp_path, text + "// smemviz: k<<<1, 64>>>(zeros(64), zeros(64))") == []
