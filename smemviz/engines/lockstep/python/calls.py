"""Calls: device functions, rules by name, methods of arrays, conversions by a type's name."""

import ast
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python import arrays, thread_expressions
from smemviz.engines.lockstep.python.frame import Frame, short
from smemviz.engines.lockstep.python.functions import builtin_functions, names, rules, types
from smemviz.engines.lockstep.python.loops import is_lock
from smemviz.engines.lockstep.signatures import signatures_of
from smemviz.engines.lockstep.values.typing import INT32, Value, cast
from smemviz.frontends.numba.python_functions import as_dtype
from smemviz.frontends.numba.sites import SiteTree
from smemviz.messages import english
from smemviz.recordings.vocabulary import DTYPES


def _call(frame: Frame, node: ast.Call) -> Value:
    inner = frame.tree.calls.get(node)
    if inner is not None:
        signatures = signatures_of(frame.names.called(node.func))
        arguments = _arguments(frame, node, inner)
        callee = frame.callee(inner)
        callee.is_lock = node is frame.statement_call and is_lock(inner.function.node)
        callee.tries = frame.tries and callee.is_lock
        returned = signatures.call(arguments, callee.run)
        frame.waiting = callee.left_behind
        return returned
    declaration = frame.tree.declarations.get(node)
    if declaration is not None:
        return frame.machine.shared_array(declaration)
    name = frame.canonical(node.func)
    if name in _OF_NODES:
        return _OF_NODES[name](frame, node)
    rule = names.CALLS.get(name)
    if rule is not None:
        return rules.apply(rule, frame, node, _in_order(frame, node, name))
    if isinstance(node.func, ast.Attribute) and (not name or name.rpartition(".")[0] in names.VALUES):
        base = frame.value(node.func.value)
        return arrays.method(frame, node, cast(base, INT32) if name.startswith("cuda.") else base)
    return _conversion(frame, node)


def _in_order(frame: Frame, node: ast.Call, name: str) -> list[Value]:
    """Return the arguments of a function of CUDA or Python; of few, Numba knows the names of the parameters."""
    arguments = thread_expressions.values(frame, node.args)
    if not node.keywords:
        return arguments
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    wanted = names.PARAMETERS.get(name, ())[len(arguments) :][: len(keywords)]
    if set(keywords) != set(wanted):
        raise frame.left_out(node, english("{function} with a keyword argument", function=name))
    return arguments + [frame.value(keywords[parameter]) for parameter in wanted]


def _limits(kind: Any) -> Callable[[Frame, ast.Call], Value]:
    """Return the rule of ``np.iinfo`` or ``np.finfo``, which take a type."""

    def run(frame: Frame, node: ast.Call) -> Value:
        if len(node.args) != 1 or node.keywords:
            raise frame.wrong(node, english("{code}: it takes a type", code=short(node)))
        return types.limits(frame, node, kind, arrays.dtype_argument(frame, node.args[0]))

    return run


def _conversion(frame: Frame, node: ast.Call) -> Value:
    """Convert by a type's name: ``int32(x)``, ``np.float32(x)``, ``float(x)``."""
    target = frame.names.constant(node.func)
    if isinstance(target, type) and issubclass(target, tuple) and hasattr(target, "_fields"):
        return _named_tuple(frame, node, target)
    known, key = frame.machine.known.conversions, (id(frame.tree), node)
    rule = known.get(key)
    if rule is None:
        rule = _conversion_to(frame, node, target)
        if not isinstance(node.func, ast.Call) and not isinstance(node.args[0], ast.Attribute):
            known[key] = rule  # whatever variables hold
    return rules.apply(rule, frame, node, [frame.value(node.args[0])])


def _conversion_to(frame: Frame, node: ast.Call, target: Any) -> rules.Rule:
    """Return the rule of a call of a type."""
    name = frame.canonical(node.func)
    if (
        isinstance(node.func, ast.Name)
        and not frame.function.has(node.func.id)
        and node.func.id not in frame.names.locals
    ):
        raise thread_expressions.unknown_name(frame, node.func)
    if isinstance(node.func, ast.Call):
        raise frame.left_out(node, f"{short(node.func)}(...)")
    if isinstance(target, FunctionType) and not name and target.__module__.startswith("numba."):
        write = english("literal_unroll(...), imported from numba.cuda") if target.__name__ == "literal_unroll" else ""
        raise frame.none_of_numba(node, f"{short(node.func)}(...)", write)
    if isinstance(target, FunctionType) and not name:
        what = english("{code} is a plain function; put @cuda.jit(device=True) before it", code=short(node.func))
        raise frame.wrong(node, what)
    dtype = None if isinstance(target, str) else as_dtype(target)
    if dtype is None or dtype.kind not in "biufc" or len(node.args) != 1 or node.keywords:
        module = str(getattr(target, "__module__", ""))
        foreign = module.startswith(("numba.misc.special", "numba.typed")) or not module.startswith("numba")
        if not name and foreign and not isinstance(node.func, ast.Subscript):
            write = "cuda.local.array(shape, dtype)" if module.startswith("numba.typed") else ""
            raise frame.none_of_numba(node, f"{short(node.func)}(...)", write)
        known = (*names.CALLS, *names.ARRAYS, *(f"numpy.{name}" for name in DTYPES))
        raise frame.unknown(node, f"{short(node.func)}(...)", name, known)
    return builtin_functions.conversion(target, dtype)


