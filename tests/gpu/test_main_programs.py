"""A ``main()`` whose launches are made on a real GPU: the same results and requests as in lockstep."""

import shutil
import textwrap

import numpy as np
import pytest
from helpers.main_programs import CALLS, PRINTED, TURN

import smemviz
from smemviz.errors import UnsupportedError
from smemviz.model.layout.array_requests import relative_addresses
from smemviz.paths import kernels_dir

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="needs a C++ compiler"),
]

# Memory holds addresses of other memory, in a structure, a list and a variable; a variable is written by its address.
POINTERS = """\
    #include <cstdio>
    struct Row { float *values; int n; };
    __device__ float *kept;
    __device__ int sums[4];
    __device__ const int *table[2] = {sums, sums + 1};
    __global__ void fill(Row *rows) {
        Row row = rows[blockIdx.x];
        for (int i = threadIdx.x; i < row.n; i += blockDim.x) row.values[i] = 10 * blockIdx.x + i;
        if (blockIdx.x == 1 && threadIdx.x == 0) kept = row.values;
    }
    __global__ void add(int *out) {
        __shared__ float part[32];
        part[threadIdx.x] = kept[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0) {
            float sum = 0;
            for (int i = 0; i < 32; i++) sum += part[i];
            out[0] = sum;
            sums[1] = 7;
        }
    }
    __global__ void read(int *out) { out[1] = *table[0] + *table[1]; }
    int main() {
        Row rows[3], *on_device;
        for (Row &row : rows) { row.n = 32; cudaMalloc(&row.values, 128); }
        cudaMalloc(&on_device, sizeof rows);
        cudaMemcpy(on_device, rows, sizeof rows, cudaMemcpyHostToDevice);
        fill<<<3, 32>>>(on_device);
        int *address, *out, got[2];
        cudaGetSymbolAddress((void **)&address, sums);
        add<<<1, 32>>>(address);
        cudaMallocManaged(&out, 8);
        add<<<1, 32>>>(out);
        read<<<1, 1>>>(out);
        cudaDeviceSynchronize();
        cudaMemcpyFromSymbol(got, sums, sizeof got);
        printf("%d %d, %d %d\\n", out[0], out[1], got[0], got[1]);
    }
"""


def places(site):
    """Return what a site is; where a parameter points to a variable, lockstep gives this the parameter's name."""
    return site.line, site.column, site.source, site.space, site.op, site.width


def in_order(launch):
    """Return which array each lane touches and where, requests by block, warp and site."""
    requests = launch.requests
    order = np.lexsort((requests.step, requests.site, requests.warp, requests.block))
    index, offset = relative_addresses(launch)
    return index[order], offset[order]


def both(path, text):
    """Record a program on the GPU and in lockstep."""
    path.write_text(textwrap.dedent(text))
    return smemviz.run(path, arguments=[]), smemviz.run(path, arguments=[], engine="lockstep")


@pytest.mark.parametrize(
    ("text", "printed"),
    [(TURN, "0 wrong, 0 arguments\n"), (CALLS, PRINTED), (POINTERS, "816 823, 816 7\n")],
    ids=["turn", "calls", "pointers"],
)
def test_lockstep_prints_the_same_and_makes_the_same_requests(tmp_path, capsys, text, printed):
    seen, expected = both(tmp_path / "p.cu", text)

    assert capsys.readouterr().out == 2 * printed
    assert (seen.engine, seen.printed) == ("gpu", printed)
    assert [(launch.kernel, launch.grid, launch.repeats) for launch in seen.launches] == [
        (launch.kernel, launch.grid, launch.repeats) for launch in expected.launches
    ]
    assert [finding.kind for finding in seen.findings] == [finding.kind for finding in expected.findings]
    for mine, other in zip(seen.launches, expected.launches, strict=True):
        assert [places(site) for site in mine.sites] == [places(site) for site in other.sites]
        assert mine.summary() == other.summary()
        (index, offset), (index_of_other, offset_of_other) = map(in_order, (mine, other))
        # On the GPU a variable that a parameter points to is not where this points.
        known = (index >= 0) & (index_of_other >= 0)
        assert known.any() or not mine.arrays
        np.testing.assert_array_equal(index[known], index_of_other[known])
        np.testing.assert_array_equal(offset[known], offset_of_other[known])


def test_a_launch_that_would_do_harm_is_not_made(tmp_path, capsys):
    text = """\
        #include <cstdio>
        __global__ void past(float *out) { out[threadIdx.x] = 1; }
        int main() {
            float *out, got = 5;
            cudaMalloc(&out, 64);
            past<<<1, 32>>>(out);
            cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost);
            printf("%g\\n", got);
        }
    """
    seen, _ = both(tmp_path / "past.cu", text)
    assert capsys.readouterr().out.startswith("0\n")
    assert [finding.kind for finding in seen.findings] == ["out_of_bounds"]
    assert not seen.launches


@pytest.mark.parametrize("name", ["turn", "product"])
def test_what_is_counted_in_lockstep_alone_says_so(name):
    with pytest.raises(UnsupportedError, match="is not counted on the GPU; use --engine lockstep"):
        smemviz.run(kernels_dir() / "hopper" / f"{name}.cu", engine="gpu")
