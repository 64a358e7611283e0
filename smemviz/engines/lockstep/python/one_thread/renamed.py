"""Names that a loop gives to arrays: which array each may stand for at a place of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.one_thread.arrays import Array
from smemviz.engines.lockstep.python.one_thread.atoms import Kind

Loop = ast.For | ast.While
State = tuple[int, ...]  # for each name the number of the array that it stands for, below 0 where it is not assigned
States = frozenset[State]
Pairs = Sequence[tuple[str, ast.expr]]

_MOST = 6  # states
_UNASSIGNED = -1
_COMPUTES = ast.Name | ast.Constant | ast.BinOp | ast.UnaryOp | ast.Compare | ast.BoolOp
_PARTS = ast.expr_context | ast.operator | ast.unaryop | ast.cmpop | ast.boolop


@dataclass(frozen=True)
class Renamed:
    """The ``names`` that a loop gives to ``arrays``, which are names as they are before it.

    ``turns`` are the states that may be before a turn of a loop that renames, ``behind`` those behind it, and ``pairs``
    what each statement assigns. Several threads are in the same state at a place if this ``is_alike``, and each of the
    names in ``same`` holds the same for all of them.
    """

    names: tuple[str, ...]
    arrays: tuple[str, ...]
    pairs: Mapping[ast.AST, Pairs]
    turns: Mapping[ast.AST, States] = field(default_factory=dict)
    behind: Mapping[ast.AST, States] = field(default_factory=dict)
    is_alike: bool = True
    same: frozenset[str] = frozenset()

    @property
    def begin(self) -> State:
        """The state before the loop."""
        return tuple(self.arrays.index(name) if name in self.arrays else _UNASSIGNED for name in self.names)

    def numbers(self, name: str, states: States) -> set[int]:
        """Return the numbers of the arrays that a name may stand for, below 0 where it is not assigned."""
        place = self.names.index(name)
        return {state[place] for state in states}

    def array(self, name: str, states: States) -> str | None:
        """Return the array that a name stands for, None where it may be several or none; of other names themselves."""
        if name not in self.names:
            return name
        number, *others = self.numbers(name, states) or {_UNASSIGNED}
        return None if others or number < 0 else self.arrays[number]

    def renames(self, node: ast.AST) -> bool:
        """Tell whether a part of the loop does."""
        return any(part in self.pairs for part in ast.walk(node))

    def after(self, pairs: Pairs, states: States) -> States:
        """Return the states after names were given arrays."""
        made: set[State] = set()
        for state in states:
            after = {state}
            for name, source in pairs:
                place, numbers = self.names.index(name), {self._number(one, state) for one in sources_of(source)}
                after = {(*old[:place], number, *old[place + 1 :]) for old in after for number in numbers}
            made |= after
        return frozenset(made)

    def _number(self, name: str, state: State) -> int:
        return state[self.names.index(name)] if name in self.names else self.arrays.index(name)


def renamed_in(frame: Frame, node: Loop, kinds: Mapping[str, Kind]) -> Renamed | None:
    """Return which arrays the names in a loop are given to, None where that is not known, or there are none."""
    arrays = {name for name, kind in kinds.items() if isinstance(kind, Array)}
    assignments = [part for part in ast.walk(node) if isinstance(part, ast.Assign) and len(part.targets) == 1]
    names: set[str] = set()
    while True:
        given = ((part, _pairs(part, arrays | names)) for part in assignments)
        found: dict[ast.AST, Pairs] = {part: pairs for part, pairs in given if pairs}
        more = {name for pairs in found.values() for name, _ in pairs}
        if more == names:
            break
        names = more
    within = {part for statement in found for part in ast.walk(statement)}
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id in names]
    is_clear = all(isinstance(part.ctx, ast.Load) or part in within for part in parts)
    if not names or not is_clear or any(part in frame.versions.variables for part in parts):
        return None
    sources = {name for pairs in found.values() for _, source in pairs for name in sources_of(source)}
    renamed = Renamed(tuple(sorted(names)), tuple(sorted((sources | names) & arrays)), found)
    return _Flow(renamed, node, {*frame.names.locals}).followed()


def sources_of(node: ast.expr) -> list[str]:
    """Return the names of the arrays that may be assigned."""
    if isinstance(node, ast.IfExp):
        return sources_of(node.body) + sources_of(node.orelse)
    return [node.id] if isinstance(node, ast.Name) else []


def names_in(node: ast.AST) -> set[str]:
    """Return the names in a part of a function."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _pairs(node: ast.Assign, arrays: Set[str]) -> Pairs:
    """Return the names that a statement gives to arrays, with what it gives them; or nothing."""
    target, value = node.targets[0], node.value
    several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
    targets, values = (target.elts, value.elts) if several else ([target], [value])  # type: ignore[attr-defined]
    names = [part.id for part in targets if isinstance(part, ast.Name)]
    fits = len({*names}) == len(targets) == len(values)
    if not fits or not all(_is_array(part, arrays) for part in values):
        return []
    return list(zip(names, values, strict=True))


