"""Kernels on ``datetime64`` and ``timedelta64``: what Numba compiles for CUDA runs and gives the same."""

import numpy as np
import pytest
from helpers.interpreted_ptx import compiles, ptx_of, run_ptx
from helpers.lockstep_text import HEAD, launch_text

from smemviz.errors import UnsupportedError

RUN = [
    "out[i] = t[i] < t[0]",
    "out[i] = d[i] < d[0]",
    "out[i] = d[i] == d[6]",
    "out[i] = d[i] != d[6]",
    "out[i] = d[i] <= e[i]",
    "out[i] = d[i] == e[i]",
    "out[i] = t[i] == u[i]",
    "out[i] = t[i] != u[i]",
    "out[i] = t[i] >= u[i]",
    "ts[i] = t[i] + t[0]",
    "tms[i] = t[i] + u[i]",
    "tms[i] = t[i] - u[i]",
    "ts[i] = -t[i]",
    "ts[i] = +t[i]",
    "ts[i] = abs(t[i])",
    "ts[i] = t[i] * n[i]",
    "ts[i] = n[i] * t[i]",
    "ts[i] = t[i] * 1.5",
    "ts[i] = t[i] / 2",
    "ts[i] = t[i] / 2.5",
    "ts[i] = t[i] // 2",
    "out[i] = t[i] / t[1]",
    "out[i] = t[i] / u[i]",
    "ds[i] = d[i] + t[i]",
    "ds[i] = e[i] - t[i]",
    "ds[i] = t[i] + e[i]",
    "ts[i] = d[i] - e[i]",
    "dd[i] = d[i]",
    "k[i] = int(t[i])",
    "k[i] = np.int64(t[i])",
    "out[i] = np.isnat(t[i])",
    "x = t[i] if i > 2 else t[0]\nts[i] = x",
    "x = t[i]\nx += t[1]\nts[i] = x",
    "ts[i] += t[i]",
    "ts[i] = max(t[i], t[0])",
    "ds[i] = max(e[i], e[0])",
    "ts[i] = t[2] + t[1] * 3 - t[0]",
    "s = t[0]\nfor q in range(3): s = s + t[q]\nts[i] = s",
    "k[i] = t.view(np.int64)[i]",
    "ts[i] = T0 + t[i]",
    "ds[i] = D0 + t[i]",
    "out[i] = D0 < d[i]",
    "for v in t:\n    if v == t[i]:\n        out[i] += 1",
    "k[i] = t.size + t.shape[0]",
    "out[i] = (t[i] - T0) / T0",
    "out[i] = np.isnan(t[i])",
    "k[i] = k[i] if t[i] > t[0] else n[i]",
    "k[i] = int(u[i]) + int(t[i])",
    "out[i] = t[i] in (t[0], t[1])",
    "x, y = t[i], u[i]\ntms[i] = x + y",
    "ts[i] = t[i] * np.float32(0.5)",
    "ts[i] = t[i] * np.uint8(2)",
    "ts[i] = 2.5 * t[i]",
    "ts[i] = t[i] / np.float32(0.3)",
    "ts[i] = t[i] / n[i]",
    "ts[i] = t[i] // n[i]",
    "ts[i] = t[i] / 0.0",
    "tms[i] = u[i] * n[0]",
    "w = cuda.local.array(3, np.int64)\nw[0] = int(t[i])\nk[i] = w[0]",
    "out[i] = d[i] > e[0]",
    "ts[i] *= 2",
    "ts[i] -= t[0]",
    "ts[cuda.threadIdx.x] = -t[i] * 2",
]
REFUSED = [
    "out[i] = t[i] // t[0]",
    "out[i] = t[i] // u[i]",
    "ts[i] = t[i] % t[0]",
    "ts[i] = d[i] - d[0]",
    "ds[i] = d[i]",
    "dd[i] = e[i]",
    "ts[i] = u[i]",
    "tms[i] = t[i]",
    "ts[i] = n[i]",
    "ts[i] = 5",
    "k[i] = t[i]",
    "k[i] = d[i] - d[0]",
    "out[i] = t[i]",
    "out[i] = 1 if t[i] else 0",
    "out[i] = d[i] + 1",
    "ts[i] = t[i] + 1",
    "out[i] = t[i] == 5",
    "ts[i] = np.timedelta64(3, 's')",
    "cuda.atomic.add(ts, 0, t[i])",
    "ts[i] = math.sqrt(t[i])",
    "ts[0] = t[i] ** 2",
    "ts[i] = t[i] & t[0]",
    "ts[i] = min(t[0], u[1])",
    "ts[i:i+1] = t[i:i+1]",
    "ts[i] = t[i].astype('m8[s]')",
    "out[i] = (d[i] - D0) / np.timedelta64(1, 'D')",
    "x = t[i]\nif i > 3: x = u[i]\ntms[i] = x",
    "out[i] = not t[i]",
    "ts[i] = np.maximum(t[i], t[0])",
    "out[i] = np.less(t[i], t[0])",
    "out[i] = np.equal(d[i], d[0])",
    "ts[i] = np.fmin(t[i], t[0])",
    "out[i] = np.sign(t[i])",
    "ts[i] = np.abs(t[i])",
    "ts[i] = np.negative(t[i])",
    "out[i] = int(d[i])",
    "out[i] = float(t[i])",
    "out[i] = np.float64(t[i])",
    "k[i] = np.int32(t[i])",
    "ts[i] = round(t[i])",
    "ts[i] = t[i] * True",
    "out[0] = t.dtype == u.dtype",
    "k[i] = cuda.shfl_sync(0xffffffff, t[i], 0)",
    "out[i] = d[i] == t[i]",
    "out[i] = t[i].view(np.int64)",
    "ts[i] = cuda.selp(i > 2, t[i], t[0])",
    "k[i] = hash(t[i])",
]
DAYS = ("2020-01-01", "2020-03-05", "1969-12-30", "NaT", "2024-02-29", "1900-01-01", "2020-01-01", "2262-01-01")
MOMENTS = ("2020-01-01T00:00:01", "2020-03-05", "1969-12-31T23", "2000-01-01", "NaT", "1900-01-01", "2020-01-01")


