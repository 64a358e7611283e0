"""Reading a kernel file, in whatever language and as git has it, and the lines of it that belong to a launch."""

import stat
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Protocol, cast

from smemviz.errors import InputError, MissingError
from smemviz.frontends.program import Program
from smemviz.languages import Language, is_kernel_file, language_of, loaded
from smemviz.messages import english
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording
from smemviz.recordings.text import lines_of

_MAX_SOURCE_BYTES = 4 * 1024 * 1024


class Frontend(Protocol):
    """What the module of a language does that its entry names as its front end."""

    def parse(self, source: str, file: str) -> Program:
        """Read a kernel file's text; ``file`` is the name that errors show."""

    def code_in(self, text: str, path: Path) -> str:
        """Return the code in a file's text, of a notebook that of its cells."""

    def most_bytes(self, path: Path, usual: int) -> int:
        """Return how long a file may be."""

    def is_available(self) -> bool:
        """Tell whether this machine has what a run needs."""

    def check_runnable(self, program: Program) -> None:
        """Make sure that a program has what a run needs, and that it can be run here."""

    def functions(self, source: str) -> tuple[tuple[str, int, int], ...]:
        """Return every function of a source: its name, its first and its last line."""

    def constants_read(self, program: Program, kernel: str) -> frozenset[str] | None:
        """Return the constants that change what a kernel does or how it is launched; None where that cannot be told."""

    def code_reads(self, program: Program, kernel: str) -> frozenset[str] | None:
        """Return the constants that a kernel's code reads; None where that cannot be told."""

    def loaded_sites(self, recording: Recording, launch: Launch) -> frozenset[int] | None:
        """Return the sites of a launch whose index is loaded data; None where that cannot be told."""


def frontend_of(language: Language) -> Frontend:
    """Return the front end of a language."""
    return cast(Frontend, loaded(language.frontend))


def loaded_sites(recording: Recording, launch: Launch) -> frozenset[int]:
    """Return the sites of a launch that are known to have loaded data as their index; they number the launch's."""
    language = language_of(recording.file_of(launch))
    return frontend_of(language).loaded_sites(recording, launch) or frozenset()


def read_program(path: str | Path) -> Program:
    """Read a kernel file.

    Raises:
        InputError: when it is not a readable text file.
        KernelFileError: when it is not valid Python.
    """
    return parse_program(read_source(path), Path(path).as_posix()).in_project()


def read_source(path: str | Path) -> str:
    """Read the text of a kernel file, of a notebook the code of its cells.

    Raises:
        InputError: when it is not a readable text file.
    """
    path = Path(path)
    frontend = frontend_of(language_of(path))
    if path.suffix == ".npz":
        raise InputError(
            english("{path}: is a recording; print it with smemviz show, or name the kernel file", path=path)
        )
    try:
        status = path.stat()
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):  # a pipe would be waited for
            raise InputError(english("{path}: is not a file; name a Python file with @cuda.jit kernels", path=path))
        if status.st_size > frontend.most_bytes(path, _MAX_SOURCE_BYTES):
            raise InputError(english("{path}: larger than 4 MiB; that is not a kernel file", path=path))
        text = path.read_text(encoding="utf-8-sig")  # some editors put a mark before the text
        return frontend.code_in(text, path)
    except FileNotFoundError:
        raise InputError(english("{path}: no such file", path=path)) from None
    except IsADirectoryError:
        raise InputError(english("{path}: is a folder; name a kernel file in it", path=path)) from None
    except UnicodeDecodeError:
        if is_kernel_file(path):
            raise InputError(english("{path}: is not UTF-8 text; save it as UTF-8", path=path)) from None
        raise InputError(
            english("{path}: is not UTF-8 text; name a Python file with @cuda.jit kernels", path=path)
        ) from None
    except OSError as error:
        raise InputError(english("{path}: cannot be read: {error}", path=path, error=error.strerror)) from None


