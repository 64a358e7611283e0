"""Memory of the device: NumPy's under another name, found again by its address."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.launch_shape import launch_place
from smemviz.engines.lockstep.host.stand_ins.modules import Known, Rule
from smemviz.engines.lockstep.ptx.host.arguments import Extent
from smemviz.errors import LaunchError
from smemviz.messages import english

_memory_at: WeakValueDictionary[int, NDArray[Any]] = WeakValueDictionary()  # memory whose address was asked for, by it


def address(array: NDArray[Any]) -> int:
    """Return where an array begins; its memory is found by it while it lasts."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    _memory_at[owner.ctypes.data] = owner
    return int(array.ctypes.data)


def memories() -> list[Extent]:
    """Return the memory whose address was asked for."""
    return [(start, owner.nbytes, functools.partial(np.asarray, owner)) for start, owner in list(_memory_at.items())]


def memory_at(where: int) -> NDArray[np.uint8] | None:
    """Return the bytes from an address to the end of the memory that it is in, None where it is in none."""
    for start, owner in list(_memory_at.items()):
        if start <= where < start + owner.nbytes:
            flat = (owner if owner.flags.c_contiguous else owner.T).reshape(-1).view(np.ndarray)
            return flat.view(np.uint8)[where - start :]
    return None


def bytes_at(where: int, size: int) -> NDArray[np.uint8]:
    """Return so many bytes of the device.

    Raises:
        LaunchError: when they are not there.
    """
    memory = memory_at(where)
    if memory is None or len(memory) < size:
        what = english("there are no {size} bytes of device memory at {address}", size=size, address=hex(where))
        raise LaunchError(*launch_place(""), what)
    return memory[:size]


class Memory(Known):
    """Bytes of the device, of their own or at an address."""

    _of = "cupy.cuda."
    device_id = 0

    def __init__(self, size: int, at: int | None = None) -> None:
        self._bytes = np.zeros(int(size), np.uint8) if at is None else bytes_at(int(at), int(size))
        self.ptr = address(self._bytes)
        self.size = int(size)


class MemoryPointer(Known):
    """A place in the memory of the device."""

    _of = "cupy.cuda."
    device_id = 0

    def __init__(self, mem: Memory, offset: int) -> None:
        self.mem = mem
        self.ptr = mem.ptr + int(offset)

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)

    def copy_from(self, mem: Any, size: int) -> None:
        place = mem.ptr if isinstance(mem, MemoryPointer) else ctypes.cast(mem, ctypes.c_void_p).value
        ctypes.memmove(bytes_at(self.ptr, size).ctypes.data, place or 0, size)

    copy_from_host = copy_from_host_async = copy_from_device = copy_from_async = copy_from

    def memset(self, value: int, size: int) -> None:
        bytes_at(self.ptr, size)[:] = value


