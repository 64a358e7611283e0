"""What is known of a kernel for arguments of some types, and kept from one launch of it to the next."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from cachetools import LRUCache

from smemviz.engines.host import Configuration
from smemviz.engines.lockstep.batch import Batch, batch_of
from smemviz.engines.lockstep.hazards.watched import accessed_arrays
from smemviz.engines.lockstep.memory.arguments import described
from smemviz.engines.lockstep.memory.shared import SharedLayout, place
from smemviz.engines.lockstep.values.typing import NotAScalarError, dtype_of
from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.sites import SiteTable, SiteTree, find_sites

_MOST_LAYOUTS = 64  # sizes of dynamic memory
_MOST_BATCHES = 4  # grids, each with the numbers of all its threads
_OF_WARPS = re.compile(r"laneid|warpsize|syncwarp|activemask|\w+_sync")


@dataclass(eq=False)
class Known:
    """Where a kernel accesses arrays; for every declaration of a shared one the first that is the same array.

    ``studied`` are the types of the variables of functions, ``conversions`` the rules of calls of types. It is one
    launch's alone: ``known_of`` takes it from the kernel, and ``leave`` puts it back.
    """

    table: SiteTable
    types: Hashable
    same: list[int] = field(init=False)
    studied: dict[Hashable, Any] = field(default_factory=dict)
    conversions: dict[Hashable, Any] = field(default_factory=dict)
    _layouts: LRUCache[int, SharedLayout] = field(default_factory=lambda: LRUCache(_MOST_LAYOUTS))
    _batches: LRUCache[Hashable, Batch] = field(default_factory=lambda: LRUCache(_MOST_BATCHES))

    def __post_init__(self) -> None:
        """Compare the declarations."""
        self.same = _same_memory(self.table)

    @cached_property
    def accessed(self) -> dict[str, tuple[int, bool]]:
        """How wide the narrowest access to each array in global memory is, in bytes, and whether it is written."""
        return accessed_arrays(self.table.sites)

    @cached_property
    def uses_warps(self) -> bool:
        """Whether the kernel or a function that it calls names lanes, or what a warp does together."""
        nodes = (node for function in self.table.root.functions for node in ast.walk(function.node))
        names = (getattr(node, "id", getattr(node, "attr", "")) for node in nodes)
        return any(_OF_WARPS.fullmatch(name) for name in names)

    def layout(self, dynamic: int) -> SharedLayout:
        """Return where shared arrays lie with so many bytes of dynamic memory."""
        layout = self._layouts.get(dynamic)
        if layout is None:
            layout = self._layouts[dynamic] = place(self.table.declarations, self.same, dynamic)
        return layout

    def batch(self, launched: Configuration, layout: SharedLayout, first_block: int, blocks: int) -> Batch:
        """Return a batch of blocks; that of a whole grid is made once."""
        grid, block, dynamic = launched.grid, launched.block, launched.dynamic_shared
        if blocks < math.prod(grid):
            return batch_of(self.table, layout, grid, block, first_block, blocks)
        batch = self._batches.get((grid, block, dynamic))
        if batch is None:
            batch = batch_of(self.table, layout, grid, block, first_block, blocks)
            self._batches[grid, block, dynamic] = batch
        return batch

    def leave(self, kernel: Function) -> None:
        """Keep what is known for the next launch of the kernel."""
        kernel.known[self.types] = self


def known_of(kernel: Function, values: Sequence[Any]) -> Known:
    """Take what is known of a kernel for arguments of these types, for one launch.

    Of a launch in another thread meanwhile, or behind one that ended with an error, nothing is known yet.

    Raises:
        UnsupportedError: as ``find_sites`` does.
    """
    types = tuple(map(_type_of, values))
    known: Known | None = kernel.known.pop(types, None)
    return known or Known(find_sites(kernel, [described(value) for value in values]), types)


def _type_of(value: Any) -> Any:
    """Return the type of an argument: of an array with the layout of its records, which ``==`` does not look at."""
    array = described(value)
    if isinstance(array, tuple):
        return (type(value), *map(_type_of, value))
    if isinstance(array, np.ndarray):
        return array.ndim, array.dtype if array.dtype.fields is None else repr(array.dtype)
    try:
        return dtype_of(value)
    except NotAScalarError:
        return type(value)


def _same_memory(table: SiteTable) -> list[int]:
    """Return for every declaration the first one at the same place of the source: they are one array."""
    first: dict[Any, int] = {}
    same = list(range(len(table.declarations)))

    def visit(tree: SiteTree) -> None:
        for node, index in tree.declarations.items():
            declared = table.declarations[index]
            same[index] = first.setdefault((node, declared.shape, declared.dtype), index)
        for inner in tree.calls.values():
            visit(inner)

    visit(table.root)
    lowest = {index: min(i for i, s in enumerate(same) if s == index) for index in set(same)}
    return [lowest[index] for index in same]