def parse_program(source: str, file: str) -> Program:
    """Read a kernel file's text; ``file`` is the name that errors show, and its ending tells the language."""
    return frontend_of(language_of(file)).parse(source, file)


def check_runnable(program: Program) -> None:
    """Make sure that a program has what a run needs, and that it can be run here.

    Raises:
        KernelFileError: naming what is missing.
        MissingError: when this machine lacks a compiler that it needs.
    """
    frontend_of(program.language).check_runnable(program)


def recorded_program(source: str, file: str, values: Mapping[str, object]) -> Program:
    """Read the text in a recording, with the values of its constants.

    Raises:
        KernelFileError: when it is not valid Python.
    """
    return with_values(parse_program(source, file), values)


def with_values(program: Program, values: Mapping[str, object]) -> Program:
    """Return a program in which constants have given values, overriding only what does not follow from the others."""
    for name, value in values.items():
        if name in program.constants and program.constants[name].value != value:
            program = program.with_constants({name: value})
    return program


def revision_of(path: Path, revision: str) -> Program:
    """Read a kernel file as it was in a revision; what it imports is read as it is now.

    Raises:
        InputError: when git has no such file.
        MissingError: when there is no git.
    """
    return _parsed(f"{revision}:{path.name}", _git("show", f"{revision}:./{path.name}", folder=path.parent), str(path))


def read_revision(name: str) -> Program:
    """Read the kernel file that git calls ``REVISION:FILE``; what it imports is read as it is now.

    The file is named from where we stand, or from the top of the repository.

    Raises:
        InputError: when git has no such file.
        MissingError: when there is no git.
    """
    revision, _, file = name.partition(":")
    if not revision or revision.startswith("-"):
        raise InputError(f"{name}: no such file; write FILE, or REVISION:FILE such as HEAD~1:{file or 'square.py'}")
    here = _git("show", f"{revision}:./{Path(file).as_posix()}")
    answer = here if here.returncode == 0 else _git("show", f"{revision}:{Path(file).as_posix()}")
    return _parsed(name, answer, file)


def _parsed(name: str, git_show: subprocess.CompletedProcess[bytes], file: str) -> Program:
    if git_show.returncode:
        message = git_show.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise InputError(f"{name}: git does not have it: {message.removeprefix('fatal: ')}")
    try:
        text = git_show.stdout.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{name}: is not UTF-8 text; name a kernel file") from None
    return parse_program(frontend_of(language_of(file)).code_in(text, Path(file)), file)


def _git(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, timeout=60, check=False)
    except FileNotFoundError:
        raise MissingError("a revision needs git, which is not installed; save the revision as a file") from None


Span = tuple[int, int]


def listing(recording: Recording, launch: Launch) -> dict[str, list[Span]]:
    """Return the first and last lines to show of each file, in file order, that of the kernel first.

    Those are the lines of the kernel and of the functions that have one of the launch's sites.
    """
    own = recording.file_of(launch)
    places_by_file = {own: {(launch.kernel.partition("<")[0], launch.line)}}
    for site in launch.sites:
        places_by_file.setdefault(recording.file_of(launch, site), set()).add((site.function, site.line))
    return {file: _spans(file, recording.text(file), places) for file, places in places_by_file.items()}


def kernel_lines(recording: Recording, launch: Launch) -> list[Span]:
    """Return the lines to show of the kernel's own file."""
    return listing(recording, launch)[recording.file_of(launch)]


def _spans(file: str, source: str, places: set[tuple[str, int]]) -> list[Span]:
    spans = {
        (first, last)
        for name, first, last in functions(file, source)
        if any(name == function and first <= line <= last for function, line in places)
    }
    count = len(lines_of(source))
    return [(first, min(last, count)) for first, last in sorted(spans)] or [(1, count)]


@lru_cache(maxsize=16)
def functions(file: str, source: str) -> tuple[tuple[str, int, int], ...]:
    """Return every function of a file: its name, its first and its last line."""
    return frontend_of(language_of(file)).functions(source)
