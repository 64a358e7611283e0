"""Digests of kernels, by which a measurement knows whether it is of the code at hand."""

from __future__ import annotations

import ast
import hashlib

from smemviz.frontends.numba.program import Program
from smemviz.recordings.sweep import SIZE_CONSTANTS


def digests(program: Program) -> dict[str, str]:
    """Return a digest of each kernel: of its code, of the functions it may call, and of the file's other constants.

    The code is written anew, without docstrings and comments: a dump of the tree differs between versions of Python.
    """
    shared = [_code(node) for node in program.functions.values()]
    shared += [f"{c.name} = {c.text}" for c in program.constants.values() if c.name not in (*SIZE_CONSTANTS, "TILE")]
    texts = {name: "\n".join([*shared, _code(node)]) for name, node in program.kernels.items()}
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in texts.items()}


def _code(function: ast.FunctionDef) -> str:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return "\n".join([function.name, *map(ast.unparse, (*function.decorator_list, function.args, *body))])
