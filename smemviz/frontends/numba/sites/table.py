"""What is known of a kernel's arrays and sites before anything runs."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.sites.names import Names
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
class IteratorRef:
    """What ``zip`` and its like make, with what each item of it is."""

    item: Ref


@dataclass(frozen=True)
class SliceRef:
    """A slice that a name stands for: as an index it picks no position."""


Ref = ArrayRef | TupleRef | IteratorRef | SliceRef | None


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
