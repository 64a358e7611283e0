"""Arrays and tuples inside a kernel: their attributes and methods, local and constant arrays."""

import ast
from typing import Any

import numpy as np

from smemviz.engines.lockstep.machine import Grid, Machine
from smemviz.engines.lockstep.memory.memory import Memory, View, c_strides
from smemviz.engines.lockstep.memory.records import field_view, is_known
from smemviz.engines.lockstep.name_hints import neighbour
from smemviz.engines.lockstep.python import access
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.functions import intrinsics, types
from smemviz.engines.lockstep.python.merging import kind_of
from smemviz.engines.lockstep.values.operators import binary
from smemviz.engines.lockstep.values.typing import FLOAT32, FLOAT64, Dtype, Value, dtype_of
from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.python_functions import as_dtype
from smemviz.frontends.numba.sites.site_arrays import OF_ARRAYS
from smemviz.frontends.numba.syntax import evaluate
from smemviz.messages import english


def attribute(frame: Frame, node: ast.Attribute, base: Value) -> Value:
    """Return an attribute of an array or a number."""
    if isinstance(base, View) and (base.ndim or base.dtype.fields is None):  # a record alone has its fields only
        match node.attr:
            case "shape":
                return base.shape
            case "strides":
                return tuple(stride * base.dtype.itemsize for stride in base.strides)
            case "ndim":
                return base.ndim
            case "size":
                return _size(base)
            case "itemsize":
                return base.dtype.itemsize
            case "nbytes":
                return binary(ast.Mult, _size(base), base.dtype.itemsize)
            case "dtype":
                return base.dtype
            case "T":
                return base.transpose()
    if isinstance(base, View):
        if node.attr == "real" and base.dtype.kind in "biuf":
            return base
        if node.attr == "ctypes":
            raise frame.refuse(node, ast.unparse(node))
        if base.dtype.fields is None and node.attr not in ("real", "imag"):
            raise _no_attribute(frame, node)
        return field(frame, node, base, node.attr)
    if isinstance(base, tuple) and node.attr in getattr(type(base), "_fields", ()):
        return base[type(base)._fields.index(node.attr)]  # type: ignore[attr-defined]
    if isinstance(base, np.iinfo | np.finfo) and (limit := types.limit(base, node.attr)) is not None:
        return limit
    if node.attr in ("real", "imag") and not types.is_no_number(base):
        return _part(base, node.attr)
    raise frame.left_out(node, f".{node.attr} ({ast.unparse(node)})")


def _no_attribute(frame: Frame, node: ast.Attribute) -> UnsupportedError:
    """Return the error for an attribute that an array has not, in a kernel at least."""
    code = ast.unparse(node)
    near = neighbour(node.attr, OF_ARRAYS)
    if near is not None:
        near = f"{ast.unparse(node.value)}.{near}"
        return frame.wrong(node, english("{what} is not known; did you mean {near}?", what=code, near=near))
    return frame.wrong(node, english("{what}: Numba does not compile it for CUDA; compute it otherwise", what=code))


def field(frame: Frame, node: ast.Attribute | ast.Subscript, base: Value, name: str) -> Value:
    """Return a field: of one record its value, of an array the array of that field."""
    view = field_of(frame, node, base, name)
    if view.ndim or view.dtype.fields is not None:
        return view
    return access.read(frame, node, view, *access.whole(frame, view))


def field_of(frame: Frame, node: ast.Attribute | ast.Subscript, base: Value, name: str) -> View:
    """Return the view of a field."""
    try:
        view = field_view(base, name) if isinstance(base, View) else None
    except ValueError as error:
        raise frame.wrong(node, str(error)) from None
    if view is None:
        raise frame.refuse(node, f".{name} ({ast.unparse(node)})")
    return view


def _size(view: View) -> Value:
    size: Value = 1
    for extent in view.shape:
        size = binary(ast.Mult, size, extent)
    return size


