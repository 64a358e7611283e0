"""A program that multiplies matrices with warp groups of clusters, whose tiles a tensor map describes."""

from collections.abc import Callable
from pathlib import Path

import pytest

import smemviz
from smemviz.model.counting.summary import summarize

PRODUCT = Path(__file__).parents[2] / "data" / "cuda" / "warp_group_product.cu"
Write = Callable[..., Path]


@pytest.mark.exhaustive
def test_a_product_by_warp_groups_with_tensor_maps_and_clusters_is_right(write, capsys):
    recording = smemviz.run(write(product_cu=PRODUCT.read_text(encoding="utf-8")))
    assert capsys.readouterr().out == "0 wrong\n"
    (launch,) = recording.launches
    counted = {(site.line, site.op): row for site, row in zip(launch.sites, summarize(launch), strict=True)}
    # 4 blocks, 4 tiles of k, 4 steps each: 64 x 16 halves of A and of B are 16 wavefronts each.
    (product,) = [row for (_, op), row in counted.items() if op == "wgmma"]
    assert (product.wavefronts, product.excess) == (4 * 4 * 4 * 32, 0)
    # Every block fetches its tiles of A, the first of each cluster those of B for both.
    assert sorted(row.requests for (_, op), row in counted.items() if op == "bulk_store") == [8, 16]
    assert recording.findings == ()


MAPS = """\
    #include <cuda.h>
    #include <cstdio>
    __global__ void k(int *out) { out[0] = 1; }
    int main() {
        void *encode = nullptr, *data;
        cudaDriverEntryPointQueryResult found;
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &encode, cudaEnableDefault, &found);
        printf("%d %d\\n", encode != nullptr, found == cudaDriverEntryPointSuccess);
        cudaMalloc(&data, 4096);
        struct { int rank, inner, stride, swizzle, box; } tried[] = {
            {2, 64, 128, 3, 8}, {2, 128, 128, 3, 8}, {2, 64, 120, 3, 8}, {2, 60, 128, 0, 8}, {2, 64, 128, 0, 257},
            {6, 64, 128, 3, 8}};
        for (auto &one : tried) {
            CUtensorMap map;
            cuuint64_t sizes[] = {64, 32, 1, 1, 1, 1}, strides[] = {(cuuint64_t)one.stride, 4096, 4096, 4096, 4096};
            cuuint32_t box[] = {(cuuint32_t)one.inner, (cuuint32_t)one.box, 1, 1, 1, 1}, steps[] = {1, 1, 1, 1, 1, 1};
            printf("%d ", ((decltype(&cuTensorMapEncodeTiled))encode)(
                &map, CU_TENSOR_MAP_DATA_TYPE_UINT16, one.rank, data, sizes, strides, box, steps,
                CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)one.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
        }
        cudaGetDriverEntryPoint("cuMemAlloc", &encode, cudaEnableDefault, &found);
        printf("\\n%d\\n", found == cudaDriverEntryPointSymbolNotFound);
        k<<<1, 1>>>((int *)data);
    }
"""


@pytest.mark.exhaustive
def test_maps_that_the_driver_refuses_are_refused(write, capsys):
    smemviz.run(write(maps_cu=MAPS))
    assert capsys.readouterr().out == "1 1\n0 1 1 1 1 1 \n1\n"
