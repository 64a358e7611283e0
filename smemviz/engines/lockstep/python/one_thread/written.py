"""A loop as text, for the types and spans of its variables: written until nothing changes, and compiled."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from smemviz.engines.limits import Limits
from smemviz.engines.lockstep.memory.memory import LocalMemory, View
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.one_thread.arrays import Array, cells_in, way_to
from smemviz.engines.lockstep.python.one_thread.atoms import Kind, Span, full, union
from smemviz.engines.lockstep.python.one_thread.text import expressions, statements
from smemviz.engines.lockstep.python.one_thread.text.whole import shortest, whole
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.python.one_thread.together.straight import noted_once
from smemviz.engines.lockstep.python.one_thread.values import type_of
from smemviz.engines.lockstep.values.typing import Value

if TYPE_CHECKING:
    from smemviz.engines.lockstep.python.one_thread.native.thread import Buffers

Loop = ast.For | ast.While

_PASSES = 6  # over a loop until the types of its variables stay
_DAYS = 1 << 36  # turns of a loop, at a million in a second


@dataclass
class Text:
    """A loop, compiled, what its writer knows of it, and the names of what it begins with.

    ``is_long`` tells that several threads run it in machine code, ``may_be_long`` that they do so if it turns out long.
    """

    run: Callable[..., Any]
    writer: Writer
    wanted: list[str]
    may_be_long: bool
    is_long: bool = False
    turns: int = 0
    buffers: Buffers | None = None


def kind_of(frame: Frame, value: Value) -> Kind:
    """Return what a variable is known to hold: an array, or a number of a type."""
    if isinstance(value, View):
        way = way_to(frame.machine, value)
        whole = not isinstance(value.memory, LocalMemory) and way != "far"
        unit = whole and value.ndim > 0 and type(value.strides[-1]) is int and value.strides[-1] == 1
        start = value.memory.place(value.offset, value.dtype)
        first = whole and type(start) is int and start == 0
        cells = cells_in(frame.machine, value)
        return Array(value.dtype, value.ndim, value.memory.space, way, unit, first, cells)
    return type_of(value)


def text_of(
    frame: Frame, node: Loop, slot: int, kinds: dict[str, Kind], spans: dict[str, Span], *, together: bool
) -> Text | None:
    """Return a loop as text for these types of its variables, None where it is not written so."""
    cache = frame.machine.alone
    key = (id(frame.tree), node, id(frame.versions), together, tuple(kinds.items()), tuple(spans.items()))
    if key not in cache:
        try:
            made = _compiled(_written(frame, node, slot, kinds, spans, several=together))
        except NotWrittenError:
            made = None
        cache[key] = frame.versions, made  # which keeps them, and their number, from being another's
    text: Text | None = cache[key][1]
    return text


def _written(
    frame: Frame, node: Loop, slot: int, entry: dict[str, Kind], near: dict[str, Span], *, several: bool
) -> Writer:
    """Write a loop until nothing changes: from any integer to what is known of it by what it is given."""
    kinds: dict[str, Kind] = entry
    spans: dict[str, Span] = {}
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


def _compiled(writer: Writer) -> Text:
    text, wanted = shortest(writer)
    namespace = dict(writer.constants)
    exec(_code(text), namespace)
    return Text(namespace["loop"], writer, wanted, writer.several and writer.together)


def in_machine_code(text: Text) -> Buffers | None:
    """Return what threads need to run a loop in machine code, None where it has to be run as text."""
    if text.is_long and text.buffers is None:
        from smemviz.engines.lockstep.python.one_thread.native.compiled import native_of
        from smemviz.engines.lockstep.python.one_thread.native.thread import Buffers

        native = native_of(text.writer, *whole(text.writer, noted_once(text.writer.lines)))
        text.buffers = None if native is None else Buffers(native)
    text.is_long = text.is_long and text.buffers is not None
    return text.buffers if text.is_long else None


@lru_cache(maxsize=256)
def _code(text: str) -> CodeType:
    return compile(text, "<loop>", "exec")
