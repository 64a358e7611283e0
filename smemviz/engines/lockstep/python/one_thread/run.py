"""A loop that a single thread runs: from its variables to the text, and back."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.limits import Limits
from smemviz.engines.lockstep.memory.memory import LocalMemory, View
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.merging import Apart
from smemviz.engines.lockstep.python.one_thread.accesses import Accesses, OtherWayError, Pace
from smemviz.engines.lockstep.python.one_thread.arrays import Array, is_same_for_all, way_to
from smemviz.engines.lockstep.python.one_thread.atoms import Kind, Span, full, union
from smemviz.engines.lockstep.python.one_thread.native.thread import Buffers
from smemviz.engines.lockstep.python.one_thread.native.thread import Loop as NativeLoop
from smemviz.engines.lockstep.python.one_thread.runner import Runner, due, often_as_text
from smemviz.engines.lockstep.python.one_thread.text import expressions, statements
from smemviz.engines.lockstep.python.one_thread.text.whole import shortest, whole
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.python.one_thread.together.parts import Thread, Undo, run_together
from smemviz.engines.lockstep.python.one_thread.values import known, open_value, opened, span_of, type_of
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.optional import Optional
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.typing import Value
from smemviz.frontends.numba.sites import SiteTree

if TYPE_CHECKING:
    from smemviz.engines.lockstep.python.one_thread.native.compiled import Native

Loop = ast.For | ast.While

_UNASSIGNED: Any = object()
_PASSES = 6  # over a loop until the types of its variables stay
_FEW, _SOME = 32, 128  # threads for which NumPy has little advantage, and where they go different ways
_DAYS = 1 << 36  # turns of a loop, at a million in a second
_SHORT = 8  # turns, and one for each thread, for which it has; such a loop is interpreted as many times then, or more
_HELD_A_TURN = 1 << 17  # bytes that are copied in the time that the interpreter takes for a turn
_MOST_HELD = 1 << 26
_LONG = 1 << 16  # turns of all threads in which machine code is made
_IN_VAIN, _MOST_IN_VAIN = 64, 4096  # times that a loop is interpreted when it could not be run here; each time twice


@dataclass
class _Text:
    """A loop, compiled, what its writer knows of it, and the names of what it begins with.

    ``is_long`` tells that several threads run it in machine code, ``may_be_long`` that they do so if it turns out long.
    """

    run: Callable[..., Any]
    writer: Writer
    wanted: list[str]
    may_be_long: bool
    is_long: bool = False
    turns: int = 0


@dataclass(frozen=True)
class Begun:
    """A loop that some threads are to go on with, from the numbers ``left`` of its range; others have ``ended`` it."""

    going: Mask
    ended: Mask
    left: Range | None


def run_alone(frame: Frame, node: Loop) -> Mask | Begun | None:
    """Run a loop in the only active thread, or one that only computes or loads in each of a few, one after the other.

    Returns the threads that go on behind it, None if that cannot be done, or was not worth it when it was done last.
    """
    mask, machine = frame.mask, frame.machine
    if mask.count < 2:
        return _run_alone(frame, node) if mask.count else None
    if mask.count > _SOME:
        return None
    left, pause = machine.alone.get(("left", node), (0, _SHORT))
    if left:
        machine.alone["left", node] = left - 1, pause
        return None
    begin = machine.iterations
    possible = (mask.count <= _FEW or _branches(frame.tree, node)) and _may_be_written(frame, node)
    goes_on = _run_alone(frame, node) if possible else None
    machine.alone["left", node] = 0, _SHORT
    if not isinstance(goes_on, Mask):
        pause = max(pause, _IN_VAIN)
        machine.alone["left", node] = pause if possible else sys.maxsize, min(2 * pause, _MOST_IN_VAIN)
    elif machine.iterations - begin < _SHORT + mask.count + machine.alone.get(("held", node), 0) // _HELD_A_TURN:
        machine.alone["left", node] = pause, min(2 * pause, _MOST_IN_VAIN)
    return goes_on


def _branches(tree: SiteTree, node: Loop) -> bool:
    """Tell whether threads may part in a loop or call functions, which costs the interpreter most."""
    parts = [part for statement in node.body for part in ast.walk(statement)]
    return any(isinstance(part, ast.If | ast.IfExp | ast.BoolOp | ast.While) or part in tree.calls for part in parts)


def _may_be_written(frame: Frame, node: Loop) -> bool:
    """Tell whether writing a loop for several threads may be of use: as one looks at it, nobody waits or ends in it."""
    parts = [part for statement in node.body for part in ast.walk(statement)]
    if any(isinstance(part, ast.Return | ast.Raise | ast.Assert) for part in parts):
        return False
    plain = (*frame.tree.calls, *(part for part in parts if isinstance(part, ast.Constant)))
    return all(part.value in plain for part in parts if isinstance(part, ast.Expr))


def _run_alone(frame: Frame, node: Loop) -> Mask | Begun | None:
    mask, variables, owners = frame.mask, frame.variables, frame.owners
    slots = np.flatnonzero(mask.lanes)
    used = [name for name in _used(frame, node) if name in variables]
    if any(type(variables[name]) in (Apart, Optional) for name in used):
        return None
    inner = {name: open_value(variables[name], int(slots[0])) for name in used}
    kinds = {name: _kind(frame, value) for name, value in inner.items()}
    spans = {name: span_of(variables[name], kind) for name, kind in kinds.items() if isinstance(kind, np.dtype)}
    frame.variables, frame.owners = inner, defaultdict(lambda: mask)
    try:
        text = _text(frame, node, int(slots[0]), kinds, {name: span for name, span in spans.items() if span})
        if text is None or not (mask.count == 1 or text.writer.together):
            return None
        outer = [variables[name] for name in used]
        results, left = _run(frame, node, slots, text, used, outer)
    finally:
        frame.variables, frame.owners, frame.mask = variables, owners, mask
    if not results:
        return None
    for place, name in enumerate(text.writer.results):
        _keep(frame, node, name, text.writer.kinds[name], slots, [values[place] for _, values in results])
    if left is not None:
        return left
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
    names = cache.get((id(frame.tree), node))
    if names is None:
        kept, moves = frame.versions.variables, frame.versions.moves
        used: dict[str, None] = {}
        for part in ast.walk(node):
            target = part.target if isinstance(part, ast.AugAssign) else part
            if isinstance(target, ast.Name) and target.id in frame.names.locals:
                used[kept[part][0] if part in kept else target.id] = None
            for edge in ("enter", "turn", "leave", "end", "body", "orelse"):
                for move in moves.get((part, edge), ()):
                    used |= {move.source: None, move.target: None}
        names = cache[id(frame.tree), node] = list(used)
    return list(names)


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
    several = frame.mask.count > 1
    key = (id(frame.tree), node, id(frame.versions), several, tuple(kinds.items()), tuple(spans.items()))
    if key not in cache:
        try:
            made = _compiled(_written(frame, node, slot, kinds, spans))
        except NotWrittenError:
            made = None
        cache[key] = frame.versions, made  # which keeps them, and their number, from being another's
    text: _Text | None = cache[key][1]
    return text


def _written(frame: Frame, node: Loop, slot: int, entry: dict[str, Kind], near: dict[str, Span]) -> Writer:
    """Write a loop until nothing changes: from any integer to what is known of it by what it is given."""
    kinds: dict[str, Kind] = entry
    spans: dict[str, Span] = {}
    several = frame.mask.count > 1
    for _ in range(_PASSES):
        writer = Writer(frame, expressions.RULES, statements.block, slot, several, dict(kinds), set(entry), spans)
        statements.loop(writer, node)
        now = dict(entry)
        for name, assigned in writer.assigned.items():
            types = {*assigned, entry[name]} if name in entry else set(assigned)
            now[name] = types.pop() if len(types) == 1 else None
        closer = _closer(writer, now, near, _most_turns(frame.machine.limits))
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


def _most_turns(limits: Limits) -> int:
    """Return how many turns all loops may have, if need be in days."""
    return limits.iterations if limits.all_loops else _DAYS


def _closer(writer: Writer, kinds: dict[str, Kind], near: dict[str, Span], turns: int) -> dict[str, Span]:
    """Return where integers lie: where they were, what they are given, and what steps in all turns come to."""
    spans = dict(near)
    for name, kind in kinds.items():
        if name not in writer.assigned or not isinstance(kind, np.dtype) or kind.kind not in "iu":
            continue
        way = writer.steps.get(name, 0) * (turns + 1)
        low, high = union([*writer.spans_of.get(name, []), *([near[name]] if name in near else [])] or [full(kind)])
        least, most = full(kind)
        spans[name] = (low - way, high + way) if least <= low - way and high + way <= most else (least, most)
    return spans


def _compiled(writer: Writer) -> _Text:
    text, wanted = shortest(writer)
    namespace = dict(writer.constants)
    exec(_code(text), namespace)
    return _Text(namespace["loop"], writer, wanted, writer.several and writer.together)


def _in_machine_code(text: _Text) -> Native | None:
    """Return a loop in machine code, None where it has to be run as text."""
    from smemviz.engines.lockstep.python.one_thread.native.compiled import native_of

    writer = text.writer
    native = native_of(writer, *whole(writer, writer.lines)) if text.is_long else None
    text.is_long = native is not None
    return native


@lru_cache(maxsize=256)
def _code(text: str) -> CodeType:
    return compile(text, "<loop>", "exec")


def _own(frame: Frame, name: str, written: View) -> View:
    """Return a local array of a function that is called in a loop, for this batch of blocks."""
    machine, lanes = frame.machine, written.memory.lanes if isinstance(written.memory, LocalMemory) else ()
    if len(lanes) == machine.slots:
        return written
    key = "own", id(written), name, machine.slots
    if key not in machine.alone:
        machine.alone[key] = machine.local_array(written.name, written.shape, written.dtype)
    view: View = machine.alone[key]
    return view


def _give_arrays(writer: Writer, variables: dict[str, Value], mask: Mask) -> None:
    """Let the functions that a loop calls have the arrays of the loop."""
    for scope in writer.scopes:
        scope.frame.mask = mask
        scope.frame.variables = {
            parameter: variables[name] for parameter, name in scope.arrays.items() if name in variables
        }


def _run(
    frame: Frame, node: Loop, slots: NDArray[np.intp], text: _Text, used: list[str], outer: list[Value]
) -> tuple[list[tuple[bool, tuple[Any, ...]]], Begun | None]:
    """Run a loop in threads whose variables in use are ``outer``; one that is not alone leaves nothing else behind.

    Returns for each thread whether it goes on behind the loop, and its variables: nothing if it cannot be run here, and
    what is to be done by the interpreter if only the first turns could.
    """
    writer, machine, inner = text.writer, frame.machine, frame.variables
    for scope in writer.scopes:
        inner |= {name: _own(frame, name, view) for name, view in scope.own.items()}
    _give_arrays(writer, inner, frame.mask)
    frames = {writer.frame: frame}  # the text may have been written in another call of the function
    throughout = [(frames.get(bound.frame, bound.frame).value(bound.node), bound) for bound in writer.bound.values()]
    for slot in slots.tolist():
        for value, bound in throughout:
            own = open_value(value, slot)
            if type_of(own) != bound.dtype or span_of(own, bound.dtype) != bound.span:
                return [], None
    alone, single = len(slots) == 1, memoryview(np.zeros(1, np.float32))  # type: ignore[arg-type]
    begin, while_began = machine.iterations, machine.while_began
    threads: list[Thread] = []
    varied = not all(is_same_for_all(inner[made.name]) for made, _ in writer.accesses)
    held = None if alone else Undo([inner[name].memory for name in sorted(writer.stored)], _MOST_HELD)
    if held is not None and not held.is_possible:
        return [], None
    machine.alone["held", node] = 0 if held is None else held.nbytes
    pace = None if alone else Pace()
    native = None if alone else _in_machine_code(text)
    buffers = None if native is None else Buffers(native)
    results = [writer.variable(name) for name in writer.results]
    for slot in slots.tolist():
        if not alone:
            inner |= {name: open_value(value, slot) for name, value in zip(used, outer, strict=True)}
        accesses = Accesses(machine, frame.mask, slot, pace, may_wait=held is not None and held.may_wait)
        if not threads or varied:
            reached = [
                memory for made, way in writer.accesses for memory in accesses.reach(made, inner[made.name], way)
            ]
        if not threads:
            accesses.prepare(writer.sites, writer.groups, inner)
        else:
            accesses.prepare_like(threads[0].accesses, writer.sites, inner)
        _give_arrays(writer, inner, frame.mask)
        given: list[Any] = []
        for name in writer.names:
            value, kind = inner.get(name, _UNASSIGNED), writer.kinds.get(name)
            given.append(value if kind is None or value is _UNASSIGNED else known(value, kind))
        given += [known(open_value(value, slot), bound.dtype) for value, bound in throughout]
        runner = Runner(frame, accesses)
        if buffers is not None and pace is not None:
            loop = NativeLoop(machine, runner, writer.scopes, accesses, pace, buffers, results, _UNASSIGNED)
            named = dict(zip(text.wanted, [*given, *reached], strict=True)) | {"me": accesses.thread}
            threads.append(Thread(loop.run(named), accesses, while_began))
            continue
        accesses.is_short = text.may_be_long
        noted = accesses.noted, accesses.noted.append, accesses.groups.append, accesses.stored.append
        tools = inner, _UNASSIGNED, machine, runner, accesses, frame, single, accesses.thread, *noted
        counted_at = due(machine, begin, often_as_text(alone=alone))
        made = text.run(*tools, pace, counted_at, [*given, *reached])
        if pace is None:
            machine.while_began = while_began
            accesses.hand_on()
            return [made], None
        threads.append(Thread(made, accesses, while_began))
    assert pace
    assert held
    try:
        has_ended = run_together(machine, threads, writer.loops, pace, held)
    except OtherWayError:
        text.may_be_long, text.is_long = False, native is None
        return _run(frame, node, slots, text, used, outer)
    if has_ended is None:
        return [], None
    text.turns += (machine.iterations - begin) * len(threads)
    text.is_long |= text.may_be_long and text.turns > _LONG
    return [(True, thread.values) for thread in threads], None if has_ended else _begun(frame, slots, threads)


def _begun(frame: Frame, slots: NDArray[np.intp], threads: Sequence[Thread]) -> Begun:
    """Return what is left to the interpreter of a loop that threads stopped in."""
    mask = frame.mask
    ended = np.zeros(len(mask.lanes), np.bool_)
    ended[slots] = [thread.has_ended for thread in threads]
    left = {int(slot): thread.left for slot, thread in zip(slots, threads, strict=True) if not thread.has_ended}
    ends = np.zeros((3, len(mask.lanes)), np.int64)
    ends[2] = 1
    for slot, part in left.items():
        if part is None:  # of a loop with a condition
            return Begun(mask.without(ended), mask.narrow(ended), None)
        ends[:, slot] = part.start, part.stop, part.step
    return Begun(mask.without(ended), mask.narrow(ended), Range(*ends))
