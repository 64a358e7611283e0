"""Device memory on the host: what ``cuda.to_device`` and its kin give a kernel file's ``main()``."""

from __future__ import annotations

import math
import sys
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from smemviz.engines.lockstep.memory.memory import Memory, View
from smemviz.messages import english

_FIRST_ADDRESS = 0x7000_0000_0000
_ALIGNMENT = 256


class AddressSpace:
    """Hands out the addresses of allocations, each aligned to 256 bytes as the device's are; they are invented."""

    def __init__(self) -> None:
        self._next = _FIRST_ADDRESS

    def allocate(self, nbytes: int) -> Memory:
        """Return new memory, filled with zeros."""
        memory = Memory("global", np.zeros(-(-nbytes // 16) * 16, np.uint8), self._next)
        self._next += max(1, -(-nbytes // _ALIGNMENT)) * _ALIGNMENT
        return memory


class DeviceArray:
    """An array in device memory. ``array`` is a NumPy view into the bytes of ``memory``."""

    def __init__(self, memory: Memory, array: NDArray[Any], offset: int | None = None) -> None:
        """``offset`` is bytes from the start of the memory to the first element, where they are known."""
        self.memory = memory
        self.array = array
        self._offset = offset

    # What NumPy says of an array.
    shape = property(attrgetter("array.shape"))
    dtype = property(attrgetter("array.dtype"))
    strides = property(attrgetter("array.strides"))
    flags = property(attrgetter("array.flags"))
    ndim = property(attrgetter("array.ndim"))
    size = property(attrgetter("array.size"))
    itemsize = property(attrgetter("array.itemsize"))
    nbytes = alloc_size = property(attrgetter("array.nbytes"))

    @property
    def T(self) -> DeviceArray:  # noqa: N802 - NumPy's name
        return self.transpose()

    @property
    def offset(self) -> int:
        """Bytes from the start of the memory to the first element."""
        if self._offset is None:
            start = self.memory.data.__array_interface__["data"][0]
            self._offset = int(self.array.__array_interface__["data"][0] - start) if self.array.size else 0
        return self._offset

    @property
    def address(self) -> int:
        """The byte address of the first element."""
        return self.memory.base + self.offset

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """What other libraries ask of an array of the device."""
        address = self.address if self.array.size else 0
        strides = None if self.array.flags.c_contiguous else self.strides
        described = {"shape": self.shape, "strides": strides, "typestr": self.dtype.str, "descr": self.dtype.descr}
        return {**described, "data": (address, False), "version": 3}

    __cuda_ndarray__ = True

    @property  # type: ignore[misc]  # read only
    def __class__(self) -> Any:
        """Numba's class, where a program may ask whether this is one of it."""
        numba: Any = sys.modules.get("numba.cuda.cudadrv.devicearray")
        return DeviceArray if numba is None else numba.DeviceNDArray

    def __len__(self) -> int:
        return len(self.array)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(np.ndarray, name):
            what = english("a device array has no {name}, in Numba either; copy it to the host", name=name)
            raise AttributeError(f"{what}: .copy_to_host().{name}")
        raise AttributeError(f"'DeviceNDArray' object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.array, dtype=dtype)

    def __getitem__(self, index: Any) -> Any:
        part = self.array[index]
        if isinstance(part, np.ndarray) and np.shares_memory(part, self.array):
            return DeviceArray(self.memory, part)
        return part

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[index] = value.array if isinstance(value, DeviceArray) else value

    def setitem(self, index: Any, value: Any, stream: Any = 0) -> None:
        self[index] = value

    def getitem(self, index: Any, stream: Any = 0) -> Any:
        return self[index]

    def copy_to_host(self, ary: NDArray[Any] | None = None, stream: Any = 0) -> NDArray[Any]:
        if ary is None:
            return self.array.copy(order="F" if self.array.flags.f_contiguous else "C")
        _check_same(self.array, ary)
        ary[...] = self.array
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        source = ary.array if isinstance(ary, DeviceArray) else np.asarray(ary)
        _check_same(self.array, source)
        self.array[...] = source

    def reshape(self, *shape: Any, order: Any = "C") -> DeviceArray:
        sizes = shape[0] if len(shape) == 1 else shape
        changed = self.array.reshape(sizes, order=order)
        if not np.shares_memory(changed, self.array) and self.array.size:
            raise NotImplementedError("reshape of a device array whose elements are not contiguous")
        return DeviceArray(self.memory, changed)

    def ravel(self, order: str = "C", stream: Any = 0) -> DeviceArray:
        return self.reshape(-1, order=order)

    def squeeze(self, axis: Any = None, stream: Any = 0) -> DeviceArray:
        return DeviceArray(self.memory, self.array.squeeze(axis))

    def split(self, section: int, stream: Any = 0) -> list[DeviceArray]:
        """Return the parts of so many elements that the array is made of."""
        return [self[begin : begin + section] for begin in range(0, self.size, section)]

    def view(self, dtype: Any) -> DeviceArray:
        return DeviceArray(self.memory, self.array.view(dtype))

    def transpose(self, axes: Any = None) -> DeviceArray:
        return DeviceArray(self.memory, self.array.transpose(axes))

    def is_c_contiguous(self) -> bool:
        return self.array.flags.c_contiguous

    def is_f_contiguous(self) -> bool:
        return self.array.flags.f_contiguous

    def bind(self, stream: Any = 0) -> DeviceArray:
        return self


def _check_same(left: NDArray[Any], right: NDArray[Any]) -> None:
    if left.shape != right.shape:
        raise ValueError(f"shapes differ: {left.shape} and {right.shape}")
    if left.dtype != right.dtype:
        raise TypeError(f"dtypes differ: {left.dtype} and {right.dtype}")


def to_device(space: AddressSpace, value: Any) -> DeviceArray:
    """Copy an array into new device memory, in C order or, where it is so already, in Fortran order.

    Of one that was broadcast each element is there once, as with Numba: its strides of 0 stay.
    """
    array = value.array if isinstance(value, DeviceArray) else np.asarray(value)
    once = array
    if array.size and not array.flags.c_contiguous:
        once = array[tuple(slice(None) if stride else slice(1) for stride in array.strides)]
    if not (once.flags.c_contiguous or once.flags.f_contiguous):
        raise ValueError("the array is not contiguous and cannot be copied to the device; copy it first")
    order = "C" if once.flags.c_contiguous else "F"
    copy = device_array(space, once.shape, array.dtype, order=order)
    copy.array[...] = once
    if once.shape == array.shape:
        return copy
    strides = (stride and own for stride, own in zip(array.strides, copy.array.strides, strict=True))
    return DeviceArray(copy.memory, as_strided(copy.array, array.shape, tuple(strides)))


def device_array(space: AddressSpace, shape: Any, dtype: Any, order: str = "C") -> DeviceArray:
    """Return a new array in device memory, filled with zeros."""
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (int(shape),)
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise TypeError(f"the device has no arrays of {kind}")
    nbytes = kind.itemsize * math.prod(map(int, sizes))
    memory = space.allocate(nbytes)
    flat = memory.data[:nbytes].view(kind)
    return DeviceArray(memory, flat.reshape(sizes, order=order), 0)


def kernel_view(name: str, array: DeviceArray) -> View:
    """Return an array as a kernel sees it.

    Raises:
        ValueError: when its strides are no whole number of elements.
    """
    shown, offset = array.array, array.offset
    itemsize = shown.dtype.itemsize
    if any(stride % itemsize for stride in shown.strides) or offset % itemsize:
        what = english(
            "{name}: strides of {strides} bytes are not whole elements of {itemsize}",
            name=name,
            strides=shown.strides,
            itemsize=itemsize,
        )
        raise ValueError(what)
    strides = tuple(stride // itemsize for stride in shown.strides)
    return View(name, array.memory, shown.dtype, shown.shape, strides, offset // itemsize)
