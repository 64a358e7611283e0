"""A whole kernel file in lockstep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any

from smemviz.engines import recorder
from smemviz.engines.host import Configuration, run_main
from smemviz.engines.lockstep.host.cuda import Cuda
from smemviz.engines.lockstep.host.host_memory import bounded
from smemviz.engines.lockstep.host.vectorize import decorators, decorators_of_cuda
from smemviz.engines.lockstep.log import ROW_BYTES
from smemviz.engines.lockstep.memory.device_array import AddressSpace
from smemviz.engines.lockstep.python_launch import launch
from smemviz.engines.options import LaunchOptions, RunOptions
from smemviz.frontends.numba.definitions import Definitions
from smemviz.frontends.numba.python_functions import Function, function_in
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import KEPT, Finding


class Recorder(recorder.Recorder):
    """Runs launches as they happen and keeps what they did."""

    def launch(
        self,
        function: Function,
        configuration: Configuration,
        args: tuple[Any, ...],
        place: tuple[str, int],
        space: AddressSpace,
        changed: tuple[str, ...] = (),
    ) -> None:
        """Run one launch; one that no device would start is a finding.

        ``changed`` are names outside the kernel that stand for something else than when it was compiled.
        """

        def make(options: LaunchOptions) -> tuple[Launch, tuple[Finding, ...]]:
            made, findings = launch(function, configuration, args, place, options, space)
            kept = (
                Finding.of(KEPT, function.name, place[1], {"name": name}, launch=options.number) for name in changed
            )
            return made, (*findings, *kept)

        self.make(function.name, make, ROW_BYTES, function.file)


def run(
    program: PythonProgram,
    options: RunOptions | None = None,
    after: Callable[[str, Sequence[Any]], None] | None = None,
) -> tuple[tuple[Launch, ...], tuple[Finding, ...]]:
    """Run a kernel file's ``main()`` and return every launch in it, and the mistakes met.

    Args:
        program: the kernel file, its constants replaced.
        options: how it is run and recorded.
        after: called with the name of a kernel and its arguments after each launch of it.

    Raises:
        InputError: when no launch is of those asked for.
        KernelFileError: when ``main()`` raises before it launches anything; later that is a finding.
        LaunchError: for a first launch whose arguments do not fit; a later one, and one that no device would start,
            is a finding.
        UnsupportedError: for a construct that is not executed in lockstep, in the first launch; later it is a finding.
    """
    seen = Recorder(options)
    find = Definitions(partial(function_in, file=program.file, source=program.source, tree=program.tree))

    def start(
        kernel: FunctionType,
        configuration: Configuration,
        args: tuple[Any, ...],
        place: tuple[str, int],
        changed: tuple[str, ...],
    ) -> None:
        seen.launch(find(kernel), configuration, args, place, cuda.addresses, changed)
        if after is not None:
            after(kernel.__name__, args)

    cuda = Cuda(program.file, start)
    cuda.in_numba = decorators(cuda)
    vars(cuda).update(decorators_of_cuda(cuda))
    with seen.recording(), bounded():
        run_main(program, cuda)
    return seen.result()
