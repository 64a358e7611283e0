"""One launch: arguments in, requests and findings out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from smemviz.engines.host import Configuration
from smemviz.engines.limits import LOG_BYTES, check_launch, check_shared
from smemviz.engines.lockstep.batches import announcing, batches
from smemviz.engines.lockstep.device_array import AddressSpace, DeviceArray, kernel_view, to_device
from smemviz.engines.lockstep.findings import Findings
from smemviz.engines.lockstep.interpreter import Interpreter
from smemviz.engines.lockstep.log import Log, NoLog
from smemviz.engines.lockstep.machine import DEFAULT_LIMITS, Limits, Machine
from smemviz.engines.lockstep.shared import place as place_shared
from smemviz.engines.lockstep.typing import Value
from smemviz.engines.selection import Blocks
from smemviz.errors import LaunchError, UnsupportedError
from smemviz.functions import Function
from smemviz.model.devices import device
from smemviz.recording import WARP_SIZE, ArrayInfo, Finding, Launch
from smemviz.sites import SiteTable, SiteTree, find_sites

Progress = Callable[[int, int, str], None]
Place = tuple[str, int]

# The device that lockstep stands in for: shared memory starts and ends where it does there.
COMPUTE_CAPABILITY = (9, 0)


def launch(
    kernel: Function,
    configuration: Configuration,
    args: Sequence[Any],
    place: Place,
    progress: Progress | None = None,
    log_bytes: int = LOG_BYTES,
    limits: Limits = DEFAULT_LIMITS,
    space: AddressSpace | None = None,
    number: int = 0,
    logged: Blocks | None = None,
    recorded: bool = True,
) -> tuple[Launch, tuple[Finding, ...]]:
    """Run a kernel once and return what it did; arrays among ``args`` are written as the kernel writes them.

    Args:
        kernel: the kernel's definition.
        configuration: grid, block and dynamic shared memory.
        args: NumPy arrays, device arrays of this engine, numbers, and tuples of these.
        place: file and line of the launch, named by errors.
        progress: called as ``progress(blocks done, blocks, kernel)``; one with a method ``expect(seconds, kernel)``
            is told beforehand of a launch that will take longer than a few seconds.
        log_bytes: the most the log may take before requests are counted instead of kept.
        limits: what the launch may use.
        space: where addresses of global arrays come from.
        number: of the launch in its recording.
        logged: the blocks to log in full; None means all where they fit, else the first, the middle and the last.
        recorded: False for a launch that only has to happen; nothing is counted then.

    Raises:
        RefusedLaunchError: for a launch that no device would start.
        LaunchError: for one whose arguments do not fit, or that is larger than lockstep's limits.
        UnsupportedError: for a construct that is not executed in lockstep.
    """
    target = device(COMPUTE_CAPABILITY)
    check_launch(place, configuration.grid, configuration.block, target)
    _check_threads(place, configuration, limits)
    names = _parameters(kernel, args, place)
    given = _Arguments(place, space or AddressSpace())
    values = [given.value(name, arg) for name, arg in zip(names, args, strict=True)]
    table = find_sites(kernel, [_described(value) for value in values])
    layout = place_shared(table.declarations, _same_memory(table), configuration.dynamic_shared)
    check_shared(place, layout.static, configuration.dynamic_shared, target)
    blocks = math.prod(configuration.grid)
    warps = -(-math.prod(configuration.block) // WARP_SIZE)
    chosen = logged.of(place, kernel.name, blocks) if logged and recorded else None
    log = (Log if recorded else NoLog)(table.sites, blocks, warps, log_bytes, chosen)
    findings = Findings(kernel.name, configuration, number)
    machine = Machine(kernel.name, table, configuration, layout, log, limits, place, findings)
    arguments = dict(
        zip(names, [given.view(name, value) for name, value in zip(names, values, strict=True)], strict=True)
    )
    with np.errstate(all="ignore"):
        at_once = _blocks_at_once(warps * WARP_SIZE, layout.nbytes, limits)
        for first, count in batches(blocks, at_once, announcing(progress, kernel.name)):
            machine.begin(first, count)
            Interpreter(machine, table.root, machine.root).run(arguments)
            machine.end()
            if progress is not None:
                progress(first + count, blocks, kernel.name)
    given.copy_back()
    arrays = _global_arrays(kernel, names, values)
    made = Launch(
        kernel=kernel.name,
        line=kernel.node.lineno,
        grid=configuration.grid,
        block=configuration.block,
        dynamic_shared=configuration.dynamic_shared,
        shared_bytes=layout.nbytes,
        sites=table.sites,
        arrays=(*_distinct(table, layout.placed), *arrays),
        requests=log.requests(),
        totals=log.totals,
    )
    return made, findings.all()


def _check_threads(place: Place, configuration: Configuration, limits: Limits) -> None:
    threads = math.prod(configuration.grid) * math.prod(configuration.block)
    if threads > limits.threads:
        raise LaunchError(
            *place,
            f"the launch has {threads:,} threads; lockstep runs {limits.threads:,} at most. "
            "Make the grid smaller, or run with engine gpu.",
        )


def _blocks_at_once(slots: int, shared: int, limits: Limits) -> int:
    return max(1, min(limits.threads_at_once // slots, limits.shared_at_once // max(1, shared)))


def _parameters(kernel: Function, args: Sequence[Any], place: Place) -> list[str]:
    parameters = kernel.node.args
    if parameters.vararg or parameters.kwarg or parameters.kwonlyargs:
        raise UnsupportedError(
            kernel.file,
            kernel.node.lineno,
            f"{kernel.name} with * or keyword-only parameters is not executed in lockstep",
        )
    names = [a.arg for a in (*parameters.posonlyargs, *parameters.args)]
    if len(names) != len(args):
        wanted = f"{len(names)} argument{'' if len(names) == 1 else 's'}"
        raise LaunchError(*place, f"{kernel.name} takes {wanted} ({', '.join(names)}); the launch gives {len(args)}")
    return names


class _Arguments:
    """The arguments of a launch: arrays of the host are copied to the device and, at the end, back."""

    def __init__(self, place: Place, space: AddressSpace) -> None:
        self._place = place
        self._space = space
        self._copied: list[tuple[np.ndarray[Any, Any], DeviceArray]] = []

    def value(self, name: str, given: Any) -> Any:
        """Return an argument with its arrays on the device."""
        if isinstance(given, tuple):
            return tuple(self.value(name, item) for item in given)
        if isinstance(given, np.ndarray):
            for host, copied in self._copied:
                if host is given:
                    return copied
            try:
                made = to_device(self._space, given)
            except (TypeError, ValueError) as error:
                raise LaunchError(*self._place, f"{name}: {error}") from None
            self._copied.append((given, made))
            given = made
        if isinstance(given, DeviceArray):
            if given.dtype.kind not in "biufc":
                raise UnsupportedError(
                    *self._place, f"{name}: an array of {given.dtype} is not executed in lockstep; run with engine gpu"
                )
            return given
        if isinstance(given, np.generic) and given.dtype.kind in "biufc":
            return given.item() if given.dtype in (np.int64, np.bool_) else given
        if isinstance(given, bool | int | float | complex):
            if isinstance(given, int) and not -(2**63) <= given < 2**63:
                if not 0 <= given < 2**64:
                    raise LaunchError(*self._place, f"{name}: {given} does not fit 64 bits")
                return np.uint64(given)
            return given
        raise LaunchError(
            *self._place, f"{name}: a kernel takes arrays, numbers and tuples; {type(given).__name__} is none of them"
        )

    def view(self, name: str, value: Any) -> Value:
        """Return an argument as the kernel sees it."""
        if isinstance(value, tuple):
            return tuple(self.view(name, item) for item in value)
        if isinstance(value, DeviceArray):
            try:
                return kernel_view(name, value)
            except ValueError as error:
                raise UnsupportedError(*self._place, f"{error}; run with engine gpu") from None
        return value

    def copy_back(self) -> None:
        """Give arrays of the host what the kernel wrote."""
        for host, copied in self._copied:
            if host.flags.writeable:
                host[...] = copied.array


def _described(value: Any) -> Any:
    """Return an argument by what the walk of sites looks at: dtype and rank."""
    if isinstance(value, tuple):
        return tuple(_described(item) for item in value)
    return value.array if isinstance(value, DeviceArray) else value


def _global_arrays(kernel: Function, names: Sequence[str], values: Sequence[Any]) -> list[ArrayInfo]:
    found = []
    for name, value in zip(names, values, strict=True):
        if isinstance(value, tuple):
            found += _global_arrays(kernel, [name] * len(value), value)
        elif isinstance(value, DeviceArray):
            line = kernel.node.lineno
            found.append(ArrayInfo(name, "global", value.shape, value.strides, value.dtype.name, value.address, line))
    return found


def _same_memory(table: SiteTable) -> list[int]:
    """Return for every declaration the first one at the same place of the source: they are one array."""
    first: dict[Any, int] = {}
    same = list(range(len(table.declarations)))

    def visit(tree: SiteTree) -> None:
        for node, index in tree.declarations.items():
            declared = table.declarations[index]
            same[index] = first.setdefault((node, declared.shape, declared.dtype), index)
        for inner in tree.calls.values():
            visit(inner)

    visit(table.root)
    lowest = {index: min(i for i, s in enumerate(same) if s == index) for index in set(same)}
    return [lowest[index] for index in same]


def _distinct(table: SiteTable, placed: Sequence[ArrayInfo]) -> list[ArrayInfo]:
    same = _same_memory(table)
    return [array for i, array in enumerate(placed) if same[i] == i]
