"""What is known of a kernel's arrays and sites before anything runs."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

import numpy as np

from smemviz.functions import Function
from smemviz.recording import Site


@dataclass(frozen=True)
class ArrayRef:
    """What is known of an array before anything runs. ``origins`` are the names it was declared under."""

    origins: tuple[str, ...]
    space: str
    ndim: int
    dtype: str


@dataclass(frozen=True)
class TupleRef:
    """A tuple of arrays, tuples, and scalars, which are None."""

    items: tuple[Ref, ...]


Ref = ArrayRef | TupleRef | None


@dataclass(frozen=True)
class Declaration:
    """One ``cuda.shared.array``; dynamic ones share the launch's dynamic memory and have shape (0,)."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    line: int
    dynamic: bool


@dataclass(frozen=True)
class SiteTree:
    """The sites of one function as reached by one chain of calls, keyed by syntax node.

    An augmented assignment has both a load and a store on its target. ``declarations`` index the table's; ``calls``
    lead into device functions.
    """

    function: Function
    loads: dict[ast.AST, int] = field(default_factory=dict)
    stores: dict[ast.AST, int] = field(default_factory=dict)
    atomics: dict[ast.AST, int] = field(default_factory=dict)
    declarations: dict[ast.AST, int] = field(default_factory=dict)
    calls: dict[ast.AST, SiteTree] = field(default_factory=dict)


@dataclass(frozen=True)
class SiteTable:
    """All sites and shared declarations of a kernel, and the tree that finds them."""

    root: SiteTree
    sites: tuple[Site, ...]
    declarations: tuple[Declaration, ...]


def argument_ref(name: str, value: object) -> Ref:
    """Describe a kernel's argument: an array by its dtype and rank, a tuple by its items, a scalar by None."""
    if isinstance(value, tuple):
        return TupleRef(tuple(argument_ref(name, item) for item in value))
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is not None and isinstance(shape, tuple) and not isinstance(value, np.generic):
        return ArrayRef((name,), "global", len(shape), np.dtype(dtype).name)
    return None
