"""What the names in one function stand for, apart from its variables."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from smemviz.frontends.numba import xoroshiro
from smemviz.frontends.numba.python_functions import (
    Function,
    as_dtype,
    canonical_name,
    function_in,
    python_function,
    resolve,
)
from smemviz.frontends.numba.syntax import evaluate, parameters, stored

_REGISTERS = ("threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpsize")


class Names:
    """The free names of a function; a variable of the same name hides what stands outside."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.locals = _assigned_names(function.node) - function.fixed
        self._canonical: dict[ast.expr, str] = {}
        self._constants: dict[ast.expr, object] = {}

    def canonical(self, node: ast.expr) -> str:
        """Return the canonical name of a rule's subject, empty when there is none."""
        name = self._canonical.get(node)
        if name is None:
            name = self._canonical[node] = canonical_name(node, self.function) if self._is_free(node) else ""
        return name

    def constant(self, node: ast.expr) -> object:
        """Return what a module constant or closure variable holds; None for a variable or an expression."""
        if isinstance(node, ast.Call):
            return self._dtype(node)
        if node not in self._constants:
            try:
                self._constants[node] = resolve(node, self.function) if self._is_free(node) else None
            except KeyError:
                self._constants[node] = None
        return self._constants[node]

    def _dtype(self, node: ast.Call) -> object:
        """Return what ``np.dtype`` of a name or of a type of NumPy's gives, None for another call."""
        if len(node.args) != 1 or node.keywords or self.canonical(node.func) != "numpy.dtype":
            return None
        dtype = node.args[0].value if isinstance(node.args[0], ast.Constant) else self.constant(node.args[0])
        of_numpy = isinstance(dtype, type) and issubclass(dtype, np.generic)
        return as_dtype(dtype) if of_numpy or isinstance(dtype, str) else None

    def called(self, node: ast.expr) -> object:
        """Return the object of the module that a call is of, an item of a tuple of functions too."""
        return self.literal(node) if isinstance(node, ast.Subscript) else self.constant(node)

    def callee(self, node: ast.expr) -> Function | None:
        """Return the device function that a call reaches, if it is one."""
        value = self.called(node)
        definition = getattr(value, "definition", None)
        if isinstance(definition, Function):  # of a text that Python never executes
            return definition
        if self.canonical(node).startswith("cuda.random."):
            value = xoroshiro.DEVICE.get(self.canonical(node).rpartition(".")[2])
        inner = python_function(value)
        if inner is None:
            return None
        return function_in(inner, self.function.file, self.function.source, self.function.tree)

    def literal(self, node: ast.expr) -> object:
        """Return what an expression is where Numba knows that when it compiles, None where it does not.

        It knows objects of the module, numbers written out and what Python makes of them before, tuples and their
        items, and a variable that is assigned nothing else.
        """
        return self._known(node, frozenset())

    def _known(self, node: ast.expr, visited: frozenset[str]) -> object:
        match node:
            case ast.Constant():
                return node.value
            case ast.BinOp() | ast.UnaryOp() if _is_written_out(node):
                return evaluate(node, {})
            case ast.Tuple():
                items = tuple(self._known(item, visited) for item in node.elts)
                return None if None in items else items
            case ast.Subscript():
                return _item(self._known(node.value, visited), self._known(node.slice, visited))
            case ast.Name(id=name) if name in self.function.literals:
                return self.function.literals[name]
            case ast.Name(id=name) if name in self.locals:
                return None if name in visited else self._only_value(name, visited | {name})
        return None if self._is_register(node) else self.constant(node)

    def _only_value(self, name: str, visited: frozenset[str]) -> object:
        nodes = assignments(self.function.node).get(name, ())
        values = [self._known(value, visited) for value in nodes]
        if not values or not isinstance(values[0], int | float | tuple):
            return None
        return values[0] if all(type(value) is type(values[0]) and value == values[0] for value in values) else None

    def called_with(self, callee: Function, arguments: Mapping[str, ast.expr]) -> Function:
        """Return a device function with the functions, types and constants that a call gives it."""
        stored = stored_names(callee.node)
        fixed: dict[str, object] = {}
        literals: dict[str, object] = {}
        for name, node in arguments.items():
            value = self.literal(node)
            if name in stored or value is None:
                continue
            is_value = isinstance(value, bool | int | float | complex | str | tuple | np.ndarray | np.generic)
            (literals if is_value else fixed)[name] = value
        if not fixed and not literals:
            return callee
        return replace(callee, scope={**callee.scope, **fixed}, fixed=frozenset(fixed), literals=literals)

    def _is_register(self, node: ast.expr) -> bool:
        """Tell whether a name is a number that each thread has of its own, such as ``cuda.threadIdx.x``."""
        return self.canonical(node).removeprefix("cuda.").partition(".")[0] in _REGISTERS

    def _is_free(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id not in self.locals


@lru_cache(maxsize=256)
def _assigned_names(function: ast.FunctionDef) -> frozenset[str]:
    return frozenset(parameters(function)) | stored_names(function)


@lru_cache(maxsize=4096)
def stored_names(node: ast.AST) -> frozenset[str]:
    """Return every name that a function or a part of one assigns."""
    return frozenset(stored(node))


@lru_cache(maxsize=256)
def assignments(function: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    """Return the variables that plain assignments alone give values, and all of those."""
    other, stores = parameters(function), Counter(stored(function))
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                pairs = [pair for target in targets for pair in _pairs(target, value)]
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                pairs = list(_pairs(target, value))
            case _:
                continue
        for name, assigned in pairs:
            values.setdefault(name, []).append(assigned)
    return {name: only for name, only in values.items() if stores[name] == len(only) and name not in other}


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple):
        for i, part in enumerate(target.elts):
            if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
                yield from _pairs(part, value.elts[i])
            else:
                yield from _pairs(part, ast.Subscript(value, ast.Constant(i), ast.Load()))


def _item(items: object, index: object) -> object:
    if isinstance(items, tuple) and isinstance(index, int) and -len(items) <= index < len(items):
        item: object = items[index]
        return item
    return None


def _is_written_out(node: ast.expr) -> bool:
    """Tell whether an expression is made of numbers alone, so that Python computes it before Numba sees it."""
    parts = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    return all(isinstance(part, parts) for part in ast.walk(node))


def source_text(source: str, node: ast.expr) -> str:
    """Return the text of a node as it was written; ``ast.get_source_segment`` splits the whole file for each."""
    lines = _lines(source)
    assert node.end_lineno is not None
    text = lines[node.lineno - 1 : node.end_lineno]
    text[-1] = text[-1][: node.end_col_offset]
    text[0] = text[0][node.col_offset :]
    return b"".join(text).decode()


@lru_cache(maxsize=32)
def _lines(source: str) -> list[bytes]:
    return source.encode().splitlines(keepends=True)  # bytes: offsets count them, and only line ends split them
