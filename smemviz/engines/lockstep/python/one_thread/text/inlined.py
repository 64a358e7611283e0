"""Device functions in the text of a loop: the body of one stands where it is called."""

from __future__ import annotations

import ast

import numpy as np

from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.one_thread.arrays import Array, way_to
from smemviz.engines.lockstep.python.one_thread.atoms import Atom, Scope
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import converted, settled, value
from smemviz.engines.lockstep.python.one_thread.text.elements import REFUSALS, array_of, held, row_of
from smemviz.engines.lockstep.python.one_thread.text.variables import as_versioned, inner
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.signatures import signatures_of
from smemviz.engines.lockstep.values.typing import Dtype, Value

RETURNED = "="  # before the number of an item that a function returns
_LONGEST = 2000  # lines with those of functions, which may call others several times


def inlined(writer: Writer, node: ast.Call, *, used: bool = True) -> list[Atom]:
    """Write the body of the device function that a call calls; return the items that it returns, one for a number."""
    outer, frame = writer.scope, writer.frame
    tree = frame.tree.calls[node]
    dtypes, returned = _signature(frame, node)
    callee = frame.callee(tree)
    arrays, rows, given = _arguments(writer, node, callee, dtypes)
    samples: dict[str, Value] = dict(callee.variables)
    samples |= {name: writer.open(atom.dtype.type(1)) for name, atom in given.items() if atom.dtype is not None}
    names = _parameters(tree.function.node.args)
    try:
        callee.versions = callee.language.versions(callee, {name: samples[name] for name in names})
    except REFUSALS:
        raise NotWrittenError from None
    kept = callee.versions.parameters
    if len(writer.lines) > _LONGEST or any(kept.get(name, name) != name for name in callee.variables):
        raise NotWrittenError
    number = len(writer.scopes) + 1
    scope = Scope(number, callee, arrays, len(writer.turns), f"x{number}")
    writer.scopes.append(scope)
    writer.kinds |= {f"{number}:{parameter}": row for parameter, row in rows.items()}
    writer.scope, writer.frame, statement = scope, callee, writer.statement
    try:
        for name, atom in given.items():
            writer.assign(writer.inside(callee.versions.parameters.get(name, name)), atom)
        atoms = _body(writer, scope, tree.function.node.body, used=used)
    finally:
        writer.scope, writer.frame, writer.statement = outer, frame, statement
    return [atom if returned is None else settled(writer, converted(writer, atom, returned)) for atom in atoms]


def _signature(frame: Frame, node: ast.Call) -> tuple[tuple[Dtype | None, ...], Dtype | None]:
    """Return the types that a signature has arguments and result cast to, nothing where there is none."""
    types = signatures_of(frame.names.constant(node.func)).types(len(node.args))
    if types is None:
        raise NotWrittenError
    return types


def _parameters(parameters: ast.arguments) -> list[str]:
    return [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]


def _arguments(
    writer: Writer, node: ast.Call, callee: Frame, dtypes: tuple[Dtype | None, ...]
) -> tuple[dict[str, str], dict[str, Array], dict[str, Atom]]:
    """Return what a call gives for each parameter: the variable of an array, a row or slice of one, or a number.

    The function's frame gets arrays like them.
    """
    tree = callee.tree
    parameters, names = tree.function.node.args, _parameters(tree.function.node.args)
    several = parameters.vararg or parameters.kwarg or parameters.kwonlyargs or node.keywords
    starred = any(isinstance(argument, ast.Starred) for argument in node.args)
    if several or starred or tree.function.fixed or len(names) != len(node.args):
        raise NotWrittenError
    arrays: dict[str, str] = {}
    rows: dict[str, Array] = {}
    given: dict[str, Atom] = {}
    for name, argument, dtype in zip(names, node.args, dtypes or (None,) * len(names), strict=True):
        array = array_of(writer, argument)
        if array is not None:
            arrays[name], callee.variables[name] = array[0], held(writer, argument)
            continue
        row = row_of(writer, argument)
        if row is not None:
            rows[name], callee.variables[name] = row
            continue
        atom = value(writer, argument)
        if atom.dtype is None:
            raise NotWrittenError
        atom = atom if dtype is None else settled(writer, converted(writer, atom, dtype))
        given[name] = atom
    return arrays, rows, given