class ndarray(np.ndarray[Any, Any]):  # noqa: N801 - CuPy's name
    """An array of the device."""

    def __new__(
        cls, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: Any = "C"
    ) -> ndarray:
        """Make an array of zeros: what is in new memory is not told; or one of memory that is there."""
        if memptr is None:
            return np.zeros(shape, dtype, order).view(cls)
        kind = np.dtype(dtype)
        count = int(np.prod(shape, dtype=np.int64))
        return super().__new__(cls, shape, kind, bytes_at(memptr.ptr, count * kind.itemsize), 0, strides, order)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Keep what is one number in an array, as CuPy does."""
        return array.view(type(self))

    def __getitem__(self, key: Any) -> Any:
        item = super().__getitem__(key)
        if isinstance(item, np.generic):
            return super().__getitem__((*key, ...) if isinstance(key, tuple) else (key, ...))
        return item

    @property
    def data(self) -> Any:
        place = address(self)
        memory = memory_at(place)
        held = Memory(0 if memory is None else len(memory), place) if memory is not None else Memory(0)
        return MemoryPointer(held, 0)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        told = dict(self.__array_interface__)
        place = address(self) if self.size else 0
        return told | {"data": (place, not self.flags.writeable), "version": 3, "stream": 1}

    @property
    def device(self) -> Any:
        return 0

    def get(self, stream: Any = None, order: Any = "C", out: Any = None, blocking: bool = True) -> Any:
        if out is None:
            return np.array(self, order=order, subok=False)
        out[...] = self
        return out

    def set(self, arr: Any, stream: Any = None) -> None:
        self[...] = arr


def on_device(value: Any) -> Any:
    """Return arrays and numbers of NumPy, in lists and tuples too, as arrays of the device."""
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value).view(ndarray)
    return type(value)(map(on_device, value)) if type(value) in (list, tuple) else value


_NUMPY_ONLY = """
ScalarType asmatrix block bmat busday_count busday_offset busdaycalendar bytes_ char character clongdouble complex256
core ctypeslib datetime64 datetime_as_string datetime_data einsum_path emath f2py flexible float128 frompyfunc
fromregex geomspace get_include getbufsize geterr geterrcall histogram_bin_edges info insert is_busday isnat lib
little_endian longdouble ma matrix matvec memmap nanpercentile nanquantile ndenumerate nditer nested_iters object_
polyder polydiv polyint rec recarray record sctypeDict setbufsize seterr seterrcall show_runtime spacing str_ strings
test timedelta64 typecodes typing unstack vecdot vecmat void
"""
_NOT_IN_CUPY = frozenset(_NUMPY_ONLY.split())


def of_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy whose results are on the device."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return on_device(function(*args, **kwargs))

    if isinstance(function, np.ufunc):
        for name in ("reduce", "accumulate", "reduceat", "outer", "at"):
            setattr(called, name, of_numpy(getattr(function, name)))
    return called


def copied_to_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy that copies what comes from the host."""

    def called(a: Any, *args: Any, **kwargs: Any) -> Any:
        for name in ("blocking", "stream"):
            kwargs.pop(name, None)
        return on_device(function(a if isinstance(a, ndarray) else np.array(a), *args, **kwargs))

    return called


def rule_of(module: Any) -> Rule:
    """Return the rule that finds what a module of CuPy's has of NumPy's."""

    def rule(name: str) -> Any:
        if name in _NOT_IN_CUPY:
            raise AttributeError(f"module 'cupy' has no attribute {name!r}")
        attribute = getattr(module, name, None)
        if isinstance(attribute, ModuleType):
            return None
        return of_numpy(attribute) if callable(attribute) and not isinstance(attribute, type) else attribute

    return rule


class Drawing:
    """Random numbers as CuPy draws them, other ones than CuPy's: the same for the same seed."""

    def __init__(self, drawing: Any) -> None:
        self._drawing = drawing

    def __getattr__(self, name: str) -> Any:
        draw = getattr(self._drawing, name)  # NumPy says what it has not
        if not callable(draw):
            return draw

        @functools.wraps(draw)
        def drawn(*args: Any, **kwargs: Any) -> Any:
            if args and isinstance(args[-1], type | np.dtype | str):
                *rest, kwargs["dtype"] = args
                args = tuple(rest)
            dtype = kwargs.pop("dtype", None)
            if name in ("randint", "integers"):
                return on_device(draw(*args, dtype=dtype or int, **kwargs))
            array = on_device(draw(*args, **kwargs))
            return array.astype(dtype) if dtype is not None and array is not None else array

        return drawn


def random_rule(name: str) -> Any:
    """Find what ``cupy.random`` has."""
    if name == "default_rng":
        return lambda seed=None: Drawing(np.random.default_rng(0 if seed is None else seed))
    if name == "RandomState":
        return lambda seed=None, method=None: Drawing(np.random.RandomState(0 if seed is None else seed))
    return getattr(_drawing, name) if hasattr(np.random.RandomState, name) and not name.startswith("_") else None


_drawing = Drawing(np.random.RandomState(0))


def begin() -> None:
    """Draw from the beginning again."""
    _drawing.seed(0)


def testing_rule(name: str) -> Any:
    """Find what ``cupy.testing`` has."""
    return getattr(np.testing, name, None) if name.startswith("assert_") else None
