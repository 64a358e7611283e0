"""Sums, means and extremes of arrays in a kernel: what they give is what Numba gives, and what they load is counted."""

from functools import cache

import numba
import numpy as np
import pytest
from helpers.lockstep_text import START, body
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from smemviz.frontends.numba.methods import FUNCTIONS, METHODS

OF_ALL = ("sum", "prod", "mean", "var", "std", "any", "all", "argmax", "argmin")
BY_NAME_ALONE = ("average", "count_nonzero", "nanmean", "nanprod", "nanstd", "nansum", "nanvar")
DTYPES = ("bool", "int8", "uint8", "int32", "uint32", "int64", "float32", "float64")
QUICK = ("int8", "float32")
# Compiling takes most of the time. Flat, an array of any shape is of one type to Numba.
HOW = pytest.mark.parametrize(
    ("quick", "given_to_numba"), [(True, np.ravel), (False, np.asarray)], ids=["flat", "as it is"]
)


@cache
def by_numba(code):
    """Return what Numba makes of an expression of an array ``a``."""
    return numba.njit(eval(f"lambda a: {code}", {"np": np}))


def all_of(names):
    return f"({', '.join(f'a.{name}()' for name in names)})"


def in_lockstep(a, codes, dtype="float64"):
    """Return what expressions of an array are worth in a kernel."""
    out = np.zeros(len(codes), dtype)
    text = "\n".join(f"out[{k}] = {code}" for k, code in enumerate(codes))
    _, findings = body(text, a, out, parameters="a, out", block=1)
    assert findings == ()
    return out


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_of_values_that_are_exact_all_are_what_they_are_in_numpy(dtype):
    """What Numba does otherwise than NumPy, in narrow types, is compared below."""
    a = np.array([[4, 2, -1, 7], [0, 3, 2, -1]], dtype)
    codes = [f"a.{name}()" for name in OF_ALL] + [f"np.{name}(a)" for name in (*OF_ALL, *BY_NAME_ALONE)]
    np.testing.assert_array_equal(in_lockstep(a, codes), [float(eval(code, {"a": a, "np": np})) for code in codes])
    a = np.array([-3, 1, 1, 2, 100, 100, 120], dtype)
    codes = ["a.sum(dtype=np.float64)", "np.searchsorted(a, 1)", "np.searchsorted(a, 1.5, 'right')"]
    codes += ["np.digitize(100, a)", "np.digitize(1, a, True)"]
    np.testing.assert_array_equal(in_lockstep(a, codes), [float(eval(code, {"a": a, "np": np})) for code in codes])


def test_every_method_of_the_table_is_compared():
    assert {name.removeprefix("array_") for name in METHODS} == {*OF_ALL, "sum_as"}
    assert {name for name in FUNCTIONS if name.startswith("numpy.")} == {
        *(f"numpy.{name}" for name in (*OF_ALL, *BY_NAME_ALONE)),
        *("numpy.shape", "numpy.size", "numpy.trace", "numpy.sum dtype", "numpy.searchsorted", "numpy.digitize"),
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_sums_in_a_type_and_places_in_sorted_arrays_are_what_they_are_in_numba(dtype):
    a = np.array([-3, 1, 1, 2, 100, 100, 120], dtype)
    codes = ["a.sum(dtype=np.float64)", "np.sum(a, dtype=np.float32)", "a.sum(dtype=np.int8)"]
    codes += [f"np.searchsorted(a, {x})" for x in (-4, 1, 1.5, 120, 121)]
    codes += [f"np.searchsorted(a, {x}, 'right')" for x in (1, 120)]
    codes += [f"np.digitize({x}, a)" for x in (-4, 1, 1.5, 120, 121)] + ["np.digitize(1, a, True)"]
    _assert_equal(a, codes, [by_numba(code)(a) for code in codes])


@pytest.mark.exhaustive
@HOW
@given(data=st.data())
def test_methods_of_arrays_give_what_they_give_in_numba(quick, given_to_numba, data):
    """In values that would not fit a narrower type: sums of bytes, products of integers, sums of 0.1."""
    a = data.draw(_arrays(QUICK if quick else DTYPES, [(1,), (9,), (2, 3), (2, 1, 4)]))
    wanted = by_numba(all_of(OF_ALL))(given_to_numba(a))
    _assert_equal(a, [f"a.{name}()" for name in OF_ALL], wanted)
    _assert_equal(a, [f"np.{name}(a)" for name in OF_ALL], wanted)


@pytest.mark.exhaustive
@HOW
@given(data=st.data())
def test_functions_of_arrays_give_what_they_give_in_numba(quick, given_to_numba, data):
    a = data.draw(_arrays(("int32", "float32") if quick else ("int32", "float32", "float64"), [(9,), (2, 3)]))
    codes = [f"np.{name}(a)" for name in BY_NAME_ALONE]
    _assert_equal(a, codes, by_numba(f"({', '.join(codes)})")(given_to_numba(a)))
    if a.ndim == 2 and a.dtype.kind == "f":
        _assert_equal(a, ["np.trace(a)"], [by_numba("np.trace(a)")(a)])


def _arrays(dtypes, shapes):
    return st.sampled_from(dtypes).flatmap(
        lambda dtype: arrays(dtype, st.sampled_from(shapes), elements=_values(dtype))
    )


def _assert_equal(a, codes, wanted):
    """To single precision where ``a`` has it: Numba for the CPU rounds its mean to that, numba-cuda does not."""
    found, wanted = in_lockstep(a, codes), np.array([float(value) for value in wanted])
    if a.dtype != np.float32:
        np.testing.assert_array_equal(found, wanted)
    else:
        largest = np.abs(a, where=np.isfinite(a), out=np.zeros_like(a)).max()
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7 * largest)


