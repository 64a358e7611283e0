"""CuPy's kernels on a GPU, each launch recorded before it happens."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.gpu.libraries.wrapped import Wrapped, made_after
from smemviz.engines.host import one_line
from smemviz.engines.launch_shape import launch_place
from smemviz.engines.lockstep.host.stand_ins import arrays
from smemviz.engines.lockstep.host.stand_ins.elementwise import ElementwiseKernel
from smemviz.engines.lockstep.host.stand_ins.reduction import ReductionKernel
from smemviz.engines.lockstep.ptx.host.entry import Variables
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels
from smemviz.engines.process import replaced
from smemviz.engines.recorder import Recorder
from smemviz.errors import BlocksError, KernelFileError, LaunchError, MissingError, UnsupportedError
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.messages import english


def passed_copies(values: Sequence[Any], array: type) -> list[Any]:
    """Return a raw kernel's arguments, arrays of the device as the host's with their elements in the same order.

    One array is one.
    """
    copies: dict[tuple[int, int], Any] = {}
    arguments: list[Any] = []
    for value in values:
        argument: Any = value
        if isinstance(value, array):
            if not (argument.flags.c_contiguous or argument.flags.f_contiguous):
                what = english("it is given an array that is not contiguous; copy it first")
                raise UnsupportedError(*launch_place(""), what)
            place = (argument.data.ptr, argument.nbytes)
            if place not in copies:
                copies[place] = argument.get(order="A")
            argument = copies[place]
        elif isinstance(value, np.ndarray):
            argument = value.tobytes()  # by value: CuPy takes those of one element
        elif hasattr(value, "ptr") and not isinstance(value, np.generic):
            argument = int(argument.ptr)
        arguments.append(argument)
    return arguments


def copies_in_place(values: Sequence[Any], array: type) -> list[Any]:
    """Return arguments, arrays of the device as stand-ins whose elements are as far apart; one array is one."""
    copies: dict[tuple[Any, ...], Any] = {}
    arguments: list[Any] = []
    for value in values:
        argument: Any = value
        if isinstance(value, array):
            place = (argument.data.ptr, argument.shape, argument.strides, argument.dtype)
            if place not in copies:
                copies[place] = _in_place(argument).view(arrays.ndarray)
            argument = copies[place]
        arguments.append(argument)
    return arguments


def _in_place(array: Any) -> NDArray[Any]:
    """Return a copy of an array, with what lies between its elements."""
    if not array.size or array.flags.c_contiguous or array.flags.f_contiguous:
        return array.get(order="A")  # type: ignore[no-any-return]
    if min(array.strides) < 0:
        what = english("{name} has a negative stride; copy it first", name="an array")
        raise UnsupportedError(*launch_place(""), what)
    reach = sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))
    cupy = importlib.import_module("cupy")
    between = cupy.ndarray((reach + array.itemsize,), np.uint8, memptr=array.data).get()
    return np.ndarray(array.shape, array.dtype, between, strides=array.strides)


_WRITERS: dict[str, Any] = {"ElementwiseKernel": ElementwiseKernel, "ReductionKernel": ReductionKernel}

_NOTED = ("fuse", "vectorize")


def written_kernels(cupy: Any, kernels: RawKernels, recorder: Recorder) -> dict[str, Any]:
    """Return what takes the places of CuPy's own in its module.

    A launch is recorded as the kernel that the stand-in writes; then CuPy makes its own.
    """

    class Written(Wrapped):
        """A kernel of CuPy's; ``_write`` makes the one that is recorded."""

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            results: list[Any] = []

            def record() -> bool:
                if self._writer is None:
                    self.__dict__["_writer"] = self._write()
                copies = copies_in_place([*args, *kwargs.values()], cupy.ndarray)
                options = dict(zip(kwargs, copies[len(args) :], strict=True))
                harmless, outputs = self._writer.launch(*copies[: len(args)], **options)
                if not harmless:
                    given = [*args[self._writer.nin :], kwargs.get("out")]
                    filled = [array for array in given if array is not None] or map(cupy.asarray, outputs)
                    results.append(self._writer.given_back(list(filled)))
                return bool(harmless)

            name = str(getattr(self._real, "name", "kernel"))
            make = lambda: results.append(self._real(*args, **kwargs))  # noqa: E731
            made_after(recorder, name, lambda: _recorded(record), make)
            return results[0]

    def writing(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def written(*args: Any, **kwargs: Any) -> Any:
            made = real(*args, **kwargs)
            if _is_cupy(sys._getframe(1).f_globals):
                return made
            return Written(made, _writer=None, _write=lambda: _WRITERS[name](kernels, *args, **kwargs))

        return written

    recorded = {name: writing(name, getattr(cupy, name)) for name in _WRITERS if hasattr(cupy, name)}
    noted = {name: _noting(name, getattr(cupy, name), recorder) for name in _NOTED if hasattr(cupy, name)}
    return recorded | noted


def _recorded(record: Callable[[], bool]) -> bool:
    """Record a launch; what keeps it from being recorded is one line."""
    try:
        return record()
    except (BlocksError, UnsupportedError):
        raise
    except (KernelFileError, LaunchError) as error:
        raise UnsupportedError(*launch_place(""), error.what) from error
    except MissingError as error:  # CuPy may have a compiler of its own
        raise UnsupportedError(*launch_place(""), str(error)) from error
    except (KeyError, NotImplementedError, TypeError, ValueError) as error:
        raise UnsupportedError(*launch_place(""), one_line(error)) from error


def _noting(name: str, real: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """Return what makes one kernel of a function, with a line where that is called."""

    class Noted(Wrapped):
        def __call__(self, *args: Any) -> Any:
            result = self._real(*args)
            _note(recorder, f"cupy.{name}", self._real)
            return result

    def making(*args: Any, **kwargs: Any) -> Any:
        made = real(*args, **kwargs)
        if _is_cupy(sys._getframe(1).f_globals):
            return made
        return Noted(made) if args else lambda function: Noted(made(function))

    return making


@contextmanager
def noting_jit(script: PythonProgram, recorder: Recorder) -> Iterator[None]:
    """Say in one line that a kernel of ``cupyx.jit`` is not recorded, while this lasts."""
    if "cupyx" not in script.source or importlib.util.find_spec("cupyx") is None:
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # CuPy's, that it is experimental: the script's to have
        kernels = type(importlib.import_module("cupyx.jit").rawkernel()(_nothing))
    call = kernels.__call__

    def noted(kernel: Any, *args: Any, **kwargs: Any) -> None:
        call(kernel, *args, **kwargs)
        _note(recorder, "cupyx.jit", kernel)

    with replaced(kernels, {"__call__": noted}):
        yield


def _nothing() -> None:
    """Do nothing, as a kernel."""


def _note(recorder: Recorder, made_by: str, made: Any) -> None:
    what = english("kernels of {name} are not recorded; write a cupy.RawKernel", name=made_by)
    functions = [vars(made)[name] for name in ("func", "_func", "pyfunc") if name in vars(made)]
    name = functions[0].__name__ if functions else made_by
    recorder.runs_unrecorded(name, UnsupportedError(*launch_place(""), what))


def _is_cupy(caller: dict[str, Any]) -> bool:
    """Tell whether it is CuPy itself that makes a kernel."""
    return str(caller.get("__name__")).startswith(("cupy.", "cupyx."))


class RealVariables(Variables):
    """The variables of a module of CuPy's, as they are when they are asked for."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self._module = module

    def bytes_of(self, name: str, initial: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return a copy of the bytes of a variable; ``initial`` where the module tells nobody of it."""
        cupy = importlib.import_module("cupy")
        try:
            place = self._module.get_global(name)
        except cupy.cuda.driver.CUDADriverError:
            return initial
        return cupy.ndarray(initial.shape, np.uint8, place).get(order="A")  # type: ignore[no-any-return]

    def copied(self) -> Variables:
        """Return itself, of which every look is a copy."""
        return self


@contextmanager
def watched_cupy(kernels: RawKernels, recorder: Recorder) -> Iterator[None]:
    """Show each launch of a kernel that a script writes, while this lasts."""
    cupy = importlib.import_module("cupy")
    real_kernel, real_module = cupy.RawKernel, cupy.RawModule

    class Kernel(Wrapped):
        """A kernel of CuPy's; of a template it has the compiler's name, and ``_name`` is the one asked for."""

        def __call__(self, grid: Any, block: Any, args: Sequence[Any], **kwargs: Any) -> None:
            def record() -> bool:
                code, options, expressions = self._source
                program = kernels.program(code, self._name, options)
                shape = (tuple(grid), tuple(block), kwargs.get("shared_mem", 0))
                given = passed_copies(args, cupy.ndarray)
                return kernels.launch(program, self._name, shape, given, expressions, self._variables)

            made_after(recorder, self._name, record, lambda: self._real(grid, block, args, **kwargs))

    class Module(Wrapped):
        def get_function(self, name: str) -> Kernel:
            variables = RealVariables(self._real)
            return Kernel(self._real.get_function(name), _source=self._source, _name=name, _variables=variables)

    def kernel(code: str, name: str, options: Sequence[str] = (), *args: Any, **kwargs: Any) -> Kernel:
        real = real_kernel(code, name, options, *args, **kwargs)
        return Kernel(real, _source=(code, options, ()), _name=name, _variables=None)

    def module(code: str | None = None, **kwargs: Any) -> Any:
        real = real_module(code=code, **kwargs)
        if code is None:  # a compiled file, which has no text
            return real
        return Module(real, _source=(code, kwargs.get("options", ()), kwargs.get("name_expressions") or ()))

    raw = {"RawKernel": kernel, "RawModule": module}
    with replaced(cupy, raw | written_kernels(cupy, kernels, recorder)), noting_jit(kernels.script, recorder):
        yield
