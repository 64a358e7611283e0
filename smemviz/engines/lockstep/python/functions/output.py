"""``print`` in a kernel: a line for every active thread, in their order, up to a limit for each launch."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.functions.rules import Rule
from smemviz.engines.lockstep.values.typing import Value, dtype_of
from smemviz.messages import english

MOST_LINES = 1000


def _print(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    for value in arguments:
        if not isinstance(value, str):
            _check(frame, node, value)
    for slot in np.flatnonzero(frame.mask.lanes).tolist():
        if frame.machine.printed >= MOST_LINES:
            return
        show(frame.machine, frame.function.name, line_of(arguments, slot))


def show(machine: Machine, function: str, line: str) -> None:
    """Print what a function prints, if there were not too many lines before."""
    machine.printed += 1
    if machine.printed <= MOST_LINES:
        print(line)
    if machine.printed == MOST_LINES:
        print(f"{function} prints more; lockstep shows {MOST_LINES:,} lines of a launch")


def line_of(values: Sequence[Value], slot: int) -> str:
    """Return what a thread prints of values."""
    return " ".join(_text(value, slot) for value in values)


def _check(frame: Frame, node: ast.Call, value: Value) -> None:
    """Refuse what Numba does not print: texts in tuples, and complex numbers."""
    for item in value if isinstance(value, tuple) else ():
        _check(frame, node, item)
    if not isinstance(value, tuple) and dtype_of(value).kind == "c":
        what = english("{function} of {dtype}", function="print", dtype=dtype_of(value))
        raise frame.none_of_numba(node, what, "x.real, x.imag")


def _text(value: Value, slot: int) -> str:
    """Return what a thread prints of a value; of a float six digits, as printf does."""
    if isinstance(value, tuple):
        items = [_text(item, slot) for item in value]
        return f"({', '.join(items)}{',' * (len(items) == 1)})"
    own = value[slot] if isinstance(value, np.ndarray) else value
    return str(own) if isinstance(own, str) or dtype_of(own).kind != "f" else f"{own:f}"


CALLS: dict[str, Rule] = {"builtins.print": Rule(_print, 0, 64)}