def _part(value: Value, name: str) -> Value:
    dtype = dtype_of(value)
    if dtype.kind != "c":
        return value if name == "real" else dtype.type(0)
    part = getattr(np.asarray(value), name)
    return part.astype(FLOAT32 if dtype == np.complex64 else FLOAT64)[()]


def method(frame: Frame, node: ast.Call, base: Value) -> Value:
    """Call a method of an array that gives another view of it."""
    assert isinstance(node.func, ast.Attribute)
    name = node.func.attr
    if isinstance(base, Grid) and name == "sync" and not node.args:
        frame.machine.barrier(node, frame.mask, of_grid=True)
        frame.machine.hazards.grid_barrier()
        return None
    if isinstance(base, View) and not node.keywords:
        try:
            match name:
                case "reshape":
                    sizes = tuple(size for a in node.args for size in _flat(frame.value(a)))
                    return base.reshape(_fixed(frame, node, sizes))
                case "transpose" if not node.args:
                    return base.transpose()
                case "view" if len(node.args) == 1:
                    return base.view(dtype_argument(frame, node.args[0]))
        except ValueError as error:
            raise frame.wrong(node, str(error)) from None
    elif name == "view" and len(node.args) == 1 and not node.keywords and not types.is_no_number(base):
        dtype = dtype_argument(frame, node.args[0])
        if isinstance(node.args[0], ast.Constant):
            raise frame.none_of_numba(node, ast.unparse(node), f"{ast.unparse(node.func)}(np.{dtype})")
        return types.same_bits(frame, node, base, dtype)
    elif not node.args and not node.keywords and not types.is_no_number(base):
        if name == "conjugate":
            return np.conjugate(base)
        if name == "bit_count":
            return intrinsics.popc(base)
    what = f".{name}(...) ({ast.unparse(node)})"
    if isinstance(base, View) and name in OF_ARRAYS:
        raise frame.wrong(node, english("{code} is not a function; leave out ()", code=ast.unparse(node.func)))
    if isinstance(base, View):
        raise frame.unknown(node, what, f"array.{name}", ())
    raise frame.left_out(node, what)


