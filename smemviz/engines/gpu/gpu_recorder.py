"""Recording launches on the device.

A launch is counted before it happens: the instrumented kernel is run twice, then the clean one, whose results count.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import FunctionType
from typing import Any, Protocol

import numba
import numpy as np
from numba.core.errors import NumbaError as CoreError
from numba.cuda.core import config
from numba.cuda.core.caching import NullCache
from numba.cuda.core.errors import NumbaError, NumbaPerformanceWarning  # not the classes of these names in numba.core
from numba.cuda.dispatcher import CUDADispatcher

from smemviz.engines import recorder
from smemviz.engines.gpu.device import device
from smemviz.engines.gpu.numba_launch import MarkedKernel, count
from smemviz.engines.gpu.preflight import Preflight, not_run
from smemviz.engines.gpu.ptx.access_calls import ROW_BYTES
from smemviz.engines.host import one_line
from smemviz.engines.launch_shape import Configuration
from smemviz.engines.options import LaunchOptions, RunOptions, check_launch, check_shared
from smemviz.engines.recorder import not_recorded
from smemviz.errors import RefusedLaunchError, UnsupportedError
from smemviz.frontends.arguments import wrong_number
from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.syntax import positional
from smemviz.messages import english
from smemviz.model.hardware.compute_capability import known
from smemviz.recordings.data import Launch

# Options of @cuda.jit that change what a kernel computes; the others do not matter to its addresses.
_CARRIED_OPTIONS = ("fastmath", "extensions")


class Watcher(Protocol):
    """Sees each launch before it happens."""

    def launch(
        self, dispatcher: CUDADispatcher, function: Function, config: Configuration, arguments: Sequence[Any]
    ) -> bool | None:
        """See one launch; the arguments must end as they began. False keeps it from happening."""


class Recorder(recorder.Recorder):
    """Counts launches as they happen and keeps what they saw."""

    def __init__(self, options: RunOptions) -> None:
        super().__init__(options)
        self._preflight = Preflight()
        self._marked: dict[tuple[Any, ...], MarkedKernel] = {}
        self._not_recorded: dict[FunctionType, UnsupportedError] = {}

    def launch(
        self, dispatcher: CUDADispatcher, function: Function, config: Configuration, arguments: Sequence[Any]
    ) -> bool:
        """Count one launch, if it is one of those to be recorded; keep from happening what may do harm."""
        with self.handing_over():
            return self._counted(dispatcher, function, config, arguments)

    def _counted(
        self, dispatcher: CUDADispatcher, function: Function, config: Configuration, arguments: Sequence[Any]
    ) -> bool:
        if not self.picker.takes(function.name) or dispatcher.py_func in self._not_recorded:
            return True
        if not self._is_safe(function, config, arguments):
            return False
        if self.options.progress:
            self.options.progress(len(self.launches), len(self.launches) + 1, function.name)
        key = (dispatcher.py_func, *(_kind(argument) for argument in arguments))
        try:
            if key not in self._marked:
                options = {name: dispatcher.targetoptions.get(name) for name in _CARRIED_OPTIONS}
                kept = {name: value for name, value in options.items() if value}
                self._marked[key] = MarkedKernel(function, arguments, kept)
            launch = count(
                self._marked[key],
                config,
                arguments,
                self.log_bytes,
                self.picker.selection.blocks,
                lambda: _compile(dispatcher, arguments),
            )
        except (UnsupportedError, CoreError, NumbaError) as error:
            self._leave_out(dispatcher.py_func, _refusal(function, error))
            return True
        self.keep(replace(launch, file=function.file), ROW_BYTES)
        return True

    def has_no_text(self, kernel: FunctionType, place: tuple[str, int]) -> None:
        """Note that a kernel is not recorded, because it is made of a text that is not in a file."""
        what = english("{kernel} was made from text; define it in a file to see its accesses", kernel=kernel.__name__)
        error = UnsupportedError(*place, what)
        error.kernel = kernel.__name__
        with self.handing_over():
            self._leave_out(kernel, error)

    def cannot_launch(self, kernel: FunctionType, place: tuple[str, int]) -> None:
        """Note that a process cannot launch a kernel, because it was forked from one that had used the GPU."""
        what = english(
            "a process that is forked from one that has used the GPU cannot use it; start it with "
            "multiprocessing.get_context('spawn'), or fork it before the first use"
        )
        with self.handing_over():
            self.refuse(kernel.__name__, RefusedLaunchError(*place, what))

    def _leave_out(self, kernel: FunctionType, error: UnsupportedError) -> None:
        """Note once that a kernel is not recorded; a child process has no end at which it could be told."""
        if kernel not in self._not_recorded and self.children.is_child:
            self.findings.append(not_recorded(error, has_run=True))
        self._not_recorded.setdefault(kernel, error)

    def end(self) -> None:
        """Note which kernels ran without being recorded.

        Raises:
            UnsupportedError: when there is nothing else to tell.
        """
        super().end()
        if self.is_empty:
            for error in self._not_recorded.values():
                raise error
        self.findings += [not_recorded(error, has_run=True) for error in self._not_recorded.values()]

    def _is_safe(self, function: Function, config: Configuration, arguments: Sequence[Any]) -> bool:
        """Note the mistakes that lockstep finds in a launch, and tell whether the device may make it all the same."""
        try:
            findings = self._preflight.findings(function, config, arguments, len(self.launches))
        except RefusedLaunchError as error:
            self.refuse(function.name, error)
            return False
        safe = not any(finding.is_unsafe for finding in findings)
        self.findings += findings if safe else map(not_run, findings)
        return safe


def _compile(dispatcher: CUDADispatcher, arguments: Sequence[Any]) -> None:
    """Have Numba compile a kernel as its launch would, which then finds it; what is wrong with it the launch says.

    What Numba keeps on disk it finds by the launch, so such a kernel is left to that.
    """
    if isinstance(dispatcher._cache, NullCache) and dispatcher._can_compile:
        with suppress(CoreError, NumbaError, RuntimeError):
            dispatcher.compile(tuple(dispatcher.typeof_pyval(argument) for argument in arguments))


def _refusal(function: Function, error: Exception) -> UnsupportedError:
    """Say why a kernel is not recorded; one that Numba refuses with counters may compile without."""
    if not isinstance(error, UnsupportedError):
        what = english("Numba does not compile it with counters ({what})", what=one_line(error))
        error = UnsupportedError(function.file, function.node.lineno, what)
    error.kernel = function.name
    return error


def _kind(value: Any) -> object:
    """Tell apart what a kernel is compiled for: type, rank and layout."""
    if isinstance(value, tuple):
        return tuple(_kind(item) for item in value)
    return str(numba.typeof(value)) if np.isscalar(value) else (value.dtype, tuple(value.shape), tuple(value.strides))


def record(
    function: Function, config: Configuration, arguments: Sequence[Any], options: LaunchOptions
) -> tuple[Launch, ...]:
    """Record one launch of a kernel; its arguments stay as they are."""
    check((function.file, function.node.lineno), config)
    with quiet():
        return (count(MarkedKernel(function, arguments), config, arguments, options.log_bytes, options.logged),)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Numba from warning that a teaching example does not fill the device, or that its arrays are the host's."""
    before = config.CUDA_LOW_OCCUPANCY_WARNINGS
    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumbaPerformanceWarning)
            yield
    finally:
        config.CUDA_LOW_OCCUPANCY_WARNINGS = before


def check(place: tuple[str, int], config: Configuration) -> None:
    """Refuse what the device would not start, where its limits are known; the driver says only that it is invalid."""
    limits = {row.cc: row for row in known()}.get(device().compute_capability)
    if limits:
        check_launch(place, config.grid, config.block, limits)
        check_shared(place, 0, config.dynamic_shared, limits)
        if config.dynamic_shared > limits.static_shared:  # seen with numba-cuda 0.30.4: CUDA_ERROR_INVALID_VALUE
            raise RefusedLaunchError(
                *place,
                english(
                    "{dynamic} bytes of dynamic shared memory; Numba starts a kernel with at most {most}, "
                    "though the device has more. Make the tile smaller, or run in lockstep.",
                    dynamic=config.dynamic_shared,
                    most=limits.static_shared,
                ),
            )


def check_number(place: tuple[str, int], function: Function, arguments: Sequence[Any]) -> None:
    """Refuse another number of arguments than a kernel takes; with a star it takes any."""
    names = positional(function.node)
    if len(arguments) != len(names) and not function.node.args.vararg:
        error = wrong_number(*place, function.name, names, len(arguments))
        error.kernel = function.name
        raise error
