"""Variables in the text of a loop: what they are given, and what they go on as where ways meet."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python.one_thread.atoms import Atom
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import converted, settled
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.python.one_thread.values import is_known, items_in


def inner(writer: Writer, body: Callable[[], bool]) -> bool:
    """Write lines further in."""
    writer.indent += 1
    before = len(writer.lines)
    goes_on = body()
    writer.flush()
    if len(writer.lines) == before:
        writer.put("pass")
    writer.indent -= 1
    return goes_on


def assign(writer: Writer, node: ast.AST, name: str, value: Atom) -> None:
    """Assign to a variable, in the type that it is kept in there."""
    version = writer.frame.versions.variables.get(node)
    if version is not None:
        value = as_versioned(writer, value, version[1])
    writer.assign(writer.variable_name(node, name), replace(settled(writer, value), step=value.step))


def as_versioned(writer: Writer, value: Atom, convert: Any) -> Atom:
    """Convert a value to the type that several are kept in."""
    kind = convert.keywords["kind"]
    if isinstance(kind, np.dtype) and value.dtype is not None and is_known(kind):
        return converted(writer, value, kind)
    return writer.let(
        f"{writer.runner}.open({writer.constant(convert)}({writer.opened(settled(writer, value))}))", None
    )


def moves(writer: Writer, node: ast.AST, edge: str) -> None:
    """Let what variables hold go on in the types that it meets others in."""
    for move in writer.frame.versions.moves.get((node, edge), ()):
        name, target = writer.inside(move.source), writer.inside(move.target)
        if items_in(writer.kinds, name):
            raise NotWrittenError
        source, sure = writer.atom(name), name in writer.sure
        if not sure:
            writer.fork(f"if {source.text} is not U:")
            writer.indent += 1
        was_sure = target in writer.sure
        writer.assign(target, settled(writer, as_versioned(writer, source, move.convert)))
        if not sure:
            writer.indent -= 1
            if not was_sure:
                writer.sure.discard(target)
