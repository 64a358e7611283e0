"""A script as those of courses that use PyCUDA: one kernel, with memory given to it in each way."""

from __future__ import annotations

TURN = '''\
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

turn = SourceModule("""
__global__ void turn(const float *x, float *y, int n) {
    __shared__ float tile[32][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    tile[ty][tx] = x[ty * n + tx];
    __syncthreads();
    y[ty * n + tx] = tile[tx][ty];
}
""").get_function("turn")

x = np.arange(1024, dtype=np.float32).reshape(32, 32)
y, back = np.zeros_like(x), np.empty_like(x)
turn(drv.In(x), drv.Out(y), np.int32(32), block=(32, 32, 1), grid=(1, 1))
assert (y == x.T).all()

x_gpu, y_gpu = drv.mem_alloc(x.nbytes), drv.mem_alloc(x.nbytes)
drv.memcpy_htod(x_gpu, x)
turn(x_gpu, y_gpu, np.int32(32), block=(32, 32, 1))
drv.memcpy_dtoh(back, y_gpu)
assert (back == x.T).all()

a, b = gpuarray.to_gpu(x), gpuarray.zeros((32, 32), np.float32)
start, end = drv.Event(), drv.Event()
start.record()
turn.prepare("PPi").prepared_call((1, 1), (32, 32, 1), a.gpudata, b.gpudata, 32)
end.record()
end.synchronize()
start.time_till(end)
assert (b.get() == x.T).all() and float(gpuarray.sum(b).get()) == x.sum()
'''
