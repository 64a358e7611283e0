"""The memory of tensors, as arrays of NumPy."""

import gc
import importlib
import sys
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.host.arguments import Extent


class ArrayArgument:
    """An array of NumPy as Triton takes it."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.dtype = array.dtype
        self.shape = array.shape

    def data_ptr(self) -> int:
        """Return its address."""
        return int(self.array.ctypes.data)

    def stride(self, axis: int | None = None) -> Any:
        """Return the elements from one index to the next, of one axis or of each."""
        strides = tuple(step // self.array.itemsize for step in self.array.strides)
        return strides if axis is None else strides[axis]


def as_argument(value: Any) -> Any:
    """Return an argument of a kernel as Triton takes it."""
    return ArrayArgument(value) if isinstance(value, np.ndarray) else value


def storage_of(tensor: Any, copies: dict[int, NDArray[Any]]) -> tuple[NDArray[Any], int]:
    """Return all memory of a tensor of torch or an array of NumPy, and at which byte of it this begins.

    Where the tensor is all of it, the array has its shape. Memory of a GPU is copied, once for all tensors in it:
    ``copies`` has what is copied already, by its address.
    """
    if hasattr(tensor, "base") and hasattr(tensor.base, "data_ptr"):  # what triton.reinterpret returns
        return storage_of(tensor.base, copies)
    if isinstance(tensor, ArrayArgument):
        return _of_array(tensor.array)
    torch = importlib.import_module("torch")
    with torch._C.DisableTorchFunction(), torch.no_grad():
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in copies:
            memory = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
            copies[storage.data_ptr()] = memory.cpu().numpy()
        flat = copies[storage.data_ptr()]
        offset = tensor.data_ptr() - storage.data_ptr()
        dtype = _dtype(str(tensor.dtype).removeprefix("torch."))
        whole = flat[: len(flat) // dtype.itemsize * dtype.itemsize].view(dtype)
        is_all = offset == 0 and tensor.is_contiguous() and tensor.numel() == whole.size
        return (whole.reshape(tuple(tensor.shape)) if is_all else whole), offset


def storages(copies: dict[int, NDArray[Any]]) -> list[Extent]:
    """Return the memory of all tensors of torch that there are; ``copies`` is as for ``storage_of``."""
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    tensors = [value for value in gc.get_objects() if issubclass(type(value), torch.Tensor)]
    with torch._C.DisableTorchFunction():
        held = [(tensor.untyped_storage(), tensor) for tensor in tensors if tensor.layout is torch.strided]
        return [
            (storage.data_ptr(), storage.nbytes(), partial(_memory, tensor, copies))
            for storage, tensor in held
            if storage.data_ptr()
        ]


def _memory(tensor: Any, copies: dict[int, NDArray[Any]]) -> NDArray[Any]:
    return storage_of(tensor, copies)[0]


def _of_array(array: NDArray[Any]) -> tuple[NDArray[Any], int]:
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if not (owner.flags.c_contiguous or owner.flags.f_contiguous) or owner.dtype != array.dtype:
        owner = array
    return owner, array.ctypes.data - owner.ctypes.data


def _dtype(name: str) -> np.dtype[Any]:
    """Return NumPy's type of a name of torch's; what NumPy has not are the bits of it."""
    if name == "bfloat16":
        return np.dtype(np.uint16)
    return np.dtype(np.uint8) if name.startswith("float8") else np.dtype(name)
