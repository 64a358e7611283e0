"""What a loop begins with: the variables that it names, arrays of the functions that it calls, what stays the same."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import numpy as np

from smemviz.engines.lockstep.memory.memory import LocalMemory, View
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.merging import Apart
from smemviz.engines.lockstep.python.one_thread.atoms import Bound, Kind, Span
from smemviz.engines.lockstep.python.one_thread.kinds import kind_of
from smemviz.engines.lockstep.python.one_thread.text.named import REFUSALS
from smemviz.engines.lockstep.python.one_thread.text.writer import Writer
from smemviz.engines.lockstep.python.one_thread.values import items_by_name, open_value, span_of
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.optional import Optional
from smemviz.engines.lockstep.values.typing import Value


@dataclass(frozen=True)
class Entry:
    """The variables that a loop begins with: of all threads, of the first, their types, and where integers lie."""

    slot: int
    held: dict[str, Value]
    inner: dict[str, Value]
    kinds: dict[str, Kind]
    near: dict[str, Span]


def entry_of(frame: Frame, node: ast.For | ast.While, slot: int) -> Entry | None:
    """Return what a loop begins with in the active threads, the first in a slot; None for what is no loop as text."""
    variables = frame.variables
    used = [name for name in _used(frame, node) if name in variables]
    if any(type(variables[name]) in (Apart, Optional) for name in used):
        return None
    items = {key: item for name in used for key, item in items_by_name(name, variables[name], slot).items()}
    held = {name: variables[name] for name in used} | items
    inner = {name: open_value(value, slot) for name, value in held.items()}
    kinds = {name: kind_of(frame, value) for name, value in inner.items()}
    spans = {name: span_of(held[name], kind) for name, kind in kinds.items() if isinstance(kind, np.dtype)}
    return Entry(slot, held, inner, kinds, {name: span for name, span in spans.items() if span})


def _used(frame: Frame, node: ast.For | ast.While) -> list[str]:
    """Return the variables that a loop names."""
    cache, key = frame.machine.known.names, (id(frame.tree), node, id(frame.versions))
    if key not in cache:
        kept, moves = frame.versions.variables, frame.versions.moves
        used: dict[str, None] = {}
        for part in ast.walk(node):
            target = part.target if isinstance(part, ast.AugAssign) else part
            if isinstance(target, ast.Name) and target.id in frame.names.locals:
                used[kept[part][0] if part in kept else target.id] = None
            for edge in ("enter", "turn", "leave", "end", "body", "orelse"):
                for move in moves.get((part, edge), ()):
                    used |= {move.source: None, move.target: None}
        cache[key] = list(used), frame.versions  # which keeps them, and their number, from being another's
    return list(cache[key][0])


def enter(
    frame: Frame, writer: Writer, inner: dict[str, Value], held: dict[str, Value]
) -> list[tuple[Value, Bound]] | None:
    """Let a loop have its arrays; return what is worth the same throughout, in all threads whose variables are held.

    Returns None where an array that is made before the loop is none of its kind here.
    """
    for scope in writer.scopes:
        inner |= {name: _own(frame, name, view) for name, view in scope.own.items()}
    inner |= {name: frame.value(call) for name, call in writer.declared.items()}
    frames = {writer.frame: frame}  # the text may have been written in another call of the function
    give_arrays(writer, inner, frame.mask)
    frame.variables = {**inner, **held}
    made = _make(frame, frames, writer)
    bounds = [] if made is None else writer.bound.values()
    throughout = [(frames.get(bound.frame, bound.frame).value(bound.node), bound) for bound in bounds]
    frame.variables = inner
    if made is None:
        return None
    inner |= made
    return throughout


def _make(frame: Frame, frames: dict[Frame, Frame], writer: Writer) -> dict[str, View] | None:
    """Make the arrays that are made before a loop, None where one is not of the kind that it was written for."""
    views: dict[str, View] = {}
    for made in writer.made.values():
        try:
            view = frames.get(made.frame, made.frame).value(made.node)
        except REFUSALS:
            return None
        if kind_of(frame, view) != writer.kinds[made.name]:
            return None
        views[made.name] = frame.variables[made.name] = view
        give_arrays(writer, frame.variables, frame.mask)
    return views


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


def give_arrays(writer: Writer, variables: dict[str, Value], mask: Mask) -> None:
    """Let the functions that a loop calls have the arrays of the loop."""
    for scope in writer.scopes:
        scope.frame.mask = mask
        scope.frame.variables = {
            parameter: variables[name] for parameter, name in scope.arrays.items() if name in variables
        }
