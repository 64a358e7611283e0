"""The loops of NumPy's functions, called from machine code for one number: what they give is what NumPy gives.

The layout of such a function is a part of NumPy's interface for C, ``PyUFuncObject``:
https://numpy.org/doc/stable/reference/c-api/types-and-structures.html
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from smemviz.engines.lockstep.python.one_thread.native.kinds import INT, Cells, in_memory


class _Function(ctypes.Structure):
    """A ``PyUFuncObject``, as far as it matters here."""

    _fields_ = (
        ("references", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        *((name, ctypes.c_int) for name in ("nin", "nout", "nargs", "identity")),
        ("loops", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
    )


@dataclass(frozen=True)
class Loop:
    """A loop: its address, that of what it is given besides, and the types of its arguments and of its result."""

    address: int
    data: int
    arguments: tuple[np.dtype[Any], ...]
    result: np.dtype[Any]


@cache
def loop_of(function: np.ufunc, arguments: tuple[np.dtype[Any], ...]) -> Loop | None:
    """Return the loop of a function for these types, None where it has none."""
    made = _Function.from_address(id(function))
    if function.nout != 1 or any(getattr(made, name) != getattr(function, name) for name in ("nin", "nout", "ntypes")):
        return None
    wanted = "".join(dtype.char for dtype in arguments)
    for number, types in enumerate(function.types):
        given, _, result = types.partition("->")
        if given == wanted and made.loops[number]:
            return Loop(made.loops[number], made.data[number] or 0, arguments, np.dtype(result))
    return None


def called(cells: Cells, loop: Loop, numbers: Sequence[ir.Value]) -> ir.Value:
    """Call a loop for one number of each argument; numbers are as they are in memory."""
    builder, allocas, count = cells.builder, cells.allocas, len(numbers)
    result = allocas.alloca(in_memory(loop.result))
    places = [allocas.alloca(number.type) for number in numbers]
    addresses, steps = (allocas.alloca(INT, count + 1) for _ in range(2))
    for number, place in zip(numbers, places, strict=True):
        builder.store(number, place)
    for at, place in enumerate([*places, result]):
        where = [ir.Constant(INT, at)]
        builder.store(builder.ptrtoint(place, INT), builder.gep(addresses, where))
        # As NumPy calls it for numbers.
        builder.store(ir.Constant(INT, loop.result.itemsize if at == count else 0), builder.gep(steps, where))
    once = allocas.alloca(INT)
    builder.store(ir.Constant(INT, 1), once)
    kind = ir.FunctionType(ir.VoidType(), [INT.as_pointer()] * 3 + [INT])
    function = builder.inttoptr(ir.Constant(INT, loop.address), kind.as_pointer())
    builder.call(function, [addresses, once, steps, ir.Constant(INT, loop.data)])
    return builder.load(result)
