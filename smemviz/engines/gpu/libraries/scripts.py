"""What a script launches on a GPU through CuPy, cuda.core, PyCUDA or Triton, each launch recorded before it happens.

PyCUDA is stood in for where it is not installed.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from smemviz.engines.gpu.ptx.access_calls import ROW_BYTES
from smemviz.engines.gpu.ptx.cuda_on_gpu import Recorder as GpuRecorder
from smemviz.engines.gpu.ptx.driver import Gpu
from smemviz.engines.gpu.ptx.ptx_launch import make_clean
from smemviz.engines.launch_shape import Configuration, launch_place
from smemviz.engines.lockstep.host.stand_ins.arrays import memory_at
from smemviz.engines.lockstep.host.stand_ins.modules import imported, tree
from smemviz.engines.lockstep.host.stand_ins.pycuda import modules_of_pycuda
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.engines.lockstep.ptx.host.raw_kernels import CUDA_CORE, PYCUDA, RawKernels
from smemviz.engines.lockstep.running_launch import Place
from smemviz.engines.options import DEFAULT_OPTIONS, LaunchOptions
from smemviz.engines.process import replaced
from smemviz.engines.recorder import LaunchOutcome, Recorder
from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.messages import english


@contextmanager
def watched(program: PythonProgram, recorder: Recorder) -> Iterator[None]:
    """Record the launches of the libraries that a script names, while this lasts."""
    from smemviz.engines.gpu.libraries.cuda_core import watched_cuda_core
    from smemviz.engines.gpu.libraries.cupy import watched_cupy
    from smemviz.engines.gpu.libraries.triton import watched_triton
    from smemviz.engines.gpu.ptx.driver import memory_at
    from smemviz.engines.triton.seeing_triton import may_use_triton

    launch = GpuRecorder().launch
    with ExitStack() as stack:
        if "cupy" in program.source and importlib.util.find_spec("cupy"):
            kernels = RawKernels(program, recorder, launch, ROW_BYTES, memory_at)
            stack.enter_context(watched_cupy(kernels, recorder))
        if "cuda.core" in program.source or "cuda.core" in sys.modules:
            kernels = RawKernels(program, recorder, launch, ROW_BYTES, memory_at, CUDA_CORE)
            stack.enter_context(watched_cuda_core(kernels, recorder))
        if may_use_triton(program):
            stack.enter_context(watched_triton(program.file, recorder, launch))
        if "pycuda" in program.source:
            is_installed = importlib.util.find_spec("pycuda") is not None
            stack.enter_context(noting_pycuda(recorder) if is_installed else standing_in_for_pycuda(program, recorder))
        yield


_LAUNCHES = ("__call__", "prepared_call", "prepared_async_call", "prepared_timed_call")


@contextmanager
def standing_in_for_pycuda(program: PythonProgram, recorder: Recorder) -> Iterator[None]:
    """Make what a script launches through PyCUDA while this lasts, and let a recorder see it."""
    gpu = GpuRecorder()

    def make(
        entry: Entry,
        configuration: Configuration,
        args: Sequence[Any],
        place: Place,
        options: LaunchOptions = DEFAULT_OPTIONS,
    ) -> LaunchOutcome:
        try:
            if options.recorded:
                return gpu.launch(entry, configuration, args, place, options)
        except UnsupportedError as error:
            recorder.runs_unrecorded(entry.plain, error)
        make_clean(Gpu(), entry, configuration, args, place)  # nobody else makes it
        return None, ()

    kernels = RawKernels(program, recorder, make, ROW_BYTES, memory_at, PYCUDA)
    with imported(tree(modules_of_pycuda(program, kernels)), ("pycuda",)):
        yield


@contextmanager
def noting_pycuda(recorder: Recorder) -> Iterator[None]:
    """Say in one line that a launch of PyCUDA's own is not recorded, while this lasts."""
    function = importlib.import_module("pycuda.driver").Function

    def noting(launch: Callable[..., Any]) -> Callable[..., Any]:
        def noted(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            result = launch(kernel, *args, **kwargs)
            what = english("launches of PyCUDA are not recorded; launch the kernel with cupy.RawKernel or cuda.core")
            recorder.runs_unrecorded("PyCUDA", UnsupportedError(*launch_place(""), what))
            return result

        return noted

    with replaced(function, {name: noting(getattr(function, name)) for name in _LAUNCHES if hasattr(function, name)}):
        yield
