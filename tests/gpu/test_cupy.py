"""CuPy's raw kernels on a real GPU: recorded as in lockstep, and run."""

from __future__ import annotations

from pathlib import Path

import pytest

import smemviz

pytestmark = pytest.mark.gpu

SCRIPT = '''\
import numpy as np
import cupy as cp

turn = cp.RawKernel(r"""
extern "C" __global__
void turn(const float* x, float* y, int n) {
    __shared__ float tile[32][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    tile[ty][tx] = x[ty * n + tx];
    __syncthreads();
    y[ty * n + tx] = tile[tx][ty];
}
""", "turn")
module = cp.RawModule(code=r"""
template <typename T> __global__ void scale(T *a, T by) { a[threadIdx.x] *= by * FACTOR; }
""", options=("-DFACTOR=2",), name_expressions=["scale<float>"])

x = cp.arange(1024, dtype=cp.float32).reshape(32, 32)
y = cp.zeros((32, 32), dtype=cp.float32)
turn((1,), (32, 32), (x, y, 32))
np.testing.assert_array_equal(cp.asnumpy(y), np.arange(1024, dtype=np.float32).reshape(32, 32).T)
a = cp.ones(32, cp.float32)
module.get_function("scale<float>")((1,), (32,), (a, cp.float32(3)))
assert float(a.sum()) == 6 * 32
'''


def test_raw_kernels_are_recorded_and_run(tmp_path: Path) -> None:
    pytest.importorskip("cupy", reason="CuPy is not installed")
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    ours, theirs = (smemviz.run(path, engine=engine) for engine in ("gpu", "lockstep"))
    assert ours.findings == theirs.findings == ()
    assert [one.kernel for one in ours.launches] == ["turn", "scale<float>"]
    for one, other in zip(ours.launches, theirs.launches, strict=True):
        assert one.sites == other.sites
        assert one.summary() == other.summary()
