"""The options that a project compiles a file with, from the ``compile_commands.json`` that CMake or Bear writes."""

import argparse
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from smemviz.errors import InputError


@dataclass(frozen=True)
class CompilerOptions:
    """What is compiled with: options in NVRTC's words, folders of headers, and headers that are read first."""

    options: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    before: tuple[str, ...] = ()


def project_options(database: Path, file: str) -> CompilerOptions:
    """Return the ``-I``, ``-isystem``, ``-D``, ``-std`` and ``-include`` that a project compiles a file with.

    Raises:
        InputError: when the database is not there, is none, or does not have the file or a command that can be read.
    """
    wanted = Path(file).resolve()
    for entry in _entries(database):
        folder = Path(entry["directory"])
        if (folder / entry["file"]).resolve() == wanted:
            try:
                words = entry["arguments"] if "arguments" in entry else shlex.split(entry["command"])
                return _read(_whole(words, folder), folder)
            except (KeyError, ValueError, argparse.ArgumentError) as error:
                raise InputError(f"{database}: the command of {file} cannot be read: {error}") from None
    raise InputError(f"{database}: does not say how {file} is compiled; name its folders with -I")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def _entries(database: Path) -> Sequence[Mapping[str, str]]:
    text = _text(database)
    try:
        entries: Sequence[Mapping[str, str]] = json.loads(text)
        assert all({"directory", "file"} < set(entry) for entry in entries)
    except (ValueError, TypeError, AssertionError):
        raise InputError(
            f"{database}: is not a compile_commands.json; CMAKE_EXPORT_COMPILE_COMMANDS writes one"
        ) from None
    return entries


def _whole(words: Sequence[str], folder: Path) -> list[str]:
    """Return the words of a command, and of the files of options that it names."""
    found, rest = list[str](), iter(words)
    for word in rest:
        if word in ("--options-file", "-optf"):
            found += shlex.split(_text(folder / next(rest, "")))
        else:
            found.append(word)
    return found


def _read(words: Sequence[str], folder: Path) -> CompilerOptions:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("-I", "-isystem", "--include-path", dest="folders", action="append", default=[])
    parser.add_argument("-D", dest="macros", action="append", default=[])
    parser.add_argument("-include", dest="before", action="append", default=[])
    parser.add_argument("-std", "--std", dest="standard")
    read, _ = parser.parse_known_args(list(words))
    standard = (f"--std={read.standard}",) if read.standard else ()
    folders = tuple(str(folder / name.strip()) for name in read.folders)
    return CompilerOptions((*standard, *(f"-D{macro}" for macro in read.macros)), folders, tuple(read.before))
