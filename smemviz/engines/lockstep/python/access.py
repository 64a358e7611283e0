"""Subscripts: from indices to elements, the requests they make, and what is told of indices that are out of bounds."""

import ast
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.memory.memory import Index, View
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.values.masks import Lanes, Mask
from smemviz.engines.lockstep.values.typing import INT64, Dtype, Value, cast, dtype_of
from smemviz.messages import english

_UINT64 = np.dtype(np.uint64)
_NO_NUMBERS = {slice, type(Ellipsis), type(None)}


def load(frame: Frame, node: ast.expr, view: View, indices: tuple[Value, ...]) -> Value:
    """Return the elements that the active threads pick, 0 where an index is out of bounds, and log the request."""
    element, reached = locate(frame, node, view, indices)
    return read(frame, node, view, element, reached)


def read(frame: Frame, node: ast.expr, view: View, element: Index, reached: Mask) -> Value:
    """Return elements already located and log the request."""
    if not reached.count:
        return np.zeros((), view.dtype)[()]
    site = frame.tree.loads.get(node)
    if site is not None:
        _note(frame, site, view, element, reached)
    value = view.memory.read(element, view.dtype)
    if reached is not frame.mask:
        return np.where(reached.lanes, value, np.zeros((), view.dtype))
    return value


def write(frame: Frame, node: ast.expr, view: View, element: Index, reached: Mask, value: Value) -> None:
    """Store a value, cast to the array's type, into elements already located."""
    refuse_constant(frame, node, view)
    if view.dtype.kind != "c" and dtype_of(value).kind == "c":
        what = english(
            "{code} holds {dtype}; a complex number does not fit, store .real",
            code=ast.unparse(node),
            dtype=view.dtype,
        )
        raise frame.wrong(node, what)
    if not reached.count:
        return
    value = cast(value, view.dtype)
    site = frame.tree.stores.get(node)
    if site is not None:
        _note(frame, site, view, element, reached, value)
    view.memory.write(element, view.dtype, value, reached)


def _note(frame: Frame, site: int, view: View, element: Index, reached: Mask, stored: Value | None = None) -> None:
    """Note the request for an element, or one for each of its bytes where Numba loads and stores byte by byte."""
    address = view.address(element)
    if frame.machine.table.sites[site].width >= view.dtype.itemsize:
        frame.machine.request(site, view.memory, address, reached, stored)
        return
    values = [] if stored is None else bytes_of(stored, view.dtype)
    for byte in range(view.dtype.itemsize):
        frame.machine.request(site, view.memory, address + byte, reached, values[byte] if values else None)


def bytes_of(stored: Value, dtype: Dtype) -> list[Value]:
    """Return the bytes of what each thread stores, or of one value for all."""
    octets = np.ascontiguousarray(stored, dtype).reshape(-1).view((np.uint8, dtype.itemsize))
    return list(octets.T if isinstance(stored, np.ndarray) else octets[0])


def refuse_constant(frame: Frame, node: ast.expr, view: View) -> None:
    """Refuse a store in an array of the module."""
    if view.memory.space == "constant":
        what = english(
            "{array} is a constant array of the module; pass it as an argument to store in it", array=view.name
        )
        raise frame.wrong(node, what)


def whole(frame: Frame, view: View) -> tuple[Index, Mask]:
    """Return the one element of a view without axes, and the active threads in which there is one."""
    return view.offset, frame.mask if view.valid is None else frame.mask.narrow(view.valid)


def locate(frame: Frame, node: ast.expr, view: View, indices: tuple[Value, ...]) -> tuple[Index, Mask]:
    """Return the element numbers and the active threads whose indices are inside; the others become a finding.

    A negative index counts from the end, as in Numba.
    """
    element: Index = view.offset
    from_end = False
    for index, size, stride in zip(indices, view.shape, view.strides, strict=True):
        if type(index) is int and type(size) is int:
            inside = -size <= index < size
            if index < 0:
                index, from_end = index + size, True
        else:
            if type(index) is not np.ndarray or index.dtype is not INT64:
                index = as_index(frame, node, index)
            inside = type(size) is int and type(index) is np.ndarray and _is_below(frame, index, size)
        if not inside:
            return _locate_carefully(frame, node, view, indices)
        # Products and sums with 1 and 0 are skipped: this is where an interpreter's time goes.
        step = index if stride == 1 else index * stride
        element = step if type(element) is int and element == 0 else element + step
    reached = frame.mask if view.valid is None else frame.mask.narrow(view.valid)
    if from_end:
        hint_at_counting_back(frame, node, view, indices, reached)
    return element, reached


def _is_below(frame: Frame, index: NDArray[np.int64], size: int) -> bool:
    """Tell whether all are from 0 to below a size; asked with what costs NumPy least, and once for arrays alike."""
    of, most = frame.machine.inside
    if of is index and most == size:
        return True
    unsigned = index.view(_UINT64)
    inside = bool(unsigned[unsigned.argmax()] < size)
    if inside:
        frame.machine.inside = index, size
    return inside


