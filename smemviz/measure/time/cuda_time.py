"""Kernel time of every launch that a file of CUDA C++ asks for: the clean kernel as nvcc makes it, by graph replay."""

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from cuda.bindings import driver

from smemviz.engines.backend import OutputHash, hashed
from smemviz.engines.gpu.device import device
from smemviz.engines.gpu.gpu_recorder import quiet
from smemviz.engines.gpu.ptx.cuda_on_gpu import Recorder
from smemviz.engines.gpu.ptx.driver import Gpu, assembled, checked, loaded, start
from smemviz.engines.gpu.ptx.ptx_launch import make_clean
from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.ptx.host import cuda_in_lockstep
from smemviz.engines.lockstep.ptx.host.arguments import BoundArguments, arrays_among, bind_arguments
from smemviz.engines.lockstep.ptx.host.cuda_launch import prepare
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.engines.lockstep.running_launch import Place
from smemviz.engines.options import DEFAULT_OPTIONS, LaunchOptions, Progress
from smemviz.engines.recorder import LaunchOutcome
from smemviz.frontends.cuda.cuda_program import CudaProgram
from smemviz.measure.time.meter import Meter, Timed
from smemviz.recordings.measured import Timing


def time_program(
    program: CudaProgram, cold: bool = False, progress: Progress | None = None, kernels: Collection[str] = ()
) -> Timed:
    """Time every launch that a file of CUDA C++ asks for; what is timed is the compiled view, whatever the program's.

    The arguments are as for Python's.

    Raises:
        MissingError: when there is no GPU, or NVRTC is not installed.
    """
    device()
    program = replace(program, view="compiled")
    walls = []
    for _ in range(2):
        begin, careful = time.perf_counter(), _Careful()
        cuda_in_lockstep.run(program, make=careful.launch)
        walls.append(time.perf_counter() - begin - careful.preflight.seconds)
    timer = _Timer(cold, progress, kernels)
    with quiet():
        cuda_in_lockstep.run(program, make=timer.launch)
    return Timed(tuple(timer.kernels), tuple(timer.times), walls[0], walls[1], tuple(timer.unsafe))


def outputs(program: CudaProgram, kernels: Collection[str]) -> tuple[OutputHash, ...]:
    """Make the launches that a file asks for on the device and hash what each of some kernels leaves in its arrays.

    Raises:
        MissingError: when there is no GPU, or NVRTC is not installed.
    """
    device()
    hashes: list[OutputHash] = []

    def keep(kernel: str, arguments: Sequence[object]) -> None:
        if kernel in kernels:
            hashes.append(OutputHash(kernel, hashed(arguments)))

    cuda_in_lockstep.run(program, make=_Careful().launch, after=keep)
    return tuple(hashes)


class _Careful(Recorder):
    """Makes launches with the clean kernel, and none that may do harm."""

    def __init__(self) -> None:
        super().__init__()
        self.unsafe: list[str] = []

    def launch(
        self,
        entry: Entry,
        configuration: Configuration,
        args: Sequence[Any],
        place: Place,
        options: LaunchOptions = DEFAULT_OPTIONS,
    ) -> LaunchOutcome:
        if any(finding.is_unsafe for finding in self.findings(entry, configuration, args, place, options.number)):
            self.unsafe.append(entry.name)
        else:
            self.make(entry, configuration, args, place)
        return None, ()

    def make(self, entry: Entry, configuration: Configuration, args: Sequence[Any], place: Place) -> None:
        make_clean(Gpu(), entry, configuration, args, place)


class _Timer(_Careful):
    """Times launches; each finds its arguments as they were made."""

    def __init__(self, cold: bool, progress: Progress | None, chosen: Collection[str]) -> None:
        super().__init__()
        self.kernels: list[str] = []
        self.times: list[Timing] = []
        self._progress = progress
        self._chosen = chosen
        self._meter = Meter(cold)

    def make(self, entry: Entry, configuration: Configuration, args: Sequence[Any], place: Place) -> None:
        if self._chosen and entry.name not in self._chosen:
            return
        if self._progress:
            self._progress(len(self.times), len(self.times) + 1, entry.name)
        ready, card = prepare(entry, configuration, place), Gpu()
        size = sum(array.nbytes for array in arrays_among(args) if isinstance(array, np.ndarray))
        sets = [bind_arguments(entry, ready.kernel, args, place, card) for _ in range(max(1, self._meter.copies(size)))]
        module = checked(driver.cuModuleLoadData(assembled(entry.compiled.ptx)))
        try:
            function = loaded(module, entry.symbol, configuration)

            def issue(values: Sequence[Any], stream: Any) -> None:
                handle = int(getattr(stream, "handle", stream))
                start(function, configuration, values, handle, cooperative=entry.is_cooperative)

            parameters = [list(arguments.parameters.values()) for arguments in sets]
            written = _written(lambda: issue(parameters[0], 0), sets[0])
            card.restore()
            timing = self._meter.timing(issue, parameters, configuration, ready.layout.static, written)
        finally:
            driver.cuModuleUnload(module)
        self.kernels.append(entry.name)
        self.times.append(timing)


def _written(launch: Any, arguments: BoundArguments[Gpu]) -> list[str]:
    """Return which arrays a launch reads and writes: those whose second launch differs from the first."""
    results = []
    for _ in range(2):
        launch()
        checked(driver.cuCtxSynchronize())
        results.append(arguments.bytes_by_name())
    return [name for name, data in results[0].items() if not np.array_equal(data, results[1][name])]
