"""What is known of a kernel's arrays and sites before anything runs, and one function as a walk reaches it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.sites.fields import dtype_name
from smemviz.frontends.numba.sites.names import Names, source_text
from smemviz.messages import english
from smemviz.recordings.data import Site
from smemviz.recordings.vocabulary import ATOMICS, REDUCTIONS


@dataclass(frozen=True)
class ArrayRef:
    """What is known of an array before anything runs. ``origins`` are the names it was declared under.

    A record, an element of an array of records, is an array without axes. ``bytewise`` tells whether Numba loads and
    stores its numbers byte by byte, as it does where records that they are in are not aligned.
    """

    origins: tuple[str, ...]
    space: str
    ndim: int
    dtype: np.dtype[Any]
    bytewise: bool = False

    @property
    def is_record(self) -> bool:
        """Whether its elements have fields."""
        return self.dtype.fields is not None

    @property
    def is_packed(self) -> bool:
        """Whether its elements are records without ``align=True``."""
        return self.is_record and not self.dtype.isalignedstruct


@dataclass(frozen=True)
class TupleRef:
    """A tuple of arrays, tuples, and scalars, which are None; ``names`` are a named tuple's."""

    items: tuple[Ref, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class SliceRef:
    """A slice that a name stands for: as an index it picks no position."""


Ref = ArrayRef | TupleRef | SliceRef | None


@dataclass(frozen=True)
class Declaration:
    """One ``cuda.shared.array``; dynamic ones share the launch's dynamic memory and have shape (0,).

    ``alignment`` is bytes, 1 where none was asked for.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    line: int
    dynamic: bool
    alignment: int = 1


@dataclass(frozen=True)
class SiteTree:
    """The sites of one function as reached by one chain of calls, keyed by syntax node.

    An augmented assignment has both a load and a store on its target; a loop over an array has a load on the array, an
    assignment to a slice a store on its target and, where an array is assigned, a load on its value. ``declarations``
    index the table's; ``calls`` lead into device functions; ``in_lockstep`` is what is counted there only.
    """

    function: Function
    loads: dict[ast.AST, int] = field(default_factory=dict)
    stores: dict[ast.AST, int] = field(default_factory=dict)
    atomics: dict[ast.AST, int] = field(default_factory=dict)
    declarations: dict[ast.AST, int] = field(default_factory=dict)
    calls: dict[ast.AST, SiteTree] = field(default_factory=dict)
    in_lockstep: list[ast.expr] = field(default_factory=list)

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """The function, and those that it calls."""
        return self.function, *(function for inner in self.calls.values() for function in inner.functions)

    @cached_property
    def names(self) -> Names:
        """What the names in the function stand for."""
        return Names(self.function)


@dataclass(frozen=True)
class SiteTable:
    """All sites and shared declarations of a kernel, and the tree that finds them; do blocks wait for each other?"""

    root: SiteTree
    sites: tuple[Site, ...]
    declarations: tuple[Declaration, ...]
    cooperative: bool = False

    @cached_property
    def has_updates(self) -> bool:
        """Whether there is an atomic: without any a fence tells nobody anything."""
        return any(site.op in ATOMICS or site.op in REDUCTIONS for site in self.sites)


def argument_ref(name: str, value: object) -> Ref:
    """Describe a kernel's argument: an array by its dtype and rank, a tuple by its items, a scalar by None."""
    if isinstance(value, slice):
        return SliceRef()
    if isinstance(value, tuple):
        items = tuple(argument_ref(name, item) for item in value)
        return TupleRef(items, tuple(getattr(type(value), "_fields", ())))
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    is_number = isinstance(value, np.generic) and not isinstance(value, np.void)
    if dtype is not None and isinstance(shape, tuple) and not is_number:
        return ArrayRef((name,), "global", len(shape), np.dtype(dtype))
    return None


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
