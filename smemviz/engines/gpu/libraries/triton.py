"""Launches of Triton on a GPU, each recorded from copies of its tensors before Triton makes it."""

import importlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from smemviz.engines.gpu.libraries.wrapped import made_after
from smemviz.engines.gpu.ptx.access_calls import ROW_BYTES
from smemviz.engines.lockstep.ptx.host.cuda_launch import Make
from smemviz.engines.process import replaced
from smemviz.engines.recorder import Recorder
from smemviz.engines.triton.launches import recorded
from smemviz.engines.triton.seeing_triton import having_ptx, one_configuration


@contextmanager
def watched_triton(own_file: str, recorder: Recorder, make: Make) -> Iterator[None]:
    """Show each launch of a script that is made while this lasts, those left out that only measure times."""
    launchers: Any = importlib.import_module("triton.backends.nvidia.driver").CudaLauncher
    launch = launchers.__call__
    timing: list[None] = []

    def launched(launcher: Any, x: int, y: int, z: int, *rest: Any) -> None:
        def record() -> bool:
            # The rest are a stream, a function, metadata twice and two hooks, and then the arguments.
            return recorded(recorder, launcher, (x, y, z), rest[6:], own_file, make, ROW_BYTES)

        if timing or not hasattr(launcher, "ptx"):
            launch(launcher, x, y, z, *rest)
        else:
            made_after(recorder, launcher.source.fn.__name__, record, lambda: launch(launcher, x, y, z, *rest))

    def unrecorded(measure: Callable[..., Any]) -> Callable[..., Any]:
        def measured(*args: Any, **kwargs: Any) -> Any:
            timing.append(None)
            try:
                return measure(*args, **kwargs)
            finally:
                timing.pop()

        return measured

    testing: Any = importlib.import_module("triton.testing")
    tuner: Any = importlib.import_module("triton.runtime.autotuner").Autotuner
    with ExitStack() as stack:
        stack.enter_context(having_ptx(own_file))
        stack.enter_context(replaced(launchers, {"__call__": launched}))
        stack.enter_context(one_configuration(recorder.options))
        stack.enter_context(replaced(tuner, {"_bench": unrecorded(tuner._bench)}))
        for name in ("do_bench", "do_bench_cudagraph"):
            stack.enter_context(replaced(testing, {name: unrecorded(getattr(testing, name))}))
        yield
