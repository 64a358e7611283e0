"""A kernel in Python as PTX whose accesses name their sites, by Numba's own compiler; no GPU and no driver."""

from __future__ import annotations

import ast
import importlib
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from smemviz.engines.instrument import instrument, python_function
from smemviz.engines.lockstep.machine_code.accessors import ARRAY, accessors, without_rounds
from smemviz.engines.lockstep.memory.arguments import described
from smemviz.engines.lockstep.ptx.code.module import PtxError
from smemviz.engines.lockstep.ptx.code.parse import parse
from smemviz.engines.lockstep.ptx.compiled.running import CompiledKernel, compile_kernel
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.sites import SiteMap
from smemviz.engines.lockstep.ptx.steps import steps_of
from smemviz.engines.lockstep.running_launch import COMPUTE_CAPABILITY
from smemviz.engines.process import replaced
from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.assigned import doubtful_in
from smemviz.frontends.numba.sites import SiteTable
from smemviz.recordings.data import Site

_ENTRY = re.compile(r"\.entry (\w+)")
_LEFT_TO_THE_INTERPRETER = (ast.Raise, ast.Assert, ast.Try)


class NamedSites(SiteMap):
    """The sites of a kernel whose PTX names them itself."""

    def __init__(self, kernel: Kernel, sites: tuple[Site, ...]) -> None:
        self.sites = sites
        self._numbers = {}
        for instruction in kernel.body:
            named = [int(word.removeprefix("site")) for word in instruction.words if word.startswith("site")]
            for number in named:
                space = sites[number].space
                self._numbers.update(((raw, space), number) for raw in kernel.sites_of(instruction))

    def dtype_of_store(self, site: int, addresses: object, placed: object) -> np.dtype[Any]:
        """Return the type of the elements that a site stores."""
        return np.dtype(self.sites[site].dtype)


@dataclass(frozen=True)
class MachineCode:
    """A kernel in PTX, its sites, and what it was compiled to."""

    kernel: Kernel
    sites: NamedSites
    code: CompiledKernel


def types_of(arguments: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return Numba's types of arguments, None where it has none or is not here."""
    try:
        from numba.cuda.typing.typeof import Purpose, typeof

        return tuple(typeof(described(value), Purpose.argument) for value in arguments)
    except (ImportError, ValueError, TypeError):
        return None


def compiled(table: SiteTable, types: tuple[Any, ...] | None) -> MachineCode | None:
    """Compile a kernel for arguments of such types, None where it is left to the interpreter.

    That are kernels which raise errors, have arrays of local memory or variables that may mean nothing, accesses that
    are not those of one element in a register, and what Numba or its compiler, libNVVM, does not take or is not here.
    """
    if types is None or any(_is_left(function.node) for function in table.root.functions):
        return None
    try:
        ptx = without_rounds(_ptx(table, types))
        module = parse(ptx)
        entry = _ENTRY.search(ptx)
        kernel = Kernel(module, entry[1] if entry else "")
        steps_of(kernel)  # which notes what accesses memory
    except (UnsupportedError, PtxError):
        return None
    code = compile_kernel(kernel)
    if code is None:
        return None
    return MachineCode(kernel, NamedSites(kernel, table.sites), code)


def symbols_of(addresses: Sequence[int]) -> dict[str, int]:
    """Return what the PTX calls the generic addresses of shared arrays, in order of their declarations."""
    return {f"{ARRAY}{number}": address for number, address in enumerate(addresses)}


def _is_left(function: ast.FunctionDef) -> bool:
    nodes = list(ast.walk(function))
    raises = any(isinstance(node, _LEFT_TO_THE_INTERPRETER) for node in nodes)
    has_local = any(isinstance(node, ast.Attribute) and node.attr == "local" for node in nodes)
    return raises or has_local or bool(doubtful_in(function).names)


@contextmanager
def _without_device() -> Iterator[None]:
    """Let Numba compile for the compute capability of lockstep, whatever device is here, and where none is."""
    device = SimpleNamespace(compute_capability=COMPUTE_CAPABILITY)
    with ExitStack() as stack:
        for name in ("numba.cuda.dispatcher", "numba.cuda.compiler"):
            stack.enter_context(replaced(importlib.import_module(name), {"get_current_device": lambda: device}))
        yield


def _of_numba(value: Any) -> Any:
    """Return what Numba knows a name of a kernel file as, which stands for something of lockstep's."""
    if isinstance(value, ModuleType) and value.__name__ == "numba.cuda":
        return importlib.import_module("numba.cuda")
    if getattr(value, "__module__", "") == "numba.cuda" and hasattr(value, "__qualname__"):
        return operator.attrgetter(value.__qualname__)(importlib.import_module("numba.cuda"))
    return value


def _ptx(table: SiteTable, types: tuple[Any, ...]) -> str:
    """Have Numba compile a kernel.

    Raises:
        UnsupportedError: where it does not.
    """
    named = accessors(table.sites)
    try:
        return ptx_of(lambda: python_function(instrument(table), named, _of_numba), types)
    except UnsupportedError:
        raise
    except Exception as error:  # whatever Numba, llvmlite and libNVVM may raise
        function = table.root.function
        raise UnsupportedError(function.file, function.node.lineno, f"not compiled: {error}") from error


def ptx_of(load: Callable[[], Any], types: tuple[Any, ...]) -> str:
    """Return what Numba compiles the function that ``load`` returns to, as a kernel; its error is raised."""
    from numba.cuda.compiler import compile as compile_python

    with _without_device(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Lines tell barriers apart.
        options = {"device": False, "abi": "numba", "cc": COMPUTE_CAPABILITY, "lineinfo": True}
        return str(compile_python(load(), types, **options)[0])
