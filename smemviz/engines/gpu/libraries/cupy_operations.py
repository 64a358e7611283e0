"""Kernels that CuPy writes around a script's operations: recorded where they can be, else one line says so."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from smemviz.engines.gpu.libraries.copies import copies_in_place
from smemviz.engines.gpu.libraries.wrapped import Wrapped, made_after
from smemviz.engines.host import launch_place, one_line
from smemviz.engines.lockstep.host.stand_ins.elementwise import ElementwiseKernel
from smemviz.engines.lockstep.host.stand_ins.reduction import ReductionKernel
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels
from smemviz.engines.recorder import Recorder
from smemviz.engines.replacing import replaced
from smemviz.errors import BlocksError, KernelFileError, LaunchError, MissingError, UnsupportedError
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.messages import english

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
        """A function of CuPy's that is one kernel."""

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
