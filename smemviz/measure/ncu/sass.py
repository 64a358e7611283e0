"""Reading SASS: the memory instructions of each launch, as Nsight Compute lists them under the source lines, counted.

The text is that of ``ncu --page source --csv --print-source cuda,sass``: for every launch and source file a
``File Path``, a ``Function Name``, a header, then each source line followed by its instructions.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from smemviz.frontends.numba.vectorized import shown_name
from smemviz.model.counting.summary import added

Kind = Literal["load", "store", "atomic"]

_MEMORY = re.compile(r"(?:@!?U?P\w+\s+)?((LD|ST|ATOM|RED)[A-Z]*[\w.]*)")
_KINDS: Mapping[str, Kind] = {"LD": "load", "ST": "store", "ATOM": "atomic", "RED": "atomic"}
_PARTICULARS = re.compile(r"\[|\(|<(?!locals>)")  # what follows the name: how Numba typed it, parameters, a template's
_SPACES = ("shared", "global")
_SOURCE = 3  # the second column named Source, the instruction


@dataclass(frozen=True)
class Instruction:
    """One memory instruction of a kernel and what it did in one launch.

    ``text`` is without its predicate. ``width`` is bytes per lane; ``requests`` counts its executions by a warp, also
    those with every lane switched off by the predicate; ``lanes`` counts the lanes that were on. ``space`` is
    ``generic`` where an instruction reached more than one. What the other space counts is 0. ``column`` is known where
    the compiler was given every token on a line of its own.
    """

    file: str
    line: int
    text: str
    opcode: str
    space: Literal["shared", "global", "generic"]
    kind: Kind
    width: int
    requests: int
    lanes: int
    wavefronts: int
    ideal: int
    sectors: int
    column: int | None = None

    @property
    def operand(self) -> str:
        """The address as written, ``[R4+0x10]``."""
        match = re.search(r"\[[^\]]*\]", self.text.replace("desc[", ""))
        return match[0] if match else ""


@dataclass(frozen=True)
class Listing:
    """The memory instructions of one launch; ``kernel`` is the name as Nsight Compute gives it."""

    kernel: str
    instructions: tuple[Instruction, ...]


def read_listings(text: str) -> tuple[Listing, ...]:
    """Return the listing of every launch, in order.

    Raises:
        ValueError: when the text is not such a listing.
    """
    listings: list[Listing] = []
    seen: set[str] = set()
    for file, kernel, instructions in _sections(text):
        # A launch has one section per source file; a file that comes again begins the next launch.
        if listings and listings[-1].kernel == kernel and file not in seen:
            listings[-1] = Listing(kernel, listings[-1].instructions + instructions)
        else:
            listings.append(Listing(kernel, instructions))
            seen = set()
        seen.add(file)
    return tuple(listings)


def function_name(kernel: str) -> str:
    """Return the plain name in a kernel's: ``module::name[abi:v1,...](Array<...>)``, ``void name<16>(int *)``.

    Of a kernel that Numba makes of a function it is the one that it is shown under.
    """
    qualified = _PARTICULARS.split(kernel.replace("(anonymous namespace)", ""), maxsplit=1)[0]
    return shown_name(qualified.rpartition("::")[2].rpartition(" ")[2])


def _sections(text: str) -> Iterator[tuple[str, str, tuple[Instruction, ...]]]:
    file = kernel = ""
    header: list[str] = []
    line = 0
    instructions: list[Instruction] = []
    for row in csv.reader(io.StringIO(text)):
        if not row:
            continue
        if row[0] == "File Path":
            if header:
                yield file, kernel, tuple(instructions)
            file, header, instructions = row[1], [], []
        elif row[0] == "Function Name":
            kernel = row[1]
        elif row[0] == "Line No":
            header = row
        elif header and len(row) == len(header):
            line = int(row[0]) if row[0] else line
            instruction = None if row[0] else _instruction(file, line, row, header)
            instructions += [instruction] if instruction else []
        else:
            raise ValueError(f"not a listing of source lines and instructions: {','.join(row)[:80]}")
    if header:
        yield file, kernel, tuple(instructions)


def _instruction(file: str, line: int, row: Sequence[str], header: Sequence[str]) -> Instruction | None:
    text = row[_SOURCE].strip()
    match = _MEMORY.match(text)
    columns = dict(zip(header, row, strict=True))
    spaces = columns["Address Space"].lower()
    if match is None or not any(space in spaces for space in _SPACES):
        return None

    def number(column: str) -> int:
        value = columns.get(column, "0").replace(",", "")  # a column is left out where no instruction has a count
        return int(value) if value != "-" else 0

    return Instruction(
        file=file,
        line=line,
        text=text[match.start(1) :],
        opcode=match[1],
        space="shared" if spaces == "shared" else "global" if spaces == "global" else "generic",
        kind=_KINDS[match[2]],
        width=number("Access Size") // 8,
        requests=number("Instructions Executed"),
        lanes=number("Predicated-On Thread Instructions Executed"),
        wavefronts=number("L1 Wavefronts Shared"),
        ideal=number("L1 Wavefronts Shared Ideal"),
        sectors=number("L2 Theoretical Sectors Global"),
    )


@dataclass(frozen=True)
class Counts:
    """Requests of one width, recorded or counted; ``lanes`` were on. What the other space counts is 0."""

    requests: int = 0
    lanes: int = 0
    wavefronts: int = 0
    ideal: int = 0
    sectors: int = 0

    def __add__(self, other: Counts) -> Counts:
        return added(self, other)

    def cost(self, width: int) -> tuple[int, ...]:
        """What must agree beside the number of requests, of so many bytes a lane.

        What is ideal of 8 and 16 bytes, Nsight Compute works out by a rule of its own (H200).
        """
        return (self.wavefronts, self.sectors, self.ideal) if width <= 4 else (self.wavefronts, self.sectors)


CountsByWidth = Mapping[int, Counts]  # by bytes per lane


def counts_of(instructions: Iterable[Instruction]) -> CountsByWidth:
    """Add up instructions by width."""
    counts: dict[int, Counts] = {}
    for instruction in instructions:
        own = Counts(
            instruction.requests, instruction.lanes, instruction.wavefronts, instruction.ideal, instruction.sectors
        )
        counts[instruction.width] = counts.get(instruction.width, Counts()) + own
    return counts


def total(counts: CountsByWidth) -> Counts:
    """Add up all widths."""
    return sum(counts.values(), Counts())