def _named_tuple(frame: Frame, node: ast.Call, target: Any) -> Value:
    fields = dict(zip(target._fields, thread_expressions.values(frame, node.args), strict=False))
    fields |= {k.arg: frame.value(k.value) for k in node.keywords if k.arg}
    if set(fields) != set(target._fields) or len(node.args) + len(node.keywords) != len(target._fields):
        names = ", ".join(target._fields)
        what = english("{function} takes ({names}); the call does not fit", function=short(node.func), names=names)
        raise frame.wrong(node, what)
    return target(**fields)


def _arguments(frame: Frame, node: ast.Call, tree: SiteTree) -> dict[str, Value]:
    """Return the arguments of a call by the names of the parameters."""
    one_by_one = () if tree.function.fixed else _one_by_one(node, tree.function.node)
    if one_by_one:
        return {name: frame.value(argument) for name, argument in one_by_one}
    parameters = tree.function.node.args
    if parameters.kwarg or parameters.kwonlyargs:
        what = english("{function} with ** or keyword-only parameters", function=tree.function.name)
        instead = english("plain parameters, with defaults")
        raise frame.wrong(
            node, english("{what}: Numba does not compile it for CUDA; write {instead}", what=what, instead=instead)
        )
    if any(k.arg is None for k in node.keywords):
        raise frame.none_of_numba(node, english("** in the call of {function}", function=tree.function.name))
    values = _argument_values(frame, node, tree)
    wanted = [a.arg for a in (*parameters.posonlyargs, *parameters.args)]
    bound = dict(zip(wanted, values, strict=False))
    fixed = tree.function.fixed
    bound |= {k.arg: None if k.arg in fixed else frame.value(k.value) for k in node.keywords if k.arg}
    first_default = len(wanted) - len(parameters.defaults)
    for name, default in zip(wanted[first_default:], parameters.defaults, strict=True):
        if name not in bound:
            bound[name] = frame.callee(tree).value(default)
    if (len(values) > len(wanted) and not parameters.vararg) or set(bound) != set(wanted):
        what = english(
            "{function} takes ({names}); the call does not fit",
            function=tree.function.name,
            names=", ".join(wanted),
        )
        raise frame.wrong(node, what)
    if parameters.vararg:
        bound[parameters.vararg.arg] = tuple(values[len(wanted) :])
    return {name: value for name, value in bound.items() if name not in fixed}


@lru_cache(maxsize=4096)
def _one_by_one(node: ast.Call, function: ast.FunctionDef) -> tuple[tuple[str, ast.expr], ...]:
    """Return each parameter with its argument, nothing where they do not simply follow each other."""
    wanted = function.args
    names = [parameter.arg for parameter in (*wanted.posonlyargs, *wanted.args)]
    starred = wanted.vararg or wanted.kwarg or wanted.kwonlyargs or any(isinstance(a, ast.Starred) for a in node.args)
    if starred or node.keywords or len(names) != len(node.args):
        return ()
    return tuple(zip(names, node.args, strict=True))


def _argument_values(frame: Frame, node: ast.Call, tree: SiteTree) -> list[Value]:
    """Return the positional arguments of a call; functions and types among them are no values."""
    fixed = tree.function.fixed
    if not fixed:
        return thread_expressions.values(frame, node.args)
    wanted = [a.arg for a in (*tree.function.node.args.posonlyargs, *tree.function.node.args.args)]
    values = [None if name in fixed else frame.value(a) for name, a in zip(wanted, node.args, strict=False)]
    return values + thread_expressions.values(frame, node.args[len(wanted) :])


def _dtype(frame: Frame, node: ast.Call) -> Value:
    """Return what ``np.dtype`` gives of a name or of a type of NumPy's."""
    dtype = frame.names.constant(node)
    if dtype is None:
        raise frame.none_of_numba(node, short(node))
    return dtype


def _as_array(frame: Frame, node: ast.Call) -> Value:
    """Return an array as it is."""
    array = frame.value(node.args[0]) if len(node.args) == 1 and not node.keywords else None
    return array if isinstance(array, View) else _conversion(frame, node)


_OF_NODES: dict[str, Callable[[Frame, ast.Call], Value]] = {  # what takes more than values
    "cuda.local.array": arrays.local_array,
    "numpy.asarray": _as_array,
    "numpy.dtype": _dtype,
    "numpy.finfo": _limits(np.finfo),
    "numpy.iinfo": _limits(np.iinfo),
}
EXPRESSIONS: dict[type[ast.AST], Callable[[Frame, Any], Value]] = {ast.Call: _call}
