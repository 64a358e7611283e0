"""Indices that happen to be negative, which Python counts from the end of the array: a hint, and no mistake."""

import numpy as np
import pytest
from helpers.lockstep_text import HEAD, START, body, what


def hints(text, *args, parameters="a, out", **options):
    _, findings = body("i = cuda.grid(1)\nt = cuda.threadIdx.x\n" + text, *args, parameters=parameters, **options)
    return findings


def told(text):
    """Return what is told of a body run by two blocks of four: the text, its line from 1, who, and of which block."""
    a = np.arange(8)
    findings = hints(text, a, np.zeros((8, 4), np.int64), grid=2, block=4, harmless=True)
    return [(what(f), f.line - START - 3, [x for x, _, _ in f.threads], f.block[0]) for f in findings]


BACK = "Python counts a negative index from the end, C++ does not"
HINTED = [
    ("out[i, 0] = a[i - 1]", f"a[-1] is a[7]: {BACK}", 1, [0], 0),
    ("out[i, 0] = a[i - 2] + a[i - 1]", f"a[-2] is a[6]: {BACK}", 1, [0, 1], 0),
    ("out[i - 1, t] = 1", f"out[-1, 0] is out[7, 0]: {BACK}", 1, [0], 0),
    ("out[i, t - 1] = 1", f"out[0, -1] is out[0, 3]: {BACK}", 1, [0], 0),
    ("row = out[i]\nrow[t - 1] = 1", f"out[0, -1] is out[0, 3]: {BACK}", 2, [0], 0),
    ("for k in range(4):\n  out[i, k] = a[k - 1]", f"a[-1] is a[7]: {BACK}", 2, [0, 1, 2, 3], 0),
    ("before = i - 1\nout[i, 0] = a[before]", f"a[-1] is a[7]: {BACK}", 2, [0], 0),
    (
        "s = cuda.shared.array(4, int64)\ns[t] = 1\ncuda.syncthreads()\nif i > 0:\n  out[i, 0] = s[t - 1]",
        f"s[-1] is s[3]: {BACK}",
        5,
        [0],
        1,
    ),
    ("s = cuda.local.array(4, int64)\ns[t - 1] = 1", f"s[-1] is s[3]: {BACK}", 2, [0], 0),
    ("out[i, 0] = a[cuda.threadIdx.x - 1]", f"a[-1] is a[7]: {BACK}", 1, [0], 0),
    ("out[i, 0] = a[cuda.grid(1) - 1]", f"a[-1] is a[7]: {BACK}", 1, [0], 0),
    ("cuda.atomic.add(a, t - 1, 1)", f"a[-1] is a[7]: {BACK}", 1, [0], 0),
    ("cuda.atomic.add(out, (i, t - 1), 1)", f"out[0, -1] is out[0, 3]: {BACK}", 1, [0], 0),
]


@pytest.mark.parametrize(("text", "wrong", "line", "threads", "block"), HINTED)
def test_an_index_that_happens_to_be_negative_is_told_of_once_a_line(text, wrong, line, threads, block):
    assert told(text) == [(wrong, line, threads, block)]


MEANT = [
    "out[i, 0] = a[-1]",
    "out[i, -1] = a[-1 - i]",
    "out[i, 0] = a[-i]",
    "out[i, 0] = a[-(i + 1)]",
    "out[i, 0] = a[LAST]",
    "out[i, 0] = a[LAST + 1 - 1]",
    "out[i, 0] = a[i - 1] if i > 0 else 0",
    "if i > 0 and a[i - 1] > 2:\n  out[i, 0] = 1",
    "out[i, 0] = a[(i - 1) % 8]",
    "out[-1 - i, t] = a[i]",
    "out[i, :][-1] = 2",
]


@pytest.mark.parametrize("text", MEANT)
def test_an_index_that_is_meant_to_be_negative_is_not(text):
    assert hints(text, np.arange(8), np.zeros((8, 4)), before="LAST = -1\n", grid=2, block=4, harmless=True) == ()


def test_it_is_printed_and_fails_nothing(tmp_path, command):
    file = tmp_path / "turn.py"
    kernel = "@cuda.jit\ndef k(a):\n    a[cuda.threadIdx.x - 1] = 1\n\n\n"
    file.write_text(f"{HEAD}{kernel}def main():\n    k[1, 4](np.zeros(4))\n")

    assert "negative index in k" in command("run", file, "--engine", "lockstep").out


def test_it_is_no_mistake_and_the_launch_is_safe():
    (hint,) = hints("out[i] = a[i - 1]", np.arange(8), np.zeros(8), block=8, harmless=True)

    assert hint.harmless
    assert not hint.is_unsafe


def test_an_index_before_the_first_of_a_negative_size_is_out_of_bounds_and_that_alone():
    (finding,) = hints("out[i] = a[i - 9]", np.arange(8), np.zeros(8), block=1, harmless=True)

    assert (finding.kind, what(finding)) == ("out_of_bounds", "a[-9] is outside shape (8,)")


def test_an_unsigned_index_below_zero_is_beyond_the_array():
    out = np.zeros(8, np.int64)
    (finding,) = hints("k = uint32(i) - uint32(1)\nout[i] = a[k]", np.arange(8) + 1, out, block=8, harmless=True)

    assert (finding.kind, what(finding)) == ("out_of_bounds", "a[18446744073709551615] is outside shape (8,)")
    assert out.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
