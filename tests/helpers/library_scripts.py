"""Scripts that launch with CuPy, PyCUDA (memory given to a kernel in each way) and cuda.core (a template, and C)."""

CUPY_TURN = '''\
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


PYCUDA_TURN = '''\
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


SHIFT = '''\
import sys
import cupy as cp
import numpy as np
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

code = r"""
template <typename T>
__global__ void shifted(const T *a, T *out, T by, size_t n) {
    __shared__ T held[64];
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    held[threadIdx.x * STRIDE] = i < n ? a[i] : T(0);
    __syncthreads();
    if (i < n) out[i] = held[threadIdx.x * STRIDE] + by;
}
extern "C" __global__ void counted(int *values) { values[threadIdx.x] = threadIdx.x; }
"""
device = Device()
device.set_current()
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}", define_macro=[("STRIDE", "2")])
program = Program(code, code_type="c++", options=options)
compiled = program.compile("cubin", name_expressions=("shifted<float>",), logs=sys.stdout)

a = cp.arange(96, dtype=cp.float32)
out = cp.empty_like(a)
device.sync()
config = LaunchConfig(grid=3, block=32)
launch(stream, config, compiled.get_kernel("shifted<float>"), a.data.ptr, out.data.ptr, cp.float32(3), np.uint64(96))
stream.sync()
assert cp.allclose(out, a + 3)

buffer = device.allocate(32 * 4, stream=stream)
launch(stream, LaunchConfig(grid=(1,), block=(32, 1)), compiled.get_kernel("counted"), buffer)
stream.sync()
assert (cp.from_dlpack(buffer).view(cp.int32) == cp.arange(32)).all()
buffer.close(stream)
stream.close()
'''
