"""What Numba compiles for CUDA runs in lockstep: constructs met in public scripts, each written anew."""

import numpy as np
import pytest
from helpers.accepted import HEAD, LANE, kernel, script

from smemviz.errors import SmemvizError


def refused(folder, body, before=""):
    with pytest.raises(SmemvizError) as caught:
        kernel(folder, body, before)
    return str(caught.value)


# --- names


@pytest.mark.parametrize(
    ("imported", "cuda", "numba"),
    [
        ("import numba.cuda", "numba.cuda", "numba"),
        ("import numba", "numba.cuda", "numba"),
        ("import numba.cuda as gpu", "gpu", "numba"),
        ("from numba import cuda as gpu", "gpu", "numba"),
        ("import numba as nb", "nb.cuda", "nb"),
    ],
)
def test_numba_cuda_goes_by_any_name(tmp_path, imported, cuda, numba):
    body = f"""
    i = {cuda}.grid(1)
    tile = {cuda}.shared.array(32, {numba}.float32)
    tile[i] = i
    {cuda}.syncthreads()
    out[i] = tile[31 - i]
    """
    assert np.array_equal(kernel(tmp_path, body, imported, f"@{cuda}.jit"), LANE[::-1])


def test_names_of_a_module_may_begin_with_an_underscore(tmp_path):
    (tmp_path / "apart.py").write_text(
        "from numba import cuda\n_TWO = 2\n\n@cuda.jit(device=True)\ndef _double(x):\n    return x * _TWO\n"
    )
    found = kernel(tmp_path, "i = cuda.grid(1)\nout[i] = apart._double(i) + apart._TWO", "import apart")
    assert np.array_equal(found, 2 * LANE + 2)


OF_THE_HOST = """
assert cuda.detect()
free, total = cuda.current_context().get_memory_info()
assert 0 < free <= total
assert cuda.current_context().device.compute_capability == (9, 0)
with cuda.gpus[0] as device:
    assert len(cuda.gpus) == 1 and cuda.gpus.current.id == cuda.gpus.lst[0].id == 0
device = cuda.get_current_device()
assert device.COMPUTE_CAPABILITY == (9, 0) and device.MULTIPROCESSOR_COUNT == 132
assert device.MAX_THREADS_PER_MULTIPROCESSOR == 2048 and device.CLOCK_RATE > 0
device.reset()
a = cuda.to_device(np.arange(12.0).reshape(1, 12))
assert a.alloc_size == 96 and a.squeeze().shape == (12,)
assert [part.copy_to_host().sum() for part in a.squeeze().split(6)] == [15.0, 51.0]
"""


def test_what_a_kernel_of_public_scripts_computes(tmp_path):
    math = "from cmath import exp\nfrom numpy import log2\nfrom math import floor"
    host = "@numba.njit\ndef f(x):\n    return x + 1\n\ng = cuda.jit(device=True)(f)"
    row = "tile = cuda.shared.array((32, 3), float32)\ntile[i] = i, i + 1, i + 2\nown = cuda.local.array(2, float32)\n"
    for body, before, wanted in [
        ("out[i] = exp(1j * i).real + log2(floor(4.5))", math, np.cos(LANE) + 2),
        ("out[i] = f(i) + g(i)", host, 2 * LANE + 2),  # a host function of Numba becomes a device function
        ("for j in range(math.ceil(i / 2)):\n    out[i] += 1", "", np.ceil(LANE / 2)),
        ("for j in range(1.9, 3.9, 1.0):\n    out[i] += 100 * j", "", np.full(32, 300)),  # j is 1 and 2
        ("for j in range(*((0, 3), (3, 5))[i % 2]):\n    out[i] += j", "", np.where(LANE % 2 == 0, 3, 7)),
        (f"{row}own[:] = (5.0, 6.0)\nout[i] = tile[i, 0] * tile[i, 2] + own[1]", "", LANE * (LANE + 2) + 6),
        ("breakpoint()\nout[i] = i", "", LANE),  # stops nothing
        ("out[i] = i", OF_THE_HOST, LANE),
    ]:
        assert np.allclose(kernel(tmp_path, f"i = cuda.grid(1)\n{body}", before), wanted), body


def test_what_is_linked_in_does_not_matter_until_it_is_called(tmp_path):
    before = "far = cuda.declare_device('far', 'float32(float32)')"
    found = kernel(tmp_path, "i = cuda.grid(1)\nout[i] = i", before, "@cuda.jit(link=['far.cu'])")
    assert np.array_equal(found, LANE)
    assert "far(...) is not executed in lockstep" in refused(tmp_path, "out[0] = far(1.0)", before)


# --- shapes


