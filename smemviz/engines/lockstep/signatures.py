"""The types that kernels and device functions are declared with: numbers are cast to them."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from smemviz.engines.launch_shape import launch_place
from smemviz.engines.lockstep.memory.arguments import Hint
from smemviz.engines.lockstep.values.typing import Dtype, cast, dtype_of
from smemviz.errors import KernelFileError
from smemviz.frontends.numba.python_functions import as_dtype, declared_signatures

Signature = tuple[Sequence[Any], Any]  # Numba's types of the arguments, and of the result, None where it is not told


@dataclass(frozen=True)
class Signatures:
    """The signatures of one function."""

    all: tuple[Signature, ...] = ()

    def launched_with(self, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return a launch's arguments cast to the types of the first signature that takes them, if any does."""
        for types, _ in self.all:
            if len(types) == len(arguments) and all(map(_fits, types, arguments)):
                return tuple(map(_number_as, types, arguments))
        return None

    def types(self, count: int) -> tuple[tuple[Dtype | None, ...], Dtype | None] | None:
        """Return what so many arguments and the result of a call are cast to; None where that depends on them."""
        fitting = self._of(count)
        if len(fitting) > 1:
            return None
        return next(((tuple(map(_number_type, types)), _number_type(result)) for types, result in fitting), ((), None))

    def call(self, arguments: dict[str, Any], run: Callable[[dict[str, Any]], Any]) -> Any:
        """Return what ``run`` makes of a device function's arguments, all cast as its signature has it, if any."""
        fitting = self._of(len(arguments))
        if not fitting:
            return run(arguments)
        own = [signature for signature in fitting if all(map(_is_of, signature[0], arguments.values()))]
        types, result = (own or fitting)[0]
        pairs = zip(arguments.items(), types, strict=True)
        return _number_as(result, run({name: _number_as(numba_type, value) for (name, value), numba_type in pairs}))

    def _of(self, count: int) -> list[Signature]:
        return [signature for signature in self.all if len(signature[0]) == count]


def signatures_of(called: Any) -> Signatures:
    """Return the signatures of what a kernel calls: lockstep's own, or that of a script that Numba has compiled."""
    own = getattr(called, "declared", None)
    if isinstance(own, Signatures):
        return own
    return Signatures(tuple((signature.args, signature.return_type) for signature in declared_signatures(called)))


def read_signatures(file: str, declared: Any) -> Signatures:
    """Return signatures as a file writes them: text or Numba's objects, one or a list.

    Raises:
        KernelFileError: when they cannot be read.
    """
    if declared is None:
        return Signatures()
    sigutils = importlib.import_module("numba.core.sigutils")
    try:
        written = declared if isinstance(declared, list) else [declared]
        return Signatures(tuple(sigutils.normalize_signature(signature) for signature in written))
    except Exception as error:  # Numba evaluates the text: whatever is wrong in it comes out here
        text = f"the signature {declared!r} cannot be read: {error}"
        raise KernelFileError(*launch_place(file), text) from None


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | complex | np.generic | np.ndarray)


def _number_as(numba_type: Any, value: Any) -> Any:
    dtype = _number_type(numba_type)
    return value if dtype is None or not _is_number(value) else cast(value, dtype)


def _is_of(numba_type: Any, value: Any) -> bool:
    dtype = _number_type(numba_type)
    return dtype is None or (_is_number(value) and dtype_of(value) == dtype)


def _number_type(numba_type: Any) -> Dtype | None:
    dtype = as_dtype(numba_type)
    return None if dtype is None or dtype.fields is not None else dtype


def _fits(numba_type: Any, value: Any) -> bool:
    value = value.value if isinstance(value, Hint) else value
    is_array = hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, np.generic)
    if hasattr(numba_type, "ndim") and hasattr(numba_type, "dtype"):
        return is_array and value.ndim == numba_type.ndim and as_dtype(numba_type.dtype) == value.dtype
    return not is_array
