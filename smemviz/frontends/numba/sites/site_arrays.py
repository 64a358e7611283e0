"""Expressions: which array or tuple each gives, through views, device functions and CUDA's own functions."""

import ast
import difflib
from dataclasses import replace

import numpy as np

from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.sites import elements
from smemviz.frontends.numba.sites.constructs import refusal
from smemviz.frontends.numba.sites.declare import declared_array, named_dtype
from smemviz.frontends.numba.sites.iterated import ITERATORS
from smemviz.frontends.numba.sites.table import (
    ArrayRef,
    Ref,
    SiteTree,
    SliceRef,
    TupleRef,
    Visit,
    argument_ref,
)
from smemviz.frontends.numba.syntax import evaluate, parameters, positional, stored
from smemviz.messages import english

_ATOMICS = (
    *("add", "sub", "and_", "or_", "xor", "inc", "dec", "exch", "max", "min", "nanmax", "nanmin", "cas"),
    "compare_and_swap",
)
_MAX_CALL_DEPTH = 32
_MAX_TUPLE_DEPTH = 8
_REFUSED = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.JoinedStr, ast.Yield, ast.Await)
# What an array itself has; of an array of records, before the fields of its records.
OF_ARRAYS = frozenset({"shape", "strides", "ndim", "size", "itemsize", "nbytes", "dtype", "T"})
# What Numba compiles as loops over an array: their loads would be seen by nobody.
_LOOPS = frozenset({"all", "any", "argmax", "argmin", "item", "mean", "prod", "std", "sum", "var"})
_FUNCTIONS = {*_LOOPS, *("average", "count_nonzero", "digitize", "nanmean", "nanprod", "nanstd", "nansum", "nanvar")}
_FUNCTIONS |= {"ndenumerate", "ndindex", "nditer", "searchsorted", "trace"}
_GONE_OVER = frozenset({f"numpy.{name}" for name in _FUNCTIONS})
_GONE_OVER_ARRAYS = frozenset({"builtins.max", "builtins.min", "builtins.sum", "operator.contains", "operator.getitem"})
CACHE_HINTS = dict.fromkeys(("ldca", "ldcg", "ldcs", "ldlu", "ldcv"), "load")
CACHE_HINTS |= dict.fromkeys(("stcg", "stcs", "stwb", "stwt"), "store")


def value_of(visit: Visit, node: ast.expr) -> Ref:
    """Visit an expression; return the array or tuple it gives."""
    match node:
        case ast.Name():
            return _name(visit, node)
        case ast.Subscript():
            return elements.subscript(visit, node)
        case ast.Attribute():
            return _attribute(visit, node)
        case ast.Call():
            return call(visit, node, used=True)
        case ast.Tuple() | ast.List():
            return _tuple_of(visit, node)
        case ast.IfExp():
            visit.value(node.test)
            return visit.join(node, visit.value(node.body), visit.value(node.orelse))
        case ast.Compare():
            _comparison(visit, node)
            return None
        case ast.NamedExpr():
            note_names(visit, node.target, node.value)
            value = visit.value(node.value)
            elements.bind(visit, node.target, value, node.value)
            return value
        case _ if isinstance(node, _REFUSED):
            raise visit.unsupported(node, refusal(node))
        case _:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    visit.value(child)
            return None


def _comparison(visit: Visit, node: ast.Compare) -> None:
    """Visit a comparison."""
    visit.value(node.left)
    for op, operand in zip(node.ops, node.comparators, strict=True):
        ref = visit.value(operand)
        if isinstance(op, ast.In | ast.NotIn) and isinstance(ref, ArrayRef):
            raise _no_loop(visit, node)


def _no_loop(visit: Visit, node: ast.expr) -> UnsupportedError:
    """Return the error for what goes over an array without a loop in the text."""
    code, remedy = ast.unparse(node), english("write a loop")
    return visit.unsupported(node, english("{what} in a kernel is not followed; {remedy}", what=code, remedy=remedy))


