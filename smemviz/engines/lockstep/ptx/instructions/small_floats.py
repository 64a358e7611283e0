"""Floats of 4, 6 and 8 bits: what they mean, and ``cvt`` to and from them, two at a time."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.code.module import Instruction, PtxError, Value, as_bf16
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.registers import Action, read, write


@dataclass(frozen=True)
class _Format:
    """The bits of a number, of its fraction, its bias; the code of the largest number, and of what is none."""

    bits: int
    fraction: int
    bias: int
    largest: int
    nan: int


_FORMATS = {
    "e4m3": _Format(8, 3, 7, 0x7E, 0x7F),
    "e5m2": _Format(8, 2, 15, 0x7B, 0x7F),
    "e2m3": _Format(6, 3, 1, 0x1F, 0x1F),
    "e3m2": _Format(6, 2, 3, 0x1F, 0x1F),
    "e2m1": _Format(4, 1, 1, 0x7, 0x7),
}
_SCALE = "ue8m0"  # a power of two alone
_PAIRS = {f"{name}x2": name for name in (*_FORMATS, _SCALE)}


@cache
def floats(kind: str) -> NDArray[np.float32]:
    """Return the number that each code means."""
    if kind == _SCALE:
        return np.append(np.ldexp(1.0, np.arange(255) - 127), np.nan).astype(np.float32)
    form = _FORMATS[kind]
    code = np.arange(1 << form.bits)
    size = code & ((1 << (form.bits - 1)) - 1)
    exponent, part = size >> form.fraction, (size & ((1 << form.fraction) - 1)) / (1 << form.fraction)
    value = np.where(exponent == 0, part * 2.0 ** (1 - form.bias), (1 + part) * 2.0 ** (exponent - form.bias))
    if form.bits == 8:
        value[size > form.largest] = np.nan
    if kind == "e5m2":
        value[size == form.largest + 1] = np.inf
    return np.where(code >> (form.bits - 1), -value, value).astype(np.float32)


def _codes(value: NDArray[Any], kind: str, rounding: str) -> NDArray[np.uint32]:
    """Return the nearest codes of numbers, even ones of two; those too large become the largest that is finite."""
    size = np.abs(value.astype(np.float64))
    if kind == _SCALE:
        exponent = np.log2(np.maximum(size, 2.0**-127))
        code = np.clip((np.ceil if rounding == "rp" else np.floor)(exponent) + 127, 0, 254)
        return np.where(np.isnan(size), 255, code).astype(np.uint32)
    form = _FORMATS[kind]
    known = floats(kind)[: form.largest + 1].astype(np.float64)
    between = (known[1:] + known[:-1]) / 2
    below, above = np.searchsorted(between, size, "left"), np.searchsorted(between, size, "right")
    code = np.where(below % 2 == 0, below, above)  # they differ where it lies in the middle
    signed = code | np.where(np.signbit(value), 1 << (form.bits - 1), 0)
    return np.where(np.isnan(size), form.nan, signed).astype(np.uint32)


def converts(instruction: Instruction) -> bool:
    """Tell whether a ``cvt`` is to or from two such floats."""
    return instruction.has(*_PAIRS)


def convert(kernel: Kernel, instruction: Instruction) -> Action:
    """Return what a ``cvt`` to or from two floats of few bits does."""
    forms = [word for word in instruction.words[1:] if word in (*_PAIRS, "f32", "f16x2", "bf16x2")]
    to, source = forms if len(forms) == 2 else ("", "")
    if (to in _PAIRS) == (source in _PAIRS) or instruction.has("scaled::n2::ue8m0"):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    kind = _PAIRS[to if to in _PAIRS else source]
    bits = 4 if kind == "e2m1" else 8
    narrow, mask = "b8" if bits == 4 else "b16", np.uint32((1 << bits) - 1)
    if source in _PAIRS:
        code, put = read(kernel, instruction.operands[1], narrow), write(kernel, instruction.operands[0], "b32")

        def widen(m: Machine) -> None:
            codes = code(m).astype(np.uint32)
            high, low = (_half(floats(kind)[part & mask], to) for part in (codes >> np.uint32(bits), codes))
            put(m, (high << np.uint32(16) | low)[()])

        return widen
    sources = [read(kernel, operand, "f32" if source == "f32" else "b32") for operand in instruction.operands[1:]]
    put = write(kernel, instruction.operands[0], narrow)
    rounding, relu = instruction.one_of("rn", "rz", "rp"), instruction.has("relu")
    dtype = np.uint8 if bits == 4 else np.uint16

    def shorten(m: Machine) -> None:
        values = [one(m) for one in sources]
        if source != "f32":
            values = [_wide(values[0] >> np.uint32(16), source), _wide(values[0] & np.uint32(0xFFFF), source)]
        high, low = (_codes(np.maximum(v, 0) if relu else v, kind, rounding) for v in values)
        put(m, (high << np.uint32(bits) | low).astype(dtype)[()])

    return shorten


def _half(value: Any, kind: str) -> Any:
    bits = as_bf16(value) if kind == "bf16x2" else value.astype(np.float16).view(np.uint16)
    return np.where(np.isnan(value), 0x7FFF, bits).astype(np.uint32)


def _wide(bits: Value, kind: str) -> Any:
    if kind == "bf16x2":
        return (bits << np.uint32(16)).view(np.float32)
    return bits.astype(np.uint16).view(np.float16).astype(np.float32)
