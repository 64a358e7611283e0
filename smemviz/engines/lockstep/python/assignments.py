"""Assignments: to names, to elements and fields, to parts of arrays, and item by item."""

from __future__ import annotations

import ast
from typing import Any

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python import access, arrays
from smemviz.engines.lockstep.python.calls import Calls
from smemviz.engines.lockstep.python.operations import short
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import Value
from smemviz.messages import said


class Assignments(Calls):
    """A frame that assigns; a statement returns the threads that go on."""

    def assignment(self, node: ast.Assign) -> Mask:
        value = self.value(node.value)
        for target in node.targets:
            self.bind(target, value, node.value)
        return self.mask

    def annotated(self, node: ast.AnnAssign) -> Mask:
        if node.value is not None:
            self.bind(node.target, self.value(node.value), node.value)
        return self.mask

    def augmented(self, node: ast.AugAssign) -> Mask:
        target = node.target
        if isinstance(target, ast.Name):
            value = self.apply(node, type(node.op), self.read(target), self.value(node.value))
            self.assign(node, target.id, value)
            return self.mask
        view, element, reached = self.element(target)
        if element is None:
            raise self.refuse(node, said("arithmetic with an array ({code})", code=short(node)))
        old = access.read(self, target, view, element, reached)
        value = self.apply(node, type(node.op), old, self.value(node.value))
        access.write(self, target, view, element, reached, value)
        return self.mask

    def bind(self, target: ast.expr, value: Value, source: ast.expr) -> None:
        """Assign the value of ``source`` to a name, to an element, or item by item to several targets."""
        match target:
            case ast.Name():
                self.assign(target, target.id, value)
            case ast.Tuple() | ast.List():
                if not isinstance(value, tuple) or any(isinstance(t, ast.Starred) for t in target.elts):
                    raise self.refuse(target, said("unpacking into {code}", code=ast.unparse(target)))
                if len(value) != len(target.elts):
                    raise self.wrong(
                        target, said("{values} values for {names} names", values=len(value), names=len(target.elts))
                    )
                for one, item in zip(target.elts, value, strict=True):
                    self.bind(one, item, source)
            case ast.Subscript() | ast.Attribute():
                view, element, reached = self.element(target)
                if element is None:
                    access.fill(self, target, view, source, value)
                else:
                    access.write(self, target, view, element, reached, value)
            case _:
                raise self.refuse(target, said("assignment to {code}", code=ast.unparse(target)))

    def element(self, target: ast.Subscript | ast.Attribute) -> tuple[View, Any, Mask]:
        """Return the array, the element that is assigned, None for a part of the array, and where there is one."""
        base = self.value(target.value)
        if isinstance(target, ast.Attribute):
            view = arrays.field_of(self, target, base, target.attr)
        elif isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
            view = arrays.field_of(self, target, base, target.slice.value)
        else:
            indices = self.indices(target.slice)
            if not isinstance(base, View) or base.dtype.fields is not None:
                raise self.refuse(target, said("assignment to {code}", code=ast.unparse(target)))
            if len(indices) == base.ndim and not any(isinstance(i, slice) or i is Ellipsis for i in indices):
                return base, *access.locate(self, target, base, indices)
            return access.subview(self, target, base, indices), None, self.mask
        if view.ndim or view.dtype.fields is not None:
            return view, None, self.mask
        return view, *access.whole(self, view)
