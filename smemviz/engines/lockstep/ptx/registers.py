"""Reading and writing operands. A value is one NumPy scalar where all threads have the same.

Else it is an array over (blocks, threads) of the batch while every thread runs, in which an axis of one stands for
"the same in all"; while only some run it is an array with one element for each of these.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.ptx.code.module import (
    DTYPES,
    SIZES,
    UNSIGNED,
    Changed,
    Nowhere,
    Number,
    Operand,
    PtxError,
    Register,
    Special,
    Symbol,
    Value,
)
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine

Read = Callable[[Machine], Value]
Write = Callable[[Machine, Value], None]
Action = Callable[[Machine], None]


def own(value: Value) -> Value:
    """Return a value that nobody else holds: registers are written in place."""
    return value.copy() if value.ndim else value


def read(kernel: Kernel, operand: Operand, kind: str) -> Read:
    """Return what reads an operand as a type.

    Raises:
        PtxError: for an operand that cannot be read so.
    """
    dtype = DTYPES[kind]
    match operand:
        case Register(name=name):
            return _register(kernel, name, kind)
        case Changed(sign="-", inner=inner):
            plain = read(kernel, inner, kind)
            return lambda m: -plain(m)
        case Changed(inner=inner):
            plain = read(kernel, inner, kind)
            return lambda m: np.logical_not(plain(m)) if kind == "pred" else ~plain(m)
        case Number():
            constant = _constant(operand, dtype)
            return lambda m: constant
        case Special(name=name):
            return lambda m: _converted(m.pick(m.special(name)), dtype)
        case Symbol(name=name, offset=offset):
            unsigned = UNSIGNED[dtype.itemsize]
            return lambda m: np.uint64(m.symbol(name) + offset).astype(unsigned).view(dtype)
    raise PtxError(f"{operand} is not read as {kind}")


def write(kernel: Kernel, operand: Operand, kind: str) -> Write:
    """Return what writes a value of a type into a register.

    Raises:
        PtxError: when it is none.
    """
    if isinstance(operand, Nowhere):
        return lambda m, value: None
    if not isinstance(operand, Register):
        raise PtxError(f"{operand} is no register")
    slot, declared = kernel.slot(operand.name), kernel.registers[operand.name]
    dtype = DTYPES[kind]
    if declared == "pred":
        return lambda m, value: m.put(slot, value)
    size = SIZES[declared]
    unsigned = UNSIGNED[size]
    if size == dtype.itemsize:

        def same(m: Machine, value: Value) -> None:
            value = (value if value.dtype == dtype else value.astype(dtype)).view(unsigned)
            if m.lanes is None:
                m.values[slot] = value
            else:
                m.put(slot, value)

        return same
    # A wider register is filled: with the sign of a signed number, else with zeros.
    through = np.dtype(f"i{size}") if dtype.kind == "i" else unsigned
    narrow = dtype if dtype.kind == "i" else UNSIGNED[dtype.itemsize]

    def wider(m: Machine, value: Value) -> None:
        value = value if value.dtype == dtype else value.astype(dtype)
        m.put(slot, value.view(narrow).astype(through).view(unsigned))

    return wider


def _register(kernel: Kernel, name: str, kind: str) -> Read:
    slot, declared, dtype = kernel.slot(name), kernel.registers[name], DTYPES[kind]
    if kind == "pred" or declared == "pred":
        return lambda m: m.pick(m.values[slot])
    if SIZES[declared] == dtype.itemsize:

        def same(m: Machine) -> Value:
            value = m.values[slot]
            return (value if m.lanes is None or not value.ndim else m.pick(value)).view(dtype)

        return same
    if SIZES[declared] > dtype.itemsize:
        unsigned = UNSIGNED[dtype.itemsize]
        return lambda m: m.pick(m.values[slot]).astype(unsigned).view(dtype)
    raise PtxError(f"a register of {declared} is not read as {kind}")


def _constant(number: Number, dtype: Any) -> Value:
    if number.bits:
        as_float = np.array([number.value], f"u{number.bits // 8}").view(f"f{number.bits // 8}")
        return as_float.view(dtype)[0] if dtype.itemsize * 8 == number.bits else as_float.astype(dtype)[0]
    if dtype.kind == "b":
        return np.bool_(number.value)
    if dtype.kind == "f":
        return dtype.type(number.value)
    bits = number.value & ((1 << 8 * dtype.itemsize) - 1)
    return np.array([bits], UNSIGNED[dtype.itemsize]).view(dtype)[0]


def _converted(value: Value, dtype: Any) -> Value:
    return value.view(dtype) if value.dtype.itemsize == dtype.itemsize else value.astype(dtype)
