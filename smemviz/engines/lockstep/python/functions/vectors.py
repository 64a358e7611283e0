"""CUDA's vector types: ``float32x4`` and its kin, made of numbers and of shorter vectors."""

from __future__ import annotations

import ast
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.functions.rules import Rule
from smemviz.engines.lockstep.values.typing import Dtype, Value, Vector, cast, dtype_of
from smemviz.messages import english

_ALIASES = {
    "int8": "char",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "uint8": "uchar",
    "uint16": "ushort",
    "uint32": "uint",
    "uint64": "ulong",
    "float32": "float",
    "float64": "double",
}
_LONG = {"int64": "longlong", "uint64": "ulonglong"}


def _constructor(kind: Any, dtype: Dtype) -> Callable[[Frame, ast.Call, list[Value]], Value]:
    def run(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
        items = [item for argument in arguments for item in (argument if isinstance(argument, tuple) else (argument,))]
        if len(items) != len(kind._fields):
            text = english(
                "{type} takes {wanted} numbers, not {n}", type=kind.__name__, wanted=len(kind._fields), n=len(items)
            )
            raise frame.wrong(node, f"{ast.unparse(node)}: {text}")
        for item in items:
            dtype_of(item)
        return kind(*(cast(item, dtype) for item in items))

    return run


def _all() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for name in _ALIASES:
        for count in range(1, 5):
            fields: Any = namedtuple(f"{name}x{count}", tuple("xyzw"[:count]))  # type: ignore[misc]
            kind = type(f"{name}x{count}", (fields, Vector), {"__slots__": ()})
            rule = Rule(_constructor(kind, np.dtype(name)), 1, count)
            rules |= {f"cuda.{alias}": rule for alias in names_of(name, count)}
    return rules


def names_of(name: str, count: int) -> list[str]:
    """Return what a vector type is called, ``float32x4`` first."""
    names = [f"{name}x{count}", f"{_ALIASES[name]}{count}"]
    return [*names, f"{_LONG[name]}{count}"] if name in _LONG else names


NAMES: list[list[str]] = [names_of(name, count) for name in _ALIASES for count in range(1, 5)]


CALLS: dict[str, Rule] = _all()