def test_a_shape_is_what_numba_knows_when_it_compiles(tmp_path):
    for before, shape in [
        ("pass", "32 + 2"),
        ("pass", "(4 * 8, 16 + 1)"),
        ("h, w = 32, 7", "(h, w)"),
        ("h = TILE", "(h, h)"),
        ("h = w = 32", "(h, w)"),
        ("h = 32\nw = h", "(h, w)"),
        ("shape = (32, 7)", "shape"),
        ("shape = (32, 7)", "shape[0]"),
        ("h, w = SIZES", "(h, w)"),
        ("pass", "SIZES[0]"),
        ("h = 32\nif cuda.blockIdx.x > 5:\n    h = 32", "h"),
        ("h: int = 32", "h"),
        ("pass", "-(-32)"),
    ]:
        body = f"{before}\ntile = cuda.shared.array({shape}, float32)\ni = cuda.grid(1)\nout[i] = tile.shape[0]"
        found = kernel(tmp_path, body, "TILE = 32\nSIZES = (32, 7)")
        assert set(found) == {34.0 if shape == "32 + 2" else 32.0}


def test_a_shape_that_numba_would_not_take_is_refused(tmp_path):
    for shape in ["TILE + 2", "out.size", "h", "int(32)", "SIZES[i]"]:
        body = f"i = cuda.grid(1)\nh = TILE * 2\ntile = cuda.shared.array({shape}, float32)\nout[i] = tile[0]"
        assert "cuda.shared.array needs a constant shape, in Numba too" in refused(
            tmp_path, body, "TILE = 32\nSIZES = (32, 7)"
        )


def test_a_parameter_s_name_can_be_given_to_another_array(tmp_path):
    text = f"""{HEAD}
@cuda.jit
def kernel(out, a, n):
    i = cuda.grid(1)
    first = a[i]
    a = cuda.local.array(4, float32)
    a[1] = first
    n = cuda.shared.array((32, 2), float32)
    n[i, 0] = a[1]
    for k in range(3):
        n[i, 0] += 1
    out[i] = n[i, 0]

out = np.zeros(32)
kernel[1, 32](out, np.arange(32), 5)
assert np.array_equal(out, np.arange(32) + 3)
"""
    sites = script(tmp_path, text).launches[0].sites
    assert {site.source: (site.array, site.space) for site in sites} == {
        "a[i]": ("a", "global"),
        "n[i, 0]": ("n", "shared"),
        "out[i]": ("out", "global"),
    }


def test_one_name_for_two_kinds_of_array_in_a_branch_is_refused(tmp_path):
    body = """
    i = cuda.grid(1)
    if i > 3:
        out = cuda.local.array(4, float32)
    out[0] = i
    """
    assert "one name stands for two kinds of array" in refused(tmp_path, body)


# --- numbers


def test_a_float_from_text(tmp_path):
    assert np.array_equal(kernel(tmp_path, "out[cuda.grid(1)] = float('inf')"), np.full(32, np.inf))
    assert "float('x') is not a number" in refused(tmp_path, "out[0] = float('x')")


# --- rows


def test_a_row_takes_no_tuple_that_numba_would_not_store(tmp_path):
    before = "tile = cuda.shared.array((32, 3), float32)\ntile[0] = "
    assert "takes a tuple of numbers of one type" in refused(tmp_path, f"{before}1, 2.0, 3")
    assert "tile[0] has 3 elements; 2 are given" in refused(tmp_path, f"{before}1, 2")


def test_a_row_is_unpacked(tmp_path):
    text = f"""{HEAD}
@cuda.jit
def kernel(out, points):
    i = cuda.grid(1)
    x, y = points[i]
    for a, b in points:
        out[i] += a * b
    out[i] += 1000 * x + y

out, points = np.zeros(32), np.arange(64.0).reshape(32, 2)
kernel[1, 32](out, points)
assert np.array_equal(out, (points[:, 0] * points[:, 1]).sum() + 1000 * points[:, 0] + points[:, 1])
"""
    launch = script(tmp_path, text).launches[0]
    rows = zip(launch.sites, launch.summary(), strict=True)
    requests = {(site.source, site.line): row.requests for site, row in rows if site.op == "load"}
    assert requests == {("points[i]", 10): 2, ("points", 11): 64, ("out[i]", 12): 32, ("out[i]", 13): 1}
    assert "tile[0] has 3 items for 2 names" in refused(
        tmp_path, "tile = cuda.shared.array((32, 3), float32)\nx, y = tile[0]\nout[0] = x + y"
    )


# --- the host


def test_globals_that_stay_as_they_were_are_not_said_to_have_changed(tmp_path):
    text = f"""{HEAD}
x = 1
NONE = float("nan")
TABLE = np.array([1.0, np.nan])

@cuda.jit
def kernel(out):
    i = cuda.threadIdx.x
    out[i] = NONE if i else TABLE[0]

kernel[1, 32](np.zeros(32))
x = 2
kernel[1, 32](np.zeros(32))
"""
    assert len(script(tmp_path, text).launches) == 2