def _flat(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else (value,)


def _fixed(frame: Frame, node: ast.AST, sizes: tuple[Value, ...]) -> tuple[int, ...]:
    for size in sizes:
        if isinstance(size, np.ndarray) or dtype_of(size).kind not in "iu":
            raise frame.refuse(node, english("a shape that differs between threads ({code})", code=ast.unparse(node)))
    return tuple(int(size) for size in sizes)


def dtype_argument(frame: Frame, node: ast.expr) -> Dtype:
    """Return the dtype that an expression names: ``float32``, ``np.float32``, ``"float32"``, ``a.dtype``."""
    if isinstance(node, ast.Attribute) and node.attr == "dtype":
        dtype = frame.value(node)
    elif isinstance(node, ast.Constant):
        dtype = as_dtype(node.value)
    else:
        dtype = as_dtype(frame.names.constant(node))
    if isinstance(dtype, np.dtype) and not is_known(dtype):
        raise frame.refuse(node, english("an array of {dtype}", dtype=dtype))
    if not isinstance(dtype, np.dtype):
        raise frame.wrong(node, english("{code} is not a known dtype", code=ast.unparse(node)))
    return dtype


def local_array(frame: Frame, node: ast.Call) -> View:
    """Return the local array that ``cuda.local.array`` declares, the same one whenever it is reached."""
    view = frame.local_arrays.get(node)
    if view is None:
        arguments = dict(zip(("shape", "dtype"), node.args, strict=False))
        arguments |= {k.arg: k.value for k in node.keywords if k.arg}
        shape = _fixed(frame, node, _flat(frame.value(arguments["shape"])))
        dtype = dtype_argument(frame, arguments["dtype"])
        name = f"local array at line {node.lineno}"
        view = frame.local_arrays[node] = frame.machine.local_array(frame.local_memory, name, shape, dtype)
    return view


def constant_view(machine: Machine, name: str, array: np.ndarray[Any, Any] | np.void) -> View:
    """Return an array of the module as a kernel sees it: a constant, which it can only read."""
    cached = machine.constants.get(id(array))
    if cached is None:
        flat = np.ascontiguousarray(np.asarray(array, array.dtype))
        machine.reserve(flat.nbytes)
        memory = Memory("constant", flat.reshape(-1).view(np.uint8), 0)
        view = View(name, memory, flat.dtype, array.shape, c_strides(array.shape), 0)
        cached = machine.constants[id(array)] = (array, view)
    return cached[1]


def item(frame: Frame, node: ast.Subscript, base: tuple[Value, ...], parts: tuple[Value, ...]) -> Value:
    """Return an item of a tuple, or a part of it."""
    (index,) = parts if len(parts) == 1 else (None,)
    if index is not None and not isinstance(index, slice) and _differ(base) and not _is_written_out(frame, node.slice):
        what = english("{code}, a tuple of several types at an index that is not a constant", code=ast.unparse(node))
        raise frame.none_of_numba(node, what)
    if isinstance(index, slice):
        ends = (index.start, index.stop, index.step)
        if all(end is None or type(end) is int for end in ends):
            return base[index]
    elif index is not None and not isinstance(index, np.ndarray):
        if isinstance(evaluate(node.slice, {}), int) or dtype_of(index).kind in "iu":
            at = int(index)
            if not -len(base) <= at < len(base):
                what = english("{code}: index {index} of a tuple of {n}", code=ast.unparse(node), index=at, n=len(base))
                raise frame.wrong(node, what)
            return base[at]
    elif isinstance(index, np.ndarray) and index.dtype.kind in "iu":
        return _pick(frame, node, base, index)
    raise frame.refuse(node, english("{code}: this index into a tuple", code=ast.unparse(node)))


def _differ(items: tuple[Value, ...]) -> bool:
    """Tell whether items of a tuple have several types."""
    return any(kind_of(item) != kind_of(items[0]) for item in items[1:])


def _is_written_out(frame: Frame, index: ast.expr) -> bool:
    """Tell whether Numba knows an index when it compiles, the number of a loop that it unrolls included."""
    if isinstance(index, ast.Name) and index.id in frame.names.locals:
        loops = (part for part in ast.walk(frame.function.node) if isinstance(part, ast.For))
        for loop in loops:
            is_target = any(isinstance(part, ast.Name) and part.id == index.id for part in ast.walk(loop.target))
            if is_target:
                return _unrolls(frame, loop.iter)
    return frame.names.literal(index) is not None


def check_items(frame: Frame, node: ast.expr, items: tuple[Value, ...]) -> None:
    """Refuse a loop over a tuple of several types, but for one that is unrolled."""
    if _differ(items) and not _unrolls(frame, node):
        what = english("a loop over {code}, a tuple of several types", code=ast.unparse(node))
        raise frame.none_of_numba(node, what, english("literal_unroll(...), imported from numba.cuda"))


def _unrolls(frame: Frame, node: ast.expr) -> bool:
    """Tell whether Numba unrolls a loop over this: it looks for the function by its own name."""
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return named and frame.canonical(node.func) == "cuda.literal_unroll"  # type: ignore[attr-defined]


def _pick(frame: Frame, node: ast.Subscript, base: tuple[Value, ...], index: np.ndarray[Any, Any]) -> Value:
    """Return the item that each thread picks; a tuple picked by a variable holds items of one kind."""
    if base and all(isinstance(index, tuple) and len(index) == len(base[0]) for index in base):
        return tuple(_pick(frame, node, part, index) for part in zip(*base, strict=True))
    place = np.clip(np.where(index < 0, index + len(base), index), 0, len(base) - 1)
    if any(isinstance(part, tuple | View | str) or part is None for part in base) or not base:
        raise frame.refuse(node, english("{code}: an index that differs between threads", code=ast.unparse(node)))
    return np.choose(place, [np.broadcast_to(np.asarray(part), index.shape) for part in base])
