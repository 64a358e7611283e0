"""CuPy's kernels on a real GPU: recorded as in lockstep, and run."""

import pytest
from helpers.library_scripts import CUPY_TURN

import smemviz

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _needs_cupy():
    pytest.importorskip("cupy", reason="CuPy is not installed")


SCRIPT = (
    CUPY_TURN
    + '''\
module = cp.RawModule(code=r"""
template <typename T> __global__ void scale(T *a, T by) { a[threadIdx.x] *= by * FACTOR; }
""", options=("-DFACTOR=2",), name_expressions=["scale<float>"])
a = cp.ones(32, cp.float32)
module.get_function("scale<float>")((1,), (32,), (a, cp.float32(3)))
assert float(a.sum()) == 6 * 32
'''
)


def test_raw_kernels_are_recorded_and_run(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    ours, theirs = (smemviz.run(path, engine=engine) for engine in ("gpu", "lockstep"))
    assert ours.findings == theirs.findings == ()
    assert [one.kernel for one in ours.launches] == ["turn", "scale<float>"]
    for one, other in zip(ours.launches, theirs.launches, strict=True):
        assert one.sites == other.sites
        assert one.summary() == other.summary()


WRITTEN = """\
import cupy as cp
import numpy as np

add = cp.ElementwiseKernel("T x, T y", "T z", "z = x + 2 * y", "add_twice")
a = cp.arange(64, dtype=cp.float32)
m = cp.arange(256, dtype=cp.float32).reshape(8, 32)
assert (add(a, a) == 3 * a).all()
out = cp.zeros((8, 16), cp.float32)
assert add(m[:, ::2], a[:16], out) is out
assert (out == m[:, ::2] + 2 * a[:16]).all()
add(a, 1, a)
assert (a == cp.arange(64, dtype=cp.float32) + 2).all()

norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
cp.testing.assert_allclose(norm(m), np.linalg.norm(m.get()), rtol=1e-5)
cp.testing.assert_allclose(norm(m, axis=1), np.linalg.norm(m.get(), axis=1), rtol=1e-5)
sums = cp.zeros((1, 32), cp.float32)
assert norm(m, axis=0, keepdims=True, out=sums) is sums
cp.testing.assert_allclose(sums[0], np.linalg.norm(m.get(), axis=0), rtol=1e-5)
"""


def test_kernels_that_cupy_writes_are_recorded_as_in_lockstep_and_run(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(WRITTEN)
    ours, theirs = (smemviz.run(path, engine=engine) for engine in ("gpu", "lockstep"))
    assert ours.findings == theirs.findings == ()
    assert [one.kernel for one in ours.launches] == ["add_twice"] * 3 + ["l2norm"] * 3
    for one, other in zip(ours.launches, theirs.launches, strict=True):
        assert (one.sites, one.grid, one.block) == (other.sites, other.grid, other.block)
        assert one.summary() == other.summary()


NOT_RECORDED = """\
import cupy as cp
from cupyx import jit

@cp.fuse()
def plus(x, y):
    return x + y

@cp.vectorize
def twice(x):
    return 2 * x

@jit.rawkernel()
def fill(x):
    x[jit.threadIdx.x] = 2

a = cp.ones(32, cp.float32)
b = cp.zeros(32, cp.float32)
fill[1, 32](b)
fill((1,), (32,), (b,))
assert (plus(a, b) == 3).all()
assert (twice(a) == 2).all()
backwards = cp.ElementwiseKernel("T x", "T y", "y = x", "backwards")
assert (backwards(cp.arange(32)[::-1])[0] == 31).all()
assert (cp.ElementwiseKernel("T x", "T y", "y = x", "copied")(a) == 1).all()
"""


@pytest.mark.filterwarnings("ignore:cupyx.jit.rawkernel is experimental")
def test_what_is_not_recorded_runs_and_has_one_line_each(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(NOT_RECORDED)
    recording = smemviz.run(path, engine="gpu")
    assert [one.kernel for one in recording.launches] == ["copied"]
    assert [one.kernel for one in recording.findings] == ["fill", "fill", "plus", "twice", "backwards"]
    assert all(one.message.endswith("It ran and is not recorded.") for one in recording.findings)


def test_what_cupy_refuses_it_refuses_by_itself(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(WRITTEN + "add(a, a.astype(int))\n")
    (finding,) = smemviz.run(path, engine="gpu").findings
    assert finding.kind == "main_failed"
    assert "TypeError: Type is mismatched" in finding.message
