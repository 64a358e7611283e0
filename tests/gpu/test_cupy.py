"""CuPy's raw kernels on a real GPU: recorded as in lockstep, and run."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.cupy_scripts import TURN

import smemviz

pytestmark = pytest.mark.gpu

SCRIPT = (
    TURN
    + '''\
module = cp.RawModule(code=r"""
template <typename T> __global__ void scale(T *a, T by) { a[threadIdx.x] *= by * FACTOR; }
""", options=("-DFACTOR=2",), name_expressions=["scale<float>"])
a = cp.ones(32, cp.float32)
module.get_function("scale<float>")((1,), (32,), (a, cp.float32(3)))
assert float(a.sum()) == 6 * 32
'''
)


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
