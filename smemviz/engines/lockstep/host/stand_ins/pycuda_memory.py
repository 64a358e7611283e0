"""Memory of the device as PyCUDA gives it to a script, where that is not installed: NumPy's."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.host.stand_ins.arrays import Memory, address, bytes_at, ndarray
from smemviz.engines.lockstep.host.stand_ins.modules import Known, Nothing, nothing
from smemviz.engines.lockstep.host.stand_ins.pycuda_driver import FLAGS


class DeviceAllocation(Memory):
    """Bytes of the device."""

    _of = "pycuda.driver."

    def __int__(self) -> int:
        return self.ptr

    __index__ = __int__

    def __add__(self, offset: int) -> int:
        return self.ptr + offset

    free = nothing  # Python does, when nobody knows it any more


class MemoryPool(Nothing):
    """A pool of memory of the device, which gives nothing back."""

    _of = "pycuda.tools."
    free_held = stop_holding = nothing

    def allocate(self, size: int) -> DeviceAllocation:
        return DeviceAllocation(size)


class HostArray(np.ndarray[Any, Any]):
    """An array of the host that the device reaches, too; what is computed of it is the host's alone."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return an array, or a number, as NumPy has it."""
        return np.asarray(array)[()] if return_scalar else np.asarray(array)

    @property
    def base(self) -> Any:
        """Its memory, which tells its address on the device."""
        return HostAllocation(self)


class Managed(HostArray):
    """One of managed memory, which is an argument of a kernel as it is."""


class HostAllocation(Known):
    """The memory of an array of the host."""

    _of = "pycuda.driver."
    attach_async = unregister = free = staticmethod(nothing)

    def __init__(self, array: HostArray) -> None:
        self._array = array

    def get_device_pointer(self) -> int:
        return address(self._array)


def host_arrays(function: Any, kind: type[HostArray]) -> Any:
    """Return a function of NumPy that makes arrays which the device reaches, if its flags ask for that."""

    def made(*args: Any, mem_flags: int = 0, **kwargs: Any) -> Any:
        array = function(*args, **kwargs)
        return array.view(kind) if kind is Managed or mem_flags & FLAGS["host_alloc_flags"].DEVICEMAP else array

    return made


class GPUArray(ndarray):
    """An array of the device."""

    def __new__(
        cls,
        shape: Any,
        dtype: Any,
        allocator: Any = None,
        base: Any = None,
        gpudata: Any = None,
        strides: Any = None,
        order: Any = "C",
    ) -> GPUArray:
        """Make an array of zeros: what is in new memory is not told; or one of memory that is there."""
        held = None if gpudata is None else DeviceAllocation(0, int(gpudata))
        return super().__new__(cls, shape, dtype, held, strides, order)  # type: ignore[return-value]

    @property
    def mem_size(self) -> int:
        return self.size

    @property
    def gpudata(self) -> DeviceAllocation:
        return DeviceAllocation(self.nbytes, address(self))

    @property
    def ptr(self) -> int:
        return address(self)

    def get(self, ary: Any = None, *_: Any, **__: Any) -> Any:  # type: ignore[override]
        return super().get(out=ary) if ary is not None else super().get()

    def get_async(self, stream: Any = None, ary: Any = None) -> Any:
        return self.get(ary)

    def set(self, ary: Any, async_: bool = False, stream: Any = None) -> None:  # type: ignore[override]
        self[...] = ary

    set_async = set

    def fill(self, value: Any, stream: Any = None) -> GPUArray:  # type: ignore[override]
        super().fill(value)
        return self


class In:
    """An array of the host that a kernel gets a copy of."""

    def __init__(self, array: NDArray[Any]) -> None:
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            raise ValueError("ndarray is not contiguous")
        self.array = array

    def on_device(self) -> NDArray[Any]:
        return self.array.copy(order="K")

    def bring_back(self, copy: NDArray[Any]) -> None:
        """Leave the array of the host as it is."""


class InOut(In):
    """One that what the kernel leaves in it is copied back to."""

    def bring_back(self, copy: NDArray[Any]) -> None:
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


_COPIES = {"memcpy_htod": copy_to_device, "memcpy_dtoh": copy_to_host, "memcpy_dtod": copy_on_device}
_MADE = ("empty", "zeros", "empty_like", "zeros_like")
_NUMBERS = (np.uint8, np.uint16, np.uint32)

MEMORY: dict[str, Any] = {
    **_COPIES,
    **{f"{name}_async": copy for name, copy in _COPIES.items()},
    **{f"memset_d{8 * np.dtype(kind).itemsize}": fill_of(kind) for kind in _NUMBERS},
    **{kind.__name__: kind for kind in (DeviceAllocation, In, InOut, Out)},
    **{f"pagelocked_{name}": host_arrays(getattr(np, name), HostArray) for name in _MADE},
    **{f"managed_{name}": host_arrays(getattr(np, name), Managed) for name in _MADE},
    "mem_alloc": DeviceAllocation,
    "mem_alloc_like": lambda array: DeviceAllocation(array.nbytes),
    "to_device": to_device,
    "from_device": from_device,
    "from_device_like": lambda devptr, other: from_device(devptr, other.shape, other.dtype),
}

# What gpuarray and cumath have of NumPy, under its names or C's.
_ARRAYS = """
all any arange concatenate dot logical_and logical_not logical_or max maximum min minimum ones ones_like reshape stack
sum take transpose where zeros zeros_like
"""
_MATH = "ceil cos cosh exp fabs floor fmod frexp ldexp log log10 modf sin sinh sqrt tan tanh"
_MATH_OF_C = {"acos": np.arccos, "asin": np.arcsin, "atan": np.arctan}
ARRAYS: dict[str, Any] = {name: making_on_device(getattr(np, name)) for name in _ARRAYS.split()}
ARRAYS |= {"GPUArray": GPUArray, "empty": ARRAYS["zeros"], "empty_like": ARRAYS["zeros_like"]}
ARRAYS |= {"if_positive": making_on_device(lambda criterion, then, other: np.where(criterion > 0, then, other))}
ARRAYS |= dict.fromkeys(("to_gpu", "to_gpu_async"), making_on_device(np.array))
CUMATH = {name: making_on_device(getattr(np, name)) for name in _MATH.split()}
CUMATH |= {name: making_on_device(function) for name, function in _MATH_OF_C.items()}


def random_arrays() -> dict[str, Any]:
    """Return what ``curandom`` has: other numbers than PyCUDA's, the same for each run."""
    generator = np.random.default_rng(0)

    def rand(shape: Any, dtype: Any = np.float32) -> Any:
        if np.dtype(dtype).kind == "f":
            return generator.random(shape, np.float64).astype(dtype)
        return generator.integers(0, 1 << 32, shape, np.uint64).astype(dtype)

    return {"rand": making_on_device(rand)}
