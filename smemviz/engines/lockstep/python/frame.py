"""One function as it runs: its variables, and which of its threads are active."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.nearest import neighbour
from smemviz.engines.lockstep.python.merging import CannotMergeError, merge
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import Value
from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.sites import SiteTree
from smemviz.frontends.numba.sites.names import Names
from smemviz.messages import said

_MISSING: Any = object()


class Frame:
    """A function that was called: ``mask`` are the active threads, ``live`` those that have not returned.

    A variable is its value and its owner, a mask outside which the value means nothing: threads that assign within
    the owner keep what the others have, threads that cover all that live of it need not.
    """

    def __init__(self, machine: Machine, tree: SiteTree, mask: Mask) -> None:
        self.machine = machine
        self.tree = tree
        self.function = tree.function
        self.entry = mask
        self.mask = mask
        self.live = mask
        self.variables: dict[str, Value] = {}
        self.owners: dict[str, Mask] = {}
        self.names = Names(tree.function)
        self.local_arrays: dict[ast.AST, View] = {}
        self._canonical: dict[ast.AST, str] = {}

    # -- refusing

    def refuse(self, node: ast.AST, what: str) -> UnsupportedError:
        """Return the error for a construct that this engine does not know."""
        return self.wrong(node, said("{what} is not executed in lockstep; run with engine gpu", what=what))

    def unknown(self, node: ast.AST, what: str, name: str, known: Iterable[str]) -> UnsupportedError:
        """Return the error for ``what``, whose ``name`` is none of those known: it may be misspelt."""
        near = neighbour(name, known)
        if near is None:
            return self.refuse(node, what)
        return self.wrong(node, said("{what} is not known; did you mean {near}?", what=what, near=near))

    def wrong(self, node: ast.AST, what: str) -> UnsupportedError:
        """Return an error at a node."""
        return UnsupportedError(self.function.file, getattr(node, "lineno", self.function.node.lineno), what)

    # -- names

    def canonical(self, node: ast.expr) -> str:
        """Return the name that rules go by, empty when there is none or a variable hides it."""
        name = self._canonical.get(node)
        if name is None:
            name = self._canonical[node] = self.names.canonical(node)
        return name

    def read(self, node: ast.Name) -> Value:
        """Return a variable's value."""
        try:
            return self.variables[node.id]
        except KeyError:
            raise self.wrong(
                node, said("{name} is read before it is assigned; assign it on every path", name=node.id)
            ) from None

    def assign(self, node: ast.AST, name: str, value: Value) -> None:
        """Give a variable a value in the active threads."""
        mask = self.mask
        old = self.variables.get(name, _MISSING)
        if old is _MISSING:
            self.variables[name], self.owners[name] = value, mask
            return
        owner = self.owners[name]
        if owner is mask or self._covers(mask, owner):
            self.variables[name], self.owners[name] = value, mask
            return
        try:
            self.variables[name] = merge(mask.lanes, value, old)
        except CannotMergeError as error:
            raise self.refuse(node, f"{name}: {error}") from None
        self.owners[name] = owner if mask.within(owner) else owner.common(mask)

    def _covers(self, mask: Mask, owner: Mask) -> bool:
        """Tell whether every thread of ``owner`` that still runs is in ``mask``."""
        if mask.within(owner):
            return mask.count == (owner.count if self.live is self.entry else _overlap(owner, self.live))
        return owner.within(mask)


def _overlap(one: Mask, other: Mask) -> int:
    return int(np.count_nonzero(one.lanes & other.lanes))