def _tuple_of(visit: Visit, node: ast.Tuple | ast.List) -> Ref:
    """Return a tuple; one that holds itself, turn after turn of a loop, would grow without end."""
    value = TupleRef(tuple(_values(visit, node.elts)))
    if _depth(value) > _MAX_TUPLE_DEPTH:
        raise visit.unsupported(
            node, english("tuples nested deeper than {most} are not followed", most=_MAX_TUPLE_DEPTH)
        )
    return value


def _values(visit: Visit, nodes: list[ast.expr]) -> list[Ref]:
    """Visit expressions, the items of a starred tuple one by one."""
    values: list[Ref] = []
    for node in nodes:
        if not isinstance(node, ast.Starred):
            values.append(visit.value(node))
            continue
        items = visit.value(node.value)
        if not isinstance(items, TupleRef):
            raise visit.unsupported(node, english("it is not known how many items {code} has", code=ast.unparse(node)))
        values.extend(items.items)
    return values


def _name(visit: Visit, node: ast.Name) -> Ref:
    if node.id in visit.names.locals:
        return visit.ref(node.id)
    return _of_module(node.id, visit.names.constant(node))


def _of_module(name: str, value: object) -> Ref:
    """Return what an object of the module is in a kernel: its arrays are constants."""
    if isinstance(value, np.ndarray | np.void):
        return ArrayRef((name,), "constant", value.ndim, value.dtype)
    return argument_ref(name, value)  # an array of the device stays one


def _attribute(visit: Visit, node: ast.Attribute) -> Ref:
    name = visit.names.canonical(node)
    if name:
        known = name.startswith(("cuda.", "math."))
        return None if known else _of_module(node.attr, visit.names.constant(node))
    base = visit.value(node.value)
    if isinstance(base, TupleRef):
        return elements.part(visit, node, base, node.attr, "load")
    if not isinstance(base, ArrayRef):
        return None
    of_array = base.ndim > 0 and node.attr in OF_ARRAYS
    if node.attr == "real" and base.dtype.kind in "biuf":
        return base
    if (base.is_record and not of_array) or node.attr in ("real", "imag"):
        return elements.part(visit, node, base, node.attr, "load")
    if node.attr == "T":
        return base
    if node.attr == "flat" and base.ndim:
        raise _no_loop(visit, node)
    return TupleRef((None,) * base.ndim) if node.attr in ("shape", "strides") else None


def note_names(visit: Visit, target: ast.expr, expression: ast.expr) -> None:
    """Remember the name that a declaration is about to get."""
    if isinstance(target, ast.Name):
        visit.declared[expression] = target.id
    elif isinstance(target, ast.Tuple) and isinstance(expression, ast.Tuple):
        for part, inner in zip(target.elts, expression.elts, strict=False):
            note_names(visit, part, inner)


def call(visit: Visit, node: ast.Call, used: bool) -> Ref:
    """Visit a call; ``used`` tells whether its value is, which an atomic compiles differently for."""
    name = visit.names.canonical(node.func)
    if name in ("cuda.shared.array", "cuda.local.array"):
        return declared_array(visit, node, name.split(".")[1])
    if name.startswith("cuda.atomic."):
        return _atomic(visit, node, name.rpartition(".")[2], used)
    if name.removeprefix("cuda.") in CACHE_HINTS:
        return _hinted(visit, node, CACHE_HINTS[name.removeprefix("cuda.")])
    if name in _GONE_OVER or name in ITERATORS:
        raise _no_loop(visit, node)
    if isinstance(node.func, ast.Lambda):
        raise visit.unsupported(node, refusal(node.func))
    receiver = visit.value(node.func.value) if isinstance(node.func, ast.Attribute) and not name else None
    arguments = _values(visit, node.args)
    keywords = {k.arg: visit.value(k.value) for k in node.keywords if k.arg}
    if isinstance(receiver, ArrayRef):
        return _method(visit, node, receiver, arguments)
    callee = visit.names.callee(node.func)
    fields = getattr(visit.names.constant(node.func), "_fields", ())
    if fields and callee is None:
        values = dict(zip(fields, arguments, strict=False)) | keywords
        return TupleRef(tuple(values.get(name) for name in fields), tuple(fields))
    if callee is None:
        return _known(visit, node, name, arguments)
    returned = _device_function(visit, node, callee, arguments, keywords)
    if isinstance(returned, ArrayRef) and returned.ndim:
        _check_returned(visit, callee)
    return returned


