"""The types that a variable has: as in Numba one for each assignment, and one more wherever several of them meet.

Numba gives every assignment of a name a version of its own, and one to what a branch or a turn of a loop may have left,
whose type is that of all that may arrive. What no thread takes counts too. So a function is gone through once for given
types of its arguments, every branch of it, with no thread active; a name that has more than one type is kept apart by
type, and moved from one to the other where Numba does.
"""

import ast
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from functools import partial, reduce
from types import SimpleNamespace
from typing import Any

import numpy as np

from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.memory import SharedMemory, View
from smemviz.engines.lockstep.python.frame import Frame, Language, Move, Versions
from smemviz.engines.lockstep.python.merging import UNKNOWN, CannotMergeError, Kind, convert, kind_of, unified
from smemviz.engines.lockstep.values.masks import Mask, Optional
from smemviz.engines.lockstep.values.operators import NoRuleError
from smemviz.engines.lockstep.values.typing import NotAScalarError, Value
from smemviz.errors import SmemvizError
from smemviz.frontends.numba.sites import SiteTree
from smemviz.frontends.numba.sites.names import stored_names
from smemviz.recordings.data import WARP_SIZE

Names = dict[str, Value]

# The last three are of a number that stands for all of its type.
REFUSALS = (SmemvizError, NotAScalarError, NoRuleError, CannotMergeError, ArithmeticError, LookupError, ValueError)


class Study(Machine):
    """A machine on which nothing happens: one warp, no thread of it active.

    ``lost`` counts parts that were given up on, which may be due to a number; what has none is known in other launches.
    """

    def __init__(self, machine: Machine, real: Language, rules: Language) -> None:
        """``machine`` runs the launch of which the types are asked for."""
        vars(self).update(vars(machine))
        self.real = real
        self.rules = rules
        self.studied: dict[Hashable, tuple[Versions, Value]] = {}
        self.lost = 0
        self.blocks, self.slots, self.allocated = 1, WARP_SIZE, 0
        self.root = self.live = Mask(np.zeros(WARP_SIZE, np.bool_), 0)
        names = ("threadIdx", "blockIdx", "blockDim", "gridDim")
        self.registers: dict[str, Value] = {f"cuda.{name}.{axis}": 0 for name in names for axis in "xyz"}
        self.registers["cuda.laneid"] = np.arange(WARP_SIZE)
        self.shared_views = {}
        self.shared = SharedMemory(np.zeros(0, np.uint8), self.layout.start, 0, None)
        nothing: Any = SimpleNamespace()
        nothing.fence = nothing.syncwarp = nothing.grid_barrier = lambda *_, **__: None
        self.hazards = nothing

    def of(self, tree: SiteTree, arguments: Mapping[str, Value]) -> tuple[Versions, Value]:
        """Return the types of the variables of a function that is called with arguments, and what it returns."""
        key = key_of(tree, arguments)
        known: tuple[Versions, Value] | None = self.known.studied.get(key)
        if known is not None:
            return known
        lost, studied = self.lost, self.studied.get(key)
        if studied is None:
            of_one_warp = {name: _of_one_warp(value) for name, value in arguments.items()}
            studied = self.studied[key] = Visit(self, tree).all_of(of_one_warp)
            if self.lost == lost:
                self.known.studied[key] = studied
                return studied
        self.lost += 1
        return studied

    def request(self, *_: Any, **__: Any) -> None:
        """Note nothing."""

    def barrier(self, *_: Any, **__: Any) -> None:
        """Wait for nobody."""

    def find(self, *_: Any, **__: Any) -> None:
        """Find nothing."""

    def tick(self, *_: Any) -> None:
        """Count nothing."""


def key_of(tree: SiteTree, arguments: Mapping[str, Value]) -> Hashable:
    """Return what the types of the variables of a function depend on."""
    return (id(tree), *(kind_of(value) for value in arguments.values()))


def _of_one_warp(value: Any) -> Any:
    """Return the first warp's part of an argument, which a function that is called has of all threads."""
    if isinstance(value, np.ndarray):
        return value[:WARP_SIZE] if value.ndim else value
    if isinstance(value, View):
        offset, valid = _of_one_warp(value.offset), _of_one_warp(value.valid)
        shape = tuple(map(_of_one_warp, value.shape))
        return replace(value, shape=shape, offset=offset, valid=valid, picked=(), whole=())
    if isinstance(value, Optional):
        return UNKNOWN
    if isinstance(value, tuple):
        items = map(_of_one_warp, value)
        return type(value)(*items) if hasattr(type(value), "_fields") else tuple(items)
    return value


