"""One function as it runs: its variables, and which of its threads are active."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from smemviz.engines.lockstep.hazards.unassigned import Unassigned
from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.memory import LocalMemory, View
from smemviz.engines.lockstep.name_hints import instead, is_none_of_numba, neighbour
from smemviz.engines.lockstep.python.merging import Apart, CannotMergeError, TwoKindsError, merge, merge_name
from smemviz.engines.lockstep.values.masks import Mask, NothingHereError, Optional
from smemviz.engines.lockstep.values.typing import NotAScalarError, Value
from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.assigned import doubtful_in
from smemviz.frontends.numba.sites import SiteTree
from smemviz.frontends.numba.sites.constructs import refusal
from smemviz.frontends.numba.syntax import stored
from smemviz.messages import english

_MISSING: Any = object()


@dataclass(frozen=True)
class Language:
    """What a frame does at each kind of node: an expression has a value, a statement gives the threads that go on."""

    expressions: Mapping[type[ast.AST], Callable[[Frame, Any], Value]]
    statements: Mapping[type[ast.AST], Callable[[Frame, Any], Mask]]
    versions: Callable[[Frame, Mapping[str, Value]], Versions]


@dataclass(frozen=True)
class Move:
    """What a name held goes on as a value of another type."""

    source: str
    target: str
    convert: Callable[[Value], Value]


@dataclass(frozen=True)
class Versions:
    """The types of the variables of a function that have more than one, each kept under a name of its own.

    ``variables`` says, for a name in the syntax tree, under which one and in which type; ``parameters`` for arguments.
    ``moves`` are made where a branch, or a turn of a loop, ends; ``choices`` are the types of ``a if b else c`` and the
    like, ``decided`` what Numba knows of such a condition, ``operands`` those it keeps of ``a and b``, ``returned`` the
    type of what the function returns.
    """

    variables: Mapping[ast.AST, tuple[str, Callable[[Value], Value]]] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    moves: Mapping[tuple[ast.AST, str], tuple[Move, ...]] = field(default_factory=dict)
    choices: Mapping[ast.AST, Callable[[Value], Value]] = field(default_factory=dict)
    decided: Mapping[ast.AST, bool] = field(default_factory=dict)
    operands: Mapping[ast.AST, tuple[ast.expr, ...]] = field(default_factory=dict)
    returned: Callable[[Value], Value] | None = None


ONE_TYPE_EACH = Versions()


@dataclass
class Loop:
    """A loop as it runs: the threads that wait for its end, and those that wait for its next iteration.

    ``two_ways`` are those that came to its condition by ``continue``, and by the end of a turn, where there are both.
    """

    broken: Mask | None = None
    continued: Mask | None = None
    two_ways: tuple[Mask, Mask] | None = None


class Frame:
    """A function that was called: ``mask`` are the active threads, ``live`` those that have not returned.

    A variable is its value and its owner, a mask outside which the value means nothing: threads that assign within
    the owner keep what the others have, threads that cover all that live of it need not.
    """

    def __init__(self, language: Language, machine: Machine, tree: SiteTree, mask: Mask) -> None:
        self.language = language
        self.tree = tree
        self.function = tree.function
        self.versions = ONE_TYPE_EACH
        self.names = tree.names
        self.canonical = self.names.canonical  # the name that rules go by, empty where a variable hides it
        self.loops: list[Loop] = []
        self.machine = machine
        self.entry = mask
        self.mask = mask
        self.live = mask
        self.nobody = Mask(np.zeros(machine.slots, np.bool_), 0, mask)
        self.variables: dict[str, Value] = {}
        self.owners: dict[str, Mask] = {}
        self.unassigned: Unassigned | None = None
        self.local_arrays: dict[ast.AST, View] = {}
        self.statement_call: ast.expr | None = None
        # Those that did not get past the statement that was run last, or past one of this function; see ``loops.wait``.
        self.waiting: Mask | None = None
        self.left_behind: Mask | None = None
        self.is_lock = False  # whether its threads may come out of it one after the other
        self.tries = False  # whether nobody need get past a wait
        self._result: Value = _MISSING
        self._expressions = language.expressions
        self._statements = language.statements

    @cached_property
    def local_memory(self) -> LocalMemory:
        """Where its local arrays lie, so that a name may stand for another of them in each thread."""
        return LocalMemory(self.machine.slots)

    # -- running

    def run(self, arguments: dict[str, Value]) -> Value:
        """Run the function with its arguments; return what it returns, None where nothing."""
        self.versions = self.language.versions(self, arguments)
        for name, value in arguments.items():
            variable = self.versions.parameters.get(name, name)
            self.variables[variable], self.owners[variable] = value, self.entry
        doubtful = doubtful_in(self.function.node)
        if doubtful.names:
            self.unassigned = Unassigned(doubtful, arguments, self.entry)
        end = self.block(self.function.node.body, self.entry)
        if self._result is _MISSING:
            return None
        if end.count:
            self._result = self.merged(self.function.node, end.lanes, None, self._result)
        return self._result.here(self.entry.lanes) if isinstance(self._result, Optional) else self._result

    def block(self, body: Sequence[ast.stmt], mask: Mask) -> Mask:
        """Run statements one after the other; return the threads that reach the end."""
        place = 0
        while place < len(body) and mask.count:
            statement = body[place]
            self.mask = mask
            rule = self._statements.get(type(statement))
            if rule is None:
                raise self.wrong(statement, refusal(statement))
            try:
                mask = rule(self, statement)
            except NotAScalarError as error:
                if self._reads_nothing(statement):
                    raise self.wrong(statement, _nothing_here(statement)) from None
                what = english("{what} where a number belongs ({code})", what=error.args[0], code=short(statement))
                raise self.none_of_numba(statement, what) from None
            except NothingHereError:
                raise self.wrong(statement, _nothing_here(statement)) from None
            place += 1
            if self.waiting is not None:
                waiting, self.waiting = self.waiting, None
                if self.is_lock:
                    self.left_behind, mask = waiting, mask.without(waiting.lanes)
                else:
                    mask, place = self._one_after_the_other(body, place, mask, waiting)
        return mask

    def _one_after_the_other(self, body: Sequence[ast.stmt], begin: int, mask: Mask, waiting: Mask) -> tuple[Mask, int]:
        """Let those that got past a wait go on until they have let the others past it, who follow them so far.

        Returns who goes on from there, and with which statement.
        """
        wait = body[begin - 1]
        waited_for = {part.id for part in ast.walk(wait) if isinstance(part, ast.Name)}
        going = mask.without(waiting.lanes)
        for place in range(begin, len(body)):
            going = self.block(body[place : place + 1], going)
            if not any(isinstance(part, ast.Name) and part.id in waited_for for part in ast.walk(body[place])):
                continue
            while waiting.count:
                self.mask, self.tries = waiting, True
                self._statements[type(wait)](self, wait)
                still, self.waiting, self.tries = self.waiting or self.nobody, None, False
                if still.count == waiting.count:
                    break
                passed, waiting = waiting.without(still.lanes), still
                going = mask.rejoin(going, self.block(body[begin : place + 1], passed)).under(mask)
            if not waiting.count:
                return going, place + 1
        raise self.never_ends(wait, self.live)

    def never_ends(self, wait: ast.AST, waiting: Mask) -> UnsupportedError:
        """Return the error for a wait that nobody ends, or nobody of those who are where it is."""
        code = short(wait)
        if waiting.count < self.live.count:
            what = english(
                "{code} no thread here ends this wait, and in lockstep the others continue only after it", code=code
            )
            return self.wrong(
                wait, english("{what}; move what is waited for before it, or run with engine gpu", what=what)
            )
        what = english(
            "{code} no thread is left to end this wait; release the lock, or move what is waited for before it",
            code=code,
        )
        return self.wrong(wait, what)

    def value(self, node: ast.expr) -> Value:
        """Return what an expression is worth in the active threads; elsewhere it means nothing."""
        rule = self._expressions.get(type(node))
        if rule is None:
            raise self.wrong(node, refusal(node))
        return rule(self, node)

    def callee(self, tree: SiteTree) -> Frame:
        """Return the frame of a device function that the active threads call."""
        return Frame(self.language, self.machine, tree, self.mask)

    def is_used(self, node: ast.expr) -> bool:
        """Tell whether a call's value is used: whether it is not a statement of its own."""
        return node is not self.statement_call

    def finish(self, node: ast.AST, value: Value) -> None:
        """Return a value in the active threads."""
        if self.versions.returned is not None:
            value = self.versions.returned(value)
        if self._result is not _MISSING:
            value = self.merged(node, self.mask.lanes, value, self._result)
        self._result = value
        self.end_threads()

    def end_threads(self) -> None:
        """Let the active threads leave the function, and the kernel where that is the function."""
        self.live = self.live.without(self.mask.lanes).under(self.entry)
        if self.is_kernel:
            self.machine.live = self.live

    @property
    def is_kernel(self) -> bool:
        """Whether this is the kernel and not a device function."""
        return self.tree is self.machine.table.root

    # -- refusing

    def refuse(self, node: ast.AST, what: str) -> UnsupportedError:
        """Return the error for a construct that this engine does not know."""
        return self.wrong(node, english("{what} is not executed in lockstep; run with engine gpu", what=what))

    def none_of_numba(self, node: ast.AST, what: str, write: str = "") -> UnsupportedError:
        """Return the error for a construct that Numba refuses as well; ``write`` is what to write for it."""
        if write:
            what = english("{what}: Numba does not compile it for CUDA; write {instead}", what=what, instead=write)
            return self.wrong(node, what)
        return self.wrong(node, english("{what}: Numba does not compile it for CUDA; compute it otherwise", what=what))

    def left_out(self, node: ast.AST, what: str) -> UnsupportedError:
        """Return the error for what this engine has no rule for, whether or not Numba compiles it."""
        return self.wrong(node, english("{what} is not executed in lockstep; compute it otherwise", what=what))

    def unknown(self, node: ast.AST, what: str, name: str, known: Iterable[str]) -> UnsupportedError:
        """Return the error for ``what``, whose ``name`` is none of those known: it may be misspelt."""
        near = neighbour(name, known)
        called = node.func if isinstance(node, ast.Call) else node
        declared = isinstance(called, ast.Name) and name.startswith("cuda.")  # by cuda.declare_device
        if near is None and not declared and is_none_of_numba(name):
            return self.none_of_numba(node, what, instead(name))
        if near is None and (write := instead(name)):
            return self.wrong(
                node, english("{what} is not executed in lockstep; write {instead}", what=what, instead=write)
            )
        if near is None:
            return self.refuse(node, what)
        return self.wrong(node, english("{what} is not known; did you mean {near}?", what=what, near=near))

    def wrong(self, node: ast.AST, what: str) -> UnsupportedError:
        return UnsupportedError(self.function.file, getattr(node, "lineno", self.function.node.lineno), what)

    # -- names

    def read(self, node: ast.Name, at: ast.AST | None = None) -> Value:
        """Return a variable's value; one that is read and assigned by one name is read ``at`` another node."""
        version = self.versions.variables.get(at or node)
        if self.unassigned is not None and self.unassigned.may_mean_nothing(node.id):
            used = self.unassigned.read(node, self.mask)
            if used is not None:
                self.machine.find("unassigned_read", node.lineno, node.col_offset, used[0], **used[1])
        try:
            value = self.variables[node.id if version is None else version[0]]
            return value.here(self.mask.lanes) if type(value) in (Apart, Optional) else value
        except CannotMergeError as error:
            raise self.refuse(node, f"{node.id}: {error}") from None
        except KeyError:
            if self.unassigned is not None and self.unassigned.hands_on(node):
                return 0  # which is followed, and refused or told of where it is used
            raise self.wrong(
                node, english("{name} is read before it is assigned; assign it on every path", name=node.id)
            ) from None

    def assign(self, node: ast.AST, name: str, value: Value) -> None:
        """Give a variable a value in the active threads."""
        if self.unassigned is not None:
            self.unassigned.assign(name, self.mask)
        version = self.versions.variables.get(node)
        if version is not None:
            name, convert = version
            value = convert(value)
        self.keep(node, name, value)

    def move(self, node: ast.AST, edge: str, mask: Mask) -> None:
        """Let what variables hold in some threads go on in the types that it meets others in."""
        moves = self.versions.moves.get((node, edge))
        if moves is None or not mask.count:
            return
        outer, self.mask = self.mask, mask
        for move in moves:
            if move.source in self.variables:
                self.keep(node, move.target, move.convert(self.variables[move.source]))
        self.mask = outer

    def chosen(self, node: ast.expr, value: Value) -> Value:
        """Return one of several values in the type of all of them."""
        convert = self.versions.choices.get(node)
        return value if convert is None else convert(value)

    def keep(self, node: ast.AST, name: str, value: Value) -> None:
        """Give the variable that is kept under a name a value in the active threads."""
        mask = self.mask
        old = self.variables.get(name, _MISSING)
        if old is _MISSING:
            self.variables[name], self.owners[name] = value, mask
            return
        owner = self.owners[name]
        if owner is mask or self._covers(mask, owner):
            self.variables[name], self.owners[name] = value, mask
            return
        try:
            self.variables[name] = merge_name(mask.lanes, value, old)
        except CannotMergeError as error:
            raise self._unmerged(node, name.partition(" ")[0], error) from None
        self.owners[name] = owner if mask.within(owner) else owner.common(mask)

    def merged(self, node: ast.AST, lanes: Any, new: Value, old: Value) -> Value:
        """Return a value that is ``new`` in some threads and ``old`` in the others."""
        try:
            return merge(lanes, new, old)
        except CannotMergeError as error:
            raise self._unmerged(node, short(node), error) from None

    def _unmerged(self, node: ast.AST, what: str, error: CannotMergeError) -> UnsupportedError:
        if isinstance(error, TwoKindsError):
            return self.none_of_numba(node, f"{what}: {error}", english("two names"))
        return self.refuse(node, f"{what}: {error}")

    def _reads_nothing(self, node: ast.AST) -> bool:
        """Tell whether a part reads a variable that is None now, and that other assignments make something."""
        read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        none = {name for name in read if name in self.variables and self.variables[name] is None}
        return any(list(stored(self.function.node)).count(name) > 1 for name in none)

    def _covers(self, mask: Mask, owner: Mask) -> bool:
        """Tell whether every thread of ``owner`` that still runs is in ``mask``."""
        if mask.within(owner):
            return mask.count == (
                owner.count if self.live is self.entry else int(np.count_nonzero(owner.lanes & self.live.lanes))
            )
        return owner.within(mask)


def _nothing_here(node: ast.AST) -> str:
    return english(
        "{code} uses a value that is None in some of the threads, which Numba ends there silently; "
        "ask 'is not None' first",
        code=short(node),
    )


def short(node: ast.AST) -> str:
    """Return the first line of a node's text, cut off where it is long."""
    text = ast.unparse(node).partition("\n")[0]
    return text if len(text) <= 60 else f"{text[:57]}..."
