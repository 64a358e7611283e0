"""Memory of the device as PyCUDA gives it to a script, where that is not installed: NumPy's."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.host.stand_ins.arrays import Memory, address, bytes_at, ndarray


class DeviceAllocation(Memory):
    """Bytes of the device."""

    _of = "pycuda.driver."

    def __int__(self) -> int:
        return self.ptr

    __index__ = __int__

    def __add__(self, offset: int) -> int:
        return self.ptr + offset

    def free(self) -> None:
        """Free nothing: Python does, when nobody knows it any more."""


class GPUArray(ndarray):
    """An array of the device."""

    @property
    def gpudata(self) -> DeviceAllocation:
        """Where it begins."""
        return DeviceAllocation(self.nbytes, address(self))

    @property
    def ptr(self) -> int:
        """The address of where it begins."""
        return address(self)

    def get(self, ary: Any = None, *_: Any, **__: Any) -> Any:  # type: ignore[override]
        """Return a copy in host memory, or fill ``ary``."""
        return super().get(out=ary) if ary is not None else super().get()


class In:
    """An array of the host that a kernel gets a copy of."""

    def __init__(self, array: NDArray[Any]) -> None:
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            raise ValueError("ndarray is not contiguous")
        self.array = array

    def on_device(self) -> NDArray[Any]:
        """Return the copy."""
        return self.array.copy(order="K")

    def bring_back(self, copy: NDArray[Any]) -> None:
        """Leave the host's as it is."""


class InOut(In):
    """One that what the kernel leaves in it is copied back to."""

    def bring_back(self, copy: NDArray[Any]) -> None:
        """Copy what the kernel left."""
        self.array[...] = copy


class Out(InOut):
    """One that only what the kernel leaves in it matters of."""

    def on_device(self) -> NDArray[Any]:
        """Return zeros: what is in new memory is not told."""
        return np.zeros_like(self.array)


def to_device(array: Any) -> DeviceAllocation:
    """Copy an array to new memory of the device."""
    memory = DeviceAllocation(array.nbytes)
    copy_to_device(memory, array)
    return memory


def copy_to_device(dest: Any, src: Any, *_: Any) -> None:
    """Copy an array to the device."""
    flat = np.frombuffer(np.asarray(src).tobytes("A"), np.uint8)
    bytes_at(int(dest), len(flat))[:] = flat


def copy_to_host(dest: NDArray[Any], src: Any, *_: Any) -> None:
    """Fill an array from the device."""
    flat = bytes_at(int(src), dest.nbytes).view(dest.dtype)
    dest[...] = flat.reshape(dest.shape, order="C" if dest.flags.c_contiguous else "F")


def copy_on_device(dest: Any, src: Any, size: int, *_: Any) -> None:
    """Copy bytes of the device."""
    bytes_at(int(dest), size)[:] = bytes_at(int(src), size)


def from_device(devptr: Any, shape: Any, dtype: Any, order: str = "C") -> NDArray[Any]:
    """Return a new array of what is on the device."""
    array = np.empty(shape, dtype, order=order)  # type: ignore[call-overload]
    copy_to_host(array, devptr)
    return array  # type: ignore[no-any-return]


def fill_of(kind: type) -> Any:
    """Return what fills memory with numbers of a kind."""

    def fill(dest: Any, data: int, count: int, *_: Any) -> None:
        bytes_at(int(dest), count * np.dtype(kind).itemsize).view(kind)[:] = data

    return fill


def making_on_device(function: Any) -> Any:
    """Return a function of NumPy whose arrays are on the device; what it takes for the device alone is left out."""

    @functools.wraps(function)
    def called(*args: Any, allocator: Any = None, stream: Any = None, **kwargs: Any) -> Any:
        return np.asarray(function(*args, **kwargs)).view(GPUArray)

    return called
