"""Variables that are read by threads whose path has not assigned them."""

import numpy as np
from helpers.lockstep_text import START, body, what


def threads_of(finding):
    return [x for x, _, _ in finding.threads]


def test_threads_that_skip_an_if_have_not_assigned_what_it_assigns():
    a, out = np.arange(8), np.zeros(8, np.int64)
    _, (finding,) = body(
        """
        i = cuda.grid(1)
        if a[i] > 2:
            best = a[i]
        else:
            pass
        out[i] = best
        """,
        a,
        out,
        parameters="a, out",
        grid=2,
        block=4,
    )

    assert (finding.kind, finding.kernel, finding.line, finding.block) == (
        "unassigned_read",
        "kernel",
        START + 7,
        (0, 0, 0),
    )
    assert threads_of(finding) == [0, 1, 2]
    assert what(finding) == (
        "best is read by threads that have not assigned it on their path: on a GPU it may hold anything"
    )
    assert out[3:].tolist() == [3, 4, 5, 6, 7]


FOUND = [  # a body, the line of it from 1, and the threads of 8
    ("for k in range(i // 4 * 3):\n  x = k\nout[i] = x", 3, [0, 1, 2, 3]),
    ("for k in range(i // 4 * 3):\n  pass\nout[i] = k", 3, [0, 1, 2, 3]),
    ("for x in a[i:]:\n  if x > 5:\n    break\n  y = x\nout[i] = y", 5, [6, 7]),
    ("k = i\nwhile k < 2:\n  k += 1\n  x = k\nout[i] = x", 5, [2, 3, 4, 5, 6, 7]),
    ("if i > 5:\n  x = 1\nx += 1\nout[i] = x", 4, [0, 1, 2, 3, 4, 5]),
    ("if i > 5:\n  x = 1\ny = x * 2\nz = y + a[i]\nif i > 2:\n  out[i] = z", 6, [3, 4, 5]),
    ("if i > 5:\n  x = 1\ny = x\nif i > 1:\n  y = 0\nout[i] = y", 6, [0, 1]),
    ("if i > 5:\n  x = 1\ny = a[i] if i > 2 else x\nout[i] = y", 4, [0, 1, 2]),
    ("y = 0.5\nif i > 9:\n  x = 1\ny += x\nif i > 6:\n  out[i] = y", 6, [7]),
    ("y = 0\nif i > 5:\n  x = 1\nfor k in range(2):\n  y += x\nif y > 3:\n  out[i] = 1", 6, [0, 1, 2, 3, 4, 5]),
    ("if i > 5:\n  x = 1\ny = a[x] if i > 3 else 0", 3, [4, 5]),
    ("if i > 5:\n  x = 1\ny = sign(x)", 3, [0, 1, 2, 3, 4, 5]),
    ("if i > 5:\n  x = 1\ny = x\nfor k in range(y):\n  out[i] += 1", 4, [0, 1, 2, 3, 4, 5]),
    ("if i > 5:\n  x = 1\nif i > 4 and x > 0:\n  out[i] = 1", 3, [5]),
    ("if i > 5:\n  x = 1\nout[i] = x if i > 4 else 0", 3, [5]),
    ("if i > 5:\n  x, y = 1, 2\nif i < 3:\n  return\nout[i] = y", 5, [3, 4, 5]),
    ("if i > 5:\n  x = 1.5\nelif i > 3:\n  x = 2\nout[i] = x", 5, [0, 1, 2, 3]),
    ("if i > 5:\n  x = a\nout[i] = x[0]", 3, [0, 1, 2, 3, 4, 5]),
    ("out[i] = sign(i - 4)", -1, [4]),
    ("if i > 5 and (x := i):\n  out[i] = 1\nout[i] = x", 3, [0, 1, 2, 3, 4, 5]),
    ("for k in range(2):\n  if i < 4:\n    break\n  x = 1\nelse:\n  x = 2\nout[i] = x", 7, [0, 1, 2, 3]),
]
SIGN = """
@cuda.jit(device=True)
def sign(d):
    if d < 0:
        s = -1
    elif d > 0:
        s = 1
    return s
"""


