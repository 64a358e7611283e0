"""From the objects a kernel refers to, to syntax trees and to names the engines have rules for.

A kernel's names are looked up in the globals and closure of its Python function; a rule is chosen by the *canonical
name* of what is found (``cuda.syncthreads``, ``math.sqrt``, ``builtins.min``), whichever way it was imported.
"""

import ast
import builtins
import inspect
import linecache
import re
import sys
from collections import ChainMap, Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, EnumMeta
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

from smemviz.errors import InputError
from smemviz.frontends.numba.plain import as_function, plain
from smemviz.frontends.numba.syntax import parameters, stored
from smemviz.recordings.text import find_function
from smemviz.recordings.vocabulary import DTYPES

_parse = lru_cache(maxsize=32)(ast.parse)

# The parts of numba.cuda whose functions go by their own names.
_PARTS = ("cuda.libdevice", "cuda.random", "cuda.cg", "cuda.fp16")
# What is a number of its own in each thread.
_REGISTER = re.compile(r"cuda\.(?:laneid|warpsize|(?:threadIdx|blockIdx|blockDim|gridDim)\.\w)")
# What several types of NumPy have in common is no type of an element.
_ABSTRACT: tuple[type, ...] = (
    *(np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact, np.floating),
    *(np.complexfloating, np.flexible, np.character),
)


@dataclass(frozen=True)
class Function:
    """A kernel or device function: its definition and what its free names stand for.

    ``fixed`` are the parameters for which a call gives a function or a type; they stand in ``scope``. ``literals`` are
    those for which it gives a number written out, or a constant. ``known`` is for engines, which may keep there what
    they find out of it, by the types of its arguments.
    """

    name: str
    file: str
    source: str = field(repr=False)
    tree: ast.Module = field(repr=False)
    node: ast.FunctionDef = field(repr=False)
    scope: Mapping[str, object] = field(repr=False)
    fixed: frozenset[str] = frozenset()
    literals: Mapping[str, object] = field(default_factory=dict, repr=False)
    known: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def has(self, name: str) -> bool:
        """Tell whether a free name stands for anything."""
        return name in self.scope or name in vars(builtins)

    def lookup(self, name: str) -> object:
        """Return what a free name stands for; ``KeyError`` when nothing does."""
        if name in self.scope:
            return self.scope[name]
        return vars(builtins)[name]


def function_of(function: FunctionType, source: str | None = None, tree: ast.Module | None = None) -> Function:
    """Find the definition of a Python function, in ``source`` and its ``tree`` or in the file it came from.

    Raises:
        InputError: when its source cannot be found.
    """
    file = function.__code__.co_filename
    if source is None:
        source = "".join(linecache.getlines(file, function.__globals__))
    if tree is None:
        tree = _parse(source)
    node = node_of(function, tree)
    scope = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    return defined(Function(function.__name__, file, source, tree, node, scope))


def node_of(function: FunctionType, tree: ast.Module) -> ast.FunctionDef:
    """Return the definition of a Python function in the tree of its source.

    Raises:
        InputError: when it is not there.
    """
    code = function.__code__
    node = _lambda(tree, code) if code.co_name == "<lambda>" else find_function(tree, code.co_name, code.co_firstlineno)
    if node is None:
        raise InputError(
            f"{code.co_filename}:{code.co_firstlineno}: the source of {function.__name__} cannot be found; "
            "define it in a file"
        )
    return node


def function_in(function: FunctionType, file: str, source: str, tree: ast.Module) -> Function:
    """Find the definition of a Python function, in the text of ``file`` where it came from there."""
    own = function.__code__.co_filename == file
    return function_of(function, source, tree) if own else function_of(function)


def _lambda(tree: ast.Module, code: CodeType) -> ast.FunctionDef | None:
    """Return the lambda that a code is of, as a function; None where there is none, or it cannot be told which."""
    places = {(line, column) for line, _, column, _ in code.co_positions()}
    lambdas = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno]
    if len(lambdas) > 1:
        lambdas = [n for n in lambdas if places & {(n.body.lineno, n.body.col_offset)}]
    return as_function(code.co_name, lambdas[0]) if len(lambdas) == 1 else None


