"""Texts and bytes, also where they differ between threads: what Python gives for each thread by itself."""

import numpy as np
import pytest
from helpers.lockstep_text import body, by_python, result

from smemviz.errors import UnsupportedError

_TEXTS = "s = 'ab' if i < 9 else 'c'\nt = 'ab'\nif i % 3 == 0:\n    t = 'b'\nelif i % 5 == 0:\n    t = ''\n"
_BYTES = "s = b'ab' if i < 9 else b'c'\nt = b'cab'\nif i % 3 == 0:\n    t = b'abc'[i % 2:]\n"


@pytest.mark.parametrize("threads", [1, 32])
@pytest.mark.parametrize(
    "lines",
    [
        _TEXTS + "out[i] = (s == t) + 2 * (s < t) + 4 * (s != 'c') + 8 * (t >= 'ab')",
        _TEXTS + "out[i] = 10 * len(s) + len(t)",
        _TEXTS + "out[i] = (t in s) + 2 * (s in 'abab') + 4 * ('b' not in s) + 8 * (s in ('c', 'x', t))",
        _TEXTS
        + "out[i] = s.find('b') + 10 * 'cab'.find(t) + 100 * s.rfind(t) + 1000 * s.isalpha() + 2000 * t.isupper()",
        _TEXTS + "out[i] = 5 if t else 6\nif not t:\n    out[i] += 10",
        _TEXTS + "k = 0\nwhile s == 'ab' and k < i:\n    k += 1\nout[i] = k",
        _TEXTS + "u = (s, t, 'b')[i % 3]\nout[i] = (u == 'b') + 2 * (u == 'ab') + 4 * len((t, s)[-1 - i % 2])",
        _TEXTS + "u = None if i < 12 else s\nout[i] = 7 if u is None else len(u)",
        _TEXTS + "match t:\n    case 'ab':\n        out[i] = 1\n    case _:\n        out[i] = 3",
        _BYTES + "out[i] = (s == t) + 2 * (s < t) + 4 * (s != b'c') + 8 * (t >= b'ab') + 16 * (s == 'c')",
        _BYTES + "out[i] = 1000 * len(s) + t[1] + s[-1]",
        _BYTES + "out[i] = 0\nfor c in t:\n    out[i] = 2 * out[i] + c",
        _BYTES + "out[i] = (t[1:] == b'ab') + 2 * (t[i % 2:] == b'bc') + 4 * (t[::2] > s)",
        _BYTES + "u = (s, t, b'b')[i % 3]\nout[i] = u[0] + 1000 * len(u)",
    ],
)
def test_texts_and_bytes_are_each_threads_own(lines, threads):
    assert result(f"i = cuda.grid(1)\n{lines}", "float64", n=threads, block=threads).tolist() == by_python(
        lines, threads
    )


def test_functions_take_and_return_them():
    before = """
        MARK = b'ab'

        @cuda.jit(device=True)
        def size(x):
            if x > 20:
                return "large"
            return "small"

        @cuda.jit(device=True)
        def same(x, y):
            return x == y

    """
    text = "i = cuda.grid(1)\nout[i] = same(size(i), 'large') + 2 * same(MARK, b'ab' if i % 2 else b'a')"
    left = result(text, before=before)
    assert left.tolist() == [(i > 20) + 2 * (i % 2) for i in range(32)]


def test_bytes_that_are_out_of_bounds_are_found():
    _, (finding,) = body("i = cuda.grid(1)\nout[i] = b'abc'[i]", np.zeros(4), block=4)
    assert (finding.kind, finding.threads) == ("out_of_bounds", ((3, 0, 0),))
    assert finding.message.startswith("b'abc'[3] is outside shape (3,)")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("print(s)", "print of text: Numba does not compile it for CUDA; compute it otherwise"),
        (
            "out[i] = s[0] == 'a'",
            "s[0]: an index into something that is not an array: Numba does not compile it for CUDA; "
            "compute it otherwise",
        ),
        (
            "out[i] = s + s == 'abab'",
            "arithmetic with text (s + s): Numba does not compile it for CUDA; compute it otherwise",
        ),
        ("out[i] = b'ab'.size", ".size (b'ab'.size): Numba does not compile it for CUDA; write len(...)"),
        ("out[i] = 97 in b'ab'", "'in' (97 in b'ab'): Numba does not compile it for CUDA; compute it otherwise"),
        (
            "out[i] = b'ab' + b'c'",
            "arithmetic with bytes (b'ab' + b'c'): Numba does not compile it for CUDA; write a loop",
        ),
        (
            "s = None if i > 3 else 'a'\nout[i] = len(s)",
            "out[i] = len(s) uses a value that is None in some of the threads, which Numba ends there silently; "
            "ask 'is not None' first",
        ),
    ],
)
def test_what_numba_refuses_is_refused(text, says):
    with pytest.raises(UnsupportedError) as error:
        result(f"i = cuda.grid(1)\ns = 'ab' if i > 3 else 'c'\n{text}")
    assert error.value.what == says