def arguments():
    days, moments = np.array(DAYS, "M8[D]"), np.array([*MOMENTS, "2001-01-01"], "M8[s]")
    seconds = np.array([5, -7, 0, "NaT", 100, -100, 3, 86400], "m8[s]")
    millis = np.array([3, 2, -1, 4, "NaT", 0, 7, -5], "m8[ms]")
    results = (np.zeros(8, dtype) for dtype in ("f8", "m8[s]", "m8[ms]", "M8[s]", "M8[D]", "i8"))
    return [days, moments, seconds, millis, np.arange(8) - 3, *results]


def kernel(lines):
    body = "\n".join(f"    {line}" for line in lines.splitlines())
    head = "T0 = np.timedelta64(90, 's')\nD0 = np.datetime64('2019-12-31')\n"
    return f"{head}@cuda.jit\ndef kernel(d, e, t, u, n, out, ts, tms, ds, dd, k):\n    i = cuda.grid(1)\n{body}\n"


def run(lines):
    given = arguments()
    _, findings = launch_text(kernel(lines), *given, block=8)
    assert findings == ()
    return given


@pytest.mark.parametrize(
    ("lines", "place", "wanted"),
    [
        ("ts[i] = d[i] - e[i]", 6, lambda d, e, t, u, n: d - e),
        ("tms[i] = t[i] - u[i]", 7, lambda d, e, t, u, n: t - u),
        ("ds[i] = t[i] + d[i]", 8, lambda d, e, t, u, n: t + d),
        ("ts[i] = n[i] * t[i] / 2", 6, lambda d, e, t, u, n: n * t / 2),
        ("out[i] = t[i] / u[1]", 5, lambda d, e, t, u, n: t / u[1]),
        ("out[i] = (d[i] < e[i]) + 2 * (t[i] != u[i]) + 4 * np.isnat(t[i])", 5, None),
        ("ts[i] = T0 - t[i] if D0 < d[i] else -t[i]", 6, None),
    ],
)
def test_times_are_computed_with(lines, place, wanted):
    days, moments, seconds, millis, numbers, *_ = arguments()
    if wanted is None and place == 5:
        expected = (days < moments) + 2.0 * (seconds != millis) + 4 * np.isnat(seconds)
    elif wanted is None:
        later = np.datetime64("2019-12-31") < days
        expected = np.where(later, np.timedelta64(90, "s") - seconds, -seconds)
    else:
        expected = wanted(days, moments, seconds, millis, numbers)
    np.testing.assert_array_equal(run(lines)[place], expected)


@pytest.mark.parametrize("lines", RUN)
def test_what_numba_compiles_runs(lines):
    run(lines)


@pytest.mark.parametrize("lines", REFUSED)
def test_what_numba_refuses_is_refused_in_one_line(lines):
    with pytest.raises(UnsupportedError, match=r"Numba (does not compile it|has no)|not numbers of one size") as caught:
        run(lines)
    assert "\n" not in str(caught.value)


def test_times_are_recorded_as_the_integers_that_they_are():
    launch, _ = launch_text(kernel("ts[i] = t[i]"), *arguments(), block=8)
    assert {(site.dtype, site.width) for site in launch.sites} == {("int64", 8)}
    assert {array.dtype for array in launch.arrays if array.name in ("d", "ts")} == {"int64"}


def test_a_moment_is_an_argument():
    given = np.arange(4).astype("M8[D]")
    text = "@cuda.jit\ndef kernel(days, first, more):\n    days[cuda.grid(1)] = first + more\n"
    launch_text(text, given, np.datetime64("2024-02-28"), np.timedelta64(2, "D"), block=4)
    assert set(given) == {np.datetime64("2024-03-01")}


@pytest.mark.exhaustive
@pytest.mark.skipif(not compiles(), reason="needs numba-cuda and NVVM, which compile for a GPU without one")
@pytest.mark.parametrize("lines", [*RUN, *REFUSED])
def test_numba_compiles_it_to_what_gives_the_same(lines):
    given = arguments()
    try:
        ptx = ptx_of(HEAD + kernel(lines), given)
    except Exception:  # Numba's are of many kinds
        assert lines in REFUSED
        return
    assert lines in RUN
    run_ptx(ptx, given)
    assert [array.tobytes() for array in given] == [array.tobytes() for array in run(lines)]
