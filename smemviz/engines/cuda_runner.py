"""What runs files of CUDA C++: the launches that their comments ask for, their ``main()``, and single kernels."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from smemviz.engines.backend import After, Engine, RunOutcome, chosen, cut_short_as, gpu_module, recording_of
from smemviz.engines.lockstep.ptx.host import cuda_in_lockstep
from smemviz.engines.options import RunOptions
from smemviz.errors import InputError
from smemviz.frontends.cuda.cuda_program import CudaProgram, parse_cuda
from smemviz.frontends.program import Program
from smemviz.frontends.reading import read_program
from smemviz.messages import english
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import Finding
from smemviz.recordings.recording import Recording


def record(
    program: Program, engine: Engine, options: RunOptions, arguments: Sequence[str] | None, *, may_be_script: bool
) -> Recording:
    """Run the launches that a file of CUDA C++ asks for in comments, or where it has none its ``main()``."""
    program = _cuda(program)
    if program.runs_main:
        return _run_main(program, engine, options, arguments or ())
    kind = chosen(engine)
    recorded = partial(recording_of, program, kind, options)
    with cut_short_as(recorded):
        return recorded(*(run_on_gpu if kind == "gpu" else run_in_lockstep)(program, options))


def _run_main(program: CudaProgram, engine: Engine, options: RunOptions, arguments: Sequence[str]) -> Recording:
    from smemviz.engines.cpp_host.conversation import Output
    from smemviz.engines.cpp_host.program_run import run as run_main

    kind, output = chosen(engine), Output()

    def recorded(launches: Sequence[Launch], findings: Sequence[Finding]) -> Recording:
        recording = recording_of(program, kind, options, launches, findings)
        return replace(recording, printed=output.kept)

    with cut_short_as(recorded):
        if kind == "lockstep":
            return recorded(*run_main(program, arguments, options, output))
        with gpu_module("smemviz.engines.gpu.ptx.program_on_gpu").ProgramOnGpu() as execute:
            return recorded(*run_main(program, arguments, options, output, execute))


def run_in_lockstep(program: Program, options: RunOptions, after: After | None = None) -> RunOutcome:
    """Run the launches that a file asks for in lockstep, or its ``main()``, of which nothing is printed."""
    program = _cuda(program)
    if not program.runs_main:
        return cuda_in_lockstep.run(program, options, after)
    from smemviz.engines.cpp_host.conversation import Output
    from smemviz.engines.cpp_host.program_run import run as run_main

    return run_main(program, (), options, Output(io.StringIO()), after=after)


def run_on_gpu(program: Program, options: RunOptions) -> RunOutcome:
    """Run the launches that a file asks for on the GPU."""
    outcome: RunOutcome = gpu_module("smemviz.engines.gpu.ptx.cuda_on_gpu").run(_cuda(program), options)
    return outcome


def cuda_file(text: str | Path, constants: Mapping[str, object] | None, view: str) -> cuda_in_lockstep.CudaFile:
    """Return the kernels of a file of CUDA C++, or of its text, as ``engines.cuda_cpp`` says."""
    is_text = isinstance(text, str) and ("\n" in text or "{" in text)
    program = parse_cuda(str(text), "<text>.cu") if is_text else read_program(text)
    if not isinstance(program, CudaProgram):
        raise InputError(english("{file} is not CUDA C++; name a file that ends in .cu", file=program.file))
    return cuda_in_lockstep.CudaFile(program.with_constants(constants or {}).in_view(view))


def _cuda(program: Program) -> CudaProgram:
    assert isinstance(program, CudaProgram)
    return program
