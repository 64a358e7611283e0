"""One function as a walk reaches it: what its names stand for, and the sites it has."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.sites.fields import dtype_name
from smemviz.frontends.numba.sites.names import Names, source_text
from smemviz.frontends.numba.sites.table import ArrayRef, Declaration, Ref, SiteTree, TupleRef
from smemviz.messages import english
from smemviz.recordings.data import Site

Calls = tuple[tuple[int, int], ...]

_MAX_SITES = 10_000
_BYTE = np.dtype(np.uint8)


@dataclass(frozen=True)
class Walk:
    """What the walks of all functions share: the kernel's file, the names of each, and the growing lists."""

    file: str
    refs: dict[Calls, dict[str, Ref]]
    sites: list[Site] = field(default_factory=list)
    declarations: list[Declaration] = field(default_factory=list)
    grids: list[ast.AST] = field(default_factory=list)


@dataclass(frozen=True)
class Language:
    """What a walk does at each node: ``value`` visits an expression, ``statement`` a statement."""

    value: Callable[[Visit, ast.expr], Ref]
    statement: Callable[[Visit, ast.stmt], None]


class Visit:
    """One function as reached by one chain of calls."""

    def __init__(
        self,
        language: Language,
        walk: Walk,
        tree: SiteTree,
        bound: Mapping[str, Ref],
        calls: Calls,
        outer: tuple[ast.FunctionDef, ...] = (),
    ) -> None:
        self.language = language
        self.walk = walk
        self.tree = tree
        self.function = tree.function
        self.calls = calls
        self.nodes = (*outer, tree.function.node)
        self.refs = walk.refs.setdefault(calls, {})
        self.names = Names(tree.function)
        self.declared: dict[ast.AST, str] = {}
        self.returned: Ref = None
        self.nested = 0  # in so many branches and loops
        self.meanings: Counter[str] = Counter()  # how often each name was given another one
        for name, ref in bound.items():
            self.assign(tree.function.node, name, ref)

    def value(self, node: ast.expr) -> Ref:
        """Visit an expression; return the array or tuple it gives."""
        return self.language.value(self, node)

    def statements(self, body: Iterable[ast.stmt]) -> None:
        """Visit statements in order."""
        for statement in body:
            self.language.statement(self, statement)

    def assign(self, node: ast.AST, name: str, value: Ref) -> None:
        """Let a name stand for a value: from here on for no other where every thread comes by, and once."""
        if not self.nested:
            self.meanings[name] += 1
        key = f"{name} {self.meanings[name]}"
        self.refs[key] = self.join(node, self.refs.get(key), value)

    def ref(self, name: str) -> Ref:
        """Return what a name stands for."""
        return self.refs.get(f"{name} {self.meanings[name]}")

    def run(self) -> Ref:
        """Visit the body; return what the function returns."""
        self.statements(self.function.node.body)
        return self.returned

    def callee(self, tree: SiteTree, bound: Mapping[str, Ref], place: tuple[int, int]) -> Visit:
        """Return the visit of a device function that is called at a line and column."""
        return Visit(self.language, self.walk, tree, bound, (*self.calls, place), self.nodes)

    def unsupported(self, node: ast.AST, what: str) -> UnsupportedError:
        return UnsupportedError(self.function.file, getattr(node, "lineno", 1), what)

    def join(self, node: ast.AST, left: Ref, right: Ref) -> Ref:
        """Merge what a name may stand for; arrays of two kinds under one name cannot be followed."""
        if left is None or right is None or left == right:
            return right if left is None else left
        if isinstance(left, TupleRef) and isinstance(right, TupleRef) and len(left.items) == len(right.items):
            pairs = zip(left.items, right.items, strict=True)
            return TupleRef(tuple(self.join(node, a, b) for a, b in pairs), left.names)
        if isinstance(left, ArrayRef) and isinstance(right, ArrayRef):
            origins = tuple(dict.fromkeys((*left.origins, *right.origins)))
            bytewise = left.bytewise or right.bytewise
            both = replace(left, origins=origins, bytewise=bytewise)
            if both == replace(right, origins=origins, bytewise=bytewise):
                return both
        raise self.unsupported(node, english("one name stands for two kinds of array here; give each its own name"))

    # -- sites

    def site(self, node: ast.expr, array: ArrayRef, op: str, into: dict[ast.AST, int] | None = None) -> None:
        """Note a site at a node."""
        if array.space not in ("shared", "global"):
            return
        dtype = _BYTE if array.is_record else array.dtype  # Numba copies records byte by byte
        if dtype.itemsize not in (1, 2, 4, 8, 16):
            raise self.unsupported(
                node, english("elements of {bytes} bytes ({dtype}) are not followed", bytes=dtype.itemsize, dtype=dtype)
            )
        if len(self.walk.sites) == _MAX_SITES:
            raise self.unsupported(
                node, english("a kernel of more than {most} accesses is not followed", most=_MAX_SITES)
            )
        if into is None:
            into = self.tree.loads if op == "load" else self.tree.stores
        into[node] = len(self.walk.sites)
        self.walk.sites.append(
            Site(
                line=node.lineno,
                column=node.col_offset,
                end_line=node.end_lineno or node.lineno,
                end_column=node.end_col_offset or node.col_offset,
                source=source_text(self.function.source, node),
                array=" or ".join(array.origins),
                space="shared" if array.space == "shared" else "global",
                op=op,
                width=1 if array.bytewise and op in ("load", "store") else dtype.itemsize,
                dtype=dtype_name(dtype),
                function=self.function.name,
                calls=self.calls,
                file="" if self.function.file == self.walk.file else self.function.file,
            )
        )


def field_name(node: ast.expr) -> str | None:
    """Return the name of a field that an index gives."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