def defined(function: Function) -> Function:
    """Return a function rewritten as Python and Numba do before it is compiled."""
    rewritten = plain(function.node)
    return _with_aliases(function if rewritten is function.node else replace(function, node=rewritten))


def _with_aliases(function: Function) -> Function:
    """Return a function whose other names for functions, types and modules, as in ``t = cuda.threadIdx``, are fixed."""
    stores = Counter(stored(function.node))
    variables = {*stores, *parameters(function.node)} - function.fixed
    aliases: dict[str, object] = {}
    for node in _renamings(function.node):
        name = node.targets[0].id  # type: ignore[attr-defined]
        root = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        known = isinstance(root, ast.Name) and (root.id not in variables or root.id in aliases)
        if stores[name] > 1 or name in parameters(function.node) or not known:
            continue
        scope = ChainMap(aliases, cast(dict[str, object], function.scope))
        renamed = replace(function, scope=scope)
        try:
            value = resolve(node.value, renamed)
        except KeyError:
            continue
        if _is_no_value(value) and not _REGISTER.fullmatch(canonical_name(node.value, renamed)):
            aliases[name] = value
    if not aliases:
        return function
    return replace(function, scope=scope, fixed=function.fixed | set(aliases))


@lru_cache(maxsize=256)
def _renamings(function: ast.FunctionDef) -> tuple[ast.Assign, ...]:
    """Return the assignments of a name or of an attribute to one name, in their order."""
    assignments = []
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name()], value=ast.Name() | ast.Attribute()):
                assignments.append(node)
    return tuple(sorted(assignments, key=lambda node: node.lineno))


def _is_no_value(value: object) -> bool:
    """Tell whether an object of the module is a function, a type or a module: nothing that a variable holds."""
    if isinstance(value, ModuleType) or python_function(value) is not None:
        return True
    is_defined = isinstance(value, type | FunctionType | BuiltinFunctionType | np.ufunc) or hasattr(value, "definition")
    return is_defined or _is_cuda(value) or (as_dtype(value) is not None and not isinstance(value, str))


def python_function(value: object) -> FunctionType | None:
    """Return the Python function under ``@cuda.jit`` or ``@register_jitable``, or None for anything else."""
    if isinstance(value, FunctionType) and _is_jitable(value):
        return value
    inner = getattr(value, "py_func", None)
    return inner if isinstance(inner, FunctionType) else None


def declared_signatures(value: Any) -> tuple[Any, ...]:
    """Return Numba's signatures that a device function of its own is declared with, for which alone it is compiled."""
    is_declared = python_function(value) is not None and not getattr(value, "_can_compile", True)
    return tuple(overload.signature for overload in value.overloads.values()) if is_declared else ()


def declared_inline(value: Any) -> Any:
    """Return whether Numba writes a device function into its callers before it looks for types, as ``inline`` says."""
    return getattr(value, "targetoptions", {}).get("inline", "never")


def _is_jitable(function: FunctionType) -> bool:
    """Tell whether Numba was told of a plain function that kernels may call it: it keeps those in a list."""
    for name in ("numba.core.typing.templates", "numba.cuda.typing.templates"):
        registered = sys.modules[name].builtin_registry.globals if name in sys.modules else ()
        for known, kind in registered:
            if known is function:
                made_by: str = kind.templates[0]._overload_func.__qualname__
                return made_by.startswith("register_jitable.")
    return False


