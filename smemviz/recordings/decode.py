"""From JSON to dataclasses: every value is checked against the type its field declares."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def decode(kind: Any, value: object, where: str) -> Any:
    """Return a JSON value as ``kind``: a dataclass, ``tuple``, ``Mapping``, ``Literal``, union or plain type.

    Raises:
        ValueError: when the value is of another kind; the message starts with ``where`` it stands.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if float not in arguments:  # a constant may be any number
        _check_number(value, where)
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**decode_fields(kind, value, where))
    if origin is Literal:
        if value not in arguments:
            raise ValueError(f"{where} is none of {', '.join(map(str, arguments))}")
        return value
    if origin in (Union, types.UnionType):
        for choice in arguments:
            if is_dataclass(choice) and isinstance(value, dict):
                return decode(choice, value, where)
            if not is_dataclass(choice) and type(value) is choice:
                return value
    elif origin is tuple and isinstance(value, list):
        kinds = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        if len(kinds) != len(value):
            raise ValueError(f"{where} has {len(value)} entries; it needs {len(kinds)}")
        return tuple(decode(k, v, f"{where}[{i}]") for i, (k, v) in enumerate(zip(kinds, value, strict=True)))
    elif origin is Mapping and isinstance(value, dict):
        return {key: decode(arguments[1], v, f"{where}.{key}") for key, v in value.items()}
    elif type(value) is kind:  # exact: JSON's true is no integer
        return value
    raise ValueError(f"{where} has the wrong type")


def _check_number(value: object, where: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{where} is not a finite number")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{where} is a number of more than 64 bits")


def decode_fields(kind: type, value: object, where: str, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the fields of a dataclass as keyword arguments, all but those of ``without``."""
    if not isinstance(value, dict):
        raise ValueError(f"{where} has the wrong type")
    decoded = {}
    for name, hint, required in _fields_of(kind):
        if name in value and name not in without:
            decoded[name] = decode(hint, value[name], f"{where}.{name}")
        elif required and name not in without:
            raise ValueError(f"{where} has no {name}")
    return decoded


@cache
def _fields_of(kind: Any) -> tuple[tuple[str, Any, bool], ...]:
    hints = get_type_hints(kind)
    return tuple((f.name, hints[f.name], f.default is MISSING and f.default_factory is MISSING) for f in fields(kind))
