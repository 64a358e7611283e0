"""Reduction kernels of CuPy's where there is no GPU: their results are NumPy's, and their tree is seen."""

from textwrap import dedent

import pytest
from helpers.accepted import script

from smemviz.errors import KernelFileError

HEAD = """\
import numpy as np
import cupy as cp

norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
a = cp.arange(32, dtype=cp.float32)
"""


def recorded(folder, body):
    recording = script(folder, HEAD + dedent(body))
    assert recording.findings == ()
    return recording


def test_its_tree_in_shared_memory_is_recorded(tmp_path):
    """16 warps store what they have; then 8, 4, 2, 1 and five times a part of one fold it."""
    recording = recorded(tmp_path, "assert norm(cp.ones(1024, cp.float32)) == 32")
    (launch,) = recording.launches
    assert (launch.kernel, launch.grid, launch.block) == ("l2norm", (1, 1, 1), (512, 1, 1))
    assert launch.shared_bytes == 512 * 4
    rows = zip(launch.sites, launch.summary(), strict=True)
    counts = [(site.source, site.op, row.requests, row.excess) for site, row in rows]
    assert counts == [
        ("_raw_x[_j]", "load", 32, None),
        ("_sdata[_tid]", "store", 16, 0),
        ("_sdata[_tid]", "load", 20, 0),
        ("_sdata[_tid + _half]", "load", 20, 0),
        ("_sdata[_tid]", "store", 20, 0),
        ("_sdata[_tid]", "load", 1, 0),
        ("y", "store", 1, None),
    ]
    assert "_sdata[_tid] = _a + _b;" in recording.source_of(launch)


@pytest.mark.parametrize(
    "shape",
    [(7,), *(pytest.param(one, marks=pytest.mark.exhaustive) for one in ((30, 100), (600, 1), (2, 3, 4), (40, 33, 3)))],
)
def test_any_axes_of_any_array_give_what_numpy_gives(tmp_path, shape):
    recorded(
        tmp_path,
        f"""\
        x = cp.asarray(np.random.default_rng(3).random({shape}))
        for axis in (None, *range(x.ndim), tuple(range(x.ndim))[:2], -1):
            for y in (x, x.T, x[::2]):
                for keepdims in (False, True):
                    got = norm(y, axis=axis, keepdims=keepdims)
                    wanted = np.sqrt((np.asarray(y) ** 2).sum(axis=axis, keepdims=keepdims))
                    assert got.shape == wanted.shape
                    np.testing.assert_allclose(got, wanted, rtol=1e-10)
        """,
    )


@pytest.mark.parametrize(
    ("shape", "axis", "grid"),
    [((1000,), None, 1), ((30, 100), 0, 4), ((30, 100), 1, 8), ((2, 1024), 1, 2), ((512, 64), 0, 2)],
)
def test_blocks_are_as_cupy_takes_them(tmp_path, shape, axis, grid):
    """A block makes 1, 32, 4 (the power of two in 512 / 100), 1 and 32 results."""
    (launch,) = recorded(tmp_path, f"norm(cp.zeros({shape}, cp.float32), axis={axis})").launches
    assert launch.grid == (grid, 1, 1)


@pytest.mark.exhaustive  # the headers of complex numbers take seconds
def test_complex_numbers_are_multiplied(tmp_path):
    recorded(
        tmp_path,
        """\
        product = cp.ReductionKernel("T x", "T y", "x", "a * b", "y = a", "1", "product")
        assert product(cp.full(4, 1j, dtype=cp.complex64)) == 1
        """,
    )


def test_types_several_inputs_identities_and_outputs(tmp_path):
    recorded(
        tmp_path,
        """\
        total = cp.ReductionKernel("T x, S mask", "T y", "mask ? x : 0", "a + b", "y = a", "0", "total")
        m = cp.arange(96, dtype=cp.float64).reshape(32, 3)
        chosen = a[:, None] > 15
        assert (total(m, chosen, axis=0) == (m * chosen).sum(axis=0)).all()
        dot = cp.ReductionKernel("float32 a, float32 b", "float64 c", "a * b", "a + b", "c = a", "0", "dot", "double")
        assert dot(a, a).dtype == cp.float64 and dot(a, 2) == 2 * a.sum()
        largest = cp.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", "-1", "largest")
        out = cp.zeros((), cp.int64)
        assert largest(cp.arange(2000), out=out) is out and out == 1999
        assert largest(cp.zeros(0, cp.int32)) == -1
        product = cp.ReductionKernel("T x", "T y", "x", "a * b", "y = a", "1", "product")
        assert product(cp.full(4, 3)) == 81
        assert product(cp.full(4, 2, dtype=cp.float16)) == 16
        code = "struct Pair { float x; int k; __device__ Pair() : x(-1), k(-1) {}"
        code += "__device__ Pair(float x, int k) : x(x), k(k) {} };"
        code += "__device__ Pair larger(Pair p, Pair q) { return p.x < q.x ? q : p; }"
        where = cp.ReductionKernel(
            "float32 x", "int32 k", "Pair(x, _J)", "larger(a, b)", "k = a.k", None, "where", "Pair", preamble=code
        )
        assert where(cp.asarray([3, 9, 4], dtype=cp.float32)) == 1
        ends = cp.ReductionKernel("raw T x, int64 i", "T y", "x[x.size() - 1 - i]", "a + b", "y = a", "0", "ends")
        assert ends(a, cp.arange(2)) == 61
        """,
    )


def test_calls_that_cupy_refuses(tmp_path):
    for call, what in [
        ("norm(a, a, a)", "Wrong number of arguments for l2norm"),
        ("norm(a, cp.zeros(3, cp.float32))", r"Out shape is mismatched: \(3,\) \(\)"),
        ("norm(1.0)", "Loop size is undecided"),
        ("norm(a, axis=1)", "axis 1 is out of bounds"),
        ("norm(a, axis=(0, 0))", "repeated axis"),
        (
            "cp.ReductionKernel('T x', 'T y', 'x', 'min(a, b)', 'y = a', None, 'least')(a[:0])",
            "zero-size array to reduction operation least which has no identity",
        ),
    ]:
        with pytest.raises(KernelFileError, match=what):
            recorded(tmp_path, call)
