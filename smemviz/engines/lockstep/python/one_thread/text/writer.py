"""Writes a loop of a kernel as the text of a Python function that one thread runs.

Every name has the type there that the kernel's variable has; what is not written so is done by the interpreter,
statement by statement or expression by expression. No text of the kernel gets into it.

Elements that are loaded and stored one after the other, with no branch between, are a group, and noted together.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.one_thread.arrays import Access, Array, Made, Record
from smemviz.engines.lockstep.python.one_thread.atoms import (
    NOTHING,
    Atom,
    Bound,
    Entry,
    Kind,
    Part,
    Pending,
    Scope,
    Span,
    full,
)
from smemviz.engines.lockstep.python.one_thread.renamed import Renamed, States, names_in
from smemviz.engines.lockstep.python.one_thread.values import items_in, open_value
from smemviz.engines.lockstep.values.typing import BOOL, COMPLEX128, FLOAT32, FLOAT64, INT64, Dtype, Value

# Loops in each other and levels of indentation; Python has limits.
_DEEPEST, _FURTHEST_IN = 12, 80
_LONGEST = 160  # what is written in one piece


STANDS_FOR = "@"  # before a name: the number of the array that it stands for


class NotWrittenError(Exception):
    """A loop that has to be left to the interpreter."""


@dataclass
class Writer:
    """The text as it grows; ``kinds`` are the types of the variables, as far as they are known.

    ``sure`` are the variables that are assigned whichever way was taken, ``spans`` where integers among them lie at any
    time, ``spans_of`` the spans of what they are given here and ``steps`` by how much they are moved on at most. A loop
    that runs ``together`` may be run by several threads one after the other: ``stored`` are the arrays in which it
    stores, ``loops`` the level of each loop in it and the numbers of its first access and of the first behind it. One
    that ``counts`` has turns in it beside its own; ``turns`` is what counts those of a loop when one leaves it. Where
    accesses are ``only_counted``, ``counted`` are their groups. ``least`` is what a loop's condition says of integers.
    One that ``is_dear`` calls functions that take about as long for one number as for one of each thread.
    ``turn`` is the text of which turn of the outermost loop follows. Where arrays are ``renamed``, ``states`` are those
    that may be. Local arrays that are ``declared`` in the loop have their declarations; others are ``made`` before it
    of what stays the same. ``records`` are those that a name stands for. Threads that run it ``in_order`` wait for each
    other; ``around`` are the first accesses of the loops around what is written then.
    """

    frame: Frame
    rules: Mapping[type[ast.AST], Callable[[Writer, Any], Atom | None]]
    block: Callable[[Writer, Sequence[ast.stmt]], bool]
    slot: int
    several: bool
    kinds: dict[str, Kind]
    sure: set[str]
    spans: dict[str, Span]
    lines: list[str] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    bound: dict[tuple[int, str], Bound] = field(default_factory=dict)
    accesses: list[tuple[Access, str]] = field(default_factory=list)
    sites: list[tuple[int, Access]] = field(default_factory=list)
    groups: dict[tuple[Entry, ...], int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    assigned: dict[str, list[Kind]] = field(default_factory=dict)
    spans_of: dict[str, list[Span]] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    turns: list[str] = field(default_factory=list)
    scope: Scope | None = None
    scopes: list[Scope] = field(default_factory=list)
    declared: dict[str, ast.Call] = field(default_factory=dict)
    made: dict[tuple[Any, ...], Made] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)
    statement: ast.stmt | None = None
    together: bool = True
    stored: set[str] = field(default_factory=set)
    loops: list[tuple[int, int, int]] = field(default_factory=list)
    counts: bool = False
    in_while: bool = False
    only_counted: bool = False
    counted: set[int] = field(default_factory=set)
    least: dict[str, int] = field(default_factory=dict)
    is_dear: bool = False
    turn: str = ""
    in_order: bool = False
    around: list[int] = field(default_factory=list)
    renamed: Renamed | None = None
    states: States = frozenset()
    ended: dict[ast.AST, str] = field(default_factory=dict)  # whether a loop has, which something is to be done behind
    indent: int = 1
    depth: int = 0
    temporaries: int = 0
    _noted: Pending = field(default_factory=Pending)
    _known: dict[int, str] = field(default_factory=dict)

    # -- text

    def put(self, line: str) -> None:
        """Add a line."""
        if self.indent > _FURTHEST_IN:
            raise NotWrittenError
        self.lines.append("    " * self.indent + line)

    def fork(self, line: str) -> None:
        """Add a line after which some lines may be left out, or done again."""
        self.flush()
        self.put(line)

    def part_ways(self, line: str, write: Callable[[], bool]) -> bool:
        """Add a line and one of two ways behind it; what is to be noted is noted there, and on the other way."""
        noted = self._noted.copy()
        self.put(line)
        goes_on = write()
        self._noted = noted
        return goes_on

    def all_noted(self) -> None:
        """Go on where both ways have noted what is to be noted."""
        self._noted = Pending()

    def mark(self) -> tuple[Any, ...]:
        """Return where the text is, to go back there."""
        assigned, spans_of = ({key: [*old] for key, old in all_of.items()} for all_of in (self.assigned, self.spans_of))
        state = self.indent, self.depth, set(self.sure), assigned, spans_of, dict(self.steps), self._noted.copy()
        grown: tuple[Any, ...] = self.lines, self.accesses, self.sites, self.loops, self.turns, self.groups
        ways = self.in_while, self.together, self.is_dear, self.states
        return *[len(each) for each in grown], *state, *ways, len(self.around)

    def back(self, mark: tuple[Any, ...]) -> None:
        """Forget what was written since."""
        lines, accesses, sites, loops, turns, groups, *state, around = mark
        *state, self.in_while, self.together, self.is_dear, self.states = state
        self.indent, self.depth, self.sure, self.assigned, self.spans_of, self.steps, self._noted = state
        del self.lines[lines:], self.accesses[accesses:], self.sites[sites:], self.loops[loops:], self.turns[turns:]
        del self.around[around:]
        self.groups = dict(list(self.groups.items())[:groups])
        self.least.clear()

    def aside(self, write: Callable[[], Atom]) -> Part:
        """Write what is to stand further in, and keep it for later."""
        at, noted = len(self.lines), self._noted
        self.indent, self._noted = self.indent + 1, Pending()
        atom = write()
        part = Part(self.lines[at:], self._noted, atom)
        del self.lines[at:]
        self.indent, self._noted = self.indent - 1, noted
        return part

    def add(self, part: Part) -> Atom:
        """Write what was kept, further in; return what it is worth, to be used there."""
        self.lines += part.lines
        self._noted = part.noted
        return part.atom

    def new(self) -> str:
        """Return a name that is not taken."""
        self.temporaries += 1
        return f"t{self.temporaries}"

    def let(self, text: str, dtype: Dtype | None) -> Atom:
        """Give a value a name."""
        self.put(f"{(name := self.new())} = {text}")
        return Atom(name, dtype)

    def sum_of(self, start: str, name: str) -> str:
        """Return the name of the sum of a name and a variable that it has until it is noted or that is assigned."""
        sums = self._noted.sums
        if (start, name) not in sums:
            sums[start, name] = self.let(f"{start} + {name}", INT64).text
        return sums[start, name]

    def rounded(self, text: str) -> Atom:
        """Give a number a name, rounded to single precision."""
        self.put(f"z[0] = {text}")
        return self.let("z[0]", FLOAT32)

    # -- what is noted

    def note(self, base: str, offset: int, site: int | None, access: Access) -> None:
        """Note an access at what has a name and a constant, where it is a request, or one for each byte."""
        if site is None:
            return
        if self.in_order:
            self.sites.append((site, access))
            return
        pieces = self.pieces(site)
        for byte in range(pieces):
            self._noted.add(len(self.sites), base, offset)
            self.sites.append((site, replace(access, byte=byte if pieces > 1 else None)))

    def pieces(self, site: int | None) -> int:
        """Return how many requests an access is."""
        return 0 if site is None else self.frame.machine.table.sites[site].pieces

    @property
    def has_to_note(self) -> bool:
        """Whether there is something to be noted."""
        return bool(self._noted.entries)

    def note_unsafe(self, place: str, base: str, offset: int, site: int | None, stored: Sequence[str]) -> None:
        """Note an access to shared memory that is only counted where its place may not have been written yet."""
        if not self.only_counted or site is None:
            return
        group = self._counted(self._next(site, offset))
        lines = [f"stored({item})" for item in stored] + [f"note({base})", f"group({group})", f"g{group} -= 1"]
        self.put(f"    if not safe[{place}]: {'; '.join(lines)}")

    def flush(self) -> None:
        """Write down what is to be noted."""
        self.lines += ["    " * self.indent + line for line in self._noting()]
        self._noted = Pending()

    def _noting(self) -> list[str]:
        if not self._noted.entries:
            return []
        if self.only_counted:
            return [f"g{self._counted(self._noted.entries)} += 1"]
        return self._noted.noting(self._group(self._noted.entries))

    def _next(self, site: int, offset: int) -> list[Entry]:
        """Return what the next access will be noted as."""
        first = len(self.sites)
        return [(number, 0, offset) for number in range(first, first + self.pieces(site))]

    def _group(self, entries: Sequence[Entry]) -> int:
        return self.groups.setdefault(tuple(entries), len(self.groups))

    def _counted(self, entries: Sequence[Entry]) -> int:
        group = self._group(entries)
        self.counted.add(group)
        return group

    def mark_order(self, mark: int) -> None:
        """Mark among the groups that a loop or a turn begins, where several threads are to be put in order."""
        if self.several and not self.in_order:
            self.fork(f"group({mark})")

    def astray(self, done: str, site: int | None) -> None:
        """Write what is done instead of an access: all that was noted before goes before it, and not behind it."""
        if self.only_counted or self.several:  # in any order; what several threads do instead, they do not keep
            self.put(f"    {done}")
            if self.only_counted and site is not None:  # which is counted once too often
                self.put(f"    g{self._counted(self._next(site, 0))} -= 1")
            return
        left_out = len(self._noted.entries) + self.pieces(site)
        for line in (*self._noting(), done, *[f"R.leave_out({left_out})"] * (left_out > 0)):
            self.put(f"    {line}")

    def constant(self, value: Any) -> str:
        """Return the name of an object from outside."""
        name = self._known.get(id(value))
        if name is None:
            name = self._known[id(value)] = f"k{len(self.constants)}"
            self.constants[name] = value
        return name

    def open(self, value: Value) -> Value:
        """Return what the thread has of a value."""
        return open_value(value, self.slot)

    def write(self, node: ast.expr, rule: Callable[[Writer, Any], Atom | None] | None = None) -> Atom:
        """Write an expression, by its own rule or another; return what it is worth, which may have to be settled."""
        mark = self.mark()
        for one in (rule or self.rules.get(type(node)), self.rules[ast.expr]):
            try:
                atom = None if one is None else one(self, node)
            except NotWrittenError:
                atom = None
            if atom is not None:
                return atom if len(atom.text) < _LONGEST else replace(atom, text=self.let(atom.text, atom.dtype).text)
            self.back(mark)
        return self.interpreted(node)

    # -- variables

    def variable_name(self, node: ast.AST, name: str) -> str:
        """Return the name that a variable is kept under at a node."""
        version = self.frame.versions.variables.get(node)
        return self.inside(name if version is None else version[0])

    def inside(self, name: str) -> str:
        """Return the name in the text of a variable of the function that is written."""
        if self.scope is None:
            array = name if self.renamed is None else self.renamed.array(name, self.states)
            if array is None:
                raise NotWrittenError
            return array
        return self.scope.arrays.get(name) or f"{self.scope.number}:{name}"

    @property
    def results(self) -> list[str]:
        """The variables that the loop assigns, those of functions that it calls left out."""
        return [name for name in self.assigned if ":" not in name]

    @property
    def runner(self) -> str:
        """The text of what does for this function what is not written."""
        return "R" if self.scope is None else f"R{self.scope.number}"

    def variable(self, name: str) -> str:
        """Return the variable of the text for one of the kernel."""
        return self.names.setdefault(name, f"v{len(self.names)}")

    def number(self, name: str, node: ast.Name, at: ast.AST | None = None) -> Atom:
        """Return a variable; one that may not be assigned has to be looked at."""
        atom = self.atom(name)
        if name not in self.sure:
            if self.scope is not None:
                raise NotWrittenError
            self.together = False
            self.put(f"if {atom.text} is U: F.read({self.constant(node)}, {self.constant(at)})")
        return atom

    def atom(self, name: str) -> Atom:
        """Return what a variable holds."""
        kind = self.kinds.get(name)
        if isinstance(kind, Array) or kind is NOTHING or items_in(self.kinds, name):
            raise NotWrittenError
        span = self.spans.get(name, full(kind)) if isinstance(kind, np.dtype) and kind.kind in "iu" else None
        if span is not None and span[0] < self.least.get(name, span[0]) <= span[1]:
            span = self.least[name], span[1]
        return Atom(self.variable(name), kind, span)

    def assign(self, name: str, atom: Atom, *, written: bool = False) -> None:
        """Give a variable a settled value; nothing else is named by a variable, which may be assigned again."""
        kind = self.kinds.get(name)
        if isinstance(kind, Array) or kind is NOTHING or items_in(self.kinds, name):
            raise NotWrittenError
        wanted = self.kinds.setdefault(name, atom.dtype)
        text = self.opened(atom) if wanted is None and atom.dtype is not None else atom.text
        variable = self.variable(name)
        self._noted.forget(variable)
        self.least.pop(name, None)
        if variable in self._noted.known:
            self.put(f"{self._noted.keep(variable, self.new())} = {variable}")
        if not written:
            self.put(f"{variable} = {text}")
        self.assigned.setdefault(name, []).append(atom.dtype)
        if atom.dtype is not None and atom.dtype.kind in "iu":
            if atom.step is not None and atom.step[0] == variable:
                self.steps[name] = self.steps.get(name, 0) + atom.step[1]
            else:
                self.spans_of.setdefault(name, []).append(atom.within)
        self.sure.add(name)

    def opened(self, atom: Atom) -> str:
        """Return the text of a number as an open value."""
        text, dtype = atom.text, atom.dtype
        if dtype is None or dtype in (BOOL, INT64, FLOAT64, COMPLEX128):
            return text
        return f"{self.constant(dtype.type)}({text})"

    def stand(self, name: str, array: Array) -> None:
        """Let a variable stand for an array; one that is something else in another place is not written."""
        if items_in(self.kinds, name) or not isinstance(self.kinds.get(name, array), Array):
            raise NotWrittenError
        self.kinds[name] = array

    def array(self, name: str) -> Array | None:
        """Return the array that a variable stands for."""
        kind = self.kinds.get(name)
        return kind if isinstance(kind, Array) else None

    # -- what the interpreter does

    def hand_over(self, node: ast.AST) -> set[str]:
        """Let the interpreter have the variables that a part of the loop names; return those that it assigns."""
        if self.in_order or self.scope is not None or (self.renamed and names_in(node) & {*self.renamed.names}):
            raise NotWrittenError
        self.flush()
        self.together, self.counts = False, True
        stored: set[str] = set()
        for part in ast.walk(node):
            if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
                self._give(self.variable_name(part, part.target.id))
            if isinstance(part, ast.Name) and part.id in self.frame.names.locals:
                name = self.variable_name(part, part.id)
                self._give(name)
                if isinstance(part.ctx, ast.Store):
                    if items_in(self.kinds, name):
                        raise NotWrittenError
                    stored.add(name)
        self.put("M.iterations = it")
        return stored

    def _give(self, name: str) -> None:
        kind = self.kinds.get(name)
        if isinstance(kind, Array) and kind.layout:
            self.put(f"V[{self.constant(name)}] = {kind.layout.view}")
        items = items_in(self.kinds, name)
        if items:
            atoms = [Atom(self.variable(item), self.kinds[item]) for item in items]
            text = f"V[{self.constant(name)}] = ({', '.join(map(self.opened, atoms))},)"
            self.put(text if items[0] in self.sure else f"if {atoms[0].text} is not U: {text}")
        if isinstance(kind, Array) or kind is NOTHING or items or (name not in self.sure and name not in self.names):
            return
        variable = self.variable(name)
        text = f"V[{self.constant(name)}] = {self.opened(Atom(variable, kind))}"
        self.put(text if name in self.sure else f"if {variable} is not U: {text}")

    def take_back(self, stored: set[str]) -> None:
        """Go on with what the interpreter assigned."""
        self.count_on()
        for name in sorted(stored):
            self.assign(name, Atom(f"V.get({self.constant(name)}, U)", None))
            self.sure.discard(name)

    def interpreted(self, node: ast.expr) -> Atom:
        """Have the interpreter evaluate an expression."""
        if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node)):
            raise NotWrittenError
        self.hand_over(node)
        atom = self.let(f"R.value({self.constant(node)}, {self.constant(self.statement)})", None)
        self.count_on()
        return atom

    def count_on(self) -> None:
        """Go on with the turns that the interpreter has counted."""
        self.put("it = M.iterations")
        self.put(f"if it >= due: due = {self.runner}.due(it, {self.statement.lineno if self.statement else 0})")

    def end(self, result: str) -> None:
        """Leave the text: what it holds then is written down by whoever called it."""
        self.flush()
        self.put("M.iterations = it")
        self.put(f"return {result}, @V")

    def enter(self) -> None:
        """Begin a loop in the text."""
        if self.depth == _DEEPEST:
            raise NotWrittenError
        self.depth += 1
