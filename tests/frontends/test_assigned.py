"""Reads of variables that some path comes to without an assignment, by the syntax tree alone."""

import ast
import textwrap

from smemviz.frontends.numba.assigned import doubtful_in


def doubtful(body):
    """Return the doubtful variables of a function of ``a`` and ``i``, and in which lines of it, from 1, they go on."""
    text = "def f(a, i):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    found = doubtful_in(ast.parse(text).body[0])
    return "".join(sorted(found.names)), sorted((read.id, read.lineno - 1) for read in found.handed_on)


SURE = [
    "x = a[i]\na[i] = x",
    "if i:\n  x = 1\nelse:\n  x = 2\na[i] = x",
    "if i:\n  x = 1\nelse:\n  return\na[i] = x",
    "if i:\n  x = 1\nelse:\n  raise ValueError\na[i] = x",
    "for k in range(i):\n  x = k\n  a[k] = x",
    "for k in range(i):\n  if k:\n    continue\n  else:\n    x = k\n  a[k] = x",
    "while True:\n  x = a[i]\n  if x:\n    break\na[i] = x",
    "while True:\n  if i:\n    x = 1\n    break\n  if a[i]:\n    x = 2\n    break\na[i] = x",
    "for k in range(i):\n  x = 1\n  break\nelse:\n  x = 2\na[i] = x",
    "x = y = i\nx, (y, z) = y, (x, 1)\na[i] = x + y + z",
    "if (x := a[i]) > 2 and x:\n  a[i] = x",
    "x = 1 if i else 2\nx += 1\na[i] = x",
    "x: int = 3\na[i] = x",
    "def g(y):\n  return y + z\na[i] = g(i)",
    "a[i] = a.shape[0] + len(a)",
    "x = sum([k for k in a])\na[i] = x",
    "return\na[i] = x\nx = 1",
]


def test_what_every_path_assigns_is_sure():
    for body in SURE:
        assert doubtful(body) == ("", [])


UNSURE = [
    ("if i:\n  x = 1\na[i] = x", "x"),
    ("if i:\n  x = 1\nelse:\n  pass\na[i] = x + x", "x"),
    ("for k in range(i):\n  x = 1\na[i] = x + k", "kx"),
    ("while a[i]:\n  x = 1\na[i] = x", "x"),
    ("for k in range(i):\n  if k:\n    a[i] = x\n  x = k", "x"),
    ("while True:\n  if i:\n    break\n  x = 1\na[i] = x", "x"),
    ("for k in range(i):\n  if k:\n    break\n  x = 1\nelse:\n  x = 2\na[i] = x", "x"),
    ("if i and (x := a[i]):\n  a[i] = 1\na[i] = x", "x"),
    ("a[i] = (x := 1) if i else 2\na[i] = x", "x"),
    ("a[i] = x\nx = 1", "x"),
    ("x: int\nif i:\n  x = 1\na[x] = 2", "x"),
    ("if i:\n  x = 1\ny = a[x]\nz = f(x)\nx, w = x, 1", "x"),
    ("if i:\n  x = 1\nif x:\n  y = 2\nelse:\n  y = 3\na[i] = y", "x"),
]


def test_what_some_path_has_not_assigned_is_doubtful_where_it_is_used():
    for body, names in UNSURE:
        assert doubtful(body) == (names, [])


HANDED_ON = [
    ("if i:\n  x = 1\nx += 1", "x", [("x", 3)]),
    ("if i:\n  x = 1\ny = -x * 2 + a[i]\nz: float = math.sqrt(y)", "xyz", [("x", 3), ("y", 4)]),
    ("if i:\n  x = 1\ny = z = float32(x) if i else 1", "xyz", [("x", 3)]),
    ("y = 0\nif i:\n  x = 1\nfor k in a:\n  y += x\n  x = y\na[i] = y", "xy", [("x", 5), ("y", 5), ("y", 6)]),
    ("y = 0\nfor k in range(i):\n  y += x\n  x = y\na[i] = y", "x", []),  # nothing stands above
    ("if i:\n  x = 1\ny = 1 if x else a[x] + f(x)\na[i] = y", "x", []),
]


def test_what_is_computed_from_it_is_doubtful_too():
    for body, names, reads in HANDED_ON:
        assert doubtful(body) == (names, reads)
