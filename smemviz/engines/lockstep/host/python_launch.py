"""A launch of a kernel in Python: checked, interpreted, and made as machine code where that takes long."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.hazards.watched import watched_memories, written_memories
from smemviz.engines.lockstep.known import known_of
from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.arguments import Arguments, check_stores, global_arrays, parameters
from smemviz.engines.lockstep.memory.device_array import AddressSpace
from smemviz.engines.lockstep.python.interpreter import interpret
from smemviz.engines.lockstep.running_launch import (
    COMPUTE_CAPABILITY,
    Place,
    TooLongError,
    check_threads,
    check_together,
    slots_of,
)
from smemviz.engines.options import DEFAULT_OPTIONS, LaunchOptions, check_launch, check_shared
from smemviz.frontends.numba.python_functions import Function
from smemviz.model.hardware.compute_capability import device
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import Finding


def launch(
    kernel: Function,
    configuration: Configuration,
    args: Sequence[Any],
    place: Place,
    options: LaunchOptions = DEFAULT_OPTIONS,
    space: AddressSpace | None = None,
) -> tuple[Launch, tuple[Finding, ...]]:
    """Run a kernel once and return what it did; arrays among ``args`` are written as the kernel writes them.

    Args:
        kernel: the kernel's definition.
        configuration: grid, block and dynamic shared memory.
        args: NumPy arrays, device arrays of this engine, numbers, and tuples of these.
        place: file and line of the launch, named by errors.
        options: how it is made and recorded.
        space: where addresses of global arrays come from.

    Raises:
        RefusedLaunchError: for a launch that no device would start.
        LaunchError: for one whose arguments do not fit, or that is larger than lockstep's limits.
        UnsupportedError: for a construct that is not executed in lockstep.
    """
    target = device(COMPUTE_CAPABILITY)
    check_launch(place, configuration.grid, configuration.block, target)
    check_threads(place, configuration, options.limits.threads)
    names = parameters(kernel, args, place)
    memory = Arguments(place, space or AddressSpace())
    values = [memory.value(name, arg) for name, arg in zip(names, args, strict=True)]
    known = known_of(kernel, values)
    table, same = known.table, known.same
    check_stores(kernel, table.sites, names, args)
    if table.cooperative:
        check_together(place, configuration, "cuda.cg.this_grid()")
    layout = known.layout(configuration.dynamic_shared)
    check_shared(place, layout.static, configuration.dynamic_shared, target)
    placed = (array for i, array in enumerate(layout.placed) if same[i] == i)
    arrays = (*placed, *global_arrays(kernel, names, values))
    slots = math.prod(configuration.grid) * slots_of(configuration)
    is_alone = configuration.threads == 1  # with nobody to race with
    may_compile = options.machine_code == "when-long" and known.may_leave and not options.limits.all_loops
    may_leave = may_compile and known.machine_code_pays is None
    written = written_memories(known.accessed, values, arrays)
    before = {own: own.data.copy() for own in written} if may_leave else {}

    printed = 0

    def walk(*, may_leave: bool = False) -> tuple[Launch, tuple[Finding, ...]]:
        nonlocal printed
        watched = {} if is_alone else watched_memories(known.accessed, values, arrays, slots)
        machine = Machine(kernel, known, configuration, watched, place, options, may_leave=may_leave)
        machine.printed_before = printed
        try:
            interpret(machine, {name: memory.view(name, value) for name, value in zip(names, values, strict=True)})
        finally:
            printed = machine.printed
        return machine.result(kernel.node.lineno, arrays, kernel.file)

    try:
        if options.machine_code == "always" or (may_compile and known.machine_code_pays):
            raise TooLongError
        made, findings = walk(may_leave=may_leave)
    except TooLongError:
        for own, data in before.items():
            own.data[:] = data
        # Numba and LLVM take their time to load, and most launches are short.
        from smemviz.engines.lockstep.machine_code.launching import launch_compiled

        watched = {} if is_alone else written
        compiled = launch_compiled(kernel, known, configuration, values, watched, place, options)
        known.machine_code_pays = compiled is not None
        made, findings = (replace(compiled, arrays=arrays), ()) if compiled else walk()
    known.leave(kernel)
    memory.copy_back()
    return made, findings
