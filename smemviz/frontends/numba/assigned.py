"""Which variables a function may read on a path that has not assigned them, told by its syntax tree."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from smemviz.frontends.numba.syntax import parameters, stored
from smemviz.recordings.vocabulary import DTYPES

_OF_NUMBERS = ("abs", "bool", "complex", "float", "int", "max", "min", "pow", "round")

Sure = frozenset[str] | None  # the names that every path to a place has assigned, None where none leads there


@dataclass(frozen=True)
class Doubtful:
    """The variables whose value may mean nothing: not assigned on some path, or computed from one that is not.

    ``handed_on`` are reads that nothing comes of but the value of another such variable. Numba refuses a read that no
    assignment stands above, so none of these is one.
    """

    names: frozenset[str]
    handed_on: frozenset[ast.Name]


@lru_cache(maxsize=1024)
def doubtful_in(function: ast.FunctionDef) -> Doubtful:
    """Return the variables of a function that may mean nothing where they are read.

    Conditions may go either way, and a loop may have no turn.
    """
    paths = _Paths(frozenset(stored(function)))
    paths.body(function.body, frozenset(parameters(function)))
    names = {read.id for read in paths.unsure}
    if not names:
        return Doubtful(frozenset(), frozenset())
    above = _first_lines(function)
    handed_on: set[ast.Name] = set()
    before = -1
    while len(names) + len(handed_on) > before:
        before = len(names) + len(handed_on)
        for targets, value in _assignments(function):
            reads = {read for read in _parts(value) if read.id in names and above.get(read.id, 0) < read.lineno}
            if reads:
                handed_on |= reads
                names |= targets
    return Doubtful(frozenset(names), frozenset(handed_on))


def _first_lines(function: ast.FunctionDef) -> dict[str, int]:
    """Return the line in which each variable is assigned first, but for parameters."""
    found: dict[str, int] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = min(node.lineno, found.get(node.id, node.lineno))
    return {name: line for name, line in found.items() if name not in parameters(function)}


def _assignments(function: ast.FunctionDef) -> Iterator[tuple[set[str], ast.expr]]:
    """Give the assignments to names alone: which, and the value; ``x += 1`` reads its target, too."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                parts = targets
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                parts = [target]
            case ast.AugAssign(target=ast.Name() as target, value=value):
                parts, value = [target], ast.BinOp(target, node.op, value)
            case _:
                continue
        names = {part.id for part in parts if isinstance(part, ast.Name)}
        if len(names) == len(parts):
            yield names, value


def _parts(value: ast.expr) -> Iterator[ast.Name]:
    """Give the variables that a value is computed from; not those that pick an element, or are given to a function."""
    match value:
        case ast.Name():
            yield value
        case ast.BinOp() | ast.UnaryOp() | ast.Compare():
            for part in ast.iter_child_nodes(value):
                if isinstance(part, ast.expr):
                    yield from _parts(part)
        case ast.IfExp(body=body, orelse=orelse):
            yield from _parts(body)
            yield from _parts(orelse)
        case ast.Call(args=args) if _is_of_numbers(value.func):
            for argument in args:
                yield from _parts(argument)


def _is_of_numbers(function: ast.expr) -> bool:
    """Tell by its name whether a function computes a number of numbers and does nothing else."""
    module, _, name = ast.unparse(function).rpartition(".")
    return module in ("math", "np", "numpy") or (not module and (name in _OF_NUMBERS or name in DTYPES))


class _Paths:
    """The paths through a function: ``unsure`` are the reads met, ``breaks`` what is sure where each loop is left."""

    def __init__(self, variables: frozenset[str]) -> None:
        self._variables = variables
        self.unsure: list[ast.Name] = []
        self.breaks: list[list[Sure]] = []

    def body(self, statements: Sequence[ast.stmt], sure: Sure) -> Sure:
        for statement in statements:
            sure = self._statement(statement, sure)
        return sure

    def _statement(self, node: ast.stmt, sure: Sure) -> Sure:
        match node:
            case ast.If():
                sure = self._value(node.test, sure)
                return _both(self.body(node.body, sure), self.body(node.orelse, sure))
            case ast.For() | ast.While():
                return self._loop(node, sure)
            case ast.Break():
                for left in self.breaks[-1:]:  # outside of a loop it is refused
                    left.append(sure)
                return None
            case ast.Continue():
                return None
            case ast.Return() | ast.Raise():
                self._value(node, sure)
                return None
            case ast.FunctionDef():
                return _with(sure, node.name)
            case ast.AugAssign(target=ast.Name() as target):
                self._read(target, sure)
                return _with(self._value(node.value, sure), target.id)
            case ast.Assign() | ast.AnnAssign():
                sure = self._value(node.value, sure) if node.value else sure
                targets = node.targets if isinstance(node, ast.Assign) else [node.target] if node.value else []
                return self._values(targets, sure)
        return self._value(node, sure)

    def _loop(self, node: ast.For | ast.While, sure: Sure) -> Sure:
        """Return what is sure after a loop; what a turn assigns is not sure before the next."""
        if isinstance(node, ast.For):
            end = self._value(node.iter, sure)
            begin = self._value(node.target, end)
        else:
            begin = self._value(node.test, sure)
            end = None if isinstance(node.test, ast.Constant) and node.test.value else begin
        self.breaks.append([])
        self.body(node.body, begin)
        left = self.breaks.pop()
        end = self.body(node.orelse, end)
        for after in left:
            end = _both(end, after)
        return end

    def _values(self, nodes: Sequence[ast.AST], sure: Sure) -> Sure:
        for node in nodes:
            sure = self._value(node, sure)
        return sure

    def _value(self, node: ast.AST, sure: Sure) -> Sure:
        """Return what is sure once an expression, or a simple statement, has been evaluated."""
        match node:
            case ast.Name(ctx=ast.Load()):
                self._read(node, sure)
                return sure
            case ast.Name():
                return _with(sure, node.id)
            case ast.NamedExpr():
                return self._values((node.value, node.target), sure)
            case ast.IfExp():
                sure = self._value(node.test, sure)
                return _both(self._value(node.body, sure), self._value(node.orelse, sure))
            case ast.BoolOp():
                sure = self._value(node.values[0], sure)
                self._values(node.values[1:], sure)  # which may not be asked
                return sure
            case ast.Lambda():
                return sure
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                self._values((*node.generators, node.elt), sure)
                return sure
            case ast.comprehension():
                return self._values((node.iter, node.target, *node.ifs), sure)
        return self._values(list(ast.iter_child_nodes(node)), sure)

    def _read(self, node: ast.Name, sure: Sure) -> None:
        if sure is not None and node.id in self._variables and node.id not in sure:
            self.unsure.append(node)


def _with(sure: Sure, name: str) -> Sure:
    return None if sure is None else sure | {name}


def _both(one: Sure, other: Sure) -> Sure:
    if one is None or other is None:
        return other if one is None else one
    return one & other
