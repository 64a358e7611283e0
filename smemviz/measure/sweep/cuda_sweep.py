"""The products of a file of CUDA C++, launched as its comments ask: the kernels that nvcc would make."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from cuda.bindings import driver
from numba import cuda

from smemviz.engines.gpu.ptx.driver import Gpu, assembled, checked, loaded, start
from smemviz.engines.gpu.ptx.ptx_launch import record
from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.ptx.host import cuda_in_lockstep
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.engines.lockstep.running_launch import Place
from smemviz.engines.options import LaunchOptions
from smemviz.engines.recorder import LaunchOutcome
from smemviz.frontends.cuda import CudaProgram
from smemviz.measure.sweep.launches import Measure
from smemviz.recordings.data import Launch


def measure_products(program: CudaProgram, measure: Measure) -> None:
    """Measure each launch that a file asks for."""

    def make(
        entry: Entry, configuration: Configuration, args: Sequence[Any], place: Place, options: LaunchOptions
    ) -> LaunchOutcome:
        if measure.takes(entry.name, configuration, args):
            _measured(measure, entry, configuration, args, place)
        return None, ()

    cuda_in_lockstep.run(replace(program, view="compiled"), make=make)


def _measured(measure: Measure, entry: Entry, configuration: Configuration, args: Sequence[Any], place: Place) -> None:
    loading: list[Any] = []

    def launch(c: Any, a: Any, b: Any, stream: Any = 0) -> None:
        if not loading:  # the first launch, whose time is that of compiling
            loading.append(checked(driver.cuModuleLoadData(assembled(entry.compiled.ptx))))
            loading.append(loaded(loading[0], entry.symbol, configuration))
        handle = int(getattr(stream, "handle", stream))
        start(
            loading[1],
            configuration,
            [np.array([array.__cuda_array_interface__["data"][0]], np.uint64).view(np.uint8) for array in (c, a, b)],
            handle,
            cooperative=entry.is_cooperative,
        )

    def counter(arguments: Sequence[Any]) -> Callable[[int], Launch]:
        hosts = [argument.copy_to_host() for argument in arguments]
        return lambda log_bytes: record(Gpu(), entry, configuration, hosts, place, log_bytes)

    try:
        measure.launch(entry.name, configuration, args, cuda.to_device(args[0]), launch, counter)
    finally:
        if loading:
            driver.cuModuleUnload(loading[0])
