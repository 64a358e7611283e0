"""A compiled launch on several cores: parts of its blocks, each with memory of its own but for global memory.

What it leaves and records is that of one block after another as long as no block touches what another one stores. That
is looked at when all have ended; where it is not so, the launch is made again in order.
"""

import math
import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event

from smemviz.engines.lockstep.ptx.code.module import Special, leaves
from smemviz.engines.lockstep.ptx.compiled.running import CompiledKernel, CompiledLaunch
from smemviz.engines.lockstep.ptx.compiled.settling import touch_apart
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.special import CLOCKS
from smemviz.model.hardware.operations import effect_of

_PARTS = 16  # of a launch for each core, so that all end at about the same time
_LOOK_SECONDS = 0.1


class _StoppedError(Exception):
    """A thread has ended before its blocks have."""


def run_compiled(
    code: CompiledKernel, machine: Machine, anew: Callable[[], Machine], most_steps: int, *, all_meet: bool = False
) -> tuple[Machine, bool]:
    """Run a launch compiled; returns the machine that has run it, and whether all is well.

    ``anew`` gives a machine for the launch as it begins, with memory as it was; ``all_meet`` is as for one core.

    Raises:
        PtxError: when a loop does not end.
    """
    blocks = math.prod(machine.configuration.grid)
    cores = min(_cores(), blocks)
    if cores > 1 and blocks_are_apart(machine.kernel):
        launches = [CompiledLaunch(code, machine, most_steps, all_meet=all_meet) for _ in range(cores)]
        if _run_together(launches, machine, blocks):
            return machine, True
        machine = anew()
    launch = CompiledLaunch(code, machine, most_steps, all_meet=all_meet)
    is_well = launch.run(range(blocks), machine.pace.at_block)
    machine.log.join(launch.share)
    return machine, is_well


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def blocks_are_apart(kernel: Kernel) -> bool:
    """Whether nothing in a kernel shows that its blocks wait for each other, or depend on their order.

    Updates of global memory do, what others see at once does, and clocks.
    """
    shared = any(one.space != "shared" and (one.strong or effect_of(one.op) == "update") for one in kernel.memory)
    operands = (operand for instruction in kernel.body for operand in instruction.operands)
    return not shared and not any(
        isinstance(leaf, Special) and leaf.name in CLOCKS for operand in operands for leaf in leaves(operand)
    )


def _run_together(launches: list[CompiledLaunch], machine: Machine, blocks: int) -> bool:
    """Run parts of a launch by threads, a launch each; returns whether all is well and none is in the way of others."""
    size = -(-blocks // (len(launches) * _PARTS))
    parts = iter([range(first, min(first + size, blocks)) for first in range(0, blocks, size)])
    done, stop = [0] * len(launches), Event()

    def look(_: int) -> None:
        if stop.is_set():
            raise _StoppedError

    def work(number: int) -> bool:
        for part in parts:  # which gives each to one thread
            if not launches[number].run(part, look):
                raise _StoppedError
            done[number] += len(part)
        return True

    with ThreadPoolExecutor(len(launches)) as pool:
        waiting = {pool.submit(work, number) for number in range(len(launches))}
        ended: set[Future[bool]] = set()
        try:
            while waiting and not any(one.exception() for one in ended):
                ended, waiting = wait(waiting, _LOOK_SECONDS, FIRST_COMPLETED)
                machine.pace.at_block(sum(done))
        finally:
            stop.set()
    errors = [one.exception() for one in ended]
    if any(isinstance(error, _StoppedError) for error in errors):
        return False
    for error in errors:
        if error is not None:
            raise error
    first, *others = launches
    if not all(touch_apart(first.global_cells, other.global_cells) for other in others):
        return False
    for one in launches:
        machine.log.join(one.share)
    return True