def _check_returned(visit: Visit, callee: Function) -> None:
    """Refuse a device function that returns another array than one that it is given, or a part of that.

    One that Numba writes into its caller may, and of returns under a condition that Numba may know it is not sure.
    """
    variables = set(stored(callee.node))
    given = set(parameters(callee.node)) - variables
    tests = (node.test for node in ast.walk(callee.node) if isinstance(node, ast.If))
    options = (node.keywords for node in callee.node.decorator_list if isinstance(node, ast.Call))
    is_inlined = any(keyword.arg == "inline" for keywords in options for keyword in keywords)
    if is_inlined or any(_may_be_known(test, variables) for test in tests):
        return
    for node in ast.walk(callee.node):
        if isinstance(node, ast.Return) and not (isinstance(node.value, ast.Name) and node.value.id in given):
            what = english(
                "{code}: Numba returns no array but one that the function is given as it is; let it fill one instead",
                code=ast.unparse(node),
            )
            raise UnsupportedError(callee.file, node.lineno, what)


def _may_be_known(test: ast.expr, variables: set[str]) -> bool:
    """Tell whether Numba may know a condition before it looks for types, and leave out what never happens.

    That is one of constants, of names from outside and of parameters, which may be None: of no ``variables``.
    """
    parts = list(ast.walk(test))
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return names.isdisjoint(variables) and not any(isinstance(part, ast.Call) for part in parts)


def _known(visit: Visit, node: ast.Call, name: str, arguments: list[Ref]) -> Ref:
    """Return what a function of CUDA or Python gives, where that is an array or a tuple."""
    if name in ("cuda.grid", "cuda.gridsize"):
        rank = evaluate(node.args[0], {}) if node.args else 1
        return TupleRef((None,) * rank) if isinstance(rank, int) and 1 < rank <= 3 else None
    if name == "numpy.asarray" and arguments and isinstance(arguments[0], ArrayRef):
        return arguments[0]
    if name == "cuda.const.array_like" and arguments and isinstance(arguments[0], ArrayRef):
        return replace(arguments[0], space="constant")
    into = name.startswith("numpy.") and len(arguments) > 1 and isinstance(arguments[-1], ArrayRef)
    if into or (name in _GONE_OVER_ARRAYS and any(isinstance(ref, ArrayRef) for ref in arguments)):
        raise _no_loop(visit, node)
    if name == "cuda.cg.this_grid":
        visit.walk.grids.append(node)
    if name == "cuda.literal_unroll" and arguments:
        return arguments[0]
    if name == "builtins.slice":
        return SliceRef()
    return TupleRef((None, None)) if name in ("math.frexp", "math.modf") else None


def _device_function(
    visit: Visit, node: ast.Call, callee: Function, arguments: list[Ref], keywords: dict[str, Ref]
) -> Ref:
    if any(callee.node is outer for outer in visit.nodes):
        raise visit.unsupported(
            node,
            english(
                "{function} calls itself, which is not followed in Python kernels; write a loop", function=callee.name
            ),
        )
    if len(visit.calls) == _MAX_CALL_DEPTH:
        raise visit.unsupported(
            node, english("device functions nested deeper than {most} are not followed", most=_MAX_CALL_DEPTH)
        )
    names = positional(callee.node)
    bound = dict(zip(names, arguments, strict=False)) | keywords
    rest = callee.node.args.vararg
    if rest:
        bound[rest.arg] = TupleRef(tuple(arguments[len(names) :]))
    values = dict(zip(names, node.args, strict=False)) if len(arguments) == len(node.args) else {}
    values |= {k.arg: k.value for k in node.keywords if k.arg}
    inner = visit.tree.calls[node] = SiteTree(visit.names.called_with(callee, values))
    return visit.callee(inner, bound, (node.lineno, node.col_offset)).run()


