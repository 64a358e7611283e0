"""What the names in one function stand for, apart from its variables."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from smemviz.frontends.numba import xoroshiro
from smemviz.frontends.numba.functions import Function, canonical_name, function_of, python_function, resolve

_REGISTERS = ("threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpsize")


class Names:
    """The free names of a function; a variable of the same name hides what stands outside."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.locals = _assigned_names(function.node) - function.fixed

    def canonical(self, node: ast.expr) -> str:
        """Return the canonical name of a rule's subject, empty when there is none."""
        return canonical_name(node, self.function) if self._is_free(node) else ""

    def constant(self, node: ast.expr) -> object:
        """Return what a module constant or closure variable holds; None for a variable or an expression."""
        try:
            return resolve(node, self.function) if self._is_free(node) else None
        except KeyError:
            return None

    def callee(self, node: ast.expr) -> Function | None:
        """Return the device function that a call reaches, if it is one."""
        value = self.constant(node)
        definition = getattr(value, "definition", None)
        if isinstance(definition, Function):  # of a text that Python never executes
            return definition
        if self.canonical(node).startswith("cuda.random."):
            value = xoroshiro.DEVICE.get(self.canonical(node).rpartition(".")[2])
        inner = python_function(value)
        if inner is None:
            return None
        same_file = inner.__code__.co_filename == self.function.file
        return function_of(inner, self.function.source, self.function.tree) if same_file else function_of(inner)

    def once(self, name: str) -> object:
        """Return the number that a variable is assigned, where that is done once and to a number written out."""
        return self.function.literals.get(name, _assigned_once(self.function.node).get(name))

    def literal(self, node: ast.expr) -> object:
        """Return what an argument is where that is known: an object of the module, a number or numbers written out."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Tuple):
            items = tuple(self.literal(item) for item in node.elts)
            return None if None in items else items
        if isinstance(node, ast.Name) and node.id in self.function.literals:
            return self.function.literals[node.id]
        return self.constant(node)

    def called_with(self, callee: Function, arguments: Mapping[str, ast.expr]) -> Function:
        """Return a device function with the functions, types and constants that a call gives it."""
        stored = stored_names(callee.node)
        fixed: dict[str, object] = {}
        literals: dict[str, object] = {}
        for name, node in arguments.items():
            value = None if self._is_register(node) else self.literal(node)
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
    """Return the arguments of a function and every name it assigns."""
    arguments = function.args
    named = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    return frozenset(named | stored_names(function))


@lru_cache(maxsize=256)
def stored_names(function: ast.FunctionDef) -> frozenset[str]:
    """Return every name that a function assigns."""
    return frozenset(n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


@lru_cache(maxsize=256)
def _assigned_once(function: ast.FunctionDef) -> dict[str, object]:
    """Return the variables with one assignment, of a number written out."""
    stored = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    found: dict[str, object] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)) if stored.count(name) == 1:
                found[name] = value
    return found


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
