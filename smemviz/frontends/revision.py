"""A kernel file as git has it: ``REVISION:FILE``."""

from __future__ import annotations

import subprocess
from pathlib import Path

from smemviz.errors import InputError, MissingError
from smemviz.frontends.program import Program
from smemviz.frontends.reading import frontend_of, parse_program
from smemviz.languages import language_of


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
        raise MissingError("a revision needs git, and there is none here; save the revision as a file") from None
