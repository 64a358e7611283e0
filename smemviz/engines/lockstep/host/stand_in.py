"""Kernels of a whole process in lockstep: ``numba.cuda`` without a GPU, for scripts and notebooks as they are."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from multiprocessing import context
from types import FunctionType
from typing import Any

from smemviz.engines.host import Configuration, calls_a_script, is_library
from smemviz.engines.lockstep.dispatch import Dispatcher
from smemviz.engines.lockstep.host.cuda import Cuda
from smemviz.engines.lockstep.host.python_in_lockstep import Recorder
from smemviz.engines.lockstep.host.vectorize import decorators, decorators_of_cuda
from smemviz.engines.options import RunOptions
from smemviz.engines.replacing import replaced
from smemviz.errors import InputError
from smemviz.frontends.numba.python_functions import Function

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
