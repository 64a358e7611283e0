"""Reads of variables that some path comes to without an assignment, by the syntax tree alone."""

import ast
import textwrap

import pytest

from smemviz.frontends.numba.assigned import unsure_reads


def unsure(body):
    """Return the unsure reads of a function of ``a`` and ``i``: names with lines of the body, from 1."""
    text = "def f(a, i):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    reads = unsure_reads(ast.parse(text).body[0])
    return sorted((name, read.lineno - 1) for name, nodes in reads.items() for read in nodes)


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


@pytest.mark.parametrize("body", SURE)
def test_what_every_path_assigns_is_sure(body):
    assert unsure(body) == []


UNSURE = [
    ("if i:\n  x = 1\na[i] = x", [("x", 3)]),
    ("if i:\n  x = 1\nelse:\n  pass\na[i] = x + x", [("x", 5), ("x", 5)]),
    ("for k in range(i):\n  x = 1\na[i] = x + k", [("k", 3), ("x", 3)]),
    ("while a[i]:\n  x = 1\na[i] = x", [("x", 3)]),
    ("for k in range(i):\n  if k:\n    a[i] = x\n  x = k", [("x", 3)]),
    ("while True:\n  if i:\n    break\n  x = 1\na[i] = x", [("x", 5)]),
    ("for k in range(i):\n  if k:\n    break\n  x = 1\nelse:\n  x = 2\na[i] = x", [("x", 7)]),
    ("if i:\n  x = 1\nx += 1", [("x", 3)]),
    ("if i and (x := a[i]):\n  a[i] = 1\na[i] = x", [("x", 3)]),
    ("a[i] = (x := 1) if i else 2\na[i] = x", [("x", 2)]),
    ("a[i] = x\nx = 1", [("x", 1)]),
    ("x: int\nif i:\n  x = 1\na[x] = 2", [("x", 4)]),
]


@pytest.mark.parametrize(("body", "reads"), UNSURE)
def test_what_some_path_has_not_assigned_is_not_sure(body, reads):
    assert unsure(body) == reads
