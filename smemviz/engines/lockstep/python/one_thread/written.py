"""A loop as text, for the types and spans of its variables: written until nothing changes, and compiled."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from smemviz.engines.limits import Limits
from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.memory import LocalMemory
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.one_thread.atoms import Kind, Span, full, union
from smemviz.engines.lockstep.python.one_thread.entry import Entry
from smemviz.engines.lockstep.python.one_thread.noted import Noted
from smemviz.engines.lockstep.python.one_thread.renamed import renamed_in
from smemviz.engines.lockstep.python.one_thread.text import expressions, statements
from smemviz.engines.lockstep.python.one_thread.text.in_order import ENDS
from smemviz.engines.lockstep.python.one_thread.text.renamed import begin
from smemviz.engines.lockstep.python.one_thread.text.whole import shortest, whole
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.python.one_thread.together.straight import noted_once

if TYPE_CHECKING:
    from smemviz.engines.lockstep.python.one_thread.native.compiled import Native
    from smemviz.engines.lockstep.python.one_thread.native.thread import Buffers

Loop = ast.For | ast.While
Way = Literal["alone", "together", "in order"]

_PASSES = 6  # over a loop until the types of its variables stay
_NO_MEMORY = LocalMemory(np.zeros(0, np.uint8), np.arange(0))
_DAYS = 1 << 36  # turns of a loop, at a million in a second


@dataclass
class Text:
    """A loop, compiled, what its writer knows of it and is ``noted`` of it, and the names of what it begins with.

    ``is_long`` tells that several threads run it in machine code, ``may_be_long`` that they do so if it turns out long.
    One that ``is_kept`` was written in another launch; one that ``prints`` does so somewhere. One that threads run in
    order is ``native``.
    """

    run: Callable[..., Any]
    writer: Writer
    noted: Noted
    wanted: list[str]
    may_be_long: bool
    prints: bool
    is_long: bool = False
    turns: int = 0
    buffers: Buffers | None = None
    native: Native | None = None
    is_kept: bool = False

    def enter(self, frame: Frame) -> None:
        """Begin in another launch, where it may be as long as it was."""
        self.is_kept = True
        if self.buffers is not None:
            self.is_long = self.may_be_long = True
        for scope in self.writer.scopes:
            scope.frame.enter(frame.machine, frame.mask)

    def leave(self) -> None:
        """Let go of a launch that is over."""
        self.writer.frame.leave()
        for scope in self.writer.scopes:
            scope.frame.leave()
            for name, view in scope.own.items():
                scope.own[name] = replace(view, memory=_NO_MEMORY)


def text_of(
    frame: Frame,
    node: Loop,
    entry: Entry,
    *,
    way: Way,
    anew: bool = False,
) -> Text | None:
    """Return a loop as text for what it begins with, None where it is not written so.

    It may have been written in a launch of another, if it is not written ``anew``.
    """
    machine, configuration = frame.machine, frame.machine.configuration
    shape = configuration.grid, configuration.block, configuration.dynamic_shared, machine.limits
    types = tuple(entry.kinds.items()), tuple(entry.near.items())
    key = (id(frame.tree), node, id(frame.versions), way, *types, shape)
    if key not in machine.alone or anew:
        versions, text = machine.known.texts.get(key, (None, None))
        if versions is None or anew:
            try:
                text = _compiled(_written(frame, node, entry, way))
            except NotWrittenError:
                text = None
            # This keeps the versions, and their number, from being another's.
            machine.known.texts[key] = frame.versions, text
        elif text is not None:
            text.enter(frame)
        machine.alone[key] = text
    found: Text | None = machine.alone[key]
    return found


def _written(frame: Frame, node: Loop, begun: Entry, way: Way) -> Writer:
    """Write a loop until nothing changes: from any integer to what is known of it by what it is given."""
    entry, near, several = begun.kinds, begun.near, way != "alone"
    kinds: dict[str, Kind] = entry
    spans: dict[str, Span] = {}
    renamed = renamed_in(frame, node, entry)
    for _ in range(_PASSES):
        given = frame, expressions.RULES, statements.block, begun.slot, several, dict(kinds), set(entry), spans
        writer = Writer(*given, in_order=way == "in order")
        if renamed is not None:
            begin(writer, renamed)
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


def _compiled(writer: Writer) -> Text:
    noted = Noted(writer.sites, writer.groups, writer.frame.machine.table.sites)
    if writer.in_order:
        if not writer.together:
            raise NotWrittenError
        from smemviz.engines.lockstep.python.one_thread.native.compiled import native_of

        text, wanted = whole(writer, writer.lines)
        native = native_of(writer.frame.machine, writer, text, [*wanted, *ENDS])
        if native is None:
            raise NotWrittenError
        return Text(_never, writer, noted, wanted, may_be_long=False, prints=False, native=native)
    text, wanted = shortest(writer)
    namespace = dict(writer.constants)
    exec(_code(text), namespace)
    prints = any(".prints(" in line for line in writer.lines)
    return Text(namespace["loop"], writer, noted, wanted, writer.several and writer.together, prints)


def _never(*_given: Any) -> Any:
    """Stand for the text of a loop that is run in machine code only."""
    raise AssertionError


def in_machine_code(machine: Machine, text: Text) -> Buffers | None:
    """Return what threads need to run a loop in machine code, None where it has to be run as text."""
    if text.is_long and text.buffers is None:
        from smemviz.engines.lockstep.python.one_thread.native.compiled import native_of
        from smemviz.engines.lockstep.python.one_thread.native.thread import Buffers

        native = native_of(machine, text.writer, *whole(text.writer, noted_once(text.writer.lines)))
        text.buffers = None if native is None else Buffers(native)
    text.is_long = text.is_long and text.buffers is not None
    return text.buffers if text.is_long else None


@lru_cache(maxsize=256)
def _code(text: str) -> CodeType:
    return compile(text, "<loop>", "exec")