def _is_array(node: ast.expr, arrays: Set[str]) -> bool:
    if isinstance(node, ast.IfExp):
        return _is_array(node.body, arrays) and _is_array(node.orelse, arrays)
    return isinstance(node, ast.Name) and node.id in arrays


class _TooManyError(Exception):
    """More states than a text is written for."""


@dataclass
class _Flow:
    """Goes through a loop until all states are found that may be before its turns."""

    renamed: Renamed
    loop: Loop
    variables: set[str]
    turns: dict[ast.AST, States] = field(default_factory=dict)
    behind: dict[ast.AST, States] = field(default_factory=dict)
    broken: list[States] = field(default_factory=list)
    continued: list[States] = field(default_factory=list)
    is_alike: bool = True
    same: set[str] = field(default_factory=set)
    counted: dict[str, set[str]] = field(default_factory=dict)  # what is the same where the names in it are

    def followed(self) -> Renamed | None:
        try:
            self._loop(self.loop, frozenset({self.renamed.begin}))
        except _TooManyError:
            return None
        is_alike, same = self.is_alike, frozenset(self.same)
        return replace(self.renamed, turns=self.turns, behind=self.behind, is_alike=is_alike, same=same)

    def _block(self, body: Sequence[ast.stmt], states: States) -> States:
        for statement in body:
            states = self._statement(statement, states)
        return states

    def _statement(self, node: ast.stmt, states: States) -> States:
        renamed = self.renamed
        if node in renamed.pairs:
            for part in ast.walk(node):
                if isinstance(part, ast.IfExp):
                    self._has_to_be_same(part.test)
            states = renamed.after(renamed.pairs[node], states)
            if len(states) > _MOST:
                raise _TooManyError
        elif isinstance(node, ast.If):
            if renamed.renames(node):
                self._has_to_be_same(node.test)
            states = self._block(node.body, states) | self._block(node.orelse, states)
        elif isinstance(node, ast.For | ast.While) and renamed.renames(node):
            states = self._loop(node, states)
        elif isinstance(node, ast.Break | ast.Continue):
            waiting = self.broken if isinstance(node, ast.Break) else self.continued
            waiting[-1] |= states
            states = frozenset()
        elif isinstance(node, ast.Return | ast.Raise):
            states = frozenset()
        return states

    def _loop(self, node: Loop, states: States) -> States:
        self._look_at(node)
        self.broken.append(frozenset())
        self.continued.append(frozenset())
        before: States = frozenset()
        while before != states:
            before = states
            states |= self._block(node.body, states) | self.continued[-1]
        self.continued.pop()
        self.turns[node] = states
        self.behind[node] = self.broken.pop() | self._block(node.orelse, states)
        return self.behind[node]

    # -- whether all threads are in the same state

    def _look_at(self, node: Loop) -> None:
        """Look whether threads have as many turns of a loop, or of the outermost one those that have not left it."""
        needed = self._needed(_ends_of(node))
        target = node.target if isinstance(node, ast.For) else None
        if needed is not None and isinstance(target, ast.Name) and self._times_assigned(target.id) == 1:
            self.counted[target.id] = needed
        jumps = list(_jumps(node.body))
        if node is self.loop:
            self.is_alike &= not any(isinstance(jump, ast.Continue) for jump in jumps)
        elif needed is None or jumps:
            self.is_alike = False
        else:
            self.same |= needed

    def _has_to_be_same(self, test: ast.expr) -> None:
        needed = self._needed([test])
        self.is_alike &= needed is not None
        self.same |= needed or set()

    def _needed(self, nodes: Sequence[ast.expr] | None) -> set[str] | None:
        """Return the names that have to be the same for all threads, so that what is computed of them is."""
        needed: set[str] = set()
        for part in (part for node in nodes or () for part in ast.walk(node)):
            if not isinstance(part, _COMPUTES | _PARTS):
                return None
            if isinstance(part, ast.Name) and part.id in self.variables:
                if part.id not in self.counted and self._times_assigned(part.id):
                    return None
                needed |= self.counted.get(part.id, {part.id})
        return None if nodes is None else needed

    def _times_assigned(self, name: str) -> int:
        parts = (part for part in ast.walk(self.loop) if isinstance(part, ast.Name) and part.id == name)
        return sum(isinstance(part.ctx, ast.Store) for part in parts)


def _ends_of(node: Loop) -> list[ast.expr] | None:
    """Return what the range is made of that a loop goes over."""
    call = node.iter if isinstance(node, ast.For) else None
    return call.args if isinstance(call, ast.Call) and ast.unparse(call.func) == "range" else None


def _jumps(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield what leaves a loop, or one of its turns."""
    for statement in body:
        if isinstance(statement, ast.Break | ast.Continue):
            yield statement
        elif isinstance(statement, ast.If):
            yield from _jumps([*statement.body, *statement.orelse])
        elif isinstance(statement, ast.For | ast.While):
            yield from _jumps(statement.orelse)
