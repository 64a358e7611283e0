"""Kernel time of every launch of a kernel file, the clean kernel by CUDA graph replay; and what it leaves in arrays."""

import time
from collections.abc import Collection, Sequence
from typing import Any

from numba import cuda
from numba.cuda.dispatcher import CUDADispatcher

from smemviz.engines.backend import OutputHash, hashed
from smemviz.engines.gpu.numba_launch import Arguments, arrays_in
from smemviz.engines.gpu.preflight import Preflight
from smemviz.engines.gpu.python_on_gpu import watch
from smemviz.engines.launch_shape import Configuration
from smemviz.engines.options import Progress
from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.measure.time.meter import Meter, Timed
from smemviz.messages import english
from smemviz.recordings.measured import Timing

_COMPARED_BYTES = 1 << 28


def time_program(
    program: PythonProgram, cold: bool = False, progress: Progress | None = None, kernels: Collection[str] = ()
) -> Timed:
    """Time every launch of a kernel file.

    Args:
        program: the kernel file.
        cold: let no launch find its arrays in L2: arguments take turns, or L2 is overwritten between launches.
        progress: called as ``progress(done, total, text)``.
        kernels: names of the kernels to time; none means every kernel.

    Raises:
        MissingError: when there is no GPU.
    """
    walls = []
    for _ in range(2):
        start, careful = time.perf_counter(), _Careful()
        watch(program, careful)
        cuda.synchronize()
        walls.append(time.perf_counter() - start - careful.preflight.seconds)
    timer = _Timer(cold, progress, kernels)
    watch(program, timer)
    first, again = walls
    return Timed(tuple(timer.kernels), tuple(timer.times), first, again, tuple(timer.unsafe))


class _Careful:
    """Lets launches happen, but none that may change the memory of others or wait for ever."""

    def __init__(self) -> None:
        self.preflight = Preflight()

    def launch(
        self, dispatcher: CUDADispatcher, function: Function, config: Configuration, arguments: Sequence[Any]
    ) -> bool:
        """Tell whether the launch may happen."""
        return self.preflight.is_safe(function, config, arguments)


class _Timer(_Careful):
    """Times launches as they happen; each finds its arguments as ``main()`` left them, and leaves them so."""

    def __init__(self, cold: bool, progress: Progress | None, chosen: Collection[str] = ()) -> None:
        super().__init__()
        self.unsafe: list[str] = []
        self.cold = cold
        self.progress = progress
        self.chosen = chosen
        self.kernels: list[str] = []
        self.times: list[Timing] = []
        self._meter = Meter(cold)

    def launch(
        self, dispatcher: CUDADispatcher, function: Function, config: Configuration, arguments: Sequence[Any]
    ) -> bool:
        """Time one launch, unless it may not happen."""
        if not super().launch(dispatcher, function, config, arguments):
            self.unsafe.append(function.name)
            return False
        if self.chosen and function.name not in self.chosen:
            return True
        if self.progress:
            self.progress(len(self.times), len(self.times) + 1, function.name)
        notes = [english("launched on a stream by main(); timed alone on another")] if config.stream else []
        with Arguments(arguments) as on_device:
            written = _written(dispatcher, config, on_device, function)
            size = sum(array.nbytes for array in arrays_in(on_device.values))
            sets = [on_device.values, *(_copied(on_device.values) for _ in range(self._meter.copies(size) - 1))]

            def issue(values: Sequence[Any], stream: Any) -> None:
                dispatcher.configure(config.grid, config.block, stream, config.dynamic_shared)(*values)

            issue(sets[0], cuda.default_stream())  # compiles
            static = max(int(kernel.shared_mem_per_block) for kernel in dispatcher.overloads.values())
            timing = self._meter.timing(issue, sets, config, static, written, notes)
            on_device.restore()
        self.kernels.append(function.name)
        self.times.append(timing)
        return True


def _written(
    dispatcher: CUDADispatcher, config: Configuration, arguments: Arguments, function: Function
) -> tuple[str, ...]:
    """Return the names of the arrays that a launch reads and writes: those whose second launch differs from the first.

    An array that a second launch leaves as the first made it is output only, or written the same way each time.
    """
    arrays = list(arguments.arrays_by_name(function))
    if sum(array.nbytes for _, array in arrays) > _COMPARED_BYTES:
        return ()
    results = []
    for _ in range(2):
        dispatcher.configure(config.grid, config.block, 0, config.dynamic_shared)(*arguments.values)
        results.append([array.copy_to_host() for _, array in arrays])
    arguments.restore()
    pairs = zip(arrays, *results, strict=True)
    return tuple(name for (name, _), before, after in pairs if before.tobytes() != after.tobytes())


def _copied(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_copied(item) for item in value)
    if not hasattr(value, "__cuda_array_interface__"):
        return value
    return cuda.to_device(value.copy_to_host())


def outputs(program: PythonProgram, kernels: Collection[str]) -> tuple[OutputHash, ...]:
    """Run a kernel file's ``main()`` on the device and hash what each launch of some kernels leaves in its arrays.

    Raises:
        MissingError: when there is no GPU.
        KernelFileError: when ``main()`` fails.
    """
    onlooker = _Onlooker(kernels)
    watch(program, onlooker)
    return tuple(onlooker.hashes)


class _Onlooker:
    """Makes each launch once before it happens, on the same arrays, and puts them back."""

    def __init__(self, kernels: Collection[str]) -> None:
        self.kernels = kernels
        self.hashes: list[OutputHash] = []

    def launch(
        self, dispatcher: CUDADispatcher, function: Function, config: Configuration, arguments: Sequence[Any]
    ) -> None:
        """Make one launch and hash what it leaves."""
        if function.name not in self.kernels:
            return
        with Arguments(arguments) as on_device:
            dispatcher.configure(config.grid, config.block, 0, config.dynamic_shared)(*on_device.values)
            cuda.synchronize()
            arrays = [array.copy_to_host() for _, array in on_device.arrays_by_name(function)]
            on_device.restore()
        self.hashes.append(OutputHash(function.name, hashed(arrays)))
