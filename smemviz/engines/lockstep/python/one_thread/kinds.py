"""What a variable of a loop as text is known to hold."""

from __future__ import annotations

from smemviz.engines.lockstep.memory.memory import LocalMemory, View
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.one_thread.arrays import Array, cells_in, way_to
from smemviz.engines.lockstep.python.one_thread.atoms import NOTHING, Kind
from smemviz.engines.lockstep.python.one_thread.values import type_of
from smemviz.engines.lockstep.values.typing import Value


def kind_of(frame: Frame, value: Value) -> Kind:
    """Return what a variable is known to hold: an array, a number of a type, or nothing."""
    if isinstance(value, View):
        way = way_to(frame.machine, value)
        whole = not isinstance(value.memory, LocalMemory) and way != "far"
        unit = whole and value.ndim > 0 and type(value.strides[-1]) is int and value.strides[-1] == 1
        start = value.memory.place(value.offset, value.dtype)
        first = whole and type(start) is int and start == 0
        cells = cells_in(frame.machine, value)
        return Array(value.dtype, value.ndim, value.memory.space, way, unit, first, cells)
    return NOTHING if value is None else type_of(value)
