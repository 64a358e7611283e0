"""Expressions: what each node of a syntax tree is worth, in all threads at once."""

import ast
import enum
from collections.abc import Callable, Container
from functools import lru_cache
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.arguments import same_tuple
from smemviz.engines.lockstep.memory.device_array import DeviceArray, kernel_view
from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.memory.records import is_known
from smemviz.engines.lockstep.name_hints import neighbour
from smemviz.engines.lockstep.python import access, arrays, operations
from smemviz.engines.lockstep.python.frame import Frame, short
from smemviz.engines.lockstep.python.functions import names
from smemviz.engines.lockstep.values.typing import BOOL, INT64_MAX, Value
from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.python_functions import resolve
from smemviz.frontends.numba.syntax import parameters, stored
from smemviz.messages import english

_MAX_UINT64 = 2**64 - 1


def _constant(frame: Frame, node: ast.Constant) -> Value:
    value = node.value
    if type(value) is float:
        return value
    if type(value) is int and not -INT64_MAX - 1 <= value <= INT64_MAX:
        if value > _MAX_UINT64 or value < 0:
            raise frame.wrong(node, english("{code} does not fit 64 bits", code=short(node)))
        return np.uint64(value)
    if value is None or isinstance(value, bool | int | float | complex | str) or value is Ellipsis:
        return value
    raise frame.left_out(node, english("the constant {code}", code=short(node)))


def _name(frame: Frame, node: ast.Name) -> Value:
    if node.id in frame.names.locals:
        return frame.read(node)
    try:
        value = frame.function.lookup(node.id)
    except KeyError:
        raise unknown_name(frame, node) from None
    return _host_value(frame, node, value)


def unknown_name(frame: Frame, node: ast.Name) -> UnsupportedError:
    """Return the error for a name that stands for nothing: it may be misspelt, or one of ``math``."""
    near = neighbour(node.id, frame.names.locals) or neighbour(
        node.id, [n for n in frame.function.scope if n[0] != "_"]
    )
    if near is None and f"math.{node.id}" in names.CALLS:
        near = f"math.{node.id}"
    if near is None:
        what = english("the name {name} is not known, in Numba either; define it or import it", name=node.id)
    else:
        what = english("the name {name} is not known; did you mean {near}?", name=node.id, near=near)
    return frame.wrong(node, what)


def _host_value(frame: Frame, node: ast.expr, value: object) -> Value:
    """Return a number, tuple or array of the module as a kernel sees it."""
    if isinstance(value, int | float | complex) and type(value) in (bool, int, float, complex):
        if type(value) is int and not -INT64_MAX - 1 <= value <= INT64_MAX:
            return _constant(frame, ast.copy_location(ast.Constant(value), node))
        return value
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return value.item() if value.dtype in (np.int64, BOOL) else value
    if isinstance(value, tuple):
        return same_tuple(value, (_host_value(frame, node, item) for item in value))
    if isinstance(value, enum.Enum):
        return _host_value(frame, node, value.value)
    if isinstance(value, DeviceArray):
        return kernel_view(ast.unparse(node), value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, np.ndarray | np.void) and is_known(value.dtype):
        return arrays.constant_view(frame.machine, ast.unparse(node), value)
    if isinstance(value, np.ndarray | np.generic | bytes | enum.EnumMeta):
        raise frame.refuse(node, ast.unparse(node))
    if isinstance(value, slice):
        return slice(*(_host_value(frame, node, end) for end in (value.start, value.stop, value.step)))
    several = isinstance(value, list | dict | set | range)
    raise frame.none_of_numba(node, ast.unparse(node), english("a tuple or an array of the module") if several else "")


