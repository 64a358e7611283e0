"""Indices, elements and assignment in the host part."""

from __future__ import annotations

import ast
import operator
from typing import Any

import numpy as np

from smemviz.engines.host import configuration
from smemviz.engines.lockstep.memory.device_array import DeviceArray
from smemviz.engines.sandbox.kernels import Configured, Kernel
from smemviz.engines.sandbox.language.operators import Operators
from smemviz.engines.sandbox.language.sizes import elements
from smemviz.messages import said


class Targets(Operators):
    """Takes and sets elements, and binds names."""

    def value(self, node: ast.expr) -> Any:
        """Evaluate an expression; expressions know how."""
        raise NotImplementedError

    def name(self, node: ast.Name) -> Any:
        """Return what a name stands for."""
        raise NotImplementedError

    def index(self, node: ast.expr) -> Any:
        """Evaluate what stands in brackets."""
        if isinstance(node, ast.Slice):
            return slice(*(None if part is None else self.value(part) for part in (node.lower, node.upper, node.step)))
        if isinstance(node, ast.Tuple):
            return tuple(self.index(item) for item in node.elts)
        return self.value(node)

    def subscript(self, base: Any, index: Any) -> Any:
        """Take an element, a part, or a launch configuration."""
        if isinstance(base, Kernel):
            if base.device:
                raise self.error(
                    said("{function} is a device function; only kernels are launched", function=base.definition.name)
                )
            return Configured(base, configuration((self.file, self.line), index))
        if not isinstance(base, np.ndarray | np.generic | DeviceArray | list | tuple | str | range):
            raise self.error(said("what stands before the brackets has no elements"))
        parts = index if isinstance(index, tuple) else (index,)
        self.afford(max(1, elements([part for part in parts if isinstance(part, np.ndarray | list)])) * _rest(base))
        return self.guarded(operator.getitem, base, self.handed(index))

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a target."""
        match target:
            case ast.Name():
                if target.id.startswith("__"):
                    raise self.error(said("{name} is not a name for the editor", name=target.id))
                self.names[target.id] = value
            case ast.Tuple() | ast.List():
                if not isinstance(value, tuple | list | range | np.ndarray):
                    raise self.error(said("what is to be taken apart is no tuple, list or array"))
                if any(isinstance(one, ast.Starred) for one in target.elts):
                    raise self.refuse(said("an asterisk on the left"))
                if len(value) != len(target.elts):
                    raise self.error(
                        said("there are {values} values for {names} names", values=len(value), names=len(target.elts))
                    )
                for one, item in zip(target.elts, value, strict=True):
                    self.assign(one, item)
            case ast.Subscript():
                self.store(self.value(target.value), self.index(target.slice), value)
            case _:
                raise self.refuse(said("assignment to an attribute"))

    def store(self, base: Any, index: Any, value: Any) -> None:
        """Set elements of an array or a list."""
        if isinstance(base, list) and not isinstance(index, int):
            raise self.refuse(said("assignment to a part of a list"))
        if not isinstance(base, np.ndarray | DeviceArray | list):
            raise self.error(said("only elements of arrays and lists can be set"))
        self.guarded(operator.setitem, base, self.handed(index), self.handed(value))

    def augment(self, node: ast.AugAssign) -> None:
        """Execute ``target op= value``; an array is changed in place, as NumPy does."""
        if isinstance(node.target, ast.Subscript):
            base, index = self.value(node.target.value), self.index(node.target.slice)
            self.store(base, index, self.binary(node.op, self.subscript(base, index), self.value(node.value)))
            return
        if not isinstance(node.target, ast.Name):
            raise self.refuse(said("assignment to an attribute"))
        before = self.name(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
        after = self.binary(node.op, before, self.value(node.value))
        if isinstance(before, np.ndarray):
            self.store(before, Ellipsis, after)
        else:
            self.assign(node.target, after)


def _rest(base: Any) -> int:
    """Return the most elements that one index of the first axis picks."""
    return int(np.prod(np.shape(base)[1:])) if isinstance(base, np.ndarray) else 1
