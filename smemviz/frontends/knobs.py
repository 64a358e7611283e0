"""The constants of kernel files: what is known of each, and values for them from text."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from smemviz.errors import ConstantError
from smemviz.messages import english
from smemviz.recordings.vocabulary import DTYPES, ConstantValue

Kind = Literal["int", "float", "bool", "dtype"]
MAX_BITS = 4096


@dataclass(frozen=True)
class Constant:
    """One knob: its value, its kind, the line and text of its assignment, and the constants it is computed from."""

    name: str
    value: ConstantValue
    kind: Kind | str
    line: int
    text: str
    depends: tuple[str, ...] = ()


def parse_value(file: str, constant: Constant, value: object) -> ConstantValue:
    """Read a value for a constant, from text or from Python.

    Raises:
        ConstantError: when the value is of another kind than the constant.
    """
    parsed = value
    if isinstance(value, str) and constant.kind != "dtype":
        parsed = _number(value.strip())
    elif constant.kind == "dtype":
        name = value if isinstance(value, str) else str(getattr(value, "__name__", getattr(value, "name", value)))
        name = name.strip().rpartition(".")[2]
        if name in DTYPES:
            return name
    if constant.kind == "bool" and isinstance(parsed, bool):
        return parsed
    parsed = getattr(parsed, "item", lambda: parsed)()  # a NumPy scalar
    if isinstance(parsed, int) and parsed.bit_length() > (1023 if constant.kind == "float" else MAX_BITS):
        raise ConstantError(file, constant.line, english("{constant} is too large a number", constant=constant.name))
    if constant.kind == "int" and isinstance(parsed, int) and not isinstance(parsed, bool):
        return parsed
    if constant.kind == "float" and isinstance(parsed, int | float) and not isinstance(parsed, bool):
        return float(parsed)
    raise ConstantError(file, constant.line, _misfit(constant, value))


def _misfit(constant: Constant, value: object) -> str:
    """Say what a constant is, and that a value is none of that kind."""
    values = {"constant": constant.name, "text": constant.text, "value": repr(value)}
    match constant.kind:
        case "int":
            return english("{constant} is an integer ({text}); {value} is not", **values)
        case "float":
            return english("{constant} is a number ({text}); {value} is not", **values)
        case "bool":
            return english("{constant} is True or False ({text}); {value} is not", **values)
    return english("{constant} is a Numba dtype such as float32 ({text}); {value} is not", **values)


def _number(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # TypeError of {[]}
        return text
