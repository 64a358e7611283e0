"""What threads leave in a function behind a loop that they ran one after the other."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.one_thread.atoms import Kind
from smemviz.engines.lockstep.python.one_thread.text.inlined import RETURNED
from smemviz.engines.lockstep.python.one_thread.text.writer import STANDS_FOR, Writer
from smemviz.engines.lockstep.python.one_thread.values import opened
from smemviz.engines.lockstep.values.masks import Lanes, Mask
from smemviz.engines.lockstep.values.typing import Value

UNASSIGNED: Any = object()
Items = list[tuple[Kind, list[Any]]]  # of a variable: the type of each, and what each thread has
Results = list[tuple[bool, tuple[Any, ...]]]  # of each thread: whether it goes on behind the loop, and its variables


def leave_behind(frame: Frame, node: ast.AST, writer: Writer, slots: NDArray[np.intp], results: Results) -> Mask:
    """Give variables what threads have for them; return the threads that go on."""
    before = dict(frame.variables)
    tuples: dict[str, Items] = {}
    for place, name in enumerate(writer.results):
        values = [values[place] for _, values in results]
        if name.startswith(STANDS_FOR):
            assert writer.renamed is not None
            arrays = [before.get(array) for array in writer.renamed.arrays]
            _rename(frame, node, name.removeprefix(STANDS_FOR), arrays, slots, values)
        elif "[" in name:
            tuples.setdefault(name.partition("[")[0], []).append((writer.kinds[name], values))
        elif not name.startswith(RETURNED):
            _keep(frame, node, name, [(writer.kinds[name], values)], slots, is_tuple=False)
    for name, items in tuples.items():
        _keep(frame, node, name, items, slots, is_tuple=True)
    return frame.mask if all(goes_on for goes_on, _ in results) else _finish(frame, node, writer, slots, results)


def _keep(frame: Frame, node: ast.AST, name: str, items: Items, slots: NDArray[np.intp], *, is_tuple: bool) -> None:
    """Give a variable what threads have for it, those that have assigned it: a number, or a tuple of several."""
    first = items[0][1]
    assigned = [k for k, value in enumerate(first) if value is not UNASSIGNED]
    if not assigned:
        return
    outer = frame.mask
    made = [_of_all(outer, kind, slots[assigned], [values[k] for k in assigned]) for kind, values in items]
    if len(first) > 1:
        frame.mask = outer.narrow(lanes_of(outer, slots[assigned]))
    frame.keep(node, name, tuple(made) if is_tuple else made[0])
    frame.mask = outer


def _rename(
    frame: Frame, node: ast.AST, name: str, arrays: list[Value], slots: NDArray[np.intp], numbers: list[int]
) -> None:
    """Let a name stand for the array that it does in each thread."""
    outer = frame.mask
    for number in sorted({*numbers} - {-1}):
        frame.mask = outer.narrow(lanes_of(outer, slots[[own == number for own in numbers]]))
        frame.keep(node, name, arrays[number])
    frame.mask = outer


def _of_all(mask: Mask, kind: Kind, slots: NDArray[np.intp], values: list[Any]) -> Value:
    """Return the values of several threads as one."""
    value: Value = values[0] if kind is None else opened(values[0], kind)
    if len(values) == 1:
        return value
    each = np.zeros(len(mask.lanes), kind)
    each[slots] = values
    return value if each[slots].tobytes() == each[slots[:1]].tobytes() * len(slots) else each


def lanes_of(mask: Mask, slots: NDArray[np.intp]) -> Lanes:
    """Return which threads of a batch are in some slots."""
    lanes = np.zeros(len(mask.lanes), np.bool_)
    lanes[slots] = True
    return lanes


def _finish(frame: Frame, node: ast.AST, writer: Writer, slots: NDArray[np.intp], results: Results) -> Mask:
    """Let threads that have returned leave the function, with what they return; return those that go on."""
    outer, ended = frame.mask, [k for k, (goes_on, _) in enumerate(results) if not goes_on]
    items = []
    for place, name in enumerate(writer.results):
        values = [results[k][1][place] for k in ended]
        if name.startswith(RETURNED) and UNASSIGNED not in values:  # else the interpreter has returned
            items.append(_of_all(outer, writer.kinds[name], slots[ended], values))
    frame.mask = outer.narrow(lanes_of(outer, slots[ended]))
    if items:
        frame.finish(node, items[0] if len(items) == 1 else tuple(items))
    else:
        frame.end_threads()
    goes_on, frame.mask = outer.without(frame.mask.lanes), outer
    return goes_on
