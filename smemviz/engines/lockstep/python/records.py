"""Records that are copied whole: as Numba copies them, byte by byte, all of them loaded before the first is stored."""

from __future__ import annotations

import ast

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.memory.memory import Index, View
from smemviz.engines.lockstep.memory.records import record_in
from smemviz.engines.lockstep.python import access
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import Dtype, Value
from smemviz.frontends.numba.sites.fields import numbers_of
from smemviz.messages import english

_MOST_BYTES = 1024


def copy(
    frame: Frame, target: ast.expr, view: View, element: Index, reached: Mask, value: Value, source: ast.expr
) -> None:
    """Copy the record that ``source`` gives into an element already located."""
    if not isinstance(value, View) or value.ndim or record_in(value.dtype)[0] != record_in(view.dtype)[0]:
        what = english("assignment to {code}", code=ast.unparse(target))
        raise frame.none_of_numba(target, what, english("a record of the same fields, or its fields one by one"))
    access.refuse_constant(frame, target, view)
    if value.valid is not None:
        reached = reached.narrow(value.valid)
    if not reached.count:
        return
    size = record_in(view.dtype)[0].itemsize
    if size > _MOST_BYTES:
        what = english("a record of {size:,} bytes is not copied whole in lockstep; copy its fields", size=size)
        raise frame.wrong(target, what)
    held = value.memory.read(value.offset, value.dtype)
    _note(frame, frame.tree.loads.get(source), value, value.offset, reached)
    _note(frame, frame.tree.stores.get(target), view, element, reached, held)
    view.memory.write(element, view.dtype, held, reached)


def copy_items(frame: Frame, target: ast.expr, view: View, value: Value, source: ast.expr) -> None:
    """Copy the array that is a field of one record into that of another, item by item."""
    same = isinstance(value, View) and (value.shape, value.dtype) == (view.shape, view.dtype)
    if not same or view.dtype.fields is not None or not all(isinstance(size, int) for size in view.shape):
        raise frame.none_of_numba(target, english("assignment to {code}", code=ast.unparse(target)), english("a loop"))
    for index in np.ndindex(*view.shape):
        frame.machine.tick(frame.function.file, target.lineno)
        item = access.load(frame, source, value, index)
        access.write(frame, target, view, *access.locate(frame, target, view, index), item)


def _note(
    frame: Frame, site: int | None, view: View, element: Index, reached: Mask, stored: Value | None = None
) -> None:
    """Note the requests for the bytes of a record; what lies between its fields is nobody's to write."""
    if site is None:
        return
    record, first = record_in(view.dtype)
    start, own = view.address(element) + first, _own_bytes(record)
    values = [] if stored is None else access.bytes_of(stored, stored.dtype)[record_in(stored.dtype)[1] :]
    for byte in range(record.itemsize):
        if own[byte]:
            frame.machine.request(site, view.memory, start + byte, reached, values[byte] if values else None)
        else:
            frame.machine.log.add(site, start + byte, reached)


def _own_bytes(dtype: Dtype) -> NDArray[np.bool_]:
    """Tell which bytes of a record are its fields'."""
    own = np.zeros(dtype.itemsize, np.bool_)
    for number, first in numbers_of(dtype):
        own[first : first + number.itemsize] = True
    return own
