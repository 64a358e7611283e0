"""A loop that a single thread runs: from its variables to the text, and back."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.one_thread.accesses import Accesses, OtherWayError, Pace
from smemviz.engines.lockstep.python.one_thread.arrays import is_same_for_all, named_in
from smemviz.engines.lockstep.python.one_thread.atoms import Bound
from smemviz.engines.lockstep.python.one_thread.behind import UNASSIGNED, lanes_of, leave_behind
from smemviz.engines.lockstep.python.one_thread.entry import enter, entry_of, give_arrays
from smemviz.engines.lockstep.python.one_thread.renamed import Renamed
from smemviz.engines.lockstep.python.one_thread.runner import Runner, due, often_as_text
from smemviz.engines.lockstep.python.one_thread.text.iterables import leaves_nothing
from smemviz.engines.lockstep.python.one_thread.text.writer import Writer
from smemviz.engines.lockstep.python.one_thread.together.parts import Thread, Undo, run_together, try_out
from smemviz.engines.lockstep.python.one_thread.values import known, open_value, span_of, type_of
from smemviz.engines.lockstep.python.one_thread.written import Loop, Text, in_machine_code, text_of
from smemviz.engines.lockstep.python.waiting import is_idle
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.typing import Value
from smemviz.frontends.numba.sites import SiteTree

_FEW, _SOME = 32, 128  # threads for which NumPy has little advantage, and where they go different ways
_MANY = 512  # threads for which machine code has some: whether a loop is that long is tried with a few of them
_TRIED, _LONG_ENOUGH = 4, 512
_FEW_DEAR = 4  # where it has to be called anyway
_MOST_LEFT = 16  # accesses that one thread leaves to the interpreter, with which it better notes everything
_SHORT = 8  # turns, and one for every few threads, for which it has; such a loop is interpreted as many times or more
_FEW_TO_BEGIN = 4  # those few: they begin in the time that the interpreter takes for a turn
_HELD_A_TURN = 1 << 17  # bytes that are copied in the time that the interpreter takes for a turn
_MOST_HELD = 1 << 26
_NOTED_A_MEBIBYTE = 1 << 16  # accesses that machine code makes in about the time that a copy takes
_FIRST_PART = 1 << 13  # turns of all threads in a loop with others in it, where each may have its own number of them
_LONG = 1 << 16  # turns of all threads in which machine code is made
_IN_VAIN, _MOST_IN_VAIN = 64, 4096  # times that a loop is interpreted when it could not be run here; each time twice


class _OtherBoundsError(Exception):
    """A text of another launch, where what is the same throughout its loop is far from what it is here."""


@dataclass(frozen=True)
class Begun:
    """A loop that some threads are to go on with; others have ``ended`` it.

    ``left`` are the numbers that are left of its range, or of the positions of what else it goes over.
    """

    going: Mask
    ended: Mask
    left: Range | None


def run_alone(frame: Frame, node: Loop) -> Mask | Begun | None:
    """Run a loop in the only active thread, or one that only computes or loads in each of a few, one after the other.

    Returns the threads that go on behind it, None if that cannot be done, or was not worth it when it was done last.
    """
    mask, machine = frame.mask, frame.machine
    if mask.count < 2:
        return _run_one(frame, node) if mask.count else None
    if mask.count > _MANY:
        return None
    left, pause = machine.known.loops.get(("left", node), (0, _SHORT))
    if left:
        machine.known.loops["left", node] = left - 1, pause
        return None
    begin = machine.iterations
    possible, branches = _seen_in(frame, node)
    is_tried = mask.count > (_SOME if branches else _FEW)
    goes_on = _run_alone(frame, node, together=True, is_tried=is_tried) if possible else None
    machine.known.loops["left", node], held = (0, _SHORT), machine.alone.get(("held", node), 0)
    if not isinstance(goes_on, Mask):
        pause = max(pause, _IN_VAIN)
        machine.known.loops["left", node] = pause if possible else sys.maxsize, min(2 * pause, _MOST_IN_VAIN)
    elif machine.iterations - begin < _SHORT + mask.count // _FEW_TO_BEGIN + held // _HELD_A_TURN:
        machine.known.loops["left", node] = pause, min(2 * pause, _MOST_IN_VAIN)
    return goes_on


def _run_one(frame: Frame, node: Loop) -> Mask | Begun | None:
    """Run a loop in the only active thread: as several would, who run a long one in machine code, or by itself.

    As several would it also runs one in which it meets what others did, which cannot be told access by access.
    """
    machine = frame.machine
    left, pause = machine.known.loops.get(("one", node), (0, _IN_VAIN))
    if left and not machine.alone.get(("meets", node)):
        machine.known.loops["one", node] = left - 1, pause
        return _run_alone(frame, node, together=False)
    begin = machine.iterations
    possible = _seen_in(frame, node)[0] and _may_be_gone_on_with(frame, node)
    goes_on = _run_alone(frame, node, together=True) if possible else None
    if goes_on is None and ("meets", node) in machine.alone:
        machine.alone["meets", node] = False
    if goes_on is None or machine.iterations - begin < often_as_text(alone=False):
        machine.known.loops["one", node] = pause if possible else sys.maxsize, min(2 * pause, _MOST_IN_VAIN)
    if isinstance(goes_on, Mask):
        return goes_on
    left_over = None if goes_on is None else goes_on.left
    return _run_alone(frame, node, together=False, left=left_over) or goes_on


def _may_be_gone_on_with(frame: Frame, node: Loop) -> bool:
    """Tell whether a loop may be begun again with what is left of it: nothing is done before its first turn."""
    if (node, "enter") in frame.versions.moves:
        return False
    return isinstance(node, ast.While) or leaves_nothing(frame, node.iter)


def _seen_in(frame: Frame, node: Loop) -> tuple[bool, bool]:
    """Tell of a loop, as one looks at it, whether it may be written for several threads, and whether they may part."""
    known, key = frame.machine.known.names, ("seen", id(frame.tree), node)
    if key not in known:
        known[key] = _may_be_written(frame, node), _branches(frame.tree, node)
    seen: tuple[bool, bool] = known[key]
    return seen


def _branches(tree: SiteTree, node: Loop) -> bool:
    """Tell whether threads may part in a loop, update or call functions, which costs the interpreter most."""
    parts = [part for statement in node.body for part in ast.walk(statement)]
    dear = {*tree.calls, *tree.atomics}
    return any(isinstance(part, ast.If | ast.IfExp | ast.BoolOp | ast.While) or part in dear for part in parts)


def _may_be_written(frame: Frame, node: Loop) -> bool:
    """Tell whether writing a loop for several threads may be of use: as one looks at it, nobody waits."""
    parts = [part for statement in [*node.body, *node.orelse] for part in ast.walk(statement)]
    plain = (*frame.tree.calls, *frame.tree.atomics, *(part for part in parts if isinstance(part, ast.Constant)))
    others = [part.value for part in parts if isinstance(part, ast.Expr) and part.value not in plain]
    return all(isinstance(part, ast.Call) and _waits_for_nobody(frame, part) for part in others)


def _waits_for_nobody(frame: Frame, node: ast.Call) -> bool:
    return frame.canonical(node.func) == "builtins.print" or is_idle(frame, node)


def _run_alone(
    frame: Frame, node: Loop, *, together: bool, left: Range | None = None, is_tried: bool = False
) -> Mask | Begun | None:
    """Run a loop in the active threads, or what is ``left`` of it in one.

    One that ``is_tried`` is run in machine code or not at all, if a few of the threads take long.
    """
    mask, variables, owners = frame.mask, frame.variables, frame.owners
    slots = np.flatnonzero(mask.lanes)
    entry = entry_of(frame, node, int(slots[0]))
    if entry is None:
        return None
    held = entry.held
    frame.variables, frame.owners = dict(entry.inner), defaultdict(lambda: mask)
    try:
        outer = list(held.values())
        for anew in (False, True):
            text = text_of(frame, node, entry, way="together" if together else "alone", anew=anew)
            if text is None or (together and not text.writer.together):
                return None
            writer = text.writer
            if not can_run(writer, variables, slots):
                return None
            try:
                results, begun = _run(frame, node, slots, text, list(held), outer, left, is_tried=is_tried)
            except _OtherBoundsError:
                continue
            break
    finally:
        frame.variables, frame.owners, frame.mask = variables, owners, mask
    if not results:
        return None
    goes_on = leave_behind(frame, node, writer, slots, results)
    return goes_on if begun is None else begun


def can_run(writer: Writer, variables: dict[str, Value], slots: NDArray[np.intp]) -> bool:
    """Tell whether several threads may run a text, and soon enough."""
    if writer.is_dear and len(slots) > _FEW_DEAR:
        return False
    return not writer.renamed or len(slots) == 1 or _are_alike(writer.renamed, variables, slots)


def _are_alike(renamed: Renamed, variables: dict[str, Value], slots: NDArray[np.intp]) -> bool:
    """Tell whether several threads give names to the same arrays at the same time."""
    return renamed.is_alike and all(_is_same(variables[name], slots) for name in renamed.same if name in variables)


def _is_same(value: Value, slots: NDArray[np.intp]) -> bool:
    """Tell whether several threads have the same number or tuple."""
    if isinstance(value, tuple):
        return all(_is_same(item, slots) for item in value)
    return not isinstance(value, np.ndarray) or bool((value[slots] == value[slots[0]]).all())


def _is_like(bound: Bound, value: Value, slots: NDArray[np.intp]) -> bool:
    """Tell whether what is worth the same throughout a loop is in each thread as it was when that was written."""
    each = [open_value(value, slot) for slot in slots.tolist()]
    return all(type_of(own) == bound.dtype and span_of(own, bound.dtype) == bound.span for own in each)


def _run(
    frame: Frame,
    node: Loop,
    slots: NDArray[np.intp],
    text: Text,
    used: list[str],
    outer: list[Value],
    left: Range | None = None,
    *,
    is_tried: bool = False,
) -> tuple[list[tuple[bool, tuple[Any, ...]]], Begun | None]:
    """Run a loop in threads whose variables in use are ``outer``; one that is not alone leaves nothing else behind.

    Returns for each thread whether it goes on behind the loop, and its variables: nothing if it cannot be run here, and
    what is to be done by the interpreter if only the first turns could.
    """
    writer, machine, inner = text.writer, frame.machine, frame.variables
    throughout = enter(frame, writer, inner, dict(zip(used, outer, strict=True)))
    if throughout is None or not all(_is_like(bound, value, slots) for value, bound in throughout):
        if text.is_kept:
            raise _OtherBoundsError
        return [], None
    alone, single = not writer.several, memoryview(np.zeros(1, np.float32))  # type: ignore[arg-type]
    begin, while_began = machine.iterations, machine.while_began
    threads: list[Thread] = []
    varied = not all(is_same_for_all(inner[made.name]) for made, _ in writer.accesses)
    reaching = {(made.name, made.field, way): made for made, way in writer.accesses}
    held = None if alone else Undo([inner[name].memory for name in sorted(writer.stored)], _MOST_HELD)
    if held is not None and not held.is_possible:
        return [], None
    may_wait = held is not None and (held.may_wait or text.prints)
    machine.alone["held", node] = 0 if held is None else held.nbytes
    pace = None if held is None else Pace(_NOTED_A_MEBIBYTE * (held.nbytes >> 20))
    may_be_long = text.may_be_long
    buffers = None if alone else in_machine_code(machine, text)
    often = often_as_text(alone=alone)
    if pace is not None and writer.counts and not (may_be_long and buffers is None):
        pace.turns = max(1, _FIRST_PART // len(slots))
    is_tried, all_of_them = is_tried and buffers is None, slots
    if is_tried:
        if not may_be_long:
            return [], None
        slots, often = slots[np.linspace(0, len(slots) - 1, _TRIED).astype(np.intp)], _LONG_ENOUGH
    meets = machine.alone.get(("meets", node), False)
    if len(slots) == 1 and not alone and buffers is None and not may_be_long and not meets:
        return [], None  # by itself it need not note everything
    names = [writer.variable(name) for name in writer.results]
    for slot in slots.tolist():
        if not alone:
            inner |= {name: open_value(value, slot) for name, value in zip(used, outer, strict=True)}
        accesses = Accesses(machine, frame.mask, slot, pace, may_wait=may_wait)
        if not threads or varied:
            of_each = {
                (name, field, way): accesses.reach(named_in(inner, made), way)
                for (name, field, way), made in reaching.items()
            }
            reached = [memory for made, way in writer.accesses for memory in of_each[made.name, made.field, way]]
        if not threads:
            accesses.prepare(text.noted, inner)
        else:
            accesses.prepare_like(threads[0].accesses, inner)
        give_arrays(writer, inner, frame.mask)
        given: list[Any] = []
        for name in writer.names:
            value, kind = inner.get(name, UNASSIGNED), writer.kinds.get(name)
            given.append(value if kind is None or value is UNASSIGNED else known(value, kind))
        given += [known(open_value(value, slot), bound.dtype) for value, bound in throughout]
        runner = Runner(frame, accesses)
        if buffers is not None and pace is not None:
            named = dict(zip(text.wanted, [*given, *reached], strict=True)) | {"me": accesses.thread}
            loop = buffers.loop(machine, runner, writer.scopes, accesses, pace, names, UNASSIGNED, writer.constants)
            threads.append(Thread(loop.run(named), accesses, while_began))
            continue
        accesses.is_short = may_be_long
        noted = accesses.noted, accesses.noted.append, accesses.groups.append, accesses.stored.append
        tools = inner, UNASSIGNED, machine, runner, accesses, frame, single, accesses.thread, *noted
        counted_at = due(machine, begin, often)
        made = text.run(*tools, pace or _numbers(left, slot), counted_at, [*given, *reached])
        if pace is None:
            machine.while_began = while_began
            accesses.hand_on()
            if runner.left > _MOST_LEFT:
                machine.alone.setdefault(("meets", node), True)
            return [made], None
        threads.append(Thread(made, accesses, while_began))
    assert pace
    assert held
    try:
        if is_tried:
            try_out(machine, threads, pace, held)
            return [], None
        has_ended = run_together(machine, threads, writer.loops, pace, held)
    except OtherWayError:
        text.may_be_long, text.is_long = False, buffers is None
        return _run(frame, node, all_of_them, text, used, outer, is_tried=is_tried)
    if has_ended is None:
        return [], None
    text.turns += (machine.iterations - begin) * len(threads)
    text.is_long |= may_be_long and text.turns > _LONG
    results = [(not thread.has_returned, thread.values) for thread in threads]
    return results, None if has_ended else _begun(frame, slots, threads)


def _numbers(left: Range | None, slot: int) -> range | None:
    """Return what one thread has left of a range."""
    return None if left is None else range(*(int(open_value(end, slot)) for end in (left.start, left.stop, left.step)))


def _begun(frame: Frame, slots: NDArray[np.intp], threads: Sequence[Thread]) -> Begun:
    """Return what is left to the interpreter of a loop that threads stopped in."""
    mask = frame.mask
    gone = lanes_of(mask, slots[[thread.has_ended for thread in threads]])
    ended = lanes_of(mask, slots[[thread.has_ended and not thread.has_returned for thread in threads]])
    left = {int(slot): thread.left for slot, thread in zip(slots, threads, strict=True) if not thread.has_ended}
    ends = np.zeros((3, len(mask.lanes)), np.int64)
    ends[2] = 1
    for slot, part in left.items():
        if part is None:  # of a loop with a condition
            return Begun(mask.without(gone), mask.narrow(ended), None)
        ends[:, slot] = part.start, min(max(part.stop, -(2**63)), 2**63 - 1), part.step
    same = [bool((end[list(left)] == end[next(iter(left))]).all()) for end in ends]
    numbers = [int(end[next(iter(left))]) if alike else end for end, alike in zip(ends, same, strict=True)]
    return Begun(mask.without(gone), mask.narrow(ended), Range(*numbers))
