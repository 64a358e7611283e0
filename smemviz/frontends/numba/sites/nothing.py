"""Variables that are None at first, where Numba takes none: as numbers, or as an index.

What a variable holds where a turn begins has for Numba, at first, the type of what it held before the loop; a number is
added to that type later. What cannot be computed with None is refused before. Only such uses are refused here of which
that is sure: none where ways meet one of which gives a number.

What ways give one of which it is None and a number in another is for Numba a number that may be None, an Optional. It
computes with those and stores them, and has them for no index of an array.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from smemviz.frontends.numba.syntax import stored

# None alone, None when Numba begins, None or anything else, and anything else
_NONE, _AT_FIRST, _OPTIONAL, _OTHER = range(4)
_State = dict[str, int]  # of the variables that are not _OTHER
OF_NUMBERS = frozenset({"abs", "divmod", "float", "int", "max", "min", "pow", "range", "round"})


@dataclass(frozen=True)
class Use:
    """A part of a function that uses a variable as Numba does not; ``is_index`` where it may be None, as an index."""

    node: ast.AST
    name: str
    is_index: bool


@lru_cache(maxsize=256)
def misused(function: ast.FunctionDef, own: frozenset[str]) -> tuple[Use, ...]:
    """Return the uses as a number of variables that Numba takes for None, and as an index of those that may be it.

    ``own`` are functions with the names of Python's.
    """
    if not any(_is_none(node) for node in ast.walk(function)):
        return ()
    flow = _Flow(frozenset(stored(function)), OF_NUMBERS - own)
    flow.block(function.body, {})
    return tuple(flow.uses)


def _is_none(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


class _Flow:
    """Goes through a function once, as Numba does when it looks for types first."""

    def __init__(self, variables: frozenset[str], of_numbers: frozenset[str]) -> None:
        self._variables = variables
        self._of_numbers = of_numbers
        self.uses: list[Use] = []
        self._breaks: list[list[_State]] = []
        self._continues: list[list[_State]] = []

    def block(self, body: Sequence[ast.stmt], state: _State | None) -> _State | None:
        for statement in body:
            if state is None:
                break
            state = self._statement(statement, state)
        return state

    def _statement(self, node: ast.stmt, state: _State) -> _State | None:
        match node:
            case ast.If():
                self._look(node.test, state)
                uses = len(self.uses)
                after = _either([self.block(node.body, dict(state)), self.block(node.orelse, dict(state))])
                if may_be_known(node.test, self._variables):
                    del self.uses[uses:]
                # Numba may know the length of a tuple, too, and that what is None alone is None.
                unknown = {name for name in _names(node.test) & self._variables if state.get(name) != _NONE}
                if after is not None and not unknown:
                    after = {name: _OTHER if kind == _OPTIONAL else kind for name, kind in after.items()}
                return after
            case ast.For():
                self._look(node.iter, state)
                return self._for(node, state)
            case ast.While():
                self._look(node.test, state)
                return self._while(node, state)
            case ast.Break() if self._breaks:
                self._breaks[-1].append(state)
                return None
            case ast.Continue() if self._continues:
                self._continues[-1].append(state)
                return None
            case ast.FunctionDef():
                return state
        self._look(node, state)
        match node:
            case ast.Assign(targets=targets, value=value):
                for name, kind in [pair for target in targets for pair in _bound(target, value, state)]:
                    state[name] = kind
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                state.update(_bound(target, value, state))
            case ast.AugAssign(target=ast.Name(id=name)):
                state[name] = _OTHER
            case ast.Return() | ast.Raise():
                return None
        return state

    def _for(self, node: ast.For, state: _State) -> _State | None:
        if isinstance(node.iter, ast.Call) and _called(node.iter) == "literal_unroll":  # each turn is written out
            return _either([state, self.block(node.body, dict(state))])
        head = _head(node.body, state) | dict.fromkeys(stored(node.target), _OTHER)
        _, breaks, _ = self._turn(node.body, head)
        return _either([self.block(node.orelse, dict(head)), *breaks])

    def _while(self, node: ast.While, state: _State) -> _State | None:
        end, breaks, continues = self._turn(node.body, _head(node.body, state))
        ends = [end, *continues]
        if isinstance(node.test, ast.Constant) and node.test.value:
            return _either(breaks)
        if end is not None:
            self._look(node.test, end)
        return _either([self.block(node.orelse, _either([state, *ends])), *breaks])

    def _turn(self, body: Sequence[ast.stmt], head: _State) -> tuple[_State | None, list[_State], list[_State]]:
        self._breaks.append([])
        self._continues.append([])
        end = self.block(body, dict(head))
        return end, self._breaks.pop(), self._continues.pop()

    def _look(self, node: ast.AST, state: _State) -> None:
        """Note what a part uses as a number though Numba takes it for None, or as an index though it may be None."""
        for part in self._parts(node):
            for operand in _numbers(part, self._of_numbers):
                if isinstance(operand, ast.Name) and state.get(operand.id, _OTHER) == _AT_FIRST:
                    self.uses.append(Use(part, operand.id, is_index=False))
            for index in _indices(part):
                if isinstance(index, ast.Name) and state.get(index.id, _OTHER) == _OPTIONAL:
                    self.uses.append(Use(part, index.id, is_index=True))

    def _parts(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what is evaluated whatever Numba knows of conditions."""
        yield node
        parts = ast.iter_child_nodes(node)
        if isinstance(node, ast.IfExp) and may_be_known(node.test, self._variables):
            parts = iter([node.test])
        elif isinstance(node, ast.BoolOp) and may_be_known(node.values[0], self._variables):
            parts = iter(node.values[:1])
        for part in parts:
            yield from self._parts(part)


