"""What Nsight Compute runs of a file of CUDA C++, and the way back from the lines it names to the text as written."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.ptx.host import cuda_in_lockstep
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.engines.lockstep.running_launch import Place
from smemviz.engines.options import LaunchOptions
from smemviz.engines.recorder import LaunchOutcome
from smemviz.frontends.cuda import CudaProgram, compile_program
from smemviz.frontends.cuda.sources import Text
from smemviz.measure.ncu.counters import ProfiledLaunch
from smemviz.measure.ncu.sass import Instruction


def run_clean(program: CudaProgram, folder: Path) -> None:
    """Make the launches that a file asks for with the kernels that nvcc would make.

    NVRTC names files as if they lay where it runs, and Nsight Compute shows lines of files that are there only: so the
    lines that NVRTC sees are written into a folder, in which this process then is.
    """
    from smemviz.engines.gpu.ptx.driver import Gpu
    from smemviz.engines.gpu.ptx.ptx_launch import make_clean

    os.chdir(folder)

    def make(
        entry: Entry, configuration: Configuration, args: Sequence[Any], place: Place, options: LaunchOptions
    ) -> LaunchOutcome:
        for name, text in entry.compiled.texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.lines, encoding="utf-8")
        make_clean(Gpu(with_lines=True), entry, configuration, args, place)
        return None, ()

    cuda_in_lockstep.run(replace(program, view="compiled"), make=make)


def as_written(
    program: CudaProgram, kernels: Sequence[str], profiled: tuple[ProfiledLaunch, ...]
) -> tuple[ProfiledLaunch, ...]:
    """Return launches whose instructions stand at the accesses of the text before it was compiled."""
    compiled = compile_program(program, list(dict.fromkeys(kernels)), "compiled")
    return tuple(placed(launch, compiled.text, program.file) for launch in profiled)


def placed(launch: ProfiledLaunch, text_of: Callable[[str], Text | None], file: str) -> ProfiledLaunch:
    """Return a launch whose instructions stand at the accesses that they make, in the text as it was written."""

    def place(instruction: Instruction) -> Instruction:
        text = text_of(instruction.file)
        access = text.access(instruction.line, instruction.kind) if text else None
        if text is None or access is None:
            return instruction
        return replace(instruction, file=text.file or file, line=access.line, column=access.column)

    return replace(launch, instructions=tuple(map(place, launch.instructions)))
