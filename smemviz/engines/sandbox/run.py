"""One run of a text from a browser."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any, TextIO, cast

from smemviz.engines.backend import assembled
from smemviz.engines.host import Configuration
from smemviz.engines.lockstep.host.python_in_lockstep import Recorder
from smemviz.engines.lockstep.memory.device_array import AddressSpace
from smemviz.engines.options import RunOptions
from smemviz.engines.sandbox.language.checks import parse_text
from smemviz.engines.sandbox.language.interpreter import host_of, run_module
from smemviz.engines.sandbox.sandbox_limits import SandboxLimits
from smemviz.errors import KernelFileError
from smemviz.frontends.numba.python_functions import Function
from smemviz.messages import english
from smemviz.recordings.recording import Recording

FILE = "editor.py"


@dataclass(frozen=True)
class TextRun:
    """What a run gave: its recording, and what ``main()`` printed."""

    recording: Recording
    printed: str


def run_text(
    source: str, constants: Mapping[str, object] | None = None, limits: SandboxLimits | None = None, file: str = FILE
) -> TextRun:
    """Run a kernel file's text in lockstep, its host part on the syntax tree; Python never executes it.

    Args:
        source: the text.
        constants: values for its constants, by name.
        limits: what it may use; time and memory of the process are for whoever started the process.
        file: the name that errors show.

    Raises:
        InputError: for a text, a constant or a launch that cannot be used, and whatever goes beyond a limit; errors at
            a place name the line.
    """
    limits = limits or SandboxLimits()
    program = parse_text(source, file, limits).with_constants(constants or {})
    recorder = Recorder(RunOptions(log_bytes=limits.log_bytes, limits=limits.launch))
    space = AddressSpace()

    def start(kernel: Function, configuration: Configuration, args: tuple[Any, ...], place: tuple[str, int]) -> None:
        recorder.launch(kernel, configuration, args, place, space)

    host = host_of(program, limits, start)
    with recorder.recording(), redirect_stdout(cast(TextIO, host)):  # what kernels print
        run_module(host, program)
    if recorder.is_empty:
        main = program.require_main()
        raise KernelFileError(file, main.lineno, english("main() launches no kernel; write kernel[grid, block](...)"))
    recording = assembled(file, source, program.values, "lockstep", recorder.launches, recorder.findings)
    return TextRun(recording, "".join(host.printed))
