"""One launch of a kernel in CUDA C++: arguments in, requests and findings out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.memory.shared import SharedLayout
from smemviz.engines.lockstep.ptx.code.module import PtxError
from smemviz.engines.lockstep.ptx.code.parse import files_of, parse
from smemviz.engines.lockstep.ptx.host.arguments import bind_arguments
from smemviz.engines.lockstep.ptx.host.entry import Entry, Variables, initial_bytes
from smemviz.engines.lockstep.ptx.host.layout import place_shared, watched_allocations
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import WORKSPACE_BYTES, Machine
from smemviz.engines.lockstep.ptx.memory import GlobalMemory
from smemviz.engines.lockstep.ptx.scheduler import Scheduler
from smemviz.engines.lockstep.ptx.sites import SiteMap, with_names, written_at
from smemviz.engines.lockstep.ptx.steps import Step, steps_of
from smemviz.engines.lockstep.running_launch import (
    COMPUTE_CAPABILITY,
    Place,
    TooLongError,
    check_threads,
    check_together,
    slots_of,
)
from smemviz.engines.options import DEFAULT_OPTIONS, LaunchOptions, check_cluster, check_launch, check_shared
from smemviz.engines.recorder import LaunchOutcome
from smemviz.errors import UnsupportedError
from smemviz.frontends.cuda.sources import Text
from smemviz.model.hardware.compute_capability import device
from smemviz.recordings.data import ArrayInfo, Launch
from smemviz.recordings.findings import Finding

parsed = lru_cache(maxsize=16)(parse)

# Makes one launch of a kernel with its arguments, at a place.
Make = Callable[[Entry, Configuration, Sequence[Any], Place, LaunchOptions], LaunchOutcome]


@dataclass(frozen=True)
class Prepared:
    """A kernel made ready for launches of one shape: its code, where its shared arrays and variables lie, its sites."""

    entry: Entry
    kernel: Kernel
    steps: tuple[Step, ...]
    sources: Mapping[int, Text]
    layout: SharedLayout
    symbols: Mapping[str, int]
    sites: SiteMap


def prepare(entry: Entry, configuration: Configuration, place: Place) -> Prepared:
    """Make a kernel ready to be launched.

    Raises:
        RefusedLaunchError: for a launch that no device would start.
        UnsupportedError: for an instruction that is not followed, at the line that it comes from.
    """
    target = device(COMPUTE_CAPABILITY)
    check_launch(place, configuration.grid, configuration.block, target)
    sources = entry.compiled.numbered(files_of(entry.compiled.ptx))
    try:
        kernel, steps = _made_ready(entry.compiled.ptx, entry.symbol)
    except PtxError as error:
        raise unsupported(error, entry, sources) from None
    layout, symbols = place_shared(kernel, entry, configuration.dynamic_shared)
    check_shared(place, layout.static, configuration.dynamic_shared, target, "extern")
    return Prepared(entry, kernel, steps, sources, layout, symbols, SiteMap(kernel, entry.plain, sources))


def launch(
    entry: Entry,
    configuration: Configuration,
    args: Sequence[Any],
    place: Place,
    options: LaunchOptions = DEFAULT_OPTIONS,
) -> tuple[Launch, tuple[Finding, ...]]:
    """Run a kernel once and return what it did; arrays among ``args`` are written as the kernel writes them.

    The arguments are as for the launch of a kernel in Python, ``lockstep.launch``.

    Raises:
        RefusedLaunchError: for a launch that no device would start.
        LaunchError: for one whose arguments do not fit, or that is larger than lockstep's limits.
        UnsupportedError: for an instruction that is not executed in lockstep, at the line that it comes from.
    """
    ready = prepare(entry, configuration, place)
    arguments = bind_arguments(entry, ready.kernel, args, place, GlobalMemory())
    memory = arguments.memory
    symbols = place_variables(ready.kernel, memory, entry.variables)
    arrays = arguments.arrays(entry.line)
    made = execute(ready, configuration, memory, arguments.parameters, symbols, arrays, place, options)
    arguments.copy_back()
    if entry.variables is not None:
        entry.variables.keep(ready.kernel, memory)
    return made


def execute(
    ready: Prepared,
    configuration: Configuration,
    memory: GlobalMemory,
    parameters: dict[str, NDArray[np.uint8]],
    symbols: Mapping[str, int],
    arrays: tuple[ArrayInfo, ...],
    place: Place,
    options: LaunchOptions = DEFAULT_OPTIONS,
) -> tuple[Launch, tuple[Finding, ...]]:
    """Run a kernel with the bytes of its parameters; ``symbols`` are the addresses of its variables in memory.

    Parameters are in memory as long as it runs.

    Raises:
        LaunchError: for a launch that is larger than lockstep's limits.
        UnsupportedError: for an instruction that is not executed in lockstep, at the line that it comes from.
    """
    check_threads(place, configuration, options.limits.threads)
    entry, kernel, stays = ready.entry, ready.kernel, len(memory.allocations)
    placed = _place_parameters(memory, parameters)
    symbols = {**symbols, **placed, **ready.symbols}
    cooperative, cluster = entry.is_cooperative, configuration.cluster or kernel.function.cluster or (1, 1, 1)
    if cooperative:
        check_together(place, configuration, "this_grid()")
    check_cluster(place, configuration.grid, cluster)
    workspace = memory.place("", np.zeros(WORKSPACE_BYTES, np.uint8)).start if cooperative else None
    threads = math.prod(configuration.grid) * slots_of(configuration)

    def machine() -> Machine:
        return Machine(
            entry.name,
            kernel,
            configuration,
            ready.layout,
            ready.sites,
            watched_allocations(kernel, memory, parameters, symbols, arrays, threads),
            place,
            options,
            memory,
            parameters,
            symbols,
            arrays,
            workspace,
            entry.program.spelling,
            cluster,
        )

    try:
        done = _run(ready, machine, options, together=cooperative or cluster != (1, 1, 1))
    finally:
        del memory.allocations[stays:]
    made, findings = done.result(entry.line, (*ready.layout.placed, *arrays))
    return with_names(made, done.log.spans), findings


def _place_parameters(memory: GlobalMemory, parameters: Mapping[str, NDArray[np.uint8]]) -> dict[str, int]:
    """Put parameters into one piece of memory, so that 32 bits tell them apart, and return the address of each."""
    offsets, end = {}, 0
    for name, data in parameters.items():
        offsets[name], end = end, end + -(-len(data) // 64) * 64
    whole = np.zeros(end, np.uint8)
    for name, data in parameters.items():
        whole[offsets[name] : offsets[name] + len(data)] = data
    start = memory.place("", whole).start if parameters else 0
    return {name: start + offset for name, offset in offsets.items()}


def _run(ready: Prepared, new: Callable[[], Machine], options: LaunchOptions, *, together: bool) -> Machine:
    """Run a launch: by NumPy, or compiled where that takes long; what looks like a mistake then, by NumPy again."""
    most_steps = options.limits.iterations

    def by_numpy(machine: Machine, *, may_leave: bool = False) -> Machine:
        scheduler = Scheduler(machine, ready.steps, most_steps, may_leave=may_leave)

        def run_batch() -> None:
            try:
                scheduler.run()
            except PtxError as error:
                raise unsupported(error, ready.entry, ready.sources) from None

        machine.run(run_batch, together=together)
        return machine

    machine, kernel = new(), ready.kernel
    # What strangers send is not made into machine code: their loops count together.
    if together or options.limits.all_loops or kernel.compiled_pays is False:
        return by_numpy(machine)
    allocations = machine.memory.allocations
    before = {number: allocations[number].data.copy() for number in machine.in_global.watched}

    def anew() -> Machine:
        for number, data in before.items():
            allocations[number].data[:] = data
        again = new()
        again.printed_before = max(machine.printed, machine.printed_before)
        return again

    if kernel.compiled_pays is None:
        try:
            return by_numpy(machine, may_leave=True)
        except TooLongError:
            machine = anew()
    # Numba and LLVM take their time to load, and most launches are short.
    from smemviz.engines.lockstep.ptx.compiled.cores import run_compiled
    from smemviz.engines.lockstep.ptx.compiled.running import compile_kernel

    code = compile_kernel(kernel)
    kernel.compiled_pays = False
    if code is not None:
        try:
            machine, is_well = run_compiled(code, machine, anew, most_steps)
            if is_well:
                kernel.compiled_pays = True
                return machine
        except PtxError as error:
            raise unsupported(error, ready.entry, ready.sources) from None
        machine = anew()
    return by_numpy(machine)


@lru_cache(maxsize=64)
def _made_ready(ptx: str, symbol: str) -> tuple[Kernel, tuple[Step, ...]]:
    kernel = Kernel(parsed(ptx), symbol)
    return kernel, steps_of(kernel)


def place_variables(kernel: Kernel, memory: GlobalMemory, variables: Variables | None = None) -> dict[str, int]:
    """Put the variables of a kernel into global memory, and return their addresses."""
    module, symbols = kernel.module, dict[str, int]()
    waiting = list(kernel.constants)
    seen = {variable.name for variable in waiting}
    while waiting:
        variable = waiting.pop()
        data, pointers = initial_bytes(variable)
        if variables is not None and not pointers:
            data = variables.bytes_of(variable.name, data)
        allocation = memory.place(variable.name, data)
        symbols[variable.name] = allocation.start
        for name in pointers.values():
            if name not in seen and name in module.variables:
                seen.add(name)
                waiting.append(module.variables[name])
        allocation.pointers = pointers
    for allocation in memory.allocations:
        for at, name in allocation.pointers.items():
            allocation.views[8][at // 8] += symbols.get(name, 0)
    return symbols


def unsupported(error: PtxError, entry: Entry, sources: Mapping[int, Text]) -> UnsupportedError:
    """Return the error at the line of the text that an instruction comes from."""
    place = written_at(error.place, sources) if error.place else None
    text = sources.get(place.file) if place else None
    source_place = text.place(place.line) if text and place else None
    file = (text.file if text else "") or entry.program.file
    return UnsupportedError(file, source_place[0] if source_place else entry.line, error.what)
