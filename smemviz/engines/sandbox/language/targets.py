"""Indices, elements and assignment in the host part."""

from __future__ import annotations

import ast
import operator
from typing import Any

import numpy as np

from smemviz.engines.host import configuration
from smemviz.engines.lockstep.memory.device_array import DeviceArray
from smemviz.engines.sandbox.kernels import Configured, Kernel
from smemviz.engines.sandbox.language import host_operators
from smemviz.engines.sandbox.language.host import Host
from smemviz.engines.sandbox.language.sizes import elements
from smemviz.messages import english


def index_of(host: Host, node: ast.expr) -> Any:
    """Evaluate what stands in brackets."""
    if isinstance(node, ast.Slice):
        return slice(*(None if part is None else host.value(part) for part in (node.lower, node.upper, node.step)))
    if isinstance(node, ast.Tuple):
        return tuple(index_of(host, item) for item in node.elts)
    return host.value(node)


def subscript(host: Host, base: Any, index: Any) -> Any:
    """Take an element, a part, or a launch configuration."""
    if isinstance(base, Kernel):
        if base.device:
            raise host.error(
                english("{function} is a device function; only kernels are launched", function=base.definition.name)
            )
        return Configured(base, configuration((host.file, host.line), index))
    if not isinstance(base, np.ndarray | np.generic | DeviceArray | list | tuple | str | range):
        raise host.error(english("what stands before the brackets has no elements"))
    parts = index if isinstance(index, tuple) else (index,)
    host.afford(max(1, elements([part for part in parts if isinstance(part, np.ndarray | list)])) * _rest(base))
    return host.guarded(operator.getitem, base, host.handed(index))


def assign(host: Host, target: ast.expr, value: Any) -> None:
    """Bind a target."""
    match target:
        case ast.Name():
            if target.id.startswith("__"):
                raise host.error(english("{name} is not a name for the editor", name=target.id))
            host.names[target.id] = value
        case ast.Tuple() | ast.List():
            if not isinstance(value, tuple | list | range | np.ndarray):
                raise host.error(english("what is to be taken apart is no tuple, list or array"))
            if any(isinstance(part, ast.Starred) for part in target.elts):
                raise host.refuse(english("an asterisk on the left"))
            if len(value) != len(target.elts):
                raise host.error(
                    english("there are {values} values for {names} names", values=len(value), names=len(target.elts))
                )
            for part, item in zip(target.elts, value, strict=True):
                assign(host, part, item)
        case ast.Subscript():
            _store(host, host.value(target.value), index_of(host, target.slice), value)
        case _:
            raise host.refuse(english("assignment to an attribute"))


def _store(host: Host, base: Any, index: Any, value: Any) -> None:
    """Set elements of an array or a list."""
    if isinstance(base, list) and not isinstance(index, int):
        raise host.refuse(english("assignment to a part of a list"))
    if not isinstance(base, np.ndarray | DeviceArray | list):
        raise host.error(english("only elements of arrays and lists can be set"))
    host.guarded(operator.setitem, base, host.handed(index), host.handed(value))


def augment(host: Host, node: ast.AugAssign) -> None:
    """Execute ``target op= value``; an array is changed in place, as NumPy does."""
    if isinstance(node.target, ast.Subscript):
        base, index = host.value(node.target.value), index_of(host, node.target.slice)
        _store(
            host,
            base,
            index,
            host_operators.binary(host, node.op, subscript(host, base, index), host.value(node.value)),
        )
        return
    if not isinstance(node.target, ast.Name):
        raise host.refuse(english("assignment to an attribute"))
    before = host.lookup(node.target.id)
    after = host_operators.binary(host, node.op, before, host.value(node.value))
    if isinstance(before, np.ndarray):
        _store(host, before, Ellipsis, after)
    else:
        assign(host, node.target, after)


def _rest(base: Any) -> int:
    """Return the most elements that one index of the first axis picks."""
    return int(np.prod(np.shape(base)[1:])) if isinstance(base, np.ndarray) else 1
