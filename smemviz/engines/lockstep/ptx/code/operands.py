"""Operands of PTX instructions, from text."""

import re
import struct
from collections.abc import Callable

from smemviz.engines.lockstep.ptx.code.module import (
    Address,
    Changed,
    Group,
    Nowhere,
    Number,
    Operand,
    Pair,
    PtxError,
    Register,
    Special,
    Symbol,
)

# Returns the register, or the variable of an inner scope, that a name means where it stands, None when it is none.
Known = Callable[[str], Register | Symbol | None]

_SPECIAL = re.compile(
    r"%(tid|ntid|ctaid|nctaid|laneid|warpid|nwarpid|smid|nsmid|gridid|clock|clock_hi|clock64|globaltimer|globaltimer_lo"
    r"|globaltimer_hi|lanemask_\w+|dynamic_smem_size|total_smem_size|aggr_smem_size|envreg\d+|n?cluster\w*"
    r"|is_explicit_cluster|reserved_smem\w*|current_graph_exec|pm\d+\w*)(\.[xyzw])?"
)
_INTEGER = re.compile(r"-?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?")
_FLOAT = re.compile(r"-?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?")
_ADDRESS = re.compile(r"([\w$%@.]+)\s*(?:([+-])\s*(-?\w+))?")
_SYMBOL = re.compile(r"([\w$]+)\s*\+\s*(\d+)")
_WARP_SIZE = 32


def split(text: str) -> list[str]:
    """Divide a list at the commas that stand in no bracket."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        if character in "{[(":
            depth += 1
        elif character in "}])":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def integer(text: str) -> int:
    """Read an integer of PTX."""
    text = text.rstrip("U")
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    if digits[:2] in ("0x", "0X", "0b", "0B"):
        return sign * int(digits, 0)
    return sign * int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10)


def operand(text: str, known: Known) -> Operand:
    """Read one operand.

    Raises:
        PtxError: when it is none.
    """
    text = text.strip()
    first = text[:1]
    if first in ("{", "("):
        return Group(tuple(operand(part, known) for part in split(text[1:-1])))
    if first == "[":
        return _address(text[1:-1].strip(), known)
    if text == "_":
        return Nowhere()
    if "|" in text:
        left, _, right = text.partition("|")
        return Pair(operand(left, known), operand(right, known))
    if first == "!" or text.startswith("-%"):
        return Changed(first, operand(text[1:], known))
    return _plain(text, known)


def _plain(text: str, known: Known) -> Operand:
    register = known(text)
    if register is not None:
        return register
    if _SPECIAL.fullmatch(text):
        return Special(text[1:])
    if text[:2] in ("0f", "0F") and len(text) == 10:
        return Number(int(text[2:], 16), 32)
    if text[:2] in ("0d", "0D") and len(text) == 18:
        return Number(int(text[2:], 16), 64)
    if _INTEGER.fullmatch(text):
        return Number(integer(text))
    if _FLOAT.fullmatch(text):
        return Number(struct.unpack("<Q", struct.pack("<d", float(text)))[0], 64)
    if text == "WARP_SZ":
        return Number(_WARP_SIZE)
    moved = _SYMBOL.fullmatch(text)
    if moved:
        return Symbol(moved[1], int(moved[2]))
    if re.fullmatch(r"[\w$%]+", text):
        return Symbol(text)
    raise PtxError(f"{text} is not read")


def _address(text: str, known: Known) -> Operand:
    parts = split(text)
    if len(parts) > 1:
        return Group(tuple(operand(part, known) for part in parts))
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise PtxError(f"[{text}] is not read")
    offset = integer(match[3]) * (-1 if match[2] == "-" else 1) if match[3] else 0
    register = known(match[1])
    if register is not None:
        return Address(register, offset)
    if _INTEGER.fullmatch(match[1]):
        return Address(Number(integer(match[1])), offset)
    return Address(Symbol(match[1]), offset)