def may_be_known(test: ast.expr, variables: Collection[str]) -> bool:
    """Tell whether Numba may know a condition before it looks for types, and leave out what never happens.

    That is one of constants, of names from outside and of parameters, which may be None: of no ``variables``.
    """
    return _names(test).isdisjoint(variables) and not any(isinstance(part, ast.Call) for part in ast.walk(test))


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _numbers(node: ast.AST, functions: Collection[str]) -> Iterable[ast.expr]:
    """Return the operands of a part that are no None, with those of Python's ``functions``."""
    match node:
        case ast.BinOp(left=left, right=right):
            return left, right
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert(), operand=operand):
            return (operand,)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            sides = [left, *comparators]
            ordered = [isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in ops]
            return [side for k, side in enumerate(sides) if any(ordered[max(k - 1, 0) : k + 1])]
        case ast.Subscript(value=array, slice=index):
            return array, index
        case ast.AugAssign(target=target, value=value):
            return target, value
        case ast.Assign(targets=targets, value=value):
            return (value,) if any(isinstance(target, ast.Subscript) for target in targets) else ()
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in functions:
            return arguments
        case ast.Call(args=arguments) if _is_of_math(node):
            return arguments
    return ()


def _indices(node: ast.AST) -> Sequence[ast.expr]:
    index = node.slice if isinstance(node, ast.Subscript) else None
    return index.elts if isinstance(index, ast.Tuple) else [index] if index is not None else []


def _called(node: ast.Call) -> str:
    function = node.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _is_of_math(node: ast.Call) -> bool:
    function = node.func
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "math"


def _bound(target: ast.expr, value: ast.expr, state: _State) -> Iterator[tuple[str, int]]:
    """Yield the names of a target, each with what it holds then."""
    if isinstance(target, ast.Name):
        yield target.id, _kind(value, state)
    elif isinstance(target, ast.Tuple):
        matched = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
        for k, part in enumerate(target.elts):
            yield from _bound(part, value.elts[k] if matched else value, state)  # type: ignore[attr-defined]


def _kind(value: ast.expr, state: _State) -> int:
    if _is_none(value):
        return _NONE
    return state.get(value.id, _OTHER) if isinstance(value, ast.Name) else _OTHER


def _head(body: Sequence[ast.stmt], state: _State) -> _State:
    """Return what is known where a turn begins: what is None before, and is given something else in a turn."""
    parts = [part for statement in body for part in ast.walk(statement)]
    stores = Counter(name for statement in body for name in stored(statement))
    for part in parts:
        if isinstance(part, ast.Assign) and _is_none(part.value):
            stores.subtract(target.id for target in part.targets if isinstance(target, ast.Name))
    changed = {name for name, count in stores.items() if count > 0}
    return {name: _AT_FIRST if kind == _NONE and name in changed else kind for name, kind in state.items()}


def _either(states: Iterable[_State | None]) -> _State | None:
    reached = [state for state in states if state is not None]
    if not reached:
        return None
    names = set().union(*reached)
    return {name: _together([state.get(name) for state in reached]) for name in names}


def _together(kinds: Sequence[int | None]) -> int:
    """Return what a variable holds that holds one of several; None is for one that was given nothing yet."""
    found = {_OTHER if kind is None else kind for kind in kinds}
    if None not in kinds and _AT_FIRST not in found and len(found) > 1:
        return _OPTIONAL
    return max(found) if len(found) == 1 or found == {_NONE, _AT_FIRST} else _OTHER
