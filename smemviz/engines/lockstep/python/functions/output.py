"""``print`` in a kernel: a line for every active thread, in their order, up to a limit for each launch."""

from __future__ import annotations

import ast

import numpy as np

from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.functions.rules import Rule
from smemviz.engines.lockstep.values.typing import Value, dtype_of
from smemviz.messages import english

MOST_LINES = 1000


def _print(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    for value in arguments:
        if isinstance(value, tuple):
            raise frame.refuse(node, english("{function} of {dtype}", function="print", dtype="a tuple"))
        if not isinstance(value, str):
            dtype_of(value)
    for slot in np.flatnonzero(frame.mask.lanes):
        frame.machine.printed += 1
        if frame.machine.printed > MOST_LINES:
            return
        print(*(value[slot] if isinstance(value, np.ndarray) else value for value in arguments))
        if frame.machine.printed == MOST_LINES:
            print(f"{frame.function.name} prints more; lockstep shows {MOST_LINES:,} lines of a launch")


CALLS: dict[str, Rule] = {"builtins.print": Rule(_print, 0, 64)}
