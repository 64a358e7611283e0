"""Vectors of Thrust that hold memory for a kernel."""

from collections.abc import Callable
from pathlib import Path

import pytest

import smemviz

Write = Callable[..., Path]

VECTORS = r"""
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <cstdio>
__global__ void twice(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= 2;
}
int main() {
    thrust::host_vector<float> h(100, 3.f);
    h[5] = 7;
    thrust::device_vector<float> d = h, e(100);
    twice<<<4, 32>>>(thrust::raw_pointer_cast(d.data()), (int)d.size());
    thrust::copy(d.begin(), d.end(), e.begin());
    thrust::host_vector<float> back = e;
    thrust::copy(d.begin(), d.begin() + 2, h.begin());
    d = thrust::device_vector<float>(back.begin(), back.begin() + 6);
    printf("%g %g %g %g %g %zu\n", back[4], back[5], (float)e[6], h[0], h[2], d.size());
}
"""


@pytest.mark.exhaustive
def test_they_are_copied_to_the_device_and_back(write, capsys):
    recording = smemviz.run(write(vectors_cu=VECTORS))
    assert capsys.readouterr().out == "6 14 6 6 3 6\n"
    assert [launch.kernel for launch in recording.launches] == ["twice"]
    assert recording.findings == ()
