"""What a kernel calls that the driver provides: ``printf``, ``assert``."""

import re
from typing import Any

import numpy as np

from smemviz.engines.lockstep.ptx import access
from smemviz.engines.lockstep.ptx.code.module import Address, Instruction, Operand, PtxError, Symbol
from smemviz.engines.lockstep.ptx.instructions.arithmetic import Family
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.registers import Action
from smemviz.engines.lockstep.running_launch import MOST_LINES, StoppedError

_FORMAT = re.compile(r"%([-+ #0]*)(\d+|\*)?(\.(?:\d+|\*))?(hh|h|ll|l|z|j|t)?([diouxXfFeEgGaAcsp%])")
_LONGEST = 4096


def _printf(kernel: Kernel, instruction: Instruction) -> Action:
    text, values = instruction.operands[-2:]

    def run(m: Machine) -> None:
        for thread in range(m.active):
            if m.printed >= MOST_LINES:
                return
            with m.only(np.array([thread])):
                m.say(_formatted(m, _passed(m, text), _passed(m, values)), m.findings.kernel)

    return run


def _assert(kernel: Kernel, instruction: Instruction) -> Action:
    place = instruction.place

    def run(m: Machine) -> None:
        line, column = m.sites.line_of(place)
        m.find("assertion", line, column, m.threads, what=m.sites.text_of(place))
        raise StoppedError

    return run


def _memory_of_host(kernel: Kernel, instruction: Instruction) -> Action:
    raise PtxError(f"{instruction.opcode} in a kernel is not executed", instruction.place)


def _passed(m: Machine, operand: Operand) -> int:
    """Return the address that one thread passes."""
    if isinstance(operand, Address | Symbol):
        name = operand.name if isinstance(operand, Symbol) else ""
        return _number(m, "local", m.symbol(name), 8)
    raise PtxError(f"{operand} is not read")


def _number(m: Machine, space: str, address: int, size: int) -> int:
    (value,) = access.load(m, None, space, np.int64(address), 1, size)
    return int(m.one_each(value)[0])


def _string(m: Machine, address: int) -> str:
    text = bytearray()
    while len(text) < _LONGEST:
        byte = _number(m, "generic", address + len(text), 1)
        if not byte:
            break
        text.append(byte)
    return text.decode(errors="replace")


def _formatted(m: Machine, text: int, values: int) -> str:
    """Fill a format as C does; every number takes 4 bytes of what is passed, or 8 where it is long or a double."""
    at = values

    def take(size: int) -> int:
        nonlocal at
        at = -(-at // size) * size
        at += size
        return _number(m, "generic", at - size, size)

    def size_of(written: str) -> int:
        """Return a width or a precision, as far as it is printed."""
        size = int(np.uint32(take(4)).view(np.int32)) if written == "*" else int(written)
        return max(-_LONGEST, min(size, _LONGEST))

    def fill(match: re.Match[str]) -> str:
        flags, width, precision, length, kind = match.groups()
        if kind == "%":
            return "%"
        width = str(size_of(width)) if width else ""
        digits = size_of(precision[1:]) if precision else -1
        precision = f".{digits}" if digits >= 0 else ""
        value: Any
        if kind in "fFeEgGaA":
            value = float(np.array([take(8)], np.uint64).view(np.float64)[0])
            kind = {"a": "e", "A": "E"}.get(kind, kind)
        elif kind == "s":
            value = _string(m, take(8))
        elif kind == "p":
            value, kind = hex(take(8)), "s"
        else:
            size = 8 if length in ("l", "ll", "z", "j", "t") else 4
            value = take(size)
            if kind in "di" and value >> (8 * size - 1):
                value -= 1 << 8 * size
            value, kind = (chr(value & 255), "s") if kind == "c" else (value, "d" if kind in "iu" else kind)
        return str(f"%{flags}{width}{precision}{kind}" % value)

    return _FORMAT.sub(fill, _string(m, text))


FAMILY: Family = {"vprintf": _printf, "__assertfail": _assert, **dict.fromkeys(("malloc", "free"), _memory_of_host)}