def as_index(frame: Frame, node: ast.AST, index: Value) -> Value:
    """Return an index as int64; anything but an integer is refused."""
    dtype = dtype_of(index)
    if dtype.kind not in "iu":
        what = english(
            "an index is an integer; {code} has one of {dtype}. Use int(...).", code=ast.unparse(node), dtype=dtype
        )
        raise frame.wrong(node, what)
    return cast(index, INT64)


def _locate_carefully(frame: Frame, node: ast.expr, view: View, indices: tuple[Value, ...]) -> tuple[Index, Mask]:
    mask = frame.mask if view.valid is None else frame.mask.narrow(view.valid)
    ok: Any = mask.lanes
    wrapped = []
    from_end = False
    for index, size in zip(indices, view.shape, strict=True):
        counts_back = dtype_of(index).kind == "i"  # what has no sign is beyond the array where it is that large
        index = np.asarray(as_index(frame, node, index))
        is_negative = (index < 0) & counts_back
        from_end = from_end or bool(is_negative.any())
        index = np.where(is_negative, index + size, index)
        ok = ok & (index >= 0) & (index < size)
        wrapped.append(index)
    element = view.offset
    for index, stride in zip(wrapped, view.strides, strict=True):
        element = element + index * stride
    element = np.where(ok, element, 0)
    reached = mask.narrow(ok)
    if reached is not mask:
        tell_outside(frame, node, view, indices, mask.lanes & ~ok)
    if from_end:
        hint_at_counting_back(frame, node, view, indices, reached)
    return element, reached


def pick(frame: Frame, node: ast.Subscript, view: View, parts: tuple[Value, ...]) -> Value:
    """Return what a subscript of an array gives: elements, a record, or another view."""
    if len(parts) == len(view.shape) and view.dtype.fields is None and are_numbers(parts):
        return load(frame, node, view, parts)
    without = tuple(part for part in parts if part is not Ellipsis)
    if len(without) == len(view.shape) == len(parts) - 1 and not any(map(_is_no_index, without)):
        return pick(frame, node, view, without)  # an element, and no array without axes
    return subview(frame, node, view, parts)


def are_numbers(parts: tuple[Value, ...]) -> bool:
    """Tell whether indices pick one position each."""
    return _NO_NUMBERS.isdisjoint(map(type, parts))


def _is_no_index(part: Value) -> bool:
    return part is None or isinstance(part, slice)


def subview(frame: Frame, node: ast.expr, view: View, parts: tuple[Value, ...]) -> View:
    """Return the view that slices and fewer indices than axes pick; indices are checked, slices cut off at the ends.

    An index of ``None`` makes a new axis of one element.
    """
    new_axes = sum(part is None for part in parts)
    picked = sum(not isinstance(part, slice) and part is not Ellipsis and part is not None for part in parts)
    if Ellipsis in [part for part in parts if part is Ellipsis]:
        at = next(i for i, part in enumerate(parts) if part is Ellipsis)
        missing = view.ndim - (len(parts) - 1 - new_axes)
        parts = (*parts[:at], *(slice(None),) * missing, *parts[at + 1 :])
    parts = (*parts, *(slice(None),) * (view.ndim + new_axes - len(parts)))
    if len(parts) > view.ndim + new_axes:  # an index may be a tuple that a function gave
        words = {"code": ast.unparse(node), "indices": len(parts) - new_axes, "axes": view.ndim}
        raise frame.wrong(node, english("{code} has {indices} indices for {axes} axes", **words))
    shape: list[Any] = []
    strides: list[int] = []
    indices: list[Value] = []
    offset = view.offset
    axes_left = zip(view.shape, view.strides, strict=True)
    for part in parts:
        if part is None:
            shape.append(1)
            strides.append(0)
            continue
        size, stride = next(axes_left)
        if isinstance(part, slice):
            start, length, step = _slice(frame, node, part, size)
            offset = offset + start * stride
            shape.append(length)
            strides.append(stride * step)
            indices.append(None)
        else:
            indices.append(part)
    before = view.picked or (None,) * view.ndim
    if picked:
        fixed = [i for i, part in enumerate(indices) if part is not None]
        axes = view
        if len(fixed) < view.ndim or view.picked:
            own = iter(None if part is not None else Ellipsis for part in indices)
            axes = replace(
                view,
                shape=tuple(view.shape[i] for i in fixed),
                strides=tuple(view.strides[i] for i in fixed),
                offset=offset,
                picked=tuple(next(own) if index is None else index for index in before),
                whole=view.whole or view.shape,
            )
        offset, reached = locate(frame, node, axes, tuple(indices[i] for i in fixed))
        if reached is not frame.mask:
            shape = [np.where(reached.lanes, size, 0) for size in shape]
            view = replace(view, valid=reached.lanes)
    new = iter(indices)
    now = tuple(next(new) if index is None else index for index in before)
    ends = [end for part in parts if isinstance(part, slice) for end in (part.start, part.stop, part.step)]
    whole = picked and not new_axes and all(end is None for end in ends)
    origin = (now, view.whole or view.shape) if whole else ((), ())
    part = {"shape": tuple(shape), "strides": tuple(strides), "offset": offset}
    return replace(view, **part, picked=origin[0], whole=origin[1])


