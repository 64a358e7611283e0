"""One launch: arguments in, requests and findings out; its blocks in batches, and how long they are going to take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Protocol, runtime_checkable

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
from smemviz.engines.lockstep.python import interpreter
from smemviz.engines.options import DEFAULT_OPTIONS, LaunchOptions, Progress
from smemviz.errors import LaunchError, PlaceError
from smemviz.frontends.numba.functions import Function
from smemviz.messages import english
from smemviz.model.hardware.compute_capability import device
from smemviz.recordings.data import WARP_SIZE, Finding, Launch

Place = tuple[str, int]

# The device that lockstep stands in for: shared memory starts and ends where it does there.
COMPUTE_CAPABILITY = (9, 0)
MOST_COOPERATING = 132 * 2048  # threads at once on the H200, which is what a cooperative launch may have
_LONG_SECONDS = 3.0
_SURE_SECONDS = 5.0
_PART = 8  # the small batch that is timed is such a part of a full one
_FEWEST = 2 * _PART  # blocks in a full batch; of fewer, no two small batches differ enough


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
    machine = Machine(kernel.name, known, configuration, layout, log, options.limits, place, findings, races)
    arguments = dict(
        zip(names, [memory.view(name, value) for name, value in zip(names, values, strict=True)], strict=True)
    )
    with np.errstate(all="ignore"), telling(findings):
        at_once = options.limits.blocks_at_once(warps * WARP_SIZE, layout.nbytes)
        for first, count in in_batches(blocks, at_once, kernel.name, options.progress, together=table.cooperative):
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


@runtime_checkable
class Expecting(Protocol):
    """A progress callback that is told beforehand when a launch will take longer than a few seconds."""

    def expect(self, seconds: float, text: str) -> None:
        """Take note that ``text`` is expected to run for so many more seconds."""


def in_batches(
    blocks: int, at_once: int, kernel: str, progress: Progress | None, *, together: bool = False
) -> Iterator[tuple[int, int]]:
    """Give the batches of a launch, as ``batches`` does, and tell ``progress`` of each when the next is asked for.

    Blocks that wait for each other run ``together``, all of them at once.
    """
    expect = None if together else announcing(progress, kernel)
    for first, count in batches(blocks, blocks if together else at_once, expect):
        yield first, count
        if progress is not None:
            progress(first + count, blocks, kernel)


def announcing(progress: object, kernel: str) -> Callable[[float], None] | None:
    """Return what tells a progress callback of a long time, None for one that does not want to know."""
    if progress is None or not isinstance(progress, Expecting):
        return None

    def expect(seconds: float) -> None:
        if seconds > _LONG_SECONDS:
            progress.expect(seconds, kernel)

    return expect


def batches(blocks: int, at_once: int, expect: Callable[[float], None] | None) -> Iterator[tuple[int, int]]:
    """Give batches of at most ``at_once`` blocks, each as its first block and how many.

    Where one batch is not enough and somebody wants to know, small ones come first, and the time that the caller takes
    for them gives ``expect`` the seconds that the rest will take.
    """
    first = 0
    if expect is not None and blocks > at_once >= _FEWEST:
        single_s: list[float] = []
        batch_s: list[float] = []
        few = at_once // _PART
        for count, seconds in _small(few, single_s, batch_s):
            begin = perf_counter()
            yield first, count
            seconds.append(perf_counter() - begin)
            first += count
        expect(_rest(blocks - first, at_once, few, min(single_s[1:] or single_s), min(batch_s)))
    for begin_at in range(first, blocks, at_once):
        yield begin_at, min(at_once, blocks - begin_at)


def _small(few: int, single_s: list[float], batch_s: list[float]) -> Iterator[tuple[int, list[float]]]:
    """Give the sizes of small batches, and where their seconds are to be noted.

    The very first batch loads what is loaded once, and a machine does other things too, so there are more of each size
    and the shortest counts; unless they take so long that all this matters little. The first that is counted may wait
    for a compiler: then some blocks take longer than they would one by one.
    """
    yield 1, single_s
    if single_s[0] < _SURE_SECONDS:
        yield 1, single_s
        yield 1, single_s
    yield few, batch_s
    if batch_s[0] < _SURE_SECONDS or batch_s[0] > few * min(single_s):
        yield few, batch_s


def _rest(blocks: int, at_once: int, few: int, single_s: float, batch_s: float) -> float:
    """Return the seconds that blocks will take: a batch costs something, and each block in it."""
    block_s = max(0.0, batch_s - single_s) / (few - 1)
    return blocks / at_once * (single_s + block_s * (at_once - 1))
