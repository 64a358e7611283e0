"""What the entry of CUDA C++ among the languages names: how its files are read, and what is known by their text."""

from pathlib import Path

from smemviz.frontends.cuda import nvrtc
from smemviz.frontends.cuda.cuda_program import CudaProgram, parse_cuda
from smemviz.frontends.cuda.launches import planned_launches
from smemviz.frontends.cuda.text.cuda_functions import find_functions
from smemviz.frontends.cuda.text.lexing import Lines
from smemviz.frontends.program import Program
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording

parse = parse_cuda
is_available = nvrtc.available


def code_in(text: str, path: Path) -> str:
    """Return the code in a file's text."""
    return text


def most_bytes(path: Path, usual: int) -> int:
    """Return how long a file may be."""
    return usual


def check_runnable(program: Program) -> None:
    """Make sure that there is a compiler, and that the launches can be made that comments ask for."""
    assert isinstance(program, CudaProgram)
    nvrtc.require()
    if not program.runs_main:
        planned_launches(program)


def functions(source: str) -> tuple[tuple[str, int, int], ...]:
    """Return every function of a source: its name, its first and its last line."""
    lines = Lines(source)
    return tuple(
        (function.name, lines.place(function.start)[0], lines.place(function.end - 1)[0])
        for function in find_functions(source)
    )


def constants_read(program: Program, kernel: str) -> None:
    """Return None: what a kernel reads is not followed through its text."""


code_reads = constants_read


def loaded_sites(recording: Recording, launch: Launch) -> None:
    """Return None: what a kernel loads is not followed through its text."""
