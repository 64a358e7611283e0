"""Values in the text of a loop: their text, type, and where integers lie, so that what fits is not looked at.

And those that the places of elements hang on, which are to be noted; and what a part of the text stands for.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.values.typing import Dtype

Span = tuple[int, int]  # the lowest and the highest integer that a value may be
Entry = tuple[int, int, int]  # the number of an access, which of the numbers that are noted, and the constant
Kind = Any  # a dtype; None for an open value; what tells arrays apart; NOTHING

NOTHING: Kind = "nothing"  # what a name holds that stands for None

# A variable or a bound that is no further from 0 than this is near: two of them multiplied stay in 64 bits.
NEAR: Span = (-(2**31), 2**31)
_WIDEST = 2**200  # of what is not brought into 64 bits yet


@dataclass(frozen=True, slots=True)
class Atom:
    """A value: ``dtype`` is None where its type is open.

    An integer whose ``span`` leaves its type has to be wrapped before anybody looks at it, and a number in single
    precision that is ``loose`` has to be rounded. ``step`` is what the value is away from a variable, which it names;
    an integer ``beside`` a name is that and a constant.
    """

    text: str
    dtype: Dtype | None
    span: Span | None = None
    loose: bool = False
    step: tuple[str, int] | None = None
    beside: tuple[str, int] | None = None

    @property
    def within(self) -> Span:
        """Where an integer lies."""
        assert self.dtype is not None
        return full(self.dtype) if self.span is None else self.span

    @property
    def settled(self) -> bool:
        """Whether the text gives the value as it is."""
        if self.loose or self.span is None or self.dtype is None:
            return not self.loose
        low, high = full(self.dtype)
        return low <= self.span[0] and self.span[1] <= high

    @property
    def is_literal(self) -> bool:
        """Whether this is an integer that is written out, perhaps in parentheses."""
        return self.text.lstrip("(-").rstrip(")").isdigit()

    @property
    def is_simple(self) -> bool:
        """Whether the text may occur several times: a name or a number."""
        return self.is_literal or self.is_number or self.text.isidentifier()

    @property
    def is_number(self) -> bool:
        """Whether this is a number that is written out with a point, and not below 0."""
        return self.text.replace(".", "", 1).isdigit() and "." in self.text


@cache
def full(dtype: Dtype) -> Span:
    """Return the span of an integer type."""
    if dtype.kind == "b":
        return 0, 1
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def union(spans: list[Span]) -> Span:
    """Return the smallest span of several."""
    return min(low for low, _ in spans), max(high for _, high in spans)


def combined(sign: str, left: Span, right: Span) -> Span | None:
    """Return the span of a sum, a difference or a product, None where it is too wide to go on with."""
    if sign == "+":
        ends = [left[0] + right[0], left[1] + right[1]]
    elif sign == "-":
        ends = [left[0] - right[1], left[1] - right[0]]
    else:
        ends = [a * b for a in left for b in right]
    low, high = min(ends), max(ends)
    return (low, high) if low > -_WIDEST and high < _WIDEST else None


def of_load(text: str, dtype: Dtype) -> Atom:
    """Return what was loaded, or given, under a name."""
    return Atom(text, dtype, full(dtype) if dtype.kind in "iu" else None)


@dataclass
class Pending:
    """Accesses that are not noted yet: each lies at a number that has to be noted, once for several, and a constant.

    ``names`` are what these numbers have in the text, ``known`` tells which is which, and ``sums`` what has been added.
    """

    entries: list[Entry] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)
    sums: dict[tuple[str, str], str] = field(default_factory=dict)

    def copy(self) -> Pending:
        """Return what goes on without this one."""
        entries, names, known, sums = list(self.entries), list(self.names), dict(self.known), dict(self.sums)
        return replace(self, entries=entries, names=names, known=known, sums=sums)

    def add(self, number: int, base: str, offset: int) -> None:
        """Add an access at a number and a constant."""
        if base not in self.known:
            self.known[base] = len(self.names)
            self.names.append(base)
        self.entries.append((number, self.known[base], offset))

    def forget(self, variable: str) -> None:
        """Forget sums with a variable, which is about to be assigned."""
        self.sums = {names: text for names, text in self.sums.items() if variable not in names}

    def keep(self, variable: str, name: str) -> str:
        """Note a variable, which is about to be assigned, by another name; return that."""
        self.names[self.known.pop(variable)] = name
        return name

    def noting(self, group: int) -> list[str]:
        """Return the lines that note all of it as a group."""
        names = self.names
        return [f"note({names[0]})" if len(names) == 1 else f"noted += {', '.join(names)}", f"group({group})"]


@dataclass(frozen=True)
class Bound:
    """What is worth the same throughout a loop: evaluated in a frame, under a name in the text."""

    frame: Frame
    node: ast.expr
    text: str
    dtype: Dtype
    span: Span | None


@dataclass(frozen=True)
class Scope:
    """A device function whose body stands in the text, for one call of it.

    Its variables are the text's under names that begin with ``number``; ``arrays`` are its parameters that stand for
    arrays, by whose variables, and its ``own`` local arrays, as it was written for. ``turns`` is how many loops
    are around the call; ``has_returned`` is the text of whether it has.
    """

    number: int
    frame: Frame
    arrays: dict[str, str]
    turns: int
    has_returned: str
    own: dict[str, View] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """What was written further in, what is to be noted of it, and what it is worth."""

    lines: list[str]
    noted: Pending
    atom: Atom

    @property
    def is_short(self) -> bool:
        """Whether the text of the value is all there is."""
        return not self.lines and not self.noted.entries