def _slice(frame: Frame, node: ast.expr, part: slice, size: Any) -> tuple[Any, Any, int]:
    """Return start, length and step of a slice of an axis."""
    step = 1 if part.step is None else as_index(frame, node, part.step)
    if not isinstance(step, int) or step == 0:
        raise frame.refuse(node, f"the step of {ast.unparse(node)}")
    written = [None if end is None else as_index(frame, node, end) for end in (part.start, part.stop)]
    if isinstance(size, int) and all(end is None or isinstance(end, int) for end in written):
        start, stop, _ = slice(written[0], written[1], step).indices(size)
        return start, len(range(start, stop, step)), step
    low, high = (0, size) if step > 0 else (-1, size - 1)
    default = (0, size) if step > 0 else (size - 1, -1)
    ends = [
        other if end is None else np.clip(np.where(np.asarray(end) < 0, end + size, end), low, high)
        for end, other in zip(written, default, strict=True)
    ]
    length = np.maximum(0, -((ends[0] - ends[1]) // step))
    return ends[0], length, step


Indices = tuple[Value, ...]


def tell_outside(frame: Frame, node: ast.expr, view: View, indices: Indices, outside: Lanes) -> None:
    """Note which threads have an index outside an array."""
    at, shape = _as_written(view, indices, int(np.flatnonzero(outside)[0]))
    facts = {
        "array": _name(node, view),
        "index": at,
        "shape": shape,
        "space": view.memory.space,
        "column": node.col_offset,
    }
    frame.machine.find("out_of_bounds", node.lineno, node.col_offset, outside, **facts)


def hint_at_counting_back(frame: Frame, node: ast.expr, view: View, indices: Indices, reached: Mask) -> None:
    """Hint, once a line, at indices that happen to be negative in threads whose indices are all inside."""
    written = _written_indices(node)
    if len(written) != len(indices):
        return
    happen = [not _counts_back(frame, index) for index in written]
    back: Any = False
    for index, happens in zip(indices, happen, strict=True):
        back = back | ((np.asarray(index) < 0) & happens)
    back = back & reached.lanes
    if not back.any():
        return
    first = int(np.flatnonzero(back)[0])
    here = [(int(_of_slot(i, first)), int(_of_slot(size, first))) for i, size in zip(indices, view.shape, strict=True)]
    facts = {
        "array": _name(node, view),
        "index": _as_written(view, indices, first)[0],
        "element": _as_written(view, tuple(index % size for index, size in here), first)[0],
        "column": node.col_offset,
    }
    frame.machine.find("negative_index", node.lineno, 0, back, **facts)


def _name(node: ast.expr, view: View) -> str:
    """Return the name of an array, which one of a thread has by the variable that it is in."""
    if view.memory.space == "local" and isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return node.value.id
    return view.name


def _written_indices(node: ast.expr) -> list[ast.expr]:
    """Return the indices of an element, or of an atomic, as they are written."""
    index = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(node, ast.Call) and len(node.args) > 1:
        index = node.args[1]
    parts = index.elts if isinstance(index, ast.Tuple) else [] if index is None else [index]
    return [part for part in parts if not isinstance(part, ast.Slice)]


def _counts_back(frame: Frame, index: ast.expr) -> bool:
    """Tell whether an index is meant to be negative: it begins with a minus, or is a constant."""
    varies = any(_varies(frame, part) for part in ast.walk(index))
    while isinstance(index, ast.BinOp):
        index = index.left
    return not varies or (isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub))


def _varies(frame: Frame, node: ast.AST) -> bool:
    """Tell whether a part of an index is a variable, or a number of the thread."""
    if isinstance(node, ast.Name):
        return node.id in frame.names.locals
    return isinstance(node, ast.Attribute) and frame.canonical(node).startswith("cuda.")


def _as_written(view: View, indices: Indices, slot: int) -> tuple[str, tuple[int, ...]]:
    """Return the index of a thread, as it would be written, and the shape of the array that it is of."""
    in_turn = iter(indices)
    parts = [next(in_turn) if index is None else index for index in view.picked] if view.picked else list(indices)
    while parts and parts[-1] is Ellipsis:
        parts.pop()
    at = ", ".join(":" if part is Ellipsis else str(_of_slot(part, slot)) for part in parts)
    return at, tuple(int(_of_slot(size, slot)) for size in view.whole or view.shape)


def _of_slot(value: Value, slot: int) -> Any:
    return value[slot] if isinstance(value, np.ndarray) else value
