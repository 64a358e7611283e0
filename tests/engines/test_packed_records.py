"""Fields of records without ``align=True``, which Numba loads and stores byte by byte: as many requests are counted."""

import re
from collections import Counter
from importlib.util import find_spec

import numpy as np
import pytest
from helpers.lockstep_text import body
from helpers.packed_records import ALIGNED, PACKED, THREADS, over_records, records_of
from helpers.tiers import one_in

import smemviz
from smemviz.model.counting.summary import totals_of
from smemviz.wording.explanations import explain

compiling = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="needs numba-cuda, which compiles")

_HEAD = """
import numpy as np
from numba import cuda
{types}
@cuda.jit
def kernel(a, out):
    s = cuda.shared.array(64, R)
    i = cuda.grid(1)
    {text}
"""
# Numba takes a record within others for one that differs in nothing but its alignment and was compiled before, so those
# that are aligned have a field more.
_TYPES = {
    "pair": 'R = np.dtype([("x", "f4"), ("y", "i4"){more}]{align})',
    "wide": 'R = np.dtype([("y", "f8"), ("x", "i8"){more}]{align})',
    "short": 'R = np.dtype([("y", "i2"), ("x", "f2"){more}]{align})',
    "flags": 'R = np.dtype([("x", "u1"), ("y", "b1"){more}]{align})',
    "items": 'R = np.dtype([("y", "f4", (2,)), ("x", "i4"){more}]{align})',
    "complex": 'R = np.dtype([("y", "c8"), ("x", "c8")]{align})',
    "nested": 'I = np.dtype([("p", "f4"), ("q", "f4"){more}]{align})\nR = np.dtype([("y", I), ("x", "i4")]{align})',
    "in aligned": 'I = np.dtype([("p", "f4"), ("u", "f4")])\nR = np.dtype([("y", I), ("x", "i4")], align=True)',
    "of aligned": 'I = np.dtype([("p", "f4"), ("w", "f4")], align=True)\nR = np.dtype([("y", I), ("x", "i4")])',
}
_NUMBERS = {
    "stored in shared memory": "s[i].x = i",
    "loaded and stored": "s[i].y = a[i].x",
    "loaded from another record": "a[i].y = a[i + 1].y",
    "the name in brackets": 'a[i]["x"] = a[i + 2]["y"]',
    "of the array of a field": "a.x[i] = a.y[i + 1]",
    "of a row of it": "a.x[3:][i] = a['y'][1:][i]",
    "updated": "s[i].x += 3",
    "updated in the array of a field": "s.x[i] += 3",
    "unpacked": "p, q = a.x[:2]\n    out[i] = p + q",
    "through a record of its own name": "r = a[i]\n    r.x = r.y",
    "to two targets": "a[i].x = s[i].y = i",
    "by caches": "cuda.stcg(a.x, i, cuda.ldcg(a.y, i))",
    "viewed as numbers": "s.view(np.int32)[i] = a.view(np.int32)[2 * i]",
}
_OTHERS = {
    "items": ("s[i].y[1] = a[i].y[0]", "a.y[i, 1] = i", "a[i].y[1] += 2", "a[i].x = s[i].x"),
    "complex": ("a[i].y = a[i + 1].x", "a.y[i] = a.x[i + 1]"),
    "flags": ("a[i].x = i", "a[i].y = i > 2"),
    "nested": ("s[i].y.p = a[i].y.q", "a.y.p[i] = a.y.q[i + 1]", "a.y[i].p = a['y'][i + 1].q"),
    "in aligned": ("s[i].y.p = a[i].y.u", "a.y.p[i] = a.y.u[i + 1]", "a.y[i].p = 2", "a[i].x = 1"),
    "of aligned": ("s[i].y.p = a[i].y.w", "a.y.p[i] = a.y.w[i + 1]", "a.y[i].p = 2", "a[i].x = 1"),
}
_PACKED, _ALIGNED = {"align": "", "more": ""}, {"align": ", align=True", "more": ', ("more", "i4")'}


