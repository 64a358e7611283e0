"""Looking for mistakes before a launch happens on the device, which does not tell of them and may not survive them.

A launch that is small enough is run in lockstep first, on copies of its arguments. Larger ones happen as they are; so
do those that lockstep does not execute, or not to their end, unless it has met a mistake by then.
"""

import contextlib
import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.devicearray import DeviceNDArray
from numpy.typing import NDArray

from smemviz.engines.launch_shape import Configuration, launch_place
from smemviz.engines.lockstep import Limits, launch
from smemviz.engines.lockstep.ptx.host.arguments import Pointing, StructureValue
from smemviz.engines.options import LaunchOptions
from smemviz.errors import PlaceError, RefusedLaunchError, SmemvizError
from smemviz.frontends.numba.python_functions import Function
from smemviz.recordings.findings import Finding

MOST_THREADS = 1 << 16
MOST_BYTES = 1 << 26
LIMITS = Limits(iterations=1000, all_loops=True)
MOST_SECONDS = 5.0  # of looking in one run; after that no launch is looked at


class Preflight:
    """The looks of one run."""

    def __init__(self) -> None:
        self._seconds = 0.0

    @property
    def seconds(self) -> float:
        """How long it took so far."""
        return self._seconds

    def is_safe(self, function: Function, config: Configuration, arguments: Sequence[Any]) -> bool:
        """Tell whether no mistake was found for which the device had better not make a launch.

        Raises:
            RefusedLaunchError: for a launch that no device would start.
        """
        return not any(finding.is_unsafe for finding in self.findings(function, config, arguments, 0))

    def findings(
        self, function: Function, config: Configuration, arguments: Sequence[Any], number: int
    ) -> tuple[Finding, ...]:
        """Return the mistakes that a launch makes; ``number`` is what it will have in the recording.

        Raises:
            RefusedLaunchError: for a launch that no device would start.
        """

        def run(copies: Sequence[Any]) -> tuple[Finding, ...]:
            options = LaunchOptions(limits=LIMITS, number=number, recorded=False)
            return launch(function, config, copies, launch_place(""), options)[1]

        return self.check(config, arguments, run)

    def check(
        self, config: Configuration, arguments: Sequence[Any], run: Callable[[Sequence[Any]], tuple[Finding, ...]]
    ) -> tuple[Finding, ...]:
        """Return what ``run``, a launch in lockstep, finds with copies of the arguments, if it is small enough.

        Raises:
            RefusedLaunchError: for a launch that no device would start.
        """
        if config.threads > MOST_THREADS or _nbytes(arguments) > MOST_BYTES or self._seconds > MOST_SECONDS:
            return ()
        begin = perf_counter()
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # what the kernel prints, the device will
                return run(_on_host(arguments, {}))
        except RefusedLaunchError:
            raise
        except PlaceError as error:  # lockstep does not execute it, or not within its limits
            return error.findings
        except SmemvizError:
            return ()
        finally:
            self._seconds += perf_counter() - begin


def _nbytes(arguments: Sequence[Any]) -> int:
    sizes = (
        _nbytes(argument) if isinstance(argument, tuple) else getattr(argument, "nbytes", 0) for argument in arguments
    )
    return sum(sizes)


def _on_host(arguments: Sequence[Any], seen: dict[Any, Any]) -> tuple[Any, ...]:
    """Copy arrays to the host, one that stands there twice once."""
    return tuple(_copied(argument, seen) for argument in arguments)


def _copied(argument: Any, seen: dict[Any, Any]) -> Any:
    if isinstance(argument, tuple):
        return _on_host(argument, seen)
    if id(argument) not in seen:
        copied = argument
        if isinstance(argument, np.ndarray):
            copied = argument.copy(order="K")
        elif isinstance(argument, StructureValue):
            arrays = {at: (name, _memory_copied(array, seen)) for at, (name, array) in argument.arrays.items()}
            copied = replace(argument, arrays=arrays)
        elif isinstance(argument, DeviceNDArray):  # as_cuda_array would lose the fields of records
            copied = argument.copy_to_host()
        elif hasattr(argument, "__cuda_array_interface__"):
            copied = cuda.as_cuda_array(argument).copy_to_host()
        seen[id(argument)] = copied
    return seen[id(argument)]


def _memory_copied(array: NDArray[Any], seen: dict[Any, Any]) -> NDArray[Any]:
    """Copy an array, the memory that several have in common once."""
    memory = array.ctypes.data, array.nbytes
    if memory not in seen:
        seen[memory] = array.copy(order="K")
        if isinstance(array, Pointing):
            pointers = {at: (_memory_copied(other, seen), offset) for at, (other, offset) in array.pointers.items()}
            seen[memory].pointers = pointers
    copied: NDArray[Any] = seen[memory]
    return copied


def not_run(finding: Finding) -> Finding:
    """Return a mistake for which a launch was not made."""
    return replace(finding.with_facts(not_run=True), launch=None)