def resolve(node: ast.expr, function: Function) -> object:
    """Return the host object a chain of attributes stands for: a module's member, a global, a builtin.

    Attributes are followed through modules and CUDA's own namespaces only. ``KeyError`` when there is none.
    """
    if isinstance(node, ast.Name):
        return function.lookup(node.id)
    if isinstance(node, ast.Attribute) and not node.attr.startswith("__"):
        base = resolve(node.value, function)
        if node.attr.startswith("_") and not isinstance(base, ModuleType):
            raise KeyError(node.attr)
        if isinstance(base, EnumMeta):
            return base[node.attr]
        if isinstance(base, Enum) and node.attr == "value":
            return base.value
        if isinstance(base, ModuleType) or _is_cuda(base):
            try:
                return getattr(base, node.attr)
            except AttributeError:
                raise KeyError(node.attr) from None
    raise KeyError(ast.unparse(node))


def canonical_name(node: ast.expr, function: Function) -> str:
    """Return the name the rules go by, ``cuda.atomic.add`` or ``math.sqrt``; empty when there is none."""
    if isinstance(node, ast.Attribute):
        base = canonical_name(node.value, function)
        ufunc = getattr(np, node.attr, None) if base == "numpy" else None
        own = ufunc.__name__ if isinstance(ufunc, np.ufunc) else node.attr  # np.abs is np.absolute
        return _of_cuda(f"{base}.{own}") if base else ""
    if not isinstance(node, ast.Name):
        return ""
    try:
        value = function.lookup(node.id)
    except KeyError:
        return ""
    if isinstance(value, ModuleType):
        return _of_cuda(value.__name__)
    if _is_cuda(value):
        place = value.__module__.removeprefix("numba.")
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", node.id)
        return f"{place if place in _PARTS else 'cuda'}.{name}"
    module = getattr(value, "__module__", None)
    if module in ("math", "cmath", "builtins", "operator", "_operator"):
        return f"{module.strip('_')}.{getattr(value, '__qualname__', node.id)}"
    return f"numpy.{value.__name__}" if isinstance(value, np.ufunc) else ""


def _of_cuda(name: str) -> str:
    """Leave out the package of ``numba.cuda`` and what is in it."""
    return name.removeprefix("numba.") if name == "numba.cuda" or name.startswith("numba.cuda.") else name


def _is_cuda(value: object) -> bool:
    if isinstance(value, EnumMeta):
        return False
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and module.startswith("numba.cuda")


_LONG_NAMES = {"float": "float64", "double": "float64", "single": "float32", "int": "int64", "complex": "complex128"}


def as_dtype(value: object) -> np.dtype[np.generic] | None:
    """Return the NumPy dtype that a type of NumPy's or Numba's, or its name, stands for; None for anything else."""
    if isinstance(value, np.dtype):
        return value
    if isinstance(value, type):
        known = issubclass(value, np.generic) and value not in _ABSTRACT
        return np.dtype(value) if known or value in (bool, int, float, complex) else None
    if type(value).__name__ == "Record" and type(value).__module__.startswith("numba"):
        return _record_dtype(value)
    if isinstance(value, str) and "," in value:
        return np.dtype(value) if all(part.strip() in DTYPES for part in value.split(",")) else None
    name = _LONG_NAMES.get(value, value) if isinstance(value, str) else getattr(value, "name", None)
    numba_type = isinstance(value, str) or type(value).__module__.startswith("numba")
    if numba_type and isinstance(name, str) and name in DTYPES:
        return np.dtype(DTYPES[name])
    return None


def _record_dtype(record: Any) -> np.dtype[np.generic] | None:
    """Return the dtype of Numba's type of a record; None where it holds what NumPy has no type for."""
    formats: list[Any] = []
    for part in record.fields.values():
        shape = getattr(part.type, "shape", ())
        formats.append((as_dtype(part.type.dtype if shape else part.type), shape))
    if any(dtype is None for dtype, _ in formats):
        return None
    offsets = [part.offset for part in record.fields.values()]
    description: Any = {"names": list(record.fields), "formats": formats, "offsets": offsets, "itemsize": record.size}
    read_dtype: np.dtype[np.generic] = np.dtype(description, align=bool(record.aligned))
    return read_dtype
