"""Expressions of the host part by the kind of their node, with operators, indices and assignment."""

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np

from smemviz.engines.launch_shape import configuration
from smemviz.engines.lockstep.host.cuda import DeviceOnly
from smemviz.engines.lockstep.memory.device_array import DeviceArray
from smemviz.engines.sandbox.language.host import Configured, Host, Kernel
from smemviz.engines.sandbox.language.known import NotAllowedError, admitted, values_of
from smemviz.engines.sandbox.language.scope import Caught, member
from smemviz.engines.sandbox.language.sizes import elements, product, together
from smemviz.messages import english
from smemviz.model.layout.formulas import BINARY
from smemviz.model.layout.formulas import COMPARE as COMPARISONS

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = BINARY | {
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.MatMult: operator.matmul,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = COMPARISONS | {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}


def binary(host: Host, op: ast.operator, left: Any, right: Any) -> Any:
    """Apply an operator to two values; what grows fast is bounded before."""
    for side in (left, right):
        if isinstance(side, str) and isinstance(op, ast.Mod):
            raise host.refuse("% on text")
        if not isinstance(side, int | float | complex | str | tuple | list | np.ndarray | np.generic):
            raise host.error(
                english(
                    "{code}: one side is not a number", code=ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b")))
                )
            )
    if isinstance(left, int) and isinstance(right, int):
        grown = {
            ast.Pow: left.bit_length() * max(right, 0),
            ast.LShift: left.bit_length() + max(right, 0),
            ast.Mult: left.bit_length() + right.bit_length(),
        }.get(type(op), 0)
        if grown > host.limits.integer_bits + 1:
            raise host.error(english("a whole number of more than {most:,} bits", most=host.limits.integer_bits))
    sequence, times = (left, right) if isinstance(left, str | list | tuple) else (right, left)
    if isinstance(op, ast.Mult) and isinstance(sequence, str | list | tuple) and isinstance(times, int):
        if len(sequence) * times > host.limits.items:
            raise host.error(english("a list or text of more than {most:,} items", most=host.limits.items))
    elif isinstance(op, ast.MatMult):
        host.afford(product(left, right))
    else:
        host.afford(together(left, right))
    return host.guarded(_BINARY[type(op)], left, right)


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
                raise host.error(english("what is unpacked is not a tuple, list or array"))
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
    if isinstance(base, list) and not isinstance(index, int):
        raise host.refuse(english("assignment to a part of a list"))
    if not isinstance(base, np.ndarray | DeviceArray | list):
        raise host.error(english("only elements of arrays and lists can be set"))
    host.guarded(operator.setitem, base, host.handed(index), host.handed(value))


def augment(host: Host, node: ast.AugAssign) -> None:
    """Execute ``target op= value``; an array is changed in place, as NumPy does."""
    if isinstance(node.target, ast.Subscript):
        base, index = host.value(node.target.value), index_of(host, node.target.slice)
        _store(host, base, index, binary(host, node.op, subscript(host, base, index), host.value(node.value)))
        return
    if not isinstance(node.target, ast.Name):
        raise host.refuse(english("assignment to an attribute"))
    before = host.lookup(node.target.id)
    after = binary(host, node.op, before, host.value(node.value))
    if isinstance(before, np.ndarray):
        _store(host, before, Ellipsis, after)
    else:
        assign(host, node.target, after)


def _rest(base: Any) -> int:
    """Return the most elements that one index of the first axis picks."""
    return int(np.prod(np.shape(base)[1:])) if isinstance(base, np.ndarray) else 1


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
            english("{code} is {what}, not a number or an array", code=ast.unparse(node), what=error.args[0])
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
    raise host.error(english("{code} is not available in the editor", code=ast.unparse(node)))


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
            english("{code} cannot be iterated over; use a range, a list, a tuple or an array", code=ast.unparse(node))
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
        assign(host, generator.target, item)
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
                "the format {format} cannot be used in the editor; give at most two digits of width",
                format=repr(spec[:20]),
            )
        )
    if spec and not isinstance(value, np.ndarray | list | tuple):
        return str(host.guarded(format, value, spec))
    return repr(value) if node.conversion == ord("r") else host.text(value)
