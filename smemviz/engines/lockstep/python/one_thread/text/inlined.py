"""Device functions in the text of a loop: the body of one stands where it is called."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.one_thread.arrays import Array, Record, way_to
from smemviz.engines.lockstep.python.one_thread.atoms import NOTHING, Atom, Kind, Scope
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import converted, settled, simple, value
from smemviz.engines.lockstep.python.one_thread.text.conditions import is_nothing
from smemviz.engines.lockstep.python.one_thread.text.named import REFUSALS, array_of, bound, held
from smemviz.engines.lockstep.python.one_thread.text.rows import record_at, record_named, row_of, shape_of
from smemviz.engines.lockstep.python.one_thread.text.tuples import (
    Item,
    Items,
    among,
    as_kinds,
    compared,
    each_kept,
    kept,
    named,
    numbers,
    of_module,
    picked,
)
from smemviz.engines.lockstep.python.one_thread.text.variables import as_versioned, inner
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.python.one_thread.values import item_name
from smemviz.engines.lockstep.signatures import signatures_of
from smemviz.engines.lockstep.values.typing import BOOL, Dtype, Value
from smemviz.frontends.numba.sites import SiteTree

RETURNED = "="  # before the number of an item that a function returns
_OF_THE_GRID = "cuda.grid", "cuda.gridsize"
_LONGEST = 2000  # lines with those of functions, which may call others several times


def tuple_of(writer: Writer, node: ast.expr) -> list[Atom] | None:
    """Return the items of a tuple of numbers, None for anything else; one that has tuples in it is not written."""
    items = items_of(writer, node)
    return None if items is None else numbers(items)


def items_of(writer: Writer, node: ast.expr) -> Items | None:
    """Return the items of a tuple that is written out, named, put together, part of another, or the same throughout.

    Or what a function returns. None for anything else, of which nothing is written.
    """
    match node:
        case ast.Tuple():
            return _written_out(writer, node)
        case ast.Call() if node in writer.frame.tree.calls:
            return tuple(inlined(writer, node))
        case ast.Subscript():
            return _part(writer, node)
        case ast.BinOp(op=ast.Add()):
            mark, first = writer.mark(), items_at_hand(writer, node.left)
            second = None if first is None else items_at_hand(writer, node.right)
            if first is not None and second is not None:
                return first + second
            writer.back(mark)
            return None
    made = named(writer, node) or _throughout(writer, node)
    return of_module(writer, node) if made is None else tuple(made)


def items_at_hand(writer: Writer, node: ast.expr) -> Items | None:
    """Return the items of a tuple that calls no function, the body of which is written once for each call."""
    return None if any(part in writer.frame.tree.calls for part in ast.walk(node)) else items_of(writer, node)


def _written_out(writer: Writer, node: ast.Tuple) -> Items:
    """Write the items of a tuple, each known from here on."""
    items: list[Item] = []
    for part in node.elts:
        inner_items = items_of(writer, part.value if isinstance(part, ast.Starred) else part)
        if isinstance(part, ast.Starred) and inner_items is not None:
            items += each_kept(writer, inner_items)
        elif inner_items is not None and not is_number(writer, part, inner_items):
            items.append(each_kept(writer, inner_items))
        else:
            number = value(writer, part) if inner_items is None else settled(writer, numbers(inner_items)[0])
            items.append(kept(writer, number))
    return tuple(items)


def _part(writer: Writer, node: ast.Subscript) -> Items | None:
    """Return a part of a tuple, or a tuple in one, None for anything else."""
    mark = writer.mark()
    items = items_of(writer, node.value)
    item = None if items is None else picked(writer, node, items)
    if isinstance(item, tuple):
        return item
    writer.back(mark)
    return None


def items_compared(writer: Writer, node: ast.Compare) -> Atom | None:
    """Write a comparison of two tuples, or whether one holds something, None for any other."""
    is_in = isinstance(node.ops[0], ast.In | ast.NotIn)
    if len(node.ops) > 1:
        return None
    mark, left = writer.mark(), items_at_hand(writer, node.left)
    if left is None and not is_in:
        return None
    one = simple(writer, value(writer, node.left)) if left is None else left
    right = items_at_hand(writer, node.comparators[0])
    if right is None:
        writer.back(mark)
        return None
    if is_in:
        return Atom(among(writer, node, one, right), BOOL)
    assert left is not None
    return Atom(compared(writer, node, left, right), BOOL)


def _throughout(writer: Writer, node: ast.expr) -> list[Atom] | None:
    """Return the sizes of an array, or where a thread is in the grid along several axes, None for anything else."""
    axes = 0
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        sizes, named_array = shape_of(writer, node.value), array_of(writer, node.value)
        if sizes is not None:
            return sizes
        axes = 0 if named_array is None else named_array[1].axes
    elif isinstance(node, ast.Call) and writer.frame.canonical(node.func) in _OF_THE_GRID and len(node.args) == 1:
        given = writer.frame.names.literal(node.args[0])
        axes = given if isinstance(given, int) and given > 1 else 0
    parts = [ast.Subscript(node, ast.copy_location(ast.Constant(axis), node), ast.Load()) for axis in range(axes)]
    atoms = [bound(writer, ast.copy_location(part, node)) for part in parts]
    return None if not atoms or None in atoms else [atom for atom in atoms if atom is not None]


def is_number(writer: Writer, node: ast.expr, atoms: Sequence[Item]) -> bool:
    """Tell whether what a function returns is a number, and no tuple."""
    return len(atoms) == 1 and node in writer.frame.tree.calls


def inlined(writer: Writer, node: ast.Call, *, used: bool = True) -> list[Atom]:
    """Write the body of the device function that a call calls; return the items that it returns, one for a number."""
    outer, frame = writer.scope, writer.frame
    tree = frame.tree.calls[node]
    dtypes, returned = _signature(frame, node, len(_parameters(tree.function.node.args)))
    callee = frame.callee(tree)
    arrays, rows, records, given = _arguments(writer, node, callee, dtypes)
    samples: dict[str, Value] = dict(callee.variables)
    samples |= {name: _sample(writer, atoms) for name, atoms in given.items()}
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
    writer.records |= {f"{number}:{parameter}": record for parameter, record in records.items()}
    writer.scope, writer.frame, statement = scope, callee, writer.statement
    try:
        for name, atoms in given.items():
            variable = writer.inside(callee.versions.parameters.get(name, name))
            if isinstance(atoms, Atom):
                writer.assign(variable, atoms)
            else:
                for place, atom in enumerate(atoms):
                    writer.assign(item_name(variable, place), atom)
        atoms = _body(writer, scope, tree.function.node.body, used=used)
    finally:
        writer.scope, writer.frame, writer.statement = outer, frame, statement
    return [atom if returned is None else settled(writer, converted(writer, atom, returned)) for atom in atoms]


def _sample(writer: Writer, given: Atom | list[Atom]) -> Value:
    """Return a value of the type of what a function is given."""
    if not isinstance(given, Atom):
        return tuple(_sample(writer, atom) for atom in given)
    assert given.dtype is not None
    return writer.open(given.dtype.type(1))


def _signature(frame: Frame, node: ast.Call, count: int) -> tuple[tuple[Dtype | None, ...], Dtype | None]:
    """Return the types that a signature has arguments and result cast to, nothing where there is none."""
    types = signatures_of(frame.names.constant(node.func)).types(count)
    if types is None:
        raise NotWrittenError
    return types


def _parameters(parameters: ast.arguments) -> list[str]:
    rest = [parameters.vararg] if parameters.vararg else []
    return [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args, *rest)]


def _arguments(
    writer: Writer, node: ast.Call, callee: Frame, dtypes: tuple[Dtype | None, ...]
) -> tuple[dict[str, str], dict[str, Kind], dict[str, Record], dict[str, Atom | list[Atom]]]:
    """Return what a call gives for each parameter: the variable of an array, a part of one or NOTHING, a record of one,
    a number or several.

    The function's frame gets arrays like them.
    """
    named_arguments = _by_name(node, callee.tree)
    arrays: dict[str, str] = {}
    rows: dict[str, Kind] = {}
    records: dict[str, Record] = {}
    given: dict[str, Atom | list[Atom]] = {}
    for (name, argument), dtype in zip(named_arguments, dtypes or (None,) * len(named_arguments), strict=True):
        if is_nothing(writer, argument):
            rows[name], callee.variables[name] = NOTHING, None
            continue
        record = record_named(writer, argument) if writer.several else None
        if record is not None:
            rows[name], callee.variables[name], records[name] = record_at(writer, record)
            continue
        array = array_of(writer, argument)
        if array is not None:
            arrays[name], callee.variables[name] = array[0], held(writer, argument)
            continue
        row = row_of(writer, argument)
        if row is not None:
            rows[name], callee.variables[name] = row
            continue
        atoms = tuple_of(writer, argument)
        if atoms is not None and not is_number(writer, argument, atoms):
            if dtype is not None or not atoms or any(atom.dtype is None for atom in atoms):
                raise NotWrittenError
            given[name] = [settled(writer, atom) for atom in atoms]
            continue
        atom = value(writer, argument) if atoms is None else settled(writer, atoms[0])
        if atom.dtype is None:
            raise NotWrittenError
        atom = atom if dtype is None else settled(writer, converted(writer, atom, dtype))
        given[name] = atom
    return arrays, rows, records, given


def _by_name(node: ast.Call, tree: SiteTree) -> list[tuple[str, ast.expr]]:
    """Return each parameter with its argument, or the number or ``None`` that stands for it if it has none.

    The argument of ``*parameter`` is a tuple.
    """
    parameters, rest = tree.function.node.args, tree.function.node.args.vararg
    names = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
    others, starred = node.args[len(names) :], any(isinstance(one, ast.Starred) for one in node.args[: len(names)])
    if parameters.kwarg or parameters.kwonlyargs or tree.function.fixed or starred or (others and not rest):
        raise NotWrittenError
    given = [*zip(names, node.args, strict=False), *((keyword.arg, keyword.value) for keyword in node.keywords)]
    missing = names[len(given) :]
    defaults = parameters.defaults[len(parameters.defaults) - len(missing) :]
    if not all(isinstance(default, ast.Constant) for default in defaults):
        raise NotWrittenError
    given += zip(missing, defaults, strict=False)
    if [name for name, _ in given] != names:
        raise NotWrittenError
    if rest:
        given.append((rest.arg, ast.copy_location(ast.Tuple(others, ast.Load()), node)))
    return [(name, argument) for name, argument in given if name]


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
    writer.stand(name, Array(view.dtype, view.ndim, "local", "free", unit=False, first=False))
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
    if node.value is None:
        return []
    if isinstance(node.value, ast.Tuple):
        if any(isinstance(part, ast.Starred | ast.Tuple) for part in node.value.elts):
            raise NotWrittenError
        atoms: list[Atom] | None = [value(writer, part) for part in node.value.elts]
    else:
        atoms = tuple_of(writer, node.value)
    convert = writer.frame.versions.returned
    if atoms is None or is_number(writer, node.value, atoms):
        atom = value(writer, node.value) if atoms is None else atoms[0]
        return [atom if convert is None else as_versioned(writer, atom, convert)]
    if len(atoms) < 2:
        raise NotWrittenError
    return atoms if convert is None else as_kinds(writer, atoms, convert)


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
