"""A loop that a single thread runs: from its variables to the text, and back."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.memory.memory import LocalMemory, View
from smemviz.engines.lockstep.python import access, operations
from smemviz.engines.lockstep.python.alone import expressions, statements
from smemviz.engines.lockstep.python.alone.accesses import Accesses, way_to
from smemviz.engines.lockstep.python.alone.atoms import Kind, Span, full, union
from smemviz.engines.lockstep.python.alone.values import known, open_value, opened, span_of, type_of
from smemviz.engines.lockstep.python.alone.writer import Array, NotWrittenError, Writer
from smemviz.engines.lockstep.python.frame import Frame, short
from smemviz.engines.lockstep.python.functions import names, rules
from smemviz.engines.lockstep.python.merging import Apart
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.operators import truth
from smemviz.engines.lockstep.values.typing import NotAScalarError, Value
from smemviz.messages import english

Loop = ast.For | ast.While

_UNASSIGNED: Any = object()
_PASSES = 6  # over a loop until the types of its variables stay
_FEW = 8  # threads for which NumPy has no advantage
_OFTEN = 1 << 14  # turns after which what was noted is handed on


@dataclass(frozen=True)
class _Text:
    """A loop, compiled, and what its writer knows of it."""

    run: Callable[..., tuple[bool, tuple[Any, ...]]]
    writer: Writer


def run_alone(frame: Frame, node: Loop) -> Mask | None:
    """Run a loop in the only active thread, or one that only computes in each of a few, one after the other.

    Returns the threads that go on, None if that cannot be done.
    """
    mask, variables, owners = frame.mask, frame.variables, frame.owners
    if not 0 < mask.count <= _FEW:
        return None
    slots = np.flatnonzero(mask.lanes)
    used = [name for name in _used(frame, node) if name in variables]
    if any(type(variables[name]) is Apart for name in used):
        return None
    inner = {name: open_value(variables[name], int(slots[0])) for name in used}
    kinds = {name: _kind(frame, value) for name, value in inner.items()}
    spans = {name: span_of(variables[name], kind) for name, kind in kinds.items() if isinstance(kind, np.dtype)}
    frame.variables, frame.owners = inner, defaultdict(lambda: mask)
    try:
        text = _text(frame, node, int(slots[0]), kinds, {name: span for name, span in spans.items() if span})
        if text is None or not (mask.count == 1 or text.writer.pure):
            return None
        outer = [variables[name] for name in used]
        results = _run(frame, slots, text, used, outer)
    finally:
        frame.variables, frame.owners, frame.mask = variables, owners, mask
    if results is None:
        return None
    for place, name in enumerate(text.writer.assigned):
        _keep(frame, node, name, text.writer.kinds[name], slots, [values[place] for _, values in results])
    return mask if all(goes_on for goes_on, _ in results) else frame.nobody


def _keep(frame: Frame, node: Loop, name: str, kind: Kind, slots: NDArray[np.intp], values: list[Any]) -> None:
    """Give a variable what threads have for it, those that have assigned it."""
    assigned = [k for k, value in enumerate(values) if value is not _UNASSIGNED]
    if not assigned:
        return
    first = values[assigned[0]]
    value = first if kind is None else opened(first, kind)
    outer = frame.mask
    if len(values) > 1:
        each = np.zeros(len(outer.lanes), kind)
        each[slots[assigned]] = [values[k] for k in assigned]
        if each[slots[assigned]].tobytes() != each[slots[assigned[:1]]].tobytes() * len(assigned):
            value = each
        lanes = np.zeros(len(outer.lanes), np.bool_)
        lanes[slots[assigned]] = True
        frame.mask = outer.narrow(lanes)
    frame.keep(node, name, value)
    frame.mask = outer


def _used(frame: Frame, node: Loop) -> list[str]:
    """Return the variables that a loop names."""
    cache = frame.machine.alone
    found = cache.get((id(frame.tree), node))
    if found is None:
        kept, moves = frame.versions.kept, frame.versions.moves
        used: dict[str, None] = {}
        for one in ast.walk(node):
            target = one.target if isinstance(one, ast.AugAssign) else one
            if isinstance(target, ast.Name) and target.id in frame.names.locals:
                used[kept[one][0] if one in kept else target.id] = None
            for edge in ("enter", "turn", "leave", "end", "body", "orelse"):
                for move in moves.get((one, edge), ()):
                    used |= {move.source: None, move.target: None}
        found = cache[id(frame.tree), node] = list(used)
    return list(found)


def _kind(frame: Frame, value: Value) -> Kind:
    if isinstance(value, View):
        way = way_to(frame.machine, value)
        whole = not isinstance(value.memory, LocalMemory) and way != "far"
        unit = whole and value.ndim > 0 and type(value.strides[-1]) is int and value.strides[-1] == 1
        start = value.memory.place(value.offset, value.dtype)
        first = whole and type(start) is int and start == 0
        return Array(value.dtype, value.ndim, value.memory.space, way, unit, first)
    return type_of(value)


def _text(frame: Frame, node: Loop, slot: int, kinds: dict[str, Kind], spans: dict[str, Span]) -> _Text | None:
    """Return a loop as text for these types of its variables, None where it is not written so."""
    cache = frame.machine.alone
    key = (id(frame.tree), node, id(frame.versions), tuple(kinds.items()), tuple(spans.items()))
    if key not in cache:
        try:
            made = _compiled(_written(frame, node, slot, kinds, spans))
        except NotWrittenError:
            made = None
        cache[key] = frame.versions, made  # which keeps them, and their number, from being another's
    found: _Text | None = cache[key][1]
    return found


def _written(frame: Frame, node: Loop, slot: int, entry: dict[str, Kind], near: dict[str, Span]) -> Writer:
    """Write a loop until nothing changes: from any integer to what is known of it by what it is given."""
    kinds: dict[str, Kind] = entry
    spans: dict[str, Span] = {}
    for _ in range(_PASSES):
        writer = Writer(frame, expressions.RULES, slot, dict(kinds), set(entry), spans)
        statements.loop(writer, node)
        now = dict(entry)
        for name, assigned in writer.assigned.items():
            several = {*assigned, entry[name]} if name in entry else set(assigned)
            now[name] = several.pop() if len(several) == 1 else None
        closer = _closer(writer, now, near, frame.machine.limits.iterations)
        if now == kinds and closer == spans:
            break
        kinds, spans = now, closer if now == kinds else {}
    else:
        if now != kinds:
            raise NotWrittenError
    several_threads = frame.machine.root.count > 1
    if several_threads and any(kinds[name] is None for name in writer.assigned):
        raise NotWrittenError  # what the others hold may have another type
    return writer


def _closer(writer: Writer, kinds: dict[str, Kind], near: dict[str, Span], turns: int) -> dict[str, Span]:
    """Return where integers lie: where they were, what they are given, and what steps in all turns come to."""
    spans = dict(near)
    for name, kind in kinds.items():
        if name not in writer.assigned or not isinstance(kind, np.dtype) or kind.kind not in "iu":
            continue
        way = writer.steps.get(name, 0) * (turns + 1)
        low, high = union([*writer.held.get(name, []), *([near[name]] if name in near else [])] or [full(kind)])
        least, most = full(kind)
        spans[name] = (low - way, high + way) if least <= low - way and high + way <= most else (least, most)
    return spans


def _compiled(writer: Writer) -> _Text:
    wanted = [*writer.names.values(), *(name for _, name, _, _ in writer.bound.values())]
    for made, way in writer.accesses:
        number, axes = made.number, range(made.axes)
        wanted += [f"m{number}", f"b{number}", *(f"n{number}_{k}" for k in axes), *(f"s{number}_{k}" for k in axes)]
        wanted += [f"o{number}", f"f{number}"] * (way == "owned")
    results = "".join(f"{writer.variable(name)}, " for name in writer.assigned)
    lines = [
        "def loop(V, U, M, R, F, z, me, noted, note, group, stored, due, bound):",
        "    it = M.iterations",
        *([f"    {', '.join(wanted)}, = bound"] if wanted else []),
        *writer.lines,
        "    M.iterations = it",
        "    return True, @V",
    ]
    text = "\n".join(lines).replace("@V", f"({results})")
    namespace = dict(writer.constants)
    exec(_code(text), namespace)
    return _Text(namespace["loop"], writer)


@lru_cache(maxsize=256)
def _code(text: str) -> CodeType:
    return compile(text, "<loop>", "exec")


def _run(
    frame: Frame, slots: NDArray[np.intp], text: _Text, used: list[str], outer: list[Value]
) -> list[tuple[bool, tuple[Any, ...]]] | None:
    """Run a loop in threads whose variables in use are ``outer``; one that is not alone leaves nothing else behind."""
    writer, machine, inner = text.writer, frame.machine, frame.variables
    throughout = [(frame.value(node), dtype, span) for node, _, dtype, span in writer.bound.values()]
    for slot in slots.tolist():
        for value, dtype, span in throughout:
            one = open_value(value, slot)
            if type_of(one) != dtype or span_of(one, dtype) != span:
                return None
    accesses = Accesses(machine, frame.mask)
    reached = [one for made, way in writer.accesses for one in accesses.reach(made, inner[made.name], way)]
    accesses.prepare(writer.sites, writer.groups, inner)
    runner, single = Runner(frame, accesses), memoryview(np.zeros(1, np.float32))  # type: ignore[arg-type]
    noted = accesses.noted, accesses.noted.append, accesses.groups.append, accesses.stored.append
    begin, most, results = machine.iterations, machine.iterations, []
    for slot in slots.tolist():
        if len(slots) > 1:
            inner |= {name: open_value(value, slot) for name, value in zip(used, outer, strict=True)}
        bound: list[Any] = []
        for name in writer.names:
            value, kind = inner.get(name, _UNASSIGNED), writer.kinds.get(name)
            bound.append(value if kind is None or value is _UNASSIGNED else known(value, kind))
        bound += [known(open_value(value, slot), dtype) for value, dtype, _ in throughout]
        machine.iterations = begin
        given = inner, _UNASSIGNED, machine, runner, frame, single, accesses.thread, *noted
        results.append(text.run(*given, min(machine.limits.iterations + 1, begin + _OFTEN), [*bound, *reached]))
        most = max(most, machine.iterations)
    machine.iterations = most
    accesses.hand_on()
    return results


class Runner:
    """What the text of a loop leaves to the interpreter, before which it hands on what was noted."""

    def __init__(self, frame: Frame, accesses: Accesses) -> None:
        self._frame = frame
        self._accesses = accesses
        self._mask = frame.mask

    def open(self, value: Value) -> Value:
        """Return what the thread has of a value."""
        return open_value(value, self._accesses.slot)

    def _begin(self) -> Frame:
        self._accesses.hand_on()
        self._frame.mask = self._mask
        return self._frame

    def statement(self, node: ast.stmt) -> bool:
        """Do a statement; return whether the thread goes on."""
        return self._begin().block([node], self._mask).count > 0

    def value(self, node: ast.expr, statement: ast.stmt) -> Value:
        """Evaluate an expression."""
        try:
            return self.open(self._begin().value(node))
        except NotAScalarError as error:
            raise self._no_number(error, statement) from None

    def truth(self, value: Value, statement: ast.stmt) -> bool:
        """Return a value as a condition."""
        try:
            return bool(truth(value))
        except NotAScalarError as error:
            raise self._no_number(error, statement) from None

    def _no_number(self, error: NotAScalarError, statement: ast.stmt) -> Exception:
        what = english("{what} where a number belongs ({code})", what=error.args[0], code=short(statement))
        return self._frame.refuse(statement, what)

    def apply(self, node: ast.AST, op: type[ast.AST], left: Value, right: Value) -> Value:
        """Apply a binary operator to open values."""
        return self.open(operations.apply(self._frame, node, op, left, right))

    def compare(self, node: ast.Compare, op: ast.cmpop, left: Value, right: Value) -> bool:
        """Compare two open values."""
        return bool(operations.comparison(self._frame, node, op, left, right))

    def call(self, node: ast.Call, name: str, arguments: list[Value]) -> Value:
        """Call a function of numbers."""
        return self.open(rules.apply(names.CALLS[name], self._frame, node, arguments))

    def no_step(self, call: ast.Call) -> None:
        """Refuse a range that does not move."""
        raise self._frame.wrong(call, english("{code}: the step is 0", code=ast.unparse(call)))

    def due(self, iterations: int, line: int) -> int:
        """Count a turn of a loop; return at how many of them that is to be done again."""
        machine = self._frame.machine
        machine.iterations = iterations - 1
        machine.tick(self._frame.function.file, line)
        self._accesses.hand_on()
        return min(machine.limits.iterations + 1, iterations + _OFTEN)

    # -- elements that are not in reach

    def load(self, node: ast.expr, view: View, indices: tuple[int, ...]) -> Value:
        """Load an element, or find that there is none."""
        return self.open(access.load(self._begin(), node, view, indices))

    def atomic(self, node: ast.Call, used: bool, name: str, *given: Value) -> Value:
        """Update an element, or find that there is none."""
        frame = self._begin()
        frame.statement_call = None if used else node
        return self.open(rules.apply(names.CALLS[name], frame, node, list(given)))

    def store(self, node: ast.expr, view: View, indices: tuple[int, ...], value: Value) -> None:
        """Store in an element, or find that there is none."""
        frame = self._begin()
        access.write(frame, node, view, *access.locate(frame, node, view, indices), value)

    def locate(self, node: ast.expr, view: View, indices: tuple[int, ...]) -> tuple[Any, Value]:
        """Return an element for ``write``, and what it holds."""
        frame = self._begin()
        found = access.locate(frame, node, view, indices)
        return found, self.open(access.read(frame, node, view, *found))

    def write(self, node: ast.expr, view: View, found: Any, value: Value) -> None:
        """Store in an element that was located."""
        element, reached = found
        access.write(self._begin(), node, view, element, reached, value)
