"""One run of a text from a browser."""

import ast
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from typing import Any, TextIO, cast

from smemviz.engines.backend import assembled
from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.host.python_in_lockstep import Recorder
from smemviz.engines.lockstep.memory.device_array import AddressSpace
from smemviz.engines.options import RunOptions
from smemviz.engines.sandbox.language.interpreter import host_of, run_module
from smemviz.engines.sandbox.sandbox_limits import SandboxLimits
from smemviz.errors import InputError, KernelFileError
from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.python_program import PythonProgram, check_numbers, parse_python
from smemviz.messages import english
from smemviz.recordings.recording import Recording

_OPEN, _CLOSE = "([{", ")]}"


def parse_text(source: str, file: str, limits: SandboxLimits) -> PythonProgram:
    """Read a text from elsewhere; the program is not trusted, so that Python never executes it.

    Raises:
        InputError: when it is too long.
        KernelFileError: when it nests too deeply, or is not valid Python; names the line.
    """
    check_size(source, file, limits)
    if "\0" in source or any("\ud800" <= letter <= "\udfff" for letter in source):
        raise InputError(english("{file}: the text has characters that no Python file has", file=file))
    _check_brackets(source, file, limits.depth)
    program = parse_python(source, file)
    _check_tree(program.tree, file, limits)
    check_numbers(file, program.tree)
    return replace(program, trusted=False)


def check_size(source: str, file: str, limits: SandboxLimits) -> None:
    """Refuse a text that is too long.

    Raises:
        InputError: saying how long it may be.
    """
    size, most = len(source.encode(errors="surrogatepass")), limits.source_bytes
    if size > most:
        what = english(
            "{file}: the text has {bytes:,} bytes; the editor takes {most:,}", file=file, bytes=size, most=most
        )
        raise InputError(what)


def _check_brackets(source: str, file: str, most: int) -> None:
    """Refuse deeply nested brackets before the parser sees them; those in texts count too, which harms nobody."""
    depth = 0
    for number, line in enumerate(source.splitlines(), 1):
        for letter in line:
            depth += (letter in _OPEN) - (letter in _CLOSE)
            if depth > most:
                raise KernelFileError(
                    file, number, english("brackets nest more than {most} deep; the editor allows no more", most=most)
                )
        depth = max(depth, 0)


def _check_tree(tree: ast.AST, file: str, limits: SandboxLimits) -> None:
    """Refuse a tree of more nodes than are kept, or whose nodes nest more deeply than what walks it may recurse."""
    waiting: list[tuple[ast.AST, int, int]] = [(tree, 0, 1)]
    nodes = 0
    while waiting:
        node, depth, line = waiting.pop()
        line = getattr(node, "lineno", line)
        nodes += 1
        if depth > limits.depth:
            what = english("the text nests more than {most} deep; the editor allows no more", most=limits.depth)
            raise KernelFileError(file, line, what)
        if nodes > limits.nodes:
            what = english("the text has more than {most:,} parts; the editor allows no more", most=limits.nodes)
            raise KernelFileError(file, 1, what)
        waiting.extend((child, depth + 1, line) for child in ast.iter_child_nodes(node))


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
