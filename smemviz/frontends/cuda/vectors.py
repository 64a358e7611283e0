"""Vectors in PTX that is compiled as it is written: ``ld.v4.f32`` and ``st.v4.f32`` in place of their parts.

Where NVRTC does not optimize, it moves a ``float4`` that an expression makes, or passes on, in four instructions; with
optimization it is one, as of every type that is aligned to more than its parts. The parts of such a one follow each
other from one register's address down, at one place of the source, or up where paths of the program have met; those
that are copied are loaded up and stored down. Those on the stack of a thread stay: nothing says how it is aligned, and
nothing records them. Other structures have a register for each part, ``memcpy`` stores up
what it loads up, and the operands of ``asm`` and of matrix instructions are elements of arrays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_PART = re.compile(r"\s(ld|st)((?:\.(?:shared|global))?\.[a-z](\d+))\s+([^;]*);")
_ADDRESS = re.compile(r"\[(%\w+)(?:\+(\d+))?\]")
_REGISTER = re.compile(r"%\w+")
_NAME = re.compile(r"(?<![%\w$])[%A-Za-z_$][\w$]*")
# What ends a row of parts: another place, a label or branch, whatever else touches memory or waits.
_END = re.compile(r"\s*(?:\.|\$|[{}(]|@|\w+:|(?:ld|st|atom|red|call|bra|bar|membar|fence|ret|exit|cp|mbarrier)\b)")
_OPERANDS = re.compile(r"\s*(?:// begin inline asm|w?mma\.)")
_SHARED = re.compile(r"\.shared \.align (\d+) \.b8 +([\w$]+)\[")
_PASSED = re.compile(r"[\s(]*\.param \.align (\d+) \.b8 +([\w$]+)\[")
_SET = re.compile(r"\s+[\w.]+\s+(%\w+), (.*);")
_STACK = ("%SP", "%SPL")
_SCRATCH = "%tmp"  # set anew for every address
_WIDEST = 16  # bytes


@dataclass(frozen=True)
class _Part:
    """An instruction that moves one element: its line, what it is, its size, and between what it moves."""

    line: int
    opcode: str
    suffix: str
    size: int
    value: str
    base: str
    offset: int

    def follows(self, row: list[_Part]) -> bool:
        """Whether it moves what is beside the last part of a row, in the row's direction, by the same register."""
        last = row[-1]
        falls = self.offset == last.offset - self.size and row[0].offset >= last.offset
        rises = self.offset == last.offset + last.size and row[0].offset <= last.offset
        return (falls or rises) and (self.opcode, self.base) == (last.opcode, last.base)


def with_vectors(ptx: str) -> str:
    """Return PTX in which the parts of a vector that follow each other are one instruction."""
    lines = ptx.split("\n")
    aligned = {name: int(alignment) for alignment, name in _SHARED.findall(ptx)}
    made_of: dict[str, str] = {}
    row: list[_Part] = []
    loaded: list[_Part] = []  # the row before it, where that loads upwards
    has_operands = False  # at this place, of assembly or of a matrix instruction
    for number, line in enumerate([*lines, "."]):
        part = _part(number, line)
        if row and (not part.follows(row) if part else _END.match(line)):
            falls, moves = row[0].offset > row[-1].offset, {part.value for part in row}
            copies = moves == {part.value for part in loaded}
            if falls or (row[0].opcode == "st" and not has_operands and not copies):
                _join(lines, row, aligned, made_of)
            if falls and copies:
                _join(lines, loaded, aligned, made_of)
            loaded = row if row[0].opcode == "ld" and not falls else []
            row = []
        if passed := _PASSED.match(line.removeprefix(".func")):
            aligned[passed[2]] = int(passed[1])
        if part:
            row.append(part)
        elif setting := _SET.match(line):
            made_of[setting[1]] = setting[2].replace(_SCRATCH, made_of.get(_SCRATCH, ""))
        has_operands = (has_operands or bool(_OPERANDS.match(line))) and ".loc" not in line
    return "\n".join(lines)


def _part(number: int, line: str) -> _Part | None:
    match = _PART.match(line)
    if match is None:
        return None
    opcode, suffix, bits, operands = match.groups()
    first, _, second = operands.partition(", ")
    value, address = (first, _ADDRESS.fullmatch(second)) if opcode == "ld" else (second, _ADDRESS.fullmatch(first))
    if address is None or not _REGISTER.fullmatch(value):
        return None
    return _Part(number, opcode, suffix, int(bits) // 8, value, address[1], int(address[2] or 0))


def _join(lines: list[str], row: list[_Part], aligned: dict[str, int], made_of: dict[str, str]) -> None:
    """Write the widest vectors that a row of parts fills: at the first of them where it loads, else at the last."""
    made_from = set(_made_from(row[0].base, made_of))
    if made_from.intersection(_STACK):
        return
    alignments = [aligned[name] for name in made_from if name in aligned]
    # What a function returns or is given, as a whole.
    passed = [aligned[name] for part in row for name in _NAME.findall(made_of.get(part.value, "")) if name in aligned]
    left = {part.offset: part for part in row}
    for bytes_ in (_WIDEST, 8, 4, 2):
        for start in sorted({part.offset for part in row if part.offset % bytes_ == 0}):
            size = left[start].size if start in left else _WIDEST
            parts = [left.get(offset) for offset in range(start, start + bytes_, size)]
            known = [part for part in parts if part is not None and part.suffix == left[start].suffix]
            narrower = any(size < alignment < bytes_ for alignment in alignments)
            is_text = size < 4 and sum(part.size == size for part in row) > 4  # characters, aligned to one
            is_apart = narrower or is_text or any(alignment < bytes_ for alignment in passed)
            if len(known) != len(parts) or len(parts) not in (2, 4) or is_apart:
                continue
            where = (min if row[0].opcode == "ld" else max)(part.line for part in known)
            lines_of = {part.line for part in known}
            for line in lines_of:
                lines[line] = ""
            values = "{" + ", ".join(part.value for part in known) + "}"
            address = f"[{row[0].base}+{start}]"
            operands = f"{values}, {address}" if row[0].opcode == "ld" else f"{address}, {values}"
            suffix = known[0].suffix.rpartition(".")
            lines[where] = f"\t{row[0].opcode}{suffix[0]}.v{len(known)}.{suffix[2]} \t{operands};"
            for part in known:
                del left[part.offset]


def _made_from(register: str, made_of: dict[str, str]) -> Iterable[str]:
    """Give the names of variables and registers that a register's address is computed from, itself among them."""
    seen, waiting = {register}, [register]
    while waiting:
        name = waiting.pop()
        yield name
        new = set(_NAME.findall(made_of.get(name, ""))) - seen
        seen |= new
        waiting += new
