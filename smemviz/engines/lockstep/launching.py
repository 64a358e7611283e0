"""One launch: arguments in, requests and findings out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from smemviz.engines.host import Configuration
from smemviz.engines.limits import check_launch, check_shared
from smemviz.engines.lockstep.hazards.findings import Findings
from smemviz.engines.lockstep.hazards.global_races import GlobalRaces
from smemviz.engines.lockstep.hazards.watched import watched_memories
from smemviz.engines.lockstep.known import known_of
from smemviz.engines.lockstep.log import Log, NoLog
from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.arguments import Arguments, check_stores, global_arrays, parameters
from smemviz.engines.lockstep.memory.device_array import AddressSpace
from smemviz.engines.lockstep.pace import Pace
from smemviz.engines.lockstep.python import interpreter
from smemviz.engines.options import DEFAULT_OPTIONS, LaunchOptions
from smemviz.errors import LaunchError, PlaceError
from smemviz.frontends.numba.functions import Function
from smemviz.messages import english
from smemviz.model.hardware.compute_capability import device
from smemviz.recordings.data import WARP_SIZE, Launch
from smemviz.recordings.findings import Finding

Place = tuple[str, int]

# The device that lockstep stands in for: shared memory starts and ends where it does there.
COMPUTE_CAPABILITY = (9, 0)
MOST_COOPERATING = 132 * 2048  # threads at once on the H200, which is what a cooperative launch may have


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
        check_threads(place, configuration, MOST_COOPERATING, "cuda.cg.this_grid()")
    layout = known.layout(configuration.dynamic_shared)
    check_shared(place, layout.static, configuration.dynamic_shared, target)
    blocks = math.prod(configuration.grid)
    warps = -(-math.prod(configuration.block) // WARP_SIZE)
    chosen = options.logged.of(place, kernel.name, blocks) if options.logged and options.recorded else None
    log = (Log if options.recorded else NoLog)(table.sites, blocks, warps, options.log_bytes, chosen)
    findings = Findings(kernel.name, configuration, options.number, tree=kernel.node)
    arrays = global_arrays(kernel, names, values)
    is_alone = blocks * math.prod(configuration.block) == 1  # with nobody to race with
    seen = {} if is_alone else watched_memories(known.accessed, values, arrays, blocks * warps * WARP_SIZE)
    races = GlobalRaces(table.sites, seen, blocks, warps * WARP_SIZE, findings)
    pace = Pace(options.progress, kernel.name, blocks)
    machine = Machine(kernel.name, known, configuration, layout, log, options.limits, pace, place, findings, races)
    arguments = dict(
        zip(names, [memory.view(name, value) for name, value in zip(names, values, strict=True)], strict=True)
    )
    with np.errstate(all="ignore"), telling(findings):
        at_once = options.limits.blocks_at_once(warps * WARP_SIZE, layout.nbytes)
        for first, count in pace.batches(at_once, together=table.cooperative):
            machine.begin(first, count)
            interpreter.run(machine, arguments)
            machine.end()
    known.leave(kernel)
    memory.copy_back()
    recorded_launch = Launch(
        kernel=kernel.name,
        line=kernel.node.lineno,
        grid=configuration.grid,
        block=configuration.block,
        dynamic_shared=configuration.dynamic_shared,
        shared_bytes=layout.nbytes,
        sites=table.sites,
        arrays=(*(array for i, array in enumerate(layout.placed) if same[i] == i), *arrays),
        requests=log.requests(),
        totals=log.totals,
        file=kernel.file,
    )
    return recorded_launch, findings.all()


@contextmanager
def telling(findings: Findings) -> Iterator[None]:
    """Let an error that ends a launch tell of the mistakes met before it."""
    try:
        yield
    except PlaceError as error:
        error.findings = findings.all()
        raise


def check_threads(place: Place, configuration: Configuration, most: int, together: str = "") -> None:
    """Refuse a launch of more threads than that; ``together`` is the call that wants all of them at once.

    Raises:
        LaunchError: naming both numbers.
    """
    threads = math.prod(configuration.grid) * math.prod(configuration.block)
    if threads <= most:
        return
    what = english(
        "the launch has {threads:,} threads; lockstep runs {most:,} at most. "
        "Make the grid smaller, or run with engine gpu.",
        threads=threads,
        most=most,
    )
    if together:
        what = english(
            "the launch has {threads:,} threads; lockstep runs {most:,} at most together, as {code} wants it. "
            "Make the grid smaller, or run with engine gpu.",
            threads=threads,
            most=most,
            code=together,
        )
    raise LaunchError(*place, what)