class Visit(Frame):
    """A function that no thread runs, and every branch of it: ``here`` is what its names hold, None past a return."""

    def __init__(self, study: Study, tree: SiteTree) -> None:
        super().__init__(study.rules, study, tree, study.root)
        self.study = study
        self.here: Names | None = {}
        self.kinds: dict[ast.AST, tuple[str, Kind]] = {}
        self.unclear: set[str] = set()
        self.kinds_at: dict[tuple[ast.AST, str], dict[str, Kind]] = {}
        self.edges: dict[tuple[ast.AST, str], tuple[Names, tuple[ast.AST, str]]] = {}
        self.choices: dict[ast.AST, Kind] = {}
        self.decided: dict[ast.AST, bool] = {}
        self.operands: dict[ast.AST, tuple[ast.expr, ...]] = {}
        self.results: list[Value] = []
        self.breaks: list[dict[ast.AST, Names]] = []
        self.constants: Mapping[str, object] = {}

    def all_of(self, arguments: Mapping[str, Value]) -> tuple[Versions, Value]:
        """Return the types of all variables, and what the function returns."""
        self.here = dict(arguments)
        self.block(self.function.node.body, self.entry)
        if self.here is not None and self.results:
            self.results.append(None)
        kinds = [kind_of(value) for value in self.results]
        returned = reduce(unified, kinds) if kinds else None
        result = convert(self.results[0], returned) if kinds and returned is not UNKNOWN else None
        several = returned if any(kind != returned for kind in kinds) and returned is not UNKNOWN else None
        return self._versions(arguments, several), UNKNOWN if returned is UNKNOWN else result

    def _versions(self, arguments: Mapping[str, Value], returned: Kind) -> Versions:
        seen: dict[str, list[Kind]] = {name: [kind_of(value)] for name, value in arguments.items()}
        for name, kind in (*self.kinds.values(), *(pair for names in self.kinds_at.values() for pair in names.items())):
            kinds = seen.setdefault(name, [])
            if kind not in kinds:
                kinds.append(kind)
        slots = {
            name: {kind: f"{name} {k}" for k, kind in enumerate(kinds)}
            for name, kinds in seen.items()
            if len(kinds) > 1 and UNKNOWN not in kinds and name not in self.unclear
        }
        moves: dict[tuple[ast.AST, str], tuple[Move, ...]] = {}
        for edge, (names, point) in self.edges.items():
            ends = ((n, kind_of(v), self.kinds_at[point][n]) for n, v in names.items() if n in slots)
            edge_moves = tuple(Move(slots[n][a], slots[n][b], partial(convert, kind=b)) for n, a, b in ends if a != b)
            if edge_moves:
                moves[edge] = edge_moves
        several_of = ((node, n, kind) for node, (n, kind) in self.kinds.items() if n in slots)
        return Versions(
            {node: (slots[n][kind], partial(convert, kind=kind)) for node, n, kind in several_of},
            {name: slots[name][kind_of(value)] for name, value in arguments.items() if name in slots},
            moves,
            {node: partial(convert, kind=kind) for node, kind in self.choices.items()},
            self.decided,
            self.operands,
            None if returned is None else partial(convert, kind=returned),
        )

    # -- what a frame does

    def run(self, arguments: dict[str, Value]) -> Value:
        return self.study.of(self.tree, arguments)[1]

    def callee(self, tree: SiteTree) -> Frame:
        return Visit(self.study, tree)

    def block(self, body: Iterable[ast.stmt], mask: Mask) -> Mask:
        for statement in body:
            if self.here is None:
                break
            self.mask = mask
            rule = self._statements.get(type(statement))
            if rule is None:
                self.lose(statement)
            elif rule is self.study.real.statements[type(statement)]:
                self.attempt(statement, partial(rule, self, statement))
            else:
                rule(self, statement)
        return mask

    def attempt(self, node: ast.AST, evaluate: Callable[[], Value]) -> Value:
        """Return what a part of the function is worth; where that cannot be told, its names are left as they are."""
        try:
            return evaluate()
        except REFUSALS:
            self.lose(node)
            return UNKNOWN

    def forget(self, node: ast.AST) -> None:
        """Forget what was told of the conditions in a part of the function, which is gone through once more."""
        for part in ast.walk(node):
            for conditions in (self.choices, self.decided, self.operands):
                conditions.pop(part, None)

    def lose(self, node: ast.AST) -> None:
        """Give up on the names in a part of the function."""
        self.study.lost += 1
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        self.unclear |= names
        for name in names & stored_names(self.function.node):
            if self.here is not None:
                self.here[name] = UNKNOWN

    def read(self, node: ast.Name, at: ast.AST | None = None) -> Value:
        assert self.here is not None
        if node.id not in self.here or self.here[node.id] is UNKNOWN:
            raise NotAScalarError(node.id)
        value = self.here[node.id]
        self.kinds[at or node] = (node.id, kind_of(value))
        return value

    def assign(self, node: ast.AST, name: str, value: Value) -> None:
        assert self.here is not None
        self.constants = {constant: known for constant, known in self.constants.items() if constant != name}
        kind = kind_of(value)
        if node in self.kinds:  # a version has the type of all that its assignment was thought to give
            kind = unified(self.kinds[node][1], kind)
        self.kinds[node] = (name, kind)
        self.here[name] = UNKNOWN if kind is UNKNOWN else convert(value, kind)

    def finish(self, node: ast.AST, value: Value) -> None:
        self.results.append(value)
        self.here = None

    # -- where ways meet

    def join(self, point: tuple[ast.AST, str], edges: Mapping[tuple[ast.AST, str], Names | None]) -> None:
        """Go on with what the names hold after one of several ways."""
        live = {edge: names for edge, names in edges.items() if names is not None}
        if not live:
            self.here = None
            return
        kinds = self.kinds_at.setdefault(point, {})
        self.here = {}
        for name in dict.fromkeys(name for names in live.values() for name in names):
            arriving = [names[name] for names in live.values() if name in names]
            kind = reduce(unified, map(kind_of, arriving))
            kinds[name] = kind = unified(kinds.get(name, kind), kind)
            self.here[name] = UNKNOWN if kind is UNKNOWN else convert(arriving[0], kind)
        for edge, names in live.items():
            self.edges[edge] = (dict(names), point)

    def choice(self, node: ast.expr, values: list[Value]) -> Value:
        """Return one of several values, in the type of all of them."""
        kind = reduce(unified, map(kind_of, values))
        if kind is UNKNOWN:
            raise CannotMergeError("")
        if any(kind_of(value) != kind for value in values):
            self.choices[node] = kind
        return convert(values[0], kind)