def test_who_reads_what_is_not_assigned_is_named():
    for text, line, threads in FOUND:
        a, out = np.arange(8), np.zeros(8, np.int64)
        before = SIGN + "\n"
        _, (finding,) = body("i = cuda.grid(1)\n" + text, a, out, parameters="a, out", block=8, before=before)

        wanted = START + before.lstrip("\n").count("\n") + 2 + line if line > 0 else START + 6
        assert (finding.kind, finding.line) == ("unassigned_read", wanted)
        assert threads_of(finding) == threads


FINE = [
    "if i > 5:\n  x = i\nif i > 6:\n  out[i] = x",
    "if i > 5:\n  return\nelse:\n  x = i\nout[i] = x",
    "for k in range(3):\n  if k > 0:\n    out[i] = before\n  before = k",
    "for k in range(i + 1):\n  x = k\nout[i] = x",
    "for k in range(8):\n  if k == i:\n    x = k\n    break\nout[i] = x",
    "x = 0\nfor k in range(i):\n  if k > 3:\n    continue\n  y = k\n  x += y\nout[i] = x",
    "if i < 4:\n  x = 1\nif i >= 4:\n  x = 2\nout[i] = x",
    "if i < 4:\n  x = 1.5\nif i >= 4:\n  x = 2\nout[i] = x",
    "if i < 4:\n  x = i\nif i < 4 and x > 2:\n  out[i] = x",
    "if i < 4:\n  x = i\nout[i] = x if i < 4 else 0",
    "out[i] = sign(i + 1)",
    "y = 0\nif i < 5:\n  x = i\nfor k in range(3):\n  y += (x - k) ** 2\nif i < 5:\n  out[i] = y",
    "y = 0\nif i > 9:\n  x = a[i]\nfor k in range(3):\n  y += (x - k) ** 2\nif i > 9:\n  out[i] = y",
    "if i < 5:\n  x = i\ny = x + 1\ny = 3\nout[i] = y",
    "if i < 5:\n  x = i\ny = x\nz = 1\nout[i] = z",
    "if i < 5:\n  x = i\ny = x\nx = 1\nout[i] = x",
    "if i > 9:\n  x = i\nif i > 9 and x > 2:\n  out[i] = x",
    "if i > 9:\n  x = i\nout[i] = x if i > 9 else 0",
    "if i > 9:\n  x = i\nout[i] = 0 if i < 9 else x",
    "while True:\n  x = i\n  if x < 9:\n    break\nout[i] = x",
    "while True:\n  if i < 3:\n    x = 1\n    break\n  if i >= 3:\n    x = 2\n    break\nout[i] = x",
    "for k in range(i):\n  x = 1\n  break\nelse:\n  x = 2\nout[i] = x",
    "for k in range(i):\n  if k:\n    continue\n  else:\n    x = k\n  out[k] = x",
    "if (x := i) > 2 and x:\n  out[i] = x",
    "x: int64 = 3\nout[i] = x",
    "x = y = i\nx, (y, z) = y, (x, 1)\nout[i] = x + y + z",
]


def test_what_is_assigned_where_it_is_read_is_no_mistake():
    for text in FINE:
        _, findings = body(
            "i = cuda.grid(1)\n" + text, np.zeros(8, np.int64), block=8, before=SIGN + "\n", harmless=True
        )

        assert findings == ()


def test_what_is_computed_from_what_is_not_assigned_says_from_what():
    _, (finding,) = body(
        "i = cuda.grid(1)\nif i > 5:\n  x = 1\ny = x * 2\nz = y + 1\nout[i] = z", np.zeros(8, np.int64), block=8
    )

    assert finding.message == (
        "z is computed from x, which some threads have not assigned on their path: on a GPU it may hold anything. "
        "Assign x on every path."
    )


def test_a_variable_is_not_assigned_by_the_call_before():
    out = np.zeros(8, np.int64)
    _, (finding,) = body(
        """
        i = cuda.grid(1)
        out[i] = sign(i + 1) + sign(i)
        """,
        out,
        block=8,
        before=SIGN + "\n",
    )

    assert threads_of(finding) == [0]
