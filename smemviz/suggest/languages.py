"""What differs between kernel files in Python and in CUDA C++ where a layout is looked for, written and verified."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from smemviz.engines import lockstep
from smemviz.engines.backend import gpu_engine, gpu_engine_for_cuda
from smemviz.engines.lockstep.ptx.host import running
from smemviz.engines.options import Progress, RunOptions
from smemviz.engines.output_hashes import OutputHash
from smemviz.frontends.cuda.program import CudaProgram
from smemviz.frontends.numba.program import Program
from smemviz.frontends.numba.sites.loaded import loaded_sites
from smemviz.recordings.data import ArrayInfo, Launch, Timing
from smemviz.recordings.findings import Finding
from smemviz.recordings.recording import Recording
from smemviz.suggest.cuda.rewriting import CudaRewriting, as_declared
from smemviz.suggest.rewrites import Rewriter
from smemviz.suggest.rewriting import Rewriting

After = Callable[[str, Sequence[object]], None]  # a kernel, and its arguments after a launch of it
RunOutcome = tuple[tuple[Launch, ...], tuple[Finding, ...]]


@dataclass(frozen=True)
class Language:
    """One language.

    ``as_declared`` gives an array the dimensions of its declaration, ``rewriter`` lays it out anew; ``data_decides``
    are the sites of a launch whose words data may choose. ``run`` runs a file in lockstep, ``run_on_gpu`` records some
    of its launches there; ``outputs`` hashes what kernels leave on the GPU, ``times`` times them.
    """

    as_declared: Callable[[Program, ArrayInfo], ArrayInfo]
    rewriter: Callable[[Program, ArrayInfo], Rewriter]
    data_decides: Callable[[Recording, Launch], Collection[int]]
    run: Callable[[Program, RunOptions, After], RunOutcome]
    run_on_gpu: Callable[[Program, RunOptions], RunOutcome]
    outputs: Callable[[Program, Collection[str]], tuple[OutputHash, ...]]
    times: Callable[[Program, Collection[str], Progress | None], tuple[Timing, ...]]


def language_of(program: Program) -> Language:
    """Return the language that a kernel file is written in."""
    return _CUDA if isinstance(program, CudaProgram) else _PYTHON


def _cuda(program: Program) -> CudaProgram:
    assert isinstance(program, CudaProgram)
    return program


def _outputs(program: Program, kernels: Collection[str]) -> tuple[OutputHash, ...]:
    from smemviz.measure.time.timing import outputs

    return outputs(program, kernels)


def _outputs_of_cuda(program: Program, kernels: Collection[str]) -> tuple[OutputHash, ...]:
    from smemviz.measure.time.cuda import outputs_of_cuda

    return outputs_of_cuda(_cuda(program), kernels)


def _times(program: Program, kernels: Collection[str], progress: Progress | None) -> tuple[Timing, ...]:
    from smemviz.measure.time.timing import time_program

    return time_program(program, progress=progress, kernels=kernels).times


def _times_of_cuda(program: Program, kernels: Collection[str], progress: Progress | None) -> tuple[Timing, ...]:
    from smemviz.measure.time.cuda import time_cuda

    return time_cuda(_cuda(program), progress=progress, kernels=kernels).times


_PYTHON = Language(
    as_declared=lambda program, array: array,
    rewriter=Rewriting,
    data_decides=loaded_sites,
    run=lambda program, options, after: lockstep.run(program, options, after),
    run_on_gpu=lambda program, options: gpu_engine().run(program, options),
    outputs=_outputs,
    times=_times,
)
_CUDA = Language(
    as_declared=lambda program, array: as_declared(_cuda(program), array),
    rewriter=lambda program, array: CudaRewriting(_cuda(program), array),
    # What a kernel loads is not followed through its text; the lanes alone have to tell.
    data_decides=lambda recording, launch: range(len(launch.sites)),
    run=lambda program, options, after: running.run(_cuda(program), options, after),
    run_on_gpu=lambda program, options: gpu_engine_for_cuda().run(_cuda(program), options),
    outputs=_outputs_of_cuda,
    times=_times_of_cuda,
)
