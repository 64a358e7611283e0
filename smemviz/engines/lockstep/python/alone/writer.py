"""Writes a loop of a kernel as the text of a Python function that one thread runs.

Every value has a name of its own there, and every name the type that the kernel's variable has; what is not written so
is done by the interpreter, statement by statement or expression by expression. No text of the kernel gets into it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from smemviz.engines.lockstep.python.alone.accesses import Access
from smemviz.engines.lockstep.python.alone.values import open_value
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.values.typing import BOOL, FLOAT32, FLOAT64, INT64, Dtype, Value

Kind = Any  # a dtype; None for an open value; what tells arrays apart
Atom = tuple[str, Dtype | None]  # a name or a number of the text, and its type, None where that is open

# Loops in each other and levels of indentation; Python has limits.
_DEEPEST, _FURTHEST_IN = 12, 80
MIN, MAX = -(2**63), 2**63 - 1


class NotWrittenError(Exception):
    """A loop that has to be left to the interpreter."""


@dataclass(frozen=True)
class Array:
    """An array that a name stands for throughout a loop."""

    dtype: Dtype
    axes: int
    space: str
    way: str


@dataclass
class Writer:
    """The text as it grows; ``kinds`` are the types of the variables, as far as they are known.

    ``sure`` are the variables that are assigned whichever way was taken. A loop that is ``pure`` only computes: nothing
    but its variables tells that it ran.
    """

    frame: Frame
    slot: int
    kinds: dict[str, Kind]
    sure: set[str]
    lines: list[str] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    bound: dict[str, tuple[ast.expr, Dtype, str]] = field(default_factory=dict)
    accesses: list[tuple[Access, str]] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    assigned: dict[str, list[Kind]] = field(default_factory=dict)
    statement: ast.stmt | None = None
    pure: bool = True
    indent: int = 1
    depth: int = 0
    temporaries: int = 0
    _known: dict[int, str] = field(default_factory=dict)

    # -- text

    def put(self, line: str) -> None:
        """Add a line."""
        if self.indent > _FURTHEST_IN:
            raise NotWrittenError
        self.lines.append("    " * self.indent + line)

    def new(self) -> str:
        """Return a name that is not taken."""
        self.temporaries += 1
        return f"t{self.temporaries}"

    def let(self, text: str, dtype: Dtype | None) -> Atom:
        """Give a value a name."""
        name = self.new()
        self.put(f"{name} = {text}")
        return name, dtype

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

    # -- variables

    def kept(self, node: ast.AST, name: str) -> str:
        """Return the name that a variable is kept under at a node."""
        found = self.frame.versions.kept.get(node)
        return name if found is None else found[0]

    def variable(self, name: str) -> str:
        """Return the variable of the text for one of the kernel."""
        return self.names.setdefault(name, f"v{len(self.names)}")

    def number(self, name: str, node: ast.Name, at: ast.AST | None = None) -> Atom:
        """Return a variable; one that may not be assigned has to be looked at."""
        kind, variable = self.kinds.get(name), self.variable(name)
        if isinstance(kind, Array):
            raise NotWrittenError
        if name not in self.sure:
            self.pure = False
            self.put(f"if {variable} is U: F.read({self.constant(node)}, {self.constant(at)})")
        return variable, kind

    def assign(self, name: str, atom: Atom) -> None:
        """Give a variable a value; nothing else is named by a variable, which may be assigned again."""
        if isinstance(self.kinds.get(name), Array):
            raise NotWrittenError
        text, dtype = atom
        wanted = self.kinds.setdefault(name, dtype)
        if wanted is None and dtype is not None:
            text = self.opened(atom)
        self.put(f"{self.variable(name)} = {text}")
        self.assigned.setdefault(name, []).append(dtype)
        self.sure.add(name)

    def opened(self, atom: Atom) -> str:
        """Return the text of a number as an open value."""
        text, dtype = atom
        if dtype is None or dtype in (BOOL, INT64, FLOAT64, FLOAT32) or dtype.kind == "c":
            return text
        return f"{self.constant(dtype.type)}({text})"

    def array(self, name: str) -> Array | None:
        """Return the array that a variable stands for."""
        kind = self.kinds.get(name)
        return kind if isinstance(kind, Array) else None

    # -- what the interpreter does

    def hand_over(self, node: ast.AST) -> set[str]:
        """Let the interpreter have the variables that a part of the loop names; return those that it assigns."""
        self.pure = False
        stored: set[str] = set()
        for one in ast.walk(node):
            if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
                self._give(self.kept(one, one.target.id))
            if isinstance(one, ast.Name) and one.id in self.frame.names.locals:
                name = self.kept(one, one.id)
                self._give(name)
                if isinstance(one.ctx, ast.Store):
                    stored.add(name)
        self.put("M.iterations = it")
        return stored

    def _give(self, name: str) -> None:
        kind = self.kinds.get(name)
        if isinstance(kind, Array) or (name not in self.sure and name not in self.names):
            return
        variable = self.variable(name)
        text = f"V[{self.constant(name)}] = {self.opened((variable, kind))}"
        self.put(text if name in self.sure else f"if {variable} is not U: {text}")

    def take_back(self, stored: set[str]) -> None:
        """Go on with what the interpreter assigned."""
        self.put("it = M.iterations")
        for name in sorted(stored):
            self.assign(name, (f"V.get({self.constant(name)}, U)", None))
            self.sure.discard(name)

    def leave(self, node: ast.stmt, *, ends: bool) -> None:
        """Have the interpreter do a statement, after which the thread may have ended, and surely has if it ``ends``."""
        stored = self.hand_over(node)
        done = f"R.statement({self.constant(node)})"
        if ends:
            self.put(done)
            self.end("False")
            return
        self.put(f"if not {done}:")
        self.indent += 1
        self.end("False")
        self.indent -= 1
        self.take_back(stored)

    def interpreted(self, node: ast.expr) -> Atom:
        """Have the interpreter evaluate an expression."""
        if any(isinstance(one, ast.NamedExpr) for one in ast.walk(node)):
            raise NotWrittenError
        self.hand_over(node)
        atom = self.let(f"R.value({self.constant(node)}, {self.constant(self.statement)})", None)
        self.put("it = M.iterations")
        return atom

    def end(self, result: str) -> None:
        """Leave the text: what it holds then is written down by whoever called it."""
        self.put("M.iterations = it")
        self.put(f"return {result}, @V")

    def enter(self) -> None:
        """Begin a loop in the text."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise NotWrittenError
