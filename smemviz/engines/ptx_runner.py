"""What runs files of PTX: the launches that their comments ask for."""

from collections.abc import Sequence
from functools import partial

from smemviz.engines.backend import After, Engine, RunOutcome, chosen, cut_short_as, gpu_module, recording_of
from smemviz.engines.lockstep.ptx.host import ptx_in_lockstep
from smemviz.engines.options import RunOptions
from smemviz.frontends.program import Program
from smemviz.frontends.ptx.ptx_program import PtxProgram
from smemviz.recordings.recording import Recording


def record(
    program: Program, engine: Engine, options: RunOptions, arguments: Sequence[str] | None, *, may_be_script: bool
) -> Recording:
    """Run the launches that a file of PTX asks for in comments."""
    kind = chosen(engine)
    recorded = partial(recording_of, program, kind, options)
    with cut_short_as(recorded):
        return recorded(*(run_on_gpu if kind == "gpu" else run_in_lockstep)(program, options))


def run_in_lockstep(program: Program, options: RunOptions, after: After | None = None) -> RunOutcome:
    """Run the launches that a file asks for in lockstep."""
    return ptx_in_lockstep.run(_ptx(program), options, after)


def run_on_gpu(program: Program, options: RunOptions) -> RunOutcome:
    """Run the launches that a file asks for on the GPU."""
    gpu_module("smemviz.engines.gpu.device").device()
    recorder = gpu_module("smemviz.engines.gpu.ptx.cuda_on_gpu").Recorder()
    return ptx_in_lockstep.run(_ptx(program), options, make=recorder.launch)


def _ptx(program: Program) -> PtxProgram:
    assert isinstance(program, PtxProgram)
    return program