def own_array(writer: Writer, node: ast.Assign) -> bool:
    """Write the declaration of a local array of a function, which has zeros in it in every call."""
    scope, target = writer.scope, node.targets[0]
    if (
        scope is None
        or len(node.targets) > 1
        or not isinstance(target, ast.Name)
        or not isinstance(node.value, ast.Call)
    ):
        return False
    frame = scope.frame
    if frame.canonical(node.value.func) != "cuda.local.array":
        return False
    names = (part for part in ast.walk(frame.function.node) if isinstance(part, ast.Name) and part.id == target.id)
    if sum(isinstance(part.ctx, ast.Store) for part in names) > 1 or node not in frame.function.node.body:
        raise NotWrittenError
    try:
        view = frame.value(node.value)
    except REFUSALS:
        raise NotWrittenError from None
    if way_to(frame.machine, view) != "free":
        raise NotWrittenError
    name = f"{scope.number}:{target.id}"
    scope.arrays[target.id], scope.own[name] = name, view
    frame.variables[target.id] = view
    writer.kinds[name] = Array(view.dtype, view.ndim, "local", "free", unit=False, first=False)
    writer.put(f"R.fresh(V[{writer.constant(name)}])")
    return True


def _body(writer: Writer, scope: Scope, body: list[ast.stmt], *, used: bool) -> list[Atom]:
    """Write the statements of a function; return what it returns."""
    returns = [part for statement in body for part in ast.walk(statement) if isinstance(part, ast.Return)]
    if used and not all(part.value is not None for part in returns):
        raise NotWrittenError
    if any(isinstance(part, ast.For | ast.While) for statement in body for part in ast.walk(statement)):
        writer.counts = True
    if returns == body[-1:]:
        if not writer.block(writer, body[:-1]):
            raise NotWrittenError
        return [settled(writer, atom) for atom in _returned(writer, returns[0])]
    if not returns:
        if used or not writer.block(writer, body):
            raise NotWrittenError
        return []
    before = set(writer.sure)
    writer.put(f"{scope.has_returned} = False")
    writer.fork("while True:")
    writer.enter()
    goes_on = inner(writer, lambda: _once(writer, body))
    writer.depth -= 1
    if goes_on and used:
        raise NotWrittenError
    kept = [name for name in writer.assigned if name.startswith(writer.inside(RETURNED))]
    writer.sure = before | set(kept)
    return [writer.atom(name) for name in sorted(kept)]


def _once(writer: Writer, body: list[ast.stmt]) -> bool:
    goes_on = writer.block(writer, body)
    if goes_on:
        writer.fork("break")
    return goes_on


def _returned(writer: Writer, node: ast.Return) -> list[Atom]:
    """Write what a statement returns, item by item, in the types that all of them have."""
    several = isinstance(node.value, ast.Tuple)
    nodes = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value] if node.value is not None else []
    if any(isinstance(part, ast.Starred) for part in nodes) or (several and len(nodes) < 2):
        raise NotWrittenError
    atoms = [value(writer, part) for part in nodes]
    convert = writer.frame.versions.returned
    if convert is None or not atoms:
        return atoms
    kind = convert.keywords["kind"]  # type: ignore[attr-defined]
    if not several:
        return [as_versioned(writer, atoms[0], convert)]
    if not all(isinstance(item, np.dtype) for item in kind[1:]):
        raise NotWrittenError
    return [converted(writer, atom, item) for atom, item in zip(atoms, kind[1:], strict=True)]


def give(writer: Writer, node: ast.Return) -> bool:
    """Write a return of a function that is not at its end."""
    scope = writer.scope
    if scope is None:
        return _end(writer, node)
    for place, atom in enumerate(_returned(writer, node)):
        writer.assign(writer.inside(f"{RETURNED}{place}"), settled(writer, atom))
    if len(writer.turns) > scope.turns:
        writer.fork(f"{scope.has_returned} = True")
    _leave(writer, scope)
    return False


def _end(writer: Writer, node: ast.Return) -> bool:
    """Write a return of the function that the loop is in, which ends the text; its items are variables like others."""
    function = writer.frame.function.node
    returns = (part for part in ast.walk(function) if isinstance(part, ast.Return))
    is_value = node.value is not None
    if any((other.value is not None) != is_value for other in returns) or (is_value and writer.frame.is_kernel):
        raise NotWrittenError
    for place, atom in enumerate(_returned(writer, node)):
        writer.assign(f"{RETURNED}{place}", settled(writer, atom))
    if writer.turns[-1]:
        writer.fork(writer.turns[-1])
    if writer.several:
        writer.put(f"P.least = max(P.least, {writer.turn})")
    writer.end("False")
    return False


def after_loop(writer: Writer, node: ast.For | ast.While) -> None:
    """Leave what is around a loop in which the function may have returned."""
    scope = writer.scope
    if scope is None or not any(isinstance(part, ast.Return) for part in ast.walk(node)):
        return
    writer.fork(f"if {scope.has_returned}:")
    inner(writer, lambda: _leave(writer, scope))


def _leave(writer: Writer, scope: Scope) -> bool:
    if len(writer.turns) > scope.turns and writer.turns[-1]:
        writer.fork(writer.turns[-1])
    writer.fork("break")
    return False