def _method(visit: Visit, node: ast.Call, receiver: ArrayRef, arguments: list[Ref]) -> Ref:
    assert isinstance(node.func, ast.Attribute)
    match node.func.attr:
        case "reshape":
            shape = arguments[0] if len(arguments) == 1 else TupleRef(tuple(arguments))
            return replace(receiver, ndim=len(shape.items) if isinstance(shape, TupleRef) else 1)
        case "view":
            has_dtype = node.args and not isinstance(node.args[0], ast.Constant)  # Numba takes no text here
            dtype = named_dtype(visit, node.args[0]) if has_dtype else None
            if dtype is None:
                raise visit.unsupported(node, english("the dtype of {code} is not constant", code=ast.unparse(node)))
            return replace(receiver, dtype=dtype, bytewise=receiver.bytewise or receiver.is_packed)
        case "transpose":
            return receiver
        case name if name in _LOOPS:
            raise _no_loop(visit, node)
    return None


def _atomic(visit: Visit, node: ast.Call, operation: str, used: bool) -> Ref:
    array = visit.value(node.args[0]) if node.args else None
    values = _values(visit, node.args[1:])
    indices = 1
    if operation != "compare_and_swap" and values:
        indices = len(values[0].items) if isinstance(values[0], TupleRef) else 1
    if operation not in _ATOMICS:
        code, near = ast.unparse(node.func), difflib.get_close_matches(operation, _ATOMICS, n=1)
        what = english("{code} is not known; Numba has {names}", code=code, names=", ".join(_ATOMICS))
        if near:
            what = english("{what} is not known; did you mean {near}?", what=code, near=f"cuda.atomic.{near[0]}")
        raise visit.unsupported(node, what)
    _whole_element(visit, node, array, indices)
    assert isinstance(array, ArrayRef)
    operation = {"compare_and_swap": "cas"}.get(operation, operation.strip("_"))
    if used or operation in ("cas", "exch", "inc", "dec"):
        op = f"atomic_{operation}"
    elif operation == "add" and array.dtype.kind in "iu" and evaluate(node.args[-1], {}) == 1:
        op = "reduce_inc"  # compiled to a population count (H200, counters.csv)
    else:
        op = f"reduce_{operation}"
    visit.site(node, array, op, visit.tree.atomics)
    return None


def _hinted(visit: Visit, node: ast.Call, op: str) -> Ref:
    array, index, *_ = [*_values(visit, node.args), None, None]
    _whole_element(visit, node, array, len(index.items) if isinstance(index, TupleRef) else 1)
    assert isinstance(array, ArrayRef)
    visit.site(node, replace(array, bytewise=False), op)
    return None


def _whole_element(visit: Visit, node: ast.Call, array: Ref, indices: int) -> None:
    if not isinstance(array, ArrayRef):
        first = node.args[0] if node.args else node
        text = ast.unparse(first)
        if isinstance(first, ast.Subscript) and isinstance(visit.value(first.value), ArrayRef):
            what = english(
                "{element} is an element and not an array, in Numba too; write {call}({array}, {index}, ...)",
                element=text,
                call=ast.unparse(node.func),
                array=ast.unparse(first.value),
                index=ast.unparse(first.slice),
            )
            raise visit.unsupported(node, what)
        raise visit.unsupported(node, english("it is not known which array {code} is", code=text))
    if indices != array.ndim:
        raise elements.wrong_indices(visit, node, indices, array)


def _depth(ref: Ref) -> int:
    return 1 + max(map(_depth, ref.items), default=0) if isinstance(ref, TupleRef) else 0
