"""A module of PTX as data: functions, variables, instructions and their operands; its types as NumPy has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# Bytes of every type that an instruction may name.
SIZES = {
    **dict.fromkeys(("b8", "u8", "s8", "pred"), 1),
    **dict.fromkeys(("b16", "u16", "s16", "f16", "bf16"), 2),
    **dict.fromkeys(("b32", "u32", "s32", "f32", "f16x2", "bf16x2", "tf32"), 4),
    **dict.fromkeys(("b64", "u64", "s64", "f64"), 8),
    "b128": 16,
}


class PtxError(Exception):
    """Text that is not read as PTX, or an instruction that is not executed; ``place`` is where it comes from."""

    def __init__(self, what: str, place: Place | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.place = place


@dataclass(frozen=True, slots=True)
class Place:
    """What ``.loc`` names: the number of a file, and a line of it; ``outer`` is where it was inlined, or called."""

    file: int = 0
    line: int = 0
    outer: Place | None = None


@dataclass(frozen=True, slots=True)
class Register:
    """A register, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """An integer, or the bits of a float of ``bits`` bits, 0 for an integer."""

    value: int
    bits: int = 0


@dataclass(frozen=True, slots=True)
class Special:
    """A register of the machine such as ``tid.x``, without its %."""

    name: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable or, of a call, a function's name; of a branch, a label."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """What stands in square brackets."""

    base: Register | Symbol | Number
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """What stands in braces or parentheses."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two destinations, ``%p|%q``."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Changed:
    """A register negated (``-``) or inverted (``!``)."""

    sign: str
    inner: Operand


@dataclass(frozen=True, slots=True)
class Nowhere:
    """A destination that is not wanted, ``_``."""


Operand = Register | Number | Special | Symbol | Address | Group | Pair | Changed | Nowhere


def items_of(operand: Operand) -> tuple[Operand, ...]:
    """Return the operands that one between braces holds, or itself."""
    return operand.items if isinstance(operand, Group) else (operand,)


def leaves(operand: Operand) -> Iterator[Operand]:
    """Give what an operand is made of: the registers, symbols and numbers in it."""
    match operand:
        case Group(items=items):
            for item in items:
                yield from leaves(item)
        case Pair(first=first, second=second):
            yield from (*leaves(first), *leaves(second))
        case Address(base=inner) | Changed(inner=inner):
            yield from leaves(inner)
        case _:
            yield operand


@dataclass(frozen=True, slots=True)
class Guard:
    """``@p`` or ``@!p``."""

    register: Register
    negated: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. ``words`` are its parts between dots, the opcode first."""

    words: tuple[str, ...]
    guard: Guard | None
    operands: tuple[Operand, ...]
    place: Place
    text: str

    @property
    def opcode(self) -> str:
        return self.words[0]

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(word for word in self.words[1:] if word in SIZES)

    @property
    def type(self) -> str:
        """The last type; ``b32`` where the instruction names none."""
        types = self.types
        return types[-1] if types else "b32"

    def has(self, *words: str) -> bool:
        """Tell whether it has one of some modifiers."""
        return any(word in self.words for word in words)

    def one_of(self, *words: str) -> str:
        """Return the modifier that is one of some words.

        Raises:
            PtxError: when there is none.
        """
        for word in self.words[1:]:
            if word in words:
                return word
        raise PtxError(f"{'.'.join(self.words)} is not executed", self.place)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable; ``size`` is 0 for an extern array of no size. ``initial`` is the text of its initial value."""

    name: str
    space: str
    type: str
    alignment: int
    size: int
    initial: str | None = None

    @property
    def dynamic(self) -> bool:
        return self.size == 0


@dataclass
class Function:
    """A function; ``registers`` are the types of its registers, ``labels`` indices into its body.

    ``tables`` are the labels that an indexed branch chooses among, by the name of the table.
    """

    name: str
    parameters: tuple[Variable, ...]
    results: tuple[Variable, ...]
    has_body: bool = False
    body: list[Instruction] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    place: Place = Place()
    cluster: tuple[int, int, int] | None = None  # how many blocks one has along each axis, where the text says so


@dataclass(frozen=True)
class Module:
    """What a PTX text holds; ``files`` are paths by the numbers that places name."""

    functions: Mapping[str, Function]
    variables: Mapping[str, Variable]
    files: Mapping[int, str]


Value = Any  # a NumPy scalar or array

UNSIGNED: dict[int, Any] = {1: np.dtype("u1"), 2: np.dtype("u2"), 4: np.dtype("u4"), 8: np.dtype("u8")}
_KINDS = {"b": "u", "u": "u", "s": "i", "f": "f"}
DTYPES: dict[str, Any] = {
    name: np.dtype(f"{_KINDS[name[0]]}{size}") for name, size in SIZES.items() if name not in ("pred", "b128", "tf32")
} | {
    "pred": np.dtype(bool),
    "tf32": np.dtype("f4"),
    "bf16": np.dtype("u2"),
    "bf16x2": np.dtype("u4"),
    "f16x2": np.dtype("u4"),
}


def from_bf16(bits: Value) -> Value:
    """Return the float32 of a bfloat16, given as 16 bits."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def as_bf16(value: Value) -> Value:
    """Return the bits of the bfloat16 nearest to a float32, to even where two are as near."""
    value = value if value.dtype == np.float32 else value.astype(np.float32)
    bits = value.view(np.uint32)
    rounded = (bits + (((bits >> np.uint32(16)) & np.uint32(1)) + np.uint32(0x7FFF))) >> np.uint32(16)
    return np.where(np.isnan(value), np.uint32(0x7FFF), rounded).astype(np.uint16)[()]


def as_tf32(value: Value) -> Value:
    """Return a float32 rounded to the 10 bits of TF32, ties away from zero."""
    return ((value.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
