"""The sizes of a declaration, made longer where they are written: a number, a name, or the constant that is the pad."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence

from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.messages import english
from smemviz.suggest.rewrites import Change, NotRewrittenError, line_after, replacing
from smemviz.suggest.uses import Declaration


def longer(
    program: PythonProgram, declared: Declaration, size: ast.expr, pitch: int, text: str | None = None
) -> Change:
    """Return the edits that make a size of a declaration another number, and the constants that they set.

    ``text`` is what the size becomes in terms of ``{0}``, the name that it is now; left out, so much more is added.

    Raises:
        NotRewrittenError: when the size is neither a number nor a name.
    """
    if isinstance(size, ast.Constant):
        return (replacing(size, str(pitch)),), {}
    if not isinstance(size, ast.Name):
        what = english("{code} is neither a number nor a constant", code=ast.unparse(size))
        raise NotRewrittenError(size.lineno, what)
    constant = program.constants.get(size.id)
    if constant is None or not isinstance(constant.value, int):
        return (replacing(size, str(pitch)),), {}
    more = pitch - constant.value
    if text is None:
        change = as_pad(program, size.id, more)
        if change is not None:
            return change
    there = _constant_for(program, size.id, pitch)
    if there is not None:
        return (replacing(size, there),), {}
    name = _new_name(program, f"{declared.name.upper()}_{'SIZE' if text else 'PITCH'}")
    value = f"{size.id}{(text or f' + {more}').format(size.id)}"
    return (line_after(_assignment(program, size.id), f"{name} = {value}"), replacing(size, name)), {}


def in_one_line(program: PythonProgram, declared: Declaration, shape: Sequence[int], pitch: int) -> Change:
    """Return the edits that give an array one dimension and so many elements."""
    sizes = size_texts(program, declared, shape)
    constants = [program.constants[size] for size in sizes if size in program.constants]
    if not constants:
        return (replacing(declared.shape, str(pitch)),), {}
    more = pitch - math.prod(shape)
    value = " * ".join(sizes) + (f" + {more}" if more else "")
    there = next((constant.name for constant in program.constants.values() if constant.text == value), None)
    if there is not None:
        return (replacing(declared.shape, there),), {}
    name = _new_name(program, f"{declared.name.upper()}_SIZE")
    last = max(constants, key=lambda constant: constant.line)
    edits = line_after(_assignment(program, last.name), f"{name} = {value}"), replacing(declared.shape, name)
    return edits, {}


def size_texts(program: PythonProgram, declared: Declaration, shape: Sequence[int]) -> list[str]:
    """Return the sizes of an array as they are to be written: the constants of its declaration, else numbers."""
    written = declared.shape.elts if isinstance(declared.shape, ast.Tuple) else []
    names = [size.id if isinstance(size, ast.Name) else "" for size in written] or [""] * len(shape)
    values = program.values
    return [name if values.get(name) == n else str(n) for name, n in zip(names, shape, strict=True)]


def as_pad(program: PythonProgram, name: str, more: int) -> Change | None:
    """Return the change of the part of a sum that is nothing but a pad: ``IPAD`` of ``PITCH = BDIMX + IPAD``."""
    value = _assignment(program, name).value
    if not (isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and isinstance(value.right, ast.Name)):
        return None
    pad = program.constants.get(value.right.id)
    if pad is None or pad.name in _names_but_in(program, name) or not isinstance(pad.value, int):
        return None
    written = _assignment(program, pad.name).value
    if not isinstance(written, ast.Constant):
        return None
    now = pad.value + more
    edits = () if written.value == now else (replacing(written, str(now)),)
    return edits, {pad.name: now}


def _names_but_in(program: PythonProgram, name: str) -> set[str]:
    """Return every name that the file reads but in the assignment of one constant."""
    own = _assignment(program, name)
    return {
        node.id
        for statement in program.tree.body
        if statement is not own
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _constant_for(program: PythonProgram, name: str, pitch: int) -> str | None:
    """Return a constant that is a name and a pad, and has a value: ``PITCH = TILE + 1`` for TILE and 33."""
    for constant in program.constants.values():
        if constant.value == pitch and constant.depends[:1] == (name,) and constant.text.startswith(f"{name} + "):
            return constant.name
    return None


def _assignment(program: PythonProgram, name: str) -> ast.Assign | ast.AnnAssign:
    """Return the statement that gives a constant its value."""
    line = program.constants[name].line
    assignments = (s for s in program.tree.body if isinstance(s, ast.Assign | ast.AnnAssign) and s.lineno == line)
    return next(assignments)


def _new_name(program: PythonProgram, preferred: str) -> str:
    """Return a name that the file does not have."""
    used = {node.id for node in ast.walk(program.tree) if isinstance(node, ast.Name)}
    used |= {node.name for node in ast.walk(program.tree) if isinstance(node, ast.FunctionDef)}
    name, n = preferred, 2
    while name in used:
        name, n = f"{preferred}_{n}", n + 1
    return name
