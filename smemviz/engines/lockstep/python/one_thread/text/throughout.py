"""What is worth the same throughout a loop, though its parts are no numbers but texts, tuples and arrays."""

from __future__ import annotations

import ast

from smemviz.engines.lockstep.python.one_thread.atoms import Atom
from smemviz.engines.lockstep.python.one_thread.text.named import bound
from smemviz.engines.lockstep.python.one_thread.text.writer import Writer
from smemviz.frontends.numba.sites.names import stored_names

_ASKED = ast.Constant | ast.Name | ast.Attribute | ast.Tuple | ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Call
_BETWEEN = ast.expr_context | ast.cmpop | ast.boolop | ast.unaryop
_FUNCTIONS = {"builtins.len", "builtins.max", "builtins.min", "builtins.sum"}


def throughout(writer: Writer, node: ast.expr) -> Atom | None:
    """Return what is asked of what the module has and of arguments, None where it may change, or may be wrong."""
    parts = list(ast.walk(node))
    if not all(isinstance(part, _ASKED | _BETWEEN) for part in parts):
        return None
    names = [part for part in parts if isinstance(part, ast.Name)]
    calls = [part for part in parts if isinstance(part, ast.Call)]
    is_known = all(writer.frame.canonical(call.func) in _FUNCTIONS for call in calls)
    return bound(writer, node) if is_known and all(_stays(writer, name) for name in names) else None


def _stays(writer: Writer, node: ast.Name) -> bool:
    """Tell whether a name stands for the same throughout: one of the module, or an argument that is not assigned."""
    frame = writer.frame
    if node.id not in frame.names.locals:
        return True
    if node.id not in frame.variables or node.id in stored_names(frame.function.node):
        return False
    array = writer.array(writer.variable_name(node, node.id))
    return writer.scope is None or (array is not None and array.layout is None)
