"""A script with a raw kernel of CuPy's: a transpose that loads down the columns of its tile."""

TURN = '''\
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

x = cp.arange(1024, dtype=cp.float32).reshape(32, 32)
y = cp.zeros((32, 32), dtype=cp.float32)
turn((1,), (32, 32), (x, y, 32))
np.testing.assert_array_equal(cp.asnumpy(y), np.arange(1024, dtype=np.float32).reshape(32, 32).T)
assert type(y.get()) is np.ndarray
'''