def cases():
    """Give the definition of a type and a line of a kernel, for every kind of field and way to reach one."""
    for name in ("pair", "wide", "short"):
        for how, text in _NUMBERS.items():
            if name == "pair" or not ("view" in text or (name == "short" and "cuda." in text)):
                for kind, words in (("packed", _PACKED), ("aligned", _ALIGNED)):
                    yield pytest.param(_TYPES[name].format(**words), text, id=f"{kind} {name}, {how}")
    for name, texts in _OTHERS.items():
        kinds = {name: _PACKED} if "aligned" in name else {f"packed {name}": _PACKED, f"aligned {name}": _ALIGNED}
        for kind, words in kinds.items():
            for text in texts:
                yield pytest.param(_TYPES[name].format(**words), text, id=f"{kind}, {text}")


_ACCESS = re.compile(r"^\s*(?:@\S+\s+)?(ld|st)\.(?!param|local)\S*?(v2|v4)?\.?[a-z](\d+)\s", re.MULTILINE)


def in_ptx(types, text, dtype):
    """Return how often Numba's PTX loads and stores how many bytes."""
    from helpers.interpreted_ptx import ptx_of

    ptx = ptx_of(_HEAD.format(types=types, text=text), [np.zeros(64, dtype), np.zeros(64, np.float32)])
    return Counter((op, int(bits) // 8) for op, _, bits in _ACCESS.findall(ptx))


def counted(launch):
    """Return how often a warp loads and stores how many bytes."""
    ops = {"load": "ld", "store": "st"}
    sites = [launch.sites[k] for k in launch.requests.site[launch.requests.warp == 0]]
    found = Counter()
    for site in sites:
        halves = 2 if site.dtype.startswith("c") and site.pieces == 1 else 1  # which Numba moves one by one
        found[ops[site.op.partition("_")[0]], site.width // halves] += halves
    return found


@compiling
@pytest.mark.parametrize(("types", "text"), one_in(4, cases()))
def test_as_many_accesses_are_counted_as_numba_compiles(types, text):
    scope = {"np": np}
    exec(types, scope)
    arguments = np.zeros(64, scope["R"]), np.zeros(64, np.float32)
    whole = f"s = cuda.shared.array(64, R)\ni = cuda.grid(1)\n{text.replace(chr(10) + '    ', chr(10))}"
    launch, _ = body(whole, *arguments, parameters="a, out", before=types + "\n", harmless=True)
    assert counted(launch) == in_ptx(types, text, scope["R"])


@compiling
@pytest.mark.parametrize(
    "dtype", [pytest.param(PACKED, id="packed", marks=pytest.mark.exhaustive), pytest.param(ALIGNED, id="aligned")]
)
def test_the_gpu_engine_counts_what_lockstep_counts(dtype):
    from helpers.interpreted_ptx import passes_of

    ours, theirs = ((records_of(dtype), np.zeros(THREADS)) for _ in range(2))
    passes = passes_of(over_records, 1, THREADS, ours)
    totals = passes.count()
    (launch,) = smemviz.record(over_records, 1, THREADS, theirs, engine="lockstep").launches
    expected = totals_of(launch.sites, launch.requests)
    assert passes.sites == launch.sites
    for name in ("requests", "wavefronts", "ideal", "sectors", "degrees"):
        np.testing.assert_array_equal(getattr(totals, name), getattr(expected, name))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)
    written, _ = passes.write(np.ones(2, np.bool_), int(totals.requests.sum()), ())
    order = [np.lexsort((of.addresses.max(axis=1), of.warp, of.site)) for of in (written, launch.requests)]
    for name in ("site", "warp", "values"):
        one, other = (getattr(of, name)[by] for of, by in zip((written, launch.requests), order, strict=True))
        np.testing.assert_array_equal(one, other)


def test_an_explanation_says_why_a_field_takes_several_requests():
    for dtype, is_said in [(PACKED, True), (ALIGNED, False)]:
        with smemviz.recording() as recorded:
            over_records[1, THREADS](records_of(dtype), np.zeros(THREADS))
        (launch,) = recorded.launches
        said = "Numba accesses the 4 bytes of this field one by one, as its records are packed"
        assert any(said in explained.because for explained in explain(launch)) == is_said
