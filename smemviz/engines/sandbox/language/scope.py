"""The modules that text from a browser may import, and the exceptions that it raises and catches.

A limit or a refusal ends the run; it is none of these exceptions, so no text catches it.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from smemviz.engines.lockstep.host.cuda import Cuda, CudaSupportError, device_names
from smemviz.engines.sandbox.language.known import MATH, module, numpy_module
from smemviz.errors import PlaceError, UnsupportedError
from smemviz.messages import english
from smemviz.recordings.vocabulary import DTYPES


@dataclass(frozen=True)
class Kind:
    """A class of exceptions; text names, calls and raises it."""

    raised: type[Exception]


@dataclass(frozen=True)
class Caught:
    """An exception as text holds it: its class and what it says."""

    raised: type[Exception]
    what: str

    def __str__(self) -> str:
        return self.what

    def __repr__(self) -> str:
        return f"{self.raised.__name__}({self.what!r})"


class Raised(Exception):  # noqa: N818 - the text's, not an error of the sandbox
    """An exception on its way through the text; ``error`` ends the run when nothing catches it."""

    def __init__(self, caught: Caught, error: PlaceError) -> None:
        self.caught = caught
        self.error = error


class ReturnSignal(Exception):  # noqa: N818 - no error
    """A function returns ``value``."""

    def __init__(self, value: Any) -> None:
        self.value = value


class BreakSignal(Exception):  # noqa: N818 - no error
    """A loop ends."""


class ContinueSignal(Exception):  # noqa: N818 - no error
    """A loop goes on with its next item."""


SIGNALS = (ReturnSignal, BreakSignal, ContinueSignal)

_KINDS = (
    *(Exception, ArithmeticError, AssertionError, AttributeError, FloatingPointError, ImportError, IndexError),
    *(KeyError, LookupError, ModuleNotFoundError, NameError, NotImplementedError, OSError, OverflowError),
    *(RuntimeError, StopIteration, TypeError, ValueError, ZeroDivisionError),
)
KINDS = {kind.__name__: Kind(kind) for kind in _KINDS}


# What of ``numba.cuda`` the host part may call; kernels have the lockstep engine's own tables.
_HOST_CUDA = {
    "jit",
    "to_device",
    "device_array",
    "device_array_like",
    "pinned_array",
    "pinned_array_like",
    "mapped_array",
}
_HOST_CUDA |= {"synchronize", "stream", "event", "event_elapsed_time", "is_available"}
_HOST_CUDA |= {"CudaSupportError", "defer_cleanup", "pinned"}


def modules(file: str) -> dict[str, ModuleType]:
    """Return the modules there are, by name."""
    cuda = Cuda(file, _never)
    types = {name: getattr(np, dtype) for name, dtype in DTYPES.items() if hasattr(np, dtype)} | {"bool_": np.bool_}
    types["boolean"] = np.bool_
    numba_types = module("numba.types", types)
    vars(cuda)["CudaSupportError"] = Kind(CudaSupportError)
    vars(cuda)["types"] = numba_types  # in the place of Numba's own module
    return {
        "numpy": numpy_module(),
        "math": module("math", MATH),
        "numba": module("numba", {**types, "cuda": cuda, "types": numba_types}),
        "numba.types": numba_types,
        "numba.cuda": cuda,
    }


def imported(file: str, node: ast.Import | ast.ImportFrom, known: Mapping[str, ModuleType]) -> dict[str, Any]:
    """Return the names that an import binds.

    Raises:
        UnsupportedError: for a module or a name that is not there.
    """
    bound: dict[str, Any] = {}
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if source == "__future__":
                continue
            if node.level or source not in known:
                raise _missing(file, node, "." * node.level + source)
            try:
                bound[alias.asname or alias.name] = member(known[source], alias.name)
            except KeyError:
                raise _missing(file, node, f"{source}.{alias.name}") from None
        else:
            if alias.name not in known:
                raise _missing(file, node, alias.name)
            root = alias.name.partition(".")[0]
            bound[alias.asname or root] = known[alias.name if alias.asname else root]
    return bound


def member(of: ModuleType, name: str) -> Any:
    """Return a member of one of the modules; ``KeyError`` when text may not have it."""
    if name.startswith("_"):
        raise KeyError(name)
    if not isinstance(of, Cuda):
        return vars(of)[name]
    if name in _HOST_CUDA or name in device_names() or name == "types":
        return getattr(of, name)
    raise KeyError(name)


def _missing(file: str, node: ast.stmt, name: str) -> UnsupportedError:
    text = english(
        "{name} is not available in the editor, which has numba, numba.cuda, numpy and math; save the file "
        "and run it with smemviz run",
        name=name,
    )
    return UnsupportedError(file, node.lineno, text)


def _never(*arguments: Any) -> None:
    raise AssertionError("a launch goes through the sandbox, not through the module")