def _values(dtype):
    kind = np.dtype(dtype).kind
    if kind == "f":
        return st.sampled_from([0.1, -0.3, 7.7, 1e6, 0.0, np.nan, np.inf]).map(np.dtype(dtype).type)
    if kind == "b":
        return st.booleans()
    top = int(np.iinfo(dtype).max)
    return st.sampled_from([0, 1, 3, min(top, 100), top // 3])


@pytest.mark.exhaustive
def test_methods_of_complex_arrays_are_those_of_numba():
    """To single precision: Numba for the CPU divides in it, numba-cuda in double precision."""
    names = ("sum", "prod", "mean", "var", "std")
    a = np.array([1 + 2j, 0.1 - 3j, 4], np.complex64)
    wanted = np.array(by_numba(all_of(names))(a))
    np.testing.assert_allclose(in_lockstep(a, [f"a.{name}()" for name in names], "complex128"), wanted, rtol=1e-6)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_functions_of_python_take_arrays_of_one_axis(dtype):
    a = (np.arange(9) % 5 * 25.4).astype(dtype)
    codes = ("sum(a)", "sum(a, 3)", "max(a)", "min(a)", "sum(a[2:6])")
    wanted = [float(by_numba(code)(a)) for code in codes]
    np.testing.assert_array_equal(in_lockstep(a, codes), wanted)


def test_a_part_of_an_array_and_shared_memory_are_gone_through_as_well():
    text = """
        tile = cuda.shared.array((4, 8), float32)
        t = cuda.threadIdx.x
        tile[t // 8, t % 8] = t
        cuda.syncthreads()
        out[t] = tile[1:3, 2:4].sum() + np.sum(tile[t // 8, : t % 8])
    """
    launch, findings = body(text, out := np.zeros(32))
    tile = np.arange(32.0).reshape(4, 8)
    wanted = [tile[1:3, 2:4].sum() + tile[t // 8, : t % 8].sum() for t in range(32)]
    np.testing.assert_array_equal(out, wanted)
    assert findings == ()
    loads = [site for site in launch.sites if site.op == "load"]
    assert [(one.space, one.array, one.calls[0][0]) for one in loads] == [("shared", "tile", START + 6)] * 2
    counted = [int(np.sum(launch.requests.site == launch.sites.index(site))) for site in loads]
    assert counted == [4, 7]  # of the last row's threads the one with the most elements decides


def test_a_shape_may_be_larger_than_any_array():
    text = "for x, y, z in np.ndindex(10**12, 10**12, 3):\n    out[z] += 1\n    if z == 1:\n        break"
    body(text, out := np.zeros(3, np.int64), block=1)
    assert out.tolist() == [1, 1, 0]


def test_every_index_into_a_shape_comes_once_the_last_axis_fastest():
    text = "at = 0\nfor x, y in np.ndindex(n, 3):\n    out[at] = 10 * x + y\n    at += 1"
    body(text, out := np.zeros(9, np.int64), 3, parameters="out, n", block=1)
    assert out.tolist() == [10 * x + y for x, y in np.ndindex(3, 3)]
