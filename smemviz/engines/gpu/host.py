"""Running a kernel file on the device and recording every launch in it.

A kernel's dispatcher is the one Numba makes, except that a launch is counted before it runs: the carrying kernel
twice, then the clean one, whose results ``main()`` gets.
"""

from __future__ import annotations

import ast
import subprocess
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import cuda
from numba.cuda.core import config
from numba.cuda.dispatcher import CUDADispatcher

from smemviz.engines.gpu.launch import LOG_BYTES, Carrying, carrying_kernel, count
from smemviz.engines.host import Configuration, configuration, launch_place, run_main
from smemviz.errors import LaunchError, MissingError
from smemviz.functions import Function, function_of
from smemviz.program import Program
from smemviz.recording import Device, Launch

Progress = Callable[[int, int, str], None]

# Options of @cuda.jit that change what a kernel computes; the others do not matter to its addresses.
_CARRIED_OPTIONS = ("fastmath", "extensions", "max_registers")


def available() -> bool:
    """Tell whether there is a GPU that Numba can use."""
    return bool(cuda.is_available())


def device() -> Device:
    """Describe the GPU in use.

    Raises:
        MissingError: when there is none.
    """
    if not available():
        raise MissingError("no GPU here that Numba can use; run with engine lockstep")
    current = cuda.get_current_device()
    name = current.name.decode() if isinstance(current.name, bytes) else str(current.name)
    major, minor = current.compute_capability
    runtime = ".".join(str(part) for part in cuda.runtime.get_version())
    return Device(name, (int(major), int(minor)), _driver_version(), f"CUDA {runtime}")


def _driver_version() -> str:
    try:
        command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return answer.split("\n")[0].strip()


class Recorder:
    """Counts launches as they happen and keeps what they saw."""

    def __init__(self, log_bytes: int, progress: Progress | None) -> None:
        self.launches: list[Launch] = []
        self.log_bytes = log_bytes
        self.progress = progress
        self._carrying: dict[tuple[Any, ...], Carrying] = {}

    def launch(
        self,
        function: Function,
        options: Mapping[str, Any],
        config: Configuration,
        arguments: Sequence[Any],
    ) -> None:
        """Count one launch."""
        if self.progress:
            self.progress(len(self.launches), len(self.launches) + 1, function.name)
        key = (function.node, *(str(numba.typeof(a)) if np.isscalar(a) else _kind(a) for a in arguments))
        if key not in self._carrying:
            kept = {name: options[name] for name in _CARRIED_OPTIONS if options.get(name)}
            self._carrying[key] = carrying_kernel(function, arguments, kept)
        self.launches.append(count(function, self._carrying[key], config, arguments, self.log_bytes))


def _kind(value: Any) -> object:
    if isinstance(value, tuple):
        return tuple(_kind(item) for item in value)
    shape, strides = getattr(value, "shape", ()), getattr(value, "strides", ())
    return len(shape), str(getattr(value, "dtype", type(value))), strides if strides is None else tuple(strides)


def run(program: Program, progress: Progress | None = None, log_bytes: int = LOG_BYTES) -> tuple[Launch, ...]:
    """Run a kernel file's ``main()`` on the device and record its launches."""
    device()
    recorder = Recorder(log_bytes, progress)
    with _quiet():
        run_main(program, _cuda_for(program, recorder), _use_real_cuda)
    return tuple(recorder.launches)


def record(
    function: Function, config: Configuration, arguments: Sequence[Any], log_bytes: int = LOG_BYTES
) -> tuple[Launch, ...]:
    """Record one launch of a kernel; its arguments stay as they are."""
    device()
    recorder = Recorder(log_bytes, None)
    with _quiet():
        recorder.launch(function, {}, config, arguments)
    return tuple(recorder.launches)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Numba from warning that a teaching example does not fill the device."""
    before = config.CUDA_LOW_OCCUPANCY_WARNINGS
    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", numba.errors.NumbaPerformanceWarning)
            yield
    finally:
        config.CUDA_LOW_OCCUPANCY_WARNINGS = before


def _cuda_for(program: Program, recorder: Recorder) -> ModuleType:
    """Return ``numba.cuda`` with a ``jit`` whose kernels are counted."""
    module = ModuleType("numba.cuda")
    module.__dict__.update(vars(cuda))

    def jit(*given: Any, **options: Any) -> Any:
        made = cuda.jit(*given, **options)
        if isinstance(made, CUDADispatcher):
            return _counted(made, program, recorder)
        return lambda function: _counted(made(function), program, recorder)

    module.jit = jit  # type: ignore[attr-defined]
    return module


def _use_real_cuda(namespace: dict[str, Any]) -> None:
    """Give kernels the modules that Numba's typing knows by identity."""
    for name, value in namespace.items():
        if isinstance(value, ModuleType) and value.__name__ in ("numba", "numba.cuda"):
            namespace[name] = numba if value.__name__ == "numba" else cuda


def _counted(dispatcher: CUDADispatcher, program: Program, recorder: Recorder) -> CUDADispatcher:
    dispatcher.__class__ = _Kernel
    dispatcher._smemviz = (program, recorder)
    return dispatcher


class _Kernel(CUDADispatcher):  # type: ignore[misc]
    """Numba's dispatcher, counting each launch before it makes it."""

    def __getitem__(self, given: object) -> Callable[..., None]:
        program, recorder = self._smemviz
        config = configuration(launch_place(program.file), given)
        clean = self.configure(config.grid, config.block, config.stream, config.dynamic_shared)

        def launch(*arguments: Any) -> None:
            function = _function(self.py_func, program)
            expected = len(function.node.args.posonlyargs) + len(function.node.args.args)
            if len(arguments) != expected:
                place = launch_place(program.file)
                raise LaunchError(*place, f"{function.name} takes {expected} arguments; {len(arguments)} were given")
            cuda.synchronize()
            recorder.launch(function, self.targetoptions, config, arguments)
            clean(*arguments)

        return launch


def _function(function: FunctionType, program: Program) -> Function:
    if function.__code__.co_filename != program.file:
        return function_of(function)
    tree: ast.Module = program.tree
    return function_of(function, program.source, tree)
