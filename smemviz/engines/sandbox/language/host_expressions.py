"""Expressions of the host part, by the kind of their node."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np

from smemviz.engines.lockstep.host.cuda import DeviceOnly
from smemviz.engines.sandbox.language import targets
from smemviz.engines.sandbox.language.exceptions import Caught
from smemviz.engines.sandbox.language.host import Host
from smemviz.engines.sandbox.language.host_operators import COMPARE
from smemviz.engines.sandbox.language.known import NotAllowedError, admitted, values_of
from smemviz.engines.sandbox.language.scope import member
from smemviz.engines.sandbox.language.sizes import together
from smemviz.messages import english

_FORMAT = re.compile(r"[<>^]?[+ ]?0?\d{0,2}[,_]?(\.\d{1,2})?[bdeEfFgGoxX%]?")


def data(host: Host, node: ast.expr) -> Any:
    """Evaluate an expression that has to be a number, an array, or a list of them."""
    return _admitted(host, node, host.value(node))


def _admitted(host: Host, node: ast.expr, value: Any) -> Any:
    """Return the value of an expression if it is a number, an array, or a list of them."""
    try:
        return admitted(value)
    except NotAllowedError as error:
        raise host.error(
            english("{code} is {what}, no number and no array", code=ast.unparse(node), what=error.args[0])
        ) from None


def truth(host: Host, node: ast.expr) -> bool:
    """Evaluate a condition."""
    return bool(host.guarded(bool, data(host, node)))


def member_of(host: Host, base: Any, node: ast.Attribute) -> Any:
    """Return an attribute of a value, if the tables have it."""
    if not node.attr.startswith("_"):
        if isinstance(base, ModuleType):
            with suppress(KeyError):
                return member(base, node.attr)
        elif isinstance(base, DeviceOnly):
            return getattr(base, node.attr)
        elif node.attr in values_of(base):
            return host.guarded(getattr, base, node.attr)
    raise host.error(english("{code} is not there for text in the editor", code=ast.unparse(node)))


def either(host: Host, node: ast.BoolOp) -> Any:
    """Evaluate ``and`` or ``or``, as far as it has to be."""
    value: Any = None
    for operand in node.values:
        value = data(host, operand)
        if bool(host.guarded(bool, value)) is isinstance(node.op, ast.Or):
            break
    return value


def compare(host: Host, node: ast.Compare) -> Any:
    """Evaluate a chain of comparisons."""
    left, result = host.value(node.left), True
    for op, operand in zip(node.ops, node.comparators, strict=True):
        right = host.value(operand)
        host.afford(together(left, right))
        result = host.guarded(COMPARE[type(op)], left, right)
        if len(node.ops) > 1 and not host.guarded(bool, result):
            return result
        left = right
    return result


def items(host: Host, nodes: Iterable[ast.expr]) -> list[Any]:
    """Evaluate the items of a list; an asterisk spreads another one."""
    values: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            values.extend(iterate(host, node.value))
        else:
            values.append(host.value(node))
        host.bounded(values)
    return values


def iterate(host: Host, node: ast.expr) -> Iterator[Any]:
    """Return what a loop goes through."""
    value = host.value(node)
    if not isinstance(value, range | list | tuple | str | np.ndarray):
        raise host.error(
            english("{code} cannot be gone through; use a range, a list, a tuple or an array", code=ast.unparse(node))
        )
    return iter(value)


def comprehension(host: Host, node: ast.ListComp | ast.GeneratorExp) -> list[Any]:
    """Evaluate a comprehension of one loop, as a list."""
    if len(node.generators) > 1 or node.generators[0].is_async:
        raise host.refuse(english("a comprehension of several loops"))
    generator = node.generators[0]
    values: list[Any] = []
    for item in iterate(host, generator.iter):
        host.step(node)
        targets.assign(host, generator.target, item)
        if all(truth(host, condition) for condition in generator.ifs):
            values.append(host.value(node.elt))
            host.bounded(values)
    return values


def part(host: Host, node: ast.expr) -> str:
    """Return one part of a formatted text."""
    if not isinstance(node, ast.FormattedValue):
        return str(host.value(node))
    value = host.value(node.value)
    if isinstance(value, Caught):
        return repr(value) if node.conversion == ord("r") else str(value)
    value = _admitted(host, node.value, value)
    spec = host.value(node.format_spec) if node.format_spec else ""
    if not _FORMAT.fullmatch(spec):
        raise host.error(
            english(
                "the format {format} is not for the editor; give at most two digits of width",
                format=repr(spec[:20]),
            )
        )
    if spec and not isinstance(value, np.ndarray | list | tuple):
        return str(host.guarded(format, value, spec))
    return repr(value) if node.conversion == ord("r") else host.text(value)