def _attribute(frame: Frame, node: ast.Attribute) -> Value:
    name = frame.canonical(node)
    if name:
        rule = names.VALUES.get(name)
        if rule is not None:
            return rule(frame.machine)
        if node.attr in ("real", "imag") and name.rpartition(".")[0] in names.VALUES:
            return arrays.attribute(frame, node, frame.value(node.value))
        if name in names.CALLS or name in names.ARRAYS:
            raise frame.wrong(node, english("{code} is a function; write {code}(...)", code=short(node)))
        if name.startswith(("cuda.", "math.")):
            raise frame.unknown(node, name, name, names.VALUES)
        return _host_value(frame, node, _host_object(frame, node))
    value = frame.names.constant(node)
    if value is not None:
        return _host_value(frame, node, value)
    return arrays.attribute(frame, node, frame.value(node.value))


def _host_object(frame: Frame, node: ast.expr) -> object:
    """Return the object of the module that a chain of attributes stands for."""
    try:
        return resolve(node, frame.function)
    except KeyError:
        code = ast.unparse(node)
        raise frame.unknown(node, code, frame.canonical(node), names.VALUES) from None


def values(frame: Frame, nodes: list[ast.expr]) -> list[Value]:
    """Return what expressions are worth, the items of a starred tuple one by one."""
    elements: list[Value] = []
    for node in nodes:
        if not isinstance(node, ast.Starred):
            elements.append(frame.value(node))
            continue
        items = frame.value(node.value)
        if not isinstance(items, tuple):
            raise frame.refuse(node, english("{code}, which is not a tuple,", code=short(node)))
        elements.extend(items)
    return elements


def _walrus(frame: Frame, node: ast.NamedExpr) -> Value:
    if node not in _names_that_numba_gives(frame.function.node):
        write = english("{name} = ... on a line of its own", name=node.target.id)
        raise frame.none_of_numba(node, short(node), write)
    value = frame.value(node.value)
    frame.assign(node.target, node.target.id, value)
    return value


@lru_cache(maxsize=256)
def _names_that_numba_gives(function: ast.FunctionDef) -> frozenset[ast.expr]:
    """Return the assignments within expressions that Numba compiles.

    It gives what was just computed its new name alone, so that the expression around finds nothing there: but for
    a variable, which has a name, for what comes out of branches, and where nothing but assignments is around.
    """
    own = {*parameters(function), *stored(function)}
    known: set[ast.expr] = set()
    for node in ast.walk(function):
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr) and isinstance(value, ast.NamedExpr):
            known.add(value)
        if isinstance(node, ast.NamedExpr) and _has_a_name(node.value, own):
            known.add(node)
    return frozenset(known)


def _has_a_name(value: ast.expr, own: Container[str]) -> bool:
    match value:
        case ast.Name(id=name):
            return name in own
        case ast.NamedExpr(value=inner):
            return _has_a_name(inner, own)
    return isinstance(value, ast.BoolOp | ast.IfExp)


def _subscript(frame: Frame, node: ast.Subscript) -> Value:
    base = frame.value(node.value)
    if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return arrays.field(frame, node, base, node.slice.value)
    parts = indices(frame, node.slice)
    if isinstance(base, View):
        return access.pick(frame, node, base, parts)
    if isinstance(base, tuple):
        return arrays.item(frame, node, base, parts)
    if isinstance(base, str):
        raise frame.left_out(node, short(node))
    raise frame.none_of_numba(node, english("{code}: an index into something that is not an array", code=short(node)))


def indices(frame: Frame, node: ast.expr) -> tuple[Value, ...]:
    """Return the indices of a subscript; a tuple among them counts as its items."""
    if isinstance(node, ast.Slice):
        return (_slice(frame, node),)
    if isinstance(node, ast.Tuple):
        items: list[Value] = []
        for item in node.elts:
            items += indices(frame, item)
        return tuple(items)
    value = frame.value(node)
    return value if isinstance(value, tuple) else (value,)


def _slice(frame: Frame, node: ast.Slice) -> slice:
    ends = [None if end is None else frame.value(end) for end in (node.lower, node.upper, node.step)]
    return slice(*ends)


EXPRESSIONS: dict[type[ast.AST], Callable[[Frame, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Tuple: lambda frame, node: operations.bounded(frame, node, tuple(values(frame, node.elts))),
    ast.NamedExpr: _walrus,
}
