"""What the entry of PTX among the languages names: how its files are read, and what is known by their text."""

from pathlib import Path

from smemviz.frontends.program import Program
from smemviz.frontends.ptx.ptx_program import PtxProgram, parse_ptx
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording

parse = parse_ptx


def code_in(text: str, path: Path) -> str:
    """Return the code in a file's text, which some compilers end as C does."""
    return text.rstrip("\0")


def most_bytes(path: Path, usual: int) -> int:
    """Return how long a file may be: compilers unroll."""
    return 4 * usual


def is_available() -> bool:
    """Tell that a run needs nothing that may be missing."""
    return True


def check_runnable(program: Program) -> None:
    """Make sure that the launches can be made that comments ask for."""
    assert isinstance(program, PtxProgram)
    program.planned()


def functions(source: str) -> tuple[tuple[str, int, int], ...]:
    """Return every kernel of a source: its name, its first and its last line."""
    return tuple(
        (name, kernel.line, source.count("\n", 0, source.rfind("}", 0, kernel.end)) + 1)
        for name, kernel in parse_ptx(source, "").kernels.items()
    )


def constants_read(program: Program, kernel: str) -> frozenset[str]:
    """Return nothing: there are no constants."""
    return frozenset()


code_reads = constants_read


def loaded_sites(recording: Recording, launch: Launch) -> None:
    """Return None: what a kernel loads is not followed through its text."""
