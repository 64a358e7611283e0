"""A script that launches with cuda.core: a template on arrays of CuPy's, and C on buffers of its own."""

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
