"""Loops with parts and other views of arrays that few threads run alone: they leave what lockstep leaves."""

import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import both_ways, note_machine_code
from helpers.lockstep_text import PLACE, body, kernel_of

from smemviz.engines.host import configuration
from smemviz.engines.lockstep import launch as launch_again
from smemviz.engines.options import LaunchOptions

BEFORE = """
TABLE = np.arange(12.0).reshape(3, 4)

@cuda.jit(device=True)
def ends(a, k):
    n = a.shape[0]
    return a[k % n] * 2 + a[::-1][0] + TABLE.T[k & 3, 1]

@cuda.jit(device=True)
def moved(part, k):
    part.y += k
    return weight(part) * part.v[k % 2]

@cuda.jit(device=True)
def weight(part):
    return part.y + part["v"][0]

@cuda.jit(device=True)
def part_of(x):
    return x.real + x.imag
"""
HEAD = """
    i = cuda.threadIdx.x
    s, m, c = cuda.shared.array((8, 6), int32), cuda.local.array(6, float32), cuda.local.array((2, 3), complex64)
    for k in range(6):
        s[i, k], m[k], c[k % 2, k % 3] = k * i, k, complex64(1j * k)
    x = 0.0
"""
PARTS = {
    "arrays that are turned": "x += a.T[i % 5, k % 4] + cube[k % 2].T[1, i % 3] + a.transpose()[k % 5, i % 4]\n"
    "t = cube[1].T\nown.T[i].y = k\nx += t[k % 2, i % 3] + t.shape[0] + len(t) + t.size",
    "other shapes": "x += a.reshape(20)[k % 20] + a.reshape(2, -1)[i % 2, k % 10] + s.reshape(s.size)[6 * i + k % 6]\n"
    "m.reshape((3, 2))[k % 3, 1] = k",
    "other types": "x += real.view(np.int32)[k % 9 + 9] & 255\nreal.view(np.uint16)[2 * i] = k\nx += real[i + 9]",
    "steps": "x += a[::2, 1][k % 2] + real[20 - i : i : -2][k % 4] + real[::-1][k] + a[k % 4, -1::-3][i % 2]\n"
    "x += real[i + 30 :: -1].size + real[5 : i - 30 : 2].size + s[i, 4:1:-1][k % 3]",
    "dots": "x += cube[k % 2, ..., 1][i % 3] + cube[..., i % 2][1, k % 3] + a[..., 2][k % 4]\n"
    "m[...] = k\nx += m[i % 6]",
    "arrays of the module": "x += TABLE[k % 3, i % 4] + TABLE[1][k % 4] + cuda.const.array_like(TABLE)[i % 3, k % 4]",
    "arrays in tuples": "x += both[0][k % 8] + both[1].T[k % 2, 1]\nboth[0][i + 8] = x",
    "numbers of elements": "x += a.flat[k % 20] + cube.flat[7 - k % 5]\ncube.flat[i] = k\nfor v in a.flat:\n    x += v",
    "all elements of a part": "s[i, :] = k\nm[:] = x\nm[1:3] = i\na[i % 4, i // 4 :: 2] = 3\nc[k % 2] = k * 1j\n"
    "c[:, 1] = 1\nx += s[i, k % 6] + m[k % 6] + c[1, k % 3].imag + abs(c[0, 1])",
    "a tuple in a part": "m[1:3] = (k, i)\ns[i, ::3] = k, i\nm[:1] = (7.5,)\nx += m[k % 3] + s[i, 3]",
    "every index": "for p, q in np.ndindex(2, i % 3):\n    x += p * q + a[p, q]\n"
    "for at in np.ndindex(cube.shape):\n    x += cube[at]\nfor one in np.ndindex(i):\n    x += real[one] + one[0]",
    "elements with their indices": "for (p, q), v in np.ndenumerate(a):\n    x += v * p - q\n"
    "for at, v in np.ndenumerate(real[i : i + 3]):\n    x += v + at[0]",
    "elements together": "p, q, r, t, _ = a[k % 4]\nx += p - q * t\nu, v = s[i, 2:4]\nx += u + v",
    "a name for several": "v = a[k % 4]\nx += v[1] * i\nif k > i:\n    v = a[i % 4, 1:]\n    x += v[2] * k\n"
    "for u in a: x += u[i % 5]\nfor w, u in enumerate(a[1:]): x += u[w]",
    "a name for what was before": "v = a[k % 4]\nif k > i:\n    v = a[i % 4]\nx += v[1] * i",
    "records": "r = parts[(i + k) % 9]\nx += r.y + r.v[k % 2] + parts[k % 9].v[1]\nq = own[i]\nq.y = k\nq.v[1] = x",
    "records in functions": "r = own[i]\nx += moved(r, k) + weight(parts[k % 9]) + moved(own[i], i)",
    "sums": "x += a[i % 4].sum() + real[k:].argmax() + cube.mean() + a.argmin() + a[k % 4, 1:3].prod() + real.var()",
    "sizes": "x += a.nbytes + a.strides[0] + a.itemsize + len(a[1:]) + a[1, 2:].size + a[k % 4, 1].item()",
    "a function": "x += ends(a[k % 4], i) + ends(real[::3], k) + ends(a.T[1], 2) + part_of(x) + part_of(k + 1j)",
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_arrays(monkeypatch, name, way):
    made = note_machine_code(monkeypatch) if "machine" in way else [True]
    alone, interpreted, ran = both_ways(monkeypatch, launch_of(PARTS[name]))

    assert alone == interpreted
    assert len(interpreted) > 2  # what it left behind, and no message
    assert ran > 1 or "before" in name
    assert made
    assert all(made)


def launch_of(lines, block=5):
    text = f"{textwrap.dedent(HEAD)}for k in range(20):\n{textwrap.indent(lines, '    ')}\nout[i] = x"

    def launch():
        rng = np.random.default_rng(3)
        record = np.dtype([("y", np.float64), ("v", np.float64, 2)], align=True)
        parts, own, both = np.ones(9, record), np.zeros(8, record), (rng.random(16), rng.random((2, 2)))
        parts["v"] = rng.random((9, 2))
        arrays = rng.integers(1, 9, (4, 5)), rng.random((2, 3, 2)), np.arange(0.5, 24, dtype=np.float32)
        out = np.zeros(8)
        given = {
            "before": BEFORE,
            "parameters": "out, a, cube, real, both, parts, own",
            "harmless": True,
            "block": block,
        }
        return body(text, out, *arrays, both, parts, own, **given), out, *arrays, *both, own["y"], own["v"]

    return launch


WRONG = {
    "a number behind the end": "x += a.flat[i + 4 * k]",
    "a number below 0": "x += a.flat[i - k] + real.flat[i - k]",
    "an index behind the end": "x += a.T[k, i] + real[::2][4 * k]",
    "an index behind the end, another from there": "x += a[-2, k + i] + cube[-1, k % 3 + i][1]",
    "a record that is not there": "r = parts[k + i]\nx += 1",
    "a field that is not there": "x += parts[k + i].v[1] + parts[0].v[k]",
    "no record for a function": "x += weight(parts[k + i])",
    "too few": "m[i : k + 1] = (k, i)",
    "too many": "p, q, r = a[k % 4, 5 - k :]\nx += p",
    "what others have stored": "s[(i + k) % 5, :2] = k\ncube[0] = i",
}


@pytest.mark.parametrize("lines", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("block", [1, 5])
@pytest.mark.usefixtures("way")
def test_parts_that_are_wrong(monkeypatch, lines, block):
    alone, interpreted, _ = both_ways(monkeypatch, launch_of(lines, block))

    assert alone == interpreted
    assert interpreted[1] or isinstance(interpreted[0], str) or block == 1


AGAIN = """
    @cuda.jit(device=True)
    def first(t, k):
        return t.T[k % t.shape[1], 0]

    @cuda.jit
    def kernel(out, a, both, b):
        i = cuda.grid(1)
        x = 0.0
        for k in range(30):
            x += a.T[k % 2, i % 2] + both[0][k % 3] + b.view(np.int32)[k % 2] + first(a, k) + a[::-1, ::2][1, 0]
        out[i] += x
"""


def test_views_are_of_the_arrays_of_a_launch(monkeypatch, way):
    numbers, narrow = np.arange(8.0).reshape(2, 4), np.arange(4, dtype=np.float32)
    given = [
        (numbers, (np.arange(3.0),), narrow),
        (np.asfortranarray(numbers), (np.arange(3.0),), narrow),
        (np.asfortranarray(numbers.T), (np.arange(3),), narrow),
        (numbers, (np.arange(9.0)[::-1].copy(),), narrow.astype(np.float64)),
        (numbers[:1, :2].copy(), (narrow,), narrow),
        (numbers, (np.arange(3.0),), narrow),
    ]

    def launch():
        kernel, outs, made = kernel_of(AGAIN), [np.zeros(4) for _ in given], []
        for arrays, out in zip(given, outs, strict=True):
            made.append(launch_again(kernel, configuration(PLACE, (1, 4)), (out, *arrays), PLACE, LaunchOptions()))
        return (made[-1][0], [findings for _, findings in made]), *outs

    alone, interpreted, ran = both_ways(monkeypatch, launch)

    assert alone == interpreted
    assert ran == len(given) - 1  # in one an index is outside
