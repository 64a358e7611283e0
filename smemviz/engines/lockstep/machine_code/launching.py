"""One launch of a kernel in Python as machine code: arguments into memory, blocks run, arrays brought back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.hazards.watched import Watched
from smemviz.engines.lockstep.known import Known
from smemviz.engines.lockstep.machine_code.compiling import MachineCode, compiled, symbols_of, types_of
from smemviz.engines.lockstep.memory.device_array import DeviceArray
from smemviz.engines.lockstep.memory.memory import Memory
from smemviz.engines.lockstep.ptx.code.module import PtxError
from smemviz.engines.lockstep.ptx.compiled.cores import run_compiled
from smemviz.engines.lockstep.ptx.host.cuda_launch import place_variables
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.memory import SHARED_WINDOW, Allocation, GlobalMemory
from smemviz.engines.lockstep.running_launch import Place
from smemviz.engines.options import LaunchOptions
from smemviz.frontends.numba.python_functions import Function
from smemviz.recordings.data import Launch

_NO_BYTES = np.zeros(0, np.uint8)


def launch_compiled(
    kernel: Function,
    known: Known,
    configuration: Configuration,
    values: Sequence[Any],
    watched: Mapping[Memory, int],
    place: Place,
    options: LaunchOptions,
) -> Launch | None:
    """Run a kernel once and return what it did but for its arrays, which are written.

    ``watched`` are the memories that it may write, with the bytes of the narrowest access to each.

    Returns None, and leaves memory as it is, for a kernel that is not compiled and for a launch in which anything looks
    like a mistake of the kernel: the interpreter says what it is.
    """
    types = types_of(values)
    if types not in known.machine_code:
        known.machine_code[types] = compiled(known.table, types)
    code: MachineCode | None = known.machine_code[types]
    if code is None:
        return None
    memory = GlobalMemory()
    allocations: dict[Memory, Allocation] = {}
    names = [variable.name for variable in code.kernel.function.parameters]
    parameters = dict(zip(names, _parameters(values, memory, allocations), strict=True))
    layout = known.layout(configuration.dynamic_shared)
    symbols = place_variables(code.kernel, memory)
    symbols |= symbols_of([SHARED_WINDOW + array.address for array in layout.placed])

    def anew() -> Machine:
        for own, allocation in allocations.items():
            allocation.data[: len(own.data)] = own.data
        return Machine(
            kernel.name,
            code.kernel,
            configuration,
            layout,
            code.sites,
            _watched_there(watched, memory, allocations),
            place,
            options,
            memory,
            parameters,
            symbols,
        )

    try:
        machine, is_well = run_compiled(code.code, anew(), anew, options.limits.iterations, all_meet=True)
        if not is_well:
            return None
    except PtxError:
        return None
    for own, allocation in allocations.items():
        own.data[:] = allocation.data[: len(own.data)]
    made, _ = machine.result(kernel.node.lineno, (), kernel.file)
    return replace(made, machine_code=True)


def _parameters(
    values: Sequence[Any], memory: GlobalMemory, allocations: dict[Memory, Allocation]
) -> Iterator[NDArray[np.uint8]]:
    """Give the bytes of each parameter of the PTX, as Numba passes arguments, and put their memory there."""
    for value in values:
        if isinstance(value, tuple):
            yield from _parameters(value, memory, allocations)
        elif isinstance(value, DeviceArray):
            own = value.memory
            if own not in allocations:
                allocations[own] = memory.place("", own.data)
                allocations[own].moved = own.base - allocations[own].start
            shown = value.array
            address = allocations[own].start + value.offset
            numbers = (0, 0, shown.size, shown.dtype.itemsize, address, *shown.shape, *shown.strides)
            yield from (np.array([number], np.int64).view(np.uint8) for number in numbers)
        else:
            number = np.asarray(value).reshape(1)
            parts = number.view(number.real.dtype) if number.dtype.kind == "c" else number
            yield from (part.reshape(1).view(np.uint8) for part in parts)


def _watched_there(
    watched: Mapping[Memory, int], memory: GlobalMemory, allocations: Mapping[Memory, Allocation]
) -> dict[int, Watched]:
    """Return what is watched by the numbers of allocations, in cells of one size."""
    nbytes = min(watched.values(), default=1)
    return {
        memory.allocations.index(allocations[own]): Watched(_NO_BYTES, allocations[own].start, nbytes, (), 1)
        for own in watched
    }
