"""What Nsight Compute runs of a file of PTX, and the way back from the lines it names to what they stand for."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.ptx.code.parse import files_of
from smemviz.engines.lockstep.ptx.host import ptx_in_lockstep
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.engines.lockstep.running_launch import Place
from smemviz.engines.options import LaunchOptions, RunOptions
from smemviz.engines.recorder import LaunchOutcome
from smemviz.frontends.ptx.ptx_places import placed
from smemviz.frontends.ptx.ptx_program import PtxProgram
from smemviz.measure.ncu.counters import ProfiledLaunch
from smemviz.measure.ncu.cuda_ncu import placed as placed_at

_FILE = re.compile(r"^(\s*\.file\s+(\d+)\s+)[^\n]*", re.MULTILINE)


def run_clean(program: PtxProgram, folder: Path) -> None:
    """Make the launches that a file asks for, each kernel under the name that it is recorded by.

    Nsight Compute shows lines of files that are there only: so each file that the PTX names is the PTX itself, in a
    folder, in which this process then is.
    """
    from smemviz.engines.gpu.ptx.driver import Gpu
    from smemviz.engines.gpu.ptx.ptx_launch import make_clean

    os.chdir(folder)

    def make(
        entry: Entry, configuration: Configuration, args: Sequence[Any], place: Place, options: LaunchOptions
    ) -> LaunchOutcome:
        for number in files_of(entry.compiled.ptx):
            (folder / f"{number}.ptx").write_text(entry.compiled.ptx, encoding="utf-8")
        ptx = _FILE.sub(r'\1"\2.ptx"', entry.compiled.ptx)
        ptx = re.sub(rf"(?<![\w$]){re.escape(entry.symbol)}(?![\w$])", lambda _: entry.name, ptx)
        parameters = {entry.name: entry.compiled.parameters.get(entry.symbol, ())}
        compiled = replace(entry.compiled, ptx=ptx, names={entry.name: entry.name}, parameters=parameters)
        make_clean(Gpu(with_lines=True), replace(entry, compiled=compiled), configuration, args, place)
        return None, ()

    ptx_in_lockstep.run(program, RunOptions(), make=make)


def as_written(
    program: PtxProgram, kernels: Sequence[str], profiled: tuple[ProfiledLaunch, ...]
) -> tuple[ProfiledLaunch, ...]:
    """Return launches whose instructions stand where those of the PTX do: in its source, where that is known."""
    ptx = placed(program)
    texts = {f"{number}.ptx": ptx.texts.get(path.replace("\\", "/")) for number, path in files_of(ptx.text).items()}
    return tuple(placed_at(launch, lambda file: texts.get(Path(file).name), program.file) for launch in profiled)
