"""Which sites have an index that a kernel loads: there data decides which words are asked for, and nothing else does.

Whatever is computed from the lane, the launch and constants is the same for all data, whether or not a stride, a
grouping or an XOR describes its lanes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache

from smemviz.errors import KernelFileError
from smemviz.frontends.numba.python_program import parse_python
from smemviz.frontends.numba.syntax import dotted_name, positional, stored
from smemviz.recordings.data import Launch, Site
from smemviz.recordings.recording import Recording
from smemviz.recordings.text import find_function
from smemviz.recordings.vocabulary import DTYPES

_COMPUTING = {*DTYPES, "int", "float", "bool", "min", "max", "abs", "len", "range", "divmod", "grid", "gridsize"}
_COMPUTING |= {"popc", "brev", "clz", "ffs", "selp", "round"}
_SIZES = ("shape", "strides")


def loaded_sites(recording: Recording, launch: Launch) -> frozenset[int]:
    """Return the sites of a launch whose index is loaded data, comes from it or from a call that cannot be seen into.

    Sites number the launch's. A file that is not Python has none that could be told.
    """
    text = _Text.of(recording.source_of(launch))
    kernel = find_function(text.tree, launch.kernel, launch.line) if text else None
    if text is None or kernel is None:
        return frozenset()
    return frozenset(i for i, site in enumerate(launch.sites) if _is_loaded(text, kernel, site))


class _Text:
    """The functions of a file, with what is known of them by the parameters that hold data."""

    def __init__(self, source: str) -> None:
        self.tree = parse_python(source, "").tree
        self.functions = {node.name: node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)}
        self._names: dict[tuple[ast.FunctionDef, frozenset[str]], frozenset[str]] = {}
        self._returns: dict[tuple[ast.FunctionDef, frozenset[str]], bool] = {}

    @staticmethod
    def of(source: str) -> _Text | None:
        try:
            return _read(source)
        except KernelFileError:
            return None

    def called(self, node: ast.Call) -> ast.FunctionDef | None:
        return self.functions.get(node.func.id) if isinstance(node.func, ast.Name) else None

    def names_with_data(self, function: ast.FunctionDef, with_data: frozenset[str]) -> frozenset[str]:
        """Return the variables that hold data at some time: what was assigned from it, or where it decides the way."""
        key = function, with_data
        if key not in self._names:
            self._names[key] = names = with_data  # until it is known, for a function that calls itself
            while more := {name for node in ast.walk(function) for name in self._gets_data(node, names)} - names:
                self._names[key] = names = names | more
        return self._names[key]

    def given_data(self, callee: ast.FunctionDef, call: ast.Call, names: frozenset[str]) -> frozenset[str]:
        given = [
            *zip(positional(callee), call.args, strict=False),
            *((keyword.arg or "", keyword.value) for keyword in call.keywords),
        ]
        return frozenset(name for name, value in given if self.has_data(value, names))

    def has_data(self, expression: ast.expr, names: frozenset[str]) -> bool:
        """Whether an expression loads something, calls what does or may, or has a variable with data."""
        for node in ast.walk(expression):
            match node:
                case ast.Name(id=name) if name in names:
                    return True
                case ast.Subscript(value=ast.Attribute(attr=attribute)) if attribute in _SIZES:
                    continue
                case ast.Subscript():
                    return True
                case ast.Call() if self._gives_data(node, names):
                    return True
        return False

    def _gives_data(self, call: ast.Call, names: frozenset[str]) -> bool:
        """Whether a call returns data; it may where it cannot be seen into."""
        callee, name = self.called(call), dotted_name(call.func)
        if callee is None:
            return name.rpartition(".")[2] not in _COMPUTING and not name.startswith("math.")
        key = callee, self.given_data(callee, call, names)
        if key not in self._returns:
            self._returns[key] = False  # until it is known, for a function that calls itself
            self._returns[key] = self._returns_data(callee, self.names_with_data(*key))
        return self._returns[key]

    def _returns_data(self, function: ast.FunctionDef, names: frozenset[str]) -> bool:
        for node in ast.walk(function):
            match node:
                case ast.Return(value=ast.expr() as value) if self.has_data(value, names):
                    return True
                case ast.If(test=test) | ast.While(test=test) if self.has_data(test, names):
                    if any(isinstance(inner, ast.Return) for inner in ast.walk(node)):
                        return True
        return False

    def _gets_data(self, node: ast.AST, names: frozenset[str]) -> Iterable[str]:
        match node:
            case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.NamedExpr(value=value):
                data = self.has_data(value, names)
            case ast.AnnAssign(value=ast.expr() as value):
                data = self.has_data(value, names)
            case ast.If(test=test):
                data = self.has_data(test, names)
            case ast.While(test=test):
                data = self.has_data(test, names) or self._data_leaves(node, names)
            case ast.For(iter=iterated):
                elements = isinstance(iterated, ast.Name | ast.Attribute)
                data = elements or self.has_data(iterated, names) or self._data_leaves(node, names)
            case _:
                return ()
        return stored(node) if data else ()

    def _data_leaves(self, loop: ast.For | ast.While, names: frozenset[str]) -> bool:
        """Whether data decides when a loop, or a turn of it, ends."""
        branches = (node for node in ast.walk(loop) if isinstance(node, ast.If) and self.has_data(node.test, names))
        return any(isinstance(node, ast.Break | ast.Continue) for way in branches for node in ast.walk(way))


_read = lru_cache(maxsize=8)(_Text)


def _is_loaded(text: _Text, function: ast.FunctionDef, site: Site) -> bool:
    """Follow the calls that lead to a site, with the parameters that hold data, and look at its index there."""
    names = text.names_with_data(function, frozenset())
    for place in site.calls:
        call = next((node for node in _at(function, place) if isinstance(node, ast.Call)), None)
        callee = text.called(call) if call else None
        if call is None or callee is None:
            return False
        function, names = callee, text.names_with_data(callee, text.given_data(callee, call, names))
    return any(text.has_data(index, names) for index in _indices(function, site))


def _indices(function: ast.FunctionDef, site: Site) -> Iterator[ast.expr]:
    """Give the indices that begin where a site does: one, or those of ``held[row][column]``."""
    for node in _at(function, (site.line, site.column)):
        match node:
            case ast.Subscript(slice=index) | ast.Call(args=[_, index, *_]):
                yield index


def _at(function: ast.FunctionDef, place: tuple[int, int]) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.expr) and (node.lineno, node.col_offset) == place:
            yield node
