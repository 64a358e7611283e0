"""cuda.core on a real GPU: its launches are recorded as in lockstep, and made."""

import pytest
from helpers.library_scripts import SHIFT

import smemviz

pytestmark = pytest.mark.gpu

WITHOUT_CUPY = '''\
import numpy as np
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch

code = r"""
extern "C" __global__ void turn(const float *x, float *y, int n) {
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * n + threadIdx.x];
    __syncthreads();
    y[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""
device = Device()
device.set_current()
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
kernel = Program(code, code_type="c++", options=options).compile("cubin").get_kernel("turn")
memory = LegacyPinnedMemoryResource()
buffers = [memory.allocate(4096) for _ in range(2)]
x, y = (np.from_dlpack(one).view(np.float32).reshape(32, 32) for one in buffers)
x[:] = np.arange(1024).reshape(32, 32)
y[:] = 0
launch(stream, LaunchConfig(grid=1, block=(32, 32)), kernel, *buffers, np.int32(32))
stream.sync()
np.testing.assert_array_equal(y, x.T)
'''


@pytest.mark.parametrize("text", [WITHOUT_CUPY, SHIFT], ids=["buffers", "arrays of CuPy"])
def test_launches_are_recorded_and_made(tmp_path, text):
    pytest.importorskip("cuda.core", reason="cuda.core is not installed")
    if "cupy" in text:
        pytest.importorskip("cupy", reason="CuPy is not installed")
    path = tmp_path / "script.py"
    path.write_text(text)
    ours, theirs = (smemviz.run(path, engine=engine) for engine in ("gpu", "lockstep"))
    assert ours.findings == theirs.findings == ()
    assert [one.kernel for one in ours.launches] == [one.kernel for one in theirs.launches]
    for one, other in zip(ours.launches, theirs.launches, strict=True):
        assert one.sites == other.sites
        assert one.summary() == other.summary()
