"""A whole kernel file in lockstep."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from multiprocessing import context
from types import FunctionType
from typing import Any

from smemviz.engines import recorder
from smemviz.engines.host import calls_a_script, run_main
from smemviz.engines.launch_shape import Configuration, is_library
from smemviz.engines.lockstep.dispatch import Dispatcher
from smemviz.engines.lockstep.host.cuda import Cuda
from smemviz.engines.lockstep.host.host_memory import bounded
from smemviz.engines.lockstep.host.python_launch import launch
from smemviz.engines.lockstep.host.vectorize import decorators, decorators_of_cuda
from smemviz.engines.lockstep.log import ROW_BYTES
from smemviz.engines.lockstep.memory.device_array import AddressSpace
from smemviz.engines.options import LaunchOptions, RunOptions
from smemviz.engines.process import replaced
from smemviz.errors import InputError
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
    program: PythonProgram, options: RunOptions | None = None, after: Callable[[str, Sequence[Any]], None] | None = None
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


_active: list[tuple[Recorder, Callable[[FunctionType], Function]]] = []  # the innermost last


@contextmanager
def stand_in(recorder: Recorder, find: Callable[[FunctionType], Function]) -> Iterator[None]:
    """Run every launch of this process in lockstep while this lasts, and let ``recorder`` see it.

    What ``numba.cuda`` offers a host is replaced by what the lockstep engine gives a kernel file, in the module that
    others have imported already; a kernel that exists is launched in lockstep too. ``find`` gives the definition of a
    kernel. Where one stand-in lasts inside another, both see the launches. Kernels of Numba itself are launched
    and not shown, unless they are made of a function of the script, as those of ``cuda.reduce`` are.

    Raises:
        InputError: when Numba's own simulator has taken the place of ``numba.cuda``.
    """
    module: Any = importlib.import_module("numba.cuda")
    if importlib.import_module("numba.core.config").ENABLE_CUDASIM:
        raise InputError("Numba's simulator is on; unset NUMBA_ENABLE_CUDASIM, lockstep needs none")
    kernels = importlib.import_module("numba.cuda.dispatcher").CUDADispatcher

    def start(
        kernel: FunctionType,
        config: Configuration,
        args: tuple[Any, ...],
        place: tuple[str, int],
        changed: tuple[str, ...],
    ) -> None:
        of_numba = is_library(kernel.__code__.co_filename) and not calls_a_script(kernel)
        seen_by, found_by = _active[-1] if _active else (recorder, find)  # it may have been made in an outer one
        shown = Recorder(RunOptions(log_bytes=0)) if of_numba else seen_by
        shown.launch(found_by(kernel), config, args, place, cuda.addresses, changed)

    @cache
    def configured(kernel: Any) -> Dispatcher:
        return Dispatcher(kernel.py_func, None, bool(kernel.targetoptions.get("device")), "", start)

    launching = {
        "__getitem__": lambda kernel, shape: configured(kernel)[shape],
        "configure": lambda kernel, *args, **kwargs: configured(kernel).configure(*args, **kwargs),
        "forall": lambda kernel, *args, **kwargs: configured(kernel).forall(*args, **kwargs),
    }
    cuda = Cuda("", start)
    of_the_host = {name: getattr(cuda, name) for name in (*vars(Cuda), "gpus") if not name.startswith("_")}
    with ExitStack() as stack:
        stack.enter_context(replaced(module, of_the_host | decorators_of_cuda(cuda)))
        stack.enter_context(replaced(kernels, launching))
        stack.enter_context(replaced(importlib.import_module("numba"), decorators(cuda)))
        reductions = importlib.import_module("numba.cuda.kernels.reduction").Reduce
        stack.enter_context(replaced(reductions, {"_cache": {}}))  # of kernels, which are launched elsewhere afterwards
        stack.enter_context(_forking())
        stack.callback(_tell_outer, recorder)
        stack.callback(_active.pop)
        _active.append((recorder, find))
        yield


@contextmanager
def _forking() -> Iterator[None]:
    """Fork the processes that a script would start anew, which would know nothing of the one they come from."""
    with ExitStack() as stack:
        for name in ("SpawnProcess", "ForkServerProcess"):
            if hasattr(context, "ForkProcess") and hasattr(context, name):
                start = {"_Popen": vars(context.ForkProcess)["_Popen"]}
                stack.enter_context(replaced(getattr(context, name), start))
        yield


def _tell_outer(recorder: Recorder) -> None:
    """Give what a recorder saw to the one around it."""
    if _active:
        _active[-1][0].take_over(recorder.launches, recorder.findings)
