"""Members of enumerations where Numba takes none: one is no number but of an ``IntEnum``, and none is an index."""

from __future__ import annotations

import ast
import enum

from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.sites.names import Names, assignments
from smemviz.frontends.numba.sites.nothing import OF_NUMBERS, misused
from smemviz.frontends.numba.sites.table import ArrayRef, Ref, Visit
from smemviz.messages import english

_SAME = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)
_OF_THREADS = ("cuda.grid", "cuda.threadIdx.", "cuda.blockIdx.", "cuda.blockDim.", "cuda.laneid")
_EXTREMES = ("builtins.max", "builtins.min")
_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def visited(visit: Visit) -> Ref:
    """Visit a function; return what it returns.

    Raises:
        UnsupportedError: for what the visit refuses, and for members, or what may be None, used as numbers.
    """
    returned = visit.run()
    error = misused_member(visit) or _none_as_number(visit)
    if error is not None:
        raise error
    return returned


def _none_as_number(visit: Visit) -> UnsupportedError | None:
    """Return the error for a variable that is a number only from the second turn of a loop on, or an index at times."""
    own = (name for name in OF_NUMBERS if visit.names.canonical(ast.Name(name, ast.Load())) != f"builtins.{name}")
    uses = misused(visit.function.node, frozenset(own))
    use = next((use for use in uses if not use.is_index or _is_element(visit, use.node)), None)
    if use is None:
        return None
    code = ast.unparse(use.node).partition("\n")[0]
    what = english("{code}, where {name} is None before the loop", code=code, name=use.name)
    instead = english("{name} = -1, math.inf or the like before it", name=use.name)
    if use.is_index:
        what = english("{code}, where {name} may be None", code=code, name=use.name)
        instead = f"int({use.name})"
    refused = english("{what}: Numba does not compile it for CUDA; write {instead}", what=what, instead=instead)
    return visit.unsupported(use.node, refused)


def misused_member(visit: Visit) -> UnsupportedError | None:
    """Return the error for a member that a function computes with, compares with a number or takes for an index."""
    if not any(isinstance(value, enum.EnumMeta | enum.Enum) for value in visit.function.scope.values()):
        return None
    for node in ast.walk(visit.function.node):
        for part in _as_numbers(visit, node):
            code = ast.unparse(part)
            what = english("{code}, a member of an enumeration, as a number", code=code)
            instead = f"{code}.value" if isinstance(part, ast.Attribute) else english(".value of the member")
            refused = english("{what}: Numba does not compile it for CUDA; write {instead}", what=what, instead=instead)
            return visit.unsupported(node, refused)
    return None


def _as_numbers(visit: Visit, node: ast.AST) -> list[ast.expr]:
    """Return the members that a part of the function uses as numbers, though Numba does not."""
    match node:
        case ast.BinOp(left=left, right=right):
            with_float = any(isinstance(side, ast.Constant) and isinstance(side.value, float) for side in (left, right))
            return [side for side in (left, right) if is_member(visit.names, side, plain=not with_float)]
        case ast.AugAssign(target=target, value=value):
            parts = [target, value]
        case ast.Call(func=function, args=[_, _, *_] as given) if visit.names.canonical(function) in _EXTREMES:
            return [part for part in given if is_member(visit.names, part, plain=False)]
        case ast.UnaryOp(operand=part) | ast.If(test=part) | ast.While(test=part) | ast.IfExp(test=part):
            parts = [part]
        case ast.BoolOp(values=parts):
            pass
        case ast.Subscript(slice=index):
            indices = index.elts if isinstance(index, ast.Tuple) else [index]
            return [part for part in indices if is_member(visit.names, part, plain=False)]
        case ast.Assign(targets=targets, value=value) if any(_is_element(visit, target) for target in targets):
            parts = [value]
        case ast.Compare(left=left, ops=ops, comparators=others):
            pairs = zip(ops, [left, *others], others, strict=False)
            parts = [side for op, first, second in pairs for side in _compared(visit, op, first, second)]
        case _:
            parts = []
    return [part for part in parts if is_member(visit.names, part)]


def _compared(visit: Visit, op: ast.cmpop, left: ast.expr, right: ast.expr) -> list[ast.expr]:
    """Return the sides of a comparison that have to be numbers."""
    with_number = isinstance(op, _SAME) and (_is_number(visit, left) or _is_number(visit, right))
    return [left, right] if with_number or isinstance(op, _ORDERED) else []


def _is_number(visit: Visit, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float | complex)
    if isinstance(node, ast.Name) and node.id in visit.names.locals:
        values = assignments(visit.function.node).get(node.id, ())
        return bool(values) and all(not isinstance(value, ast.Name) and _is_number(visit, value) for value in values)
    numbers = visit.names.canonical(node.func if isinstance(node, ast.Call) else node).startswith(_OF_THREADS)
    return numbers or isinstance(node, ast.BinOp | ast.UnaryOp) or _is_element(visit, node)


def _is_element(visit: Visit, node: ast.AST) -> bool:
    base = node.value if isinstance(node, ast.Subscript) else None
    return isinstance(base, ast.Name) and isinstance(visit.ref(base.id), ArrayRef)


def is_member(names: Names, node: ast.expr, *, plain: bool = True) -> bool:
    """Tell whether an expression is a member of an enumeration, of a plain one if only those count."""
    if isinstance(node, ast.IfExp):
        return all(is_member(names, part, plain=plain) for part in (node.body, node.orelse))
    if isinstance(node, ast.Name) and node.id in names.locals:
        values = assignments(names.function.node).get(node.id, ())
        of_variables = any(isinstance(value, ast.Name) and value.id in names.locals for value in values)
        return bool(values) and not of_variables and all(is_member(names, value, plain=plain) for value in values)
    value = by_name(names, node) if isinstance(node, ast.Subscript) else names.constant(node)
    return isinstance(value, enum.Enum) and not (plain and isinstance(value, enum.IntEnum))


def by_name(names: Names, node: ast.Subscript) -> enum.Enum | None:
    """Return the member that ``Color["RED"]`` is, None for another subscript."""
    members = names.constant(node.value)
    if isinstance(members, enum.EnumMeta) and isinstance(node.slice, ast.Constant):
        member: enum.Enum | None = members.__members__.get(str(node.slice.value))
        return member
    return None
