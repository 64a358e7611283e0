"""What the launches of a file of CUDA C++ leave, with the interpreter of PTX in place of a GPU."""

import numpy as np
import pytest
from helpers.interpreted_ptx import LockstepCard

from smemviz.engines.backend import OutputHash, hashed
from smemviz.engines.gpu.ptx import ptx_launch
from smemviz.frontends.cuda import parse_cuda

TEXT = """\
// smemviz: doubled<<<1, 32>>>(arange(32))
// smemviz: tripled<<<1, 32>>>(arange(32))
__global__ void doubled(int *a) { a[threadIdx.x] *= 2; }
__global__ void tripled(int *a) { a[threadIdx.x] *= 3; }
"""


def test_the_arrays_of_the_kernels_asked_for_are_hashed(monkeypatch):
    measured = pytest.importorskip("smemviz.measure.time.cuda_time", reason="numba-cuda is not installed")
    made: list[str] = []

    def make_clean(card, entry, *launch):
        made.append(entry.name)
        ptx_launch.make_clean(LockstepCard(entry), entry, *launch)

    monkeypatch.setattr(measured, "device", lambda: None)
    monkeypatch.setattr(measured, "Gpu", object)
    monkeypatch.setattr(measured, "make_clean", make_clean)
    found = measured.outputs(parse_cuda(TEXT, "k.cu"), {"tripled"})
    assert found == (OutputHash("tripled", hashed([3 * np.arange(32, dtype=np.int32)])),)
    assert made == ["doubled", "tripled"]
