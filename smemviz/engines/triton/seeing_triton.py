"""Running scripts with kernels of Triton where there is no GPU, and seeing what they launch."""

import hashlib
import importlib
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from smemviz.engines.launch_shape import launch_place
from smemviz.engines.options import RunOptions
from smemviz.engines.process import replaced
from smemviz.engines.recorder import Recorder
from smemviz.engines.triton.allocation import pieces_of
from smemviz.engines.triton.stand_in_driver import Driver
from smemviz.engines.triton.tensors import as_argument
from smemviz.engines.triton.torch_on_cpu import torch_on_cpu
from smemviz.errors import LaunchError
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.i18n import _
from smemviz.messages import english

_CACHE = "TRITON_CACHE_DIR"
_NAMED = re.compile(r"\b(?:triton|torch)\b")


def may_use_triton(program: PythonProgram) -> bool:
    """Tell whether a script, or a file of its own that it imports, names Triton or torch, and Triton is installed."""
    if find_spec("triton") is None:
        return False
    helpers = (Path(path) for path, _ in program.helper_hashes())
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in helpers if path.exists())
    return bool(_NAMED.search(program.source)) or any(map(_NAMED.search, texts))


@contextmanager
def triton_in_lockstep(program: PythonProgram, recorder: Recorder) -> Iterator[None]:
    """Run the kernels of Triton that are launched while this lasts in lockstep, and let a recorder see them."""
    driver = Driver(recorder.options.target, program.file, recorder)
    config = importlib.import_module("triton.runtime.driver").driver
    testing = importlib.import_module("triton.testing")
    with ExitStack() as stack:
        stack.enter_context(having_ptx(program.file))
        stack.enter_context(_first_configuration(driver))
        stack.enter_context(one_configuration(recorder.options))
        stack.enter_context(_taking_arrays())
        stack.enter_context(replaced(testing, dict.fromkeys(("do_bench", "do_bench_cudagraph"), _no_time)))
        stack.enter_context(replaced(testing.Mark, {"run": _no_report}))
        before = config._active
        stack.callback(lambda: setattr(config, "_active", before))
        config.set_active(driver)
        if find_spec("torch"):
            stack.enter_context(torch_on_cpu(driver.capability))
        yield


@contextmanager
def having_ptx(file: str) -> Iterator[None]:
    """Let what launches a kernel of Triton have its source, its PTX, and the pieces of its shared memory.

    A script has a cache of its own: Triton takes kernels that are alike for the same, though their PTX names the file.
    """
    cache = Path(os.environ.get(_CACHE) or Path.home() / ".triton" / "cache")
    own = cache / f"smemviz-{hashlib.sha256(str(Path(file).resolve()).encode()).hexdigest()[:16]}"
    kernel: Any = importlib.import_module("triton.compiler.compiler").CompiledKernel
    make_ready = kernel._init_handles

    def made_ready(compiled: Any) -> None:
        make_ready(compiled)
        compiled._run.source, compiled._run.metadata = compiled.src, compiled.metadata
        compiled._run.ptx = compiled.asm["ptx"]
        compiled._run.pieces = pieces_of(compiled)

    before = os.environ.get(_CACHE)
    os.environ[_CACHE] = str(own)
    try:
        with replaced(kernel, {"_init_handles": made_ready}):
            yield
    finally:
        del os.environ[_CACHE]
        os.environ |= {_CACHE: before} if before else {}


@contextmanager
def _first_configuration(driver: Driver) -> Iterator[None]:
    """Have ``autotune`` take the first configuration that compiles and fits the device."""
    tuner: Any = importlib.import_module("triton.runtime.autotuner").Autotuner
    measured = tuner._bench
    done: list[Any] = [None]  # the call of which a configuration is found

    def measure(self: Any, *args: Any, config: Any, **meta: Any) -> list[float]:
        if done[0] is self.nargs:
            return [math.inf] * 3
        times: list[float] = measured(self, *args, config=config, **meta)
        if math.isfinite(times[0]):
            done[0] = self.nargs
        return times

    with replaced(tuner, {"_bench": measure, "do_bench": property(lambda _: driver.try_out)}):
        yield


@contextmanager
def one_configuration(options: RunOptions) -> Iterator[None]:
    """Have ``autotune`` take the configuration that is asked for, or the one that it finds, and note what there are."""
    number = options.config
    tuner: Any = importlib.import_module("triton.runtime.autotuner").Autotuner
    run = tuner.run

    def run_with(self: Any, *args: Any, **kwargs: Any) -> Any:
        options.configurations[self.base_fn.__name__] = tuple(map(str, self.configs))
        if number is not None and number >= len(self.configs):
            values = {"kernel": self.base_fn.__name__, "count": len(self.configs), "number": number}
            what = english("{kernel} has {count} configurations, 0 and up; there is no {number}", **values)
            raise LaunchError(*launch_place(""), what)
        asked = {} if number is None else {"configs": [self.configs[number]]}
        with replaced(self, asked):
            result = run(self, *args, **kwargs)
        if number is None and len(self.configs) > 1:
            _say_configuration(self.base_fn.__name__, str(self.best_config), len(self.configs))
        return result

    with replaced(tuner, {"run": run_with}):
        yield


@contextmanager
def _taking_arrays() -> Iterator[None]:
    """Let a kernel take arrays of NumPy."""
    function: Any = importlib.import_module("triton.runtime.jit").JITFunction
    run = function.run

    def run_with(self: Any, *args: Any, **kwargs: Any) -> Any:
        named = {name: as_argument(value) for name, value in kwargs.items()}
        return run(self, *map(as_argument, args), **named)

    with replaced(function, {"run": run_with}):
        yield


def _no_time(call: Callable[[], object], *_: Any, quantiles: Any = None, return_mode: str = "mean", **__: Any) -> Any:
    """Call once and return no time."""
    _say_no_time()
    call()
    if quantiles is not None:
        return [math.nan] * len(quantiles)
    return [math.nan] if return_mode == "all" else math.nan


@cache
def _say_configuration(kernel: str, taken: str, count: int) -> None:
    values = {"kernel": kernel, "taken": taken, "count": count}
    text = _("smemviz: of {count} configurations {kernel} is run with {taken}; --config N takes another", **values)
    print(text, file=sys.stderr)


def _no_report(*_: Any, **__: Any) -> None:
    """Report no times."""
    _say_no_time()


@cache
def _say_no_time() -> None:
    print(_("smemviz: nothing is timed without a GPU; times of triton.testing are nan"), file=sys.stderr)
