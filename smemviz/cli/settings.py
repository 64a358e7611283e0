"""What every verb on a kernel file has: its arguments, where its main() prints to, the recording that it names."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import math
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from smemviz.errors import InputError
from smemviz.languages import CUDA_CPP_UNITS
from smemviz.project import project_at

if TYPE_CHECKING:
    from smemviz.engines import Engine
    from smemviz.frontends.program import Program
    from smemviz.model.hardware.hardware import Hardware
    from smemviz.progress import Callback
    from smemviz.recordings.recording import Recording

_MOST_DIGITS = 9  # of a number that counts
_OLDEST_OF_TRITON = (7, 5)
_MOST_CONFIGURATIONS = 9999


class Declares(Protocol):
    """A parser, or a group of its arguments."""

    def add_argument(self, *names: str, **of: Any) -> object: ...


def add_file_and_settings(parser: argparse.ArgumentParser) -> None:
    """Declare FILE and ``--set NAME=VALUE``."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="a Python file with @cuda.jit kernels, a .cu or a .ptx file"
    )
    add_setting(parser, "replace a constant")


def add_setting(parser: Declares, what: str, option: str = "--set") -> None:
    """Declare an option that says ``NAME=VALUE``, as often as it is given."""
    parser.add_argument(
        option, metavar="NAME=VALUE", type=setting, action="append", default=[], help=f"{what}; repeatable"
    )


def add_engine(parser: Declares, what: str) -> None:
    """Declare ``--engine``; without it the project's is taken, if that names one."""
    engine = project_at(Path.cwd()).engine
    parser.add_argument("--engine", choices=("auto", "gpu", "lockstep"), default=engine, help=what)


def add_view(parser: Declares) -> None:
    """Declare ``--view`` of CUDA C++."""
    parser.add_argument(
        "--view",
        choices=("source", "compiled"),
        help="CUDA C++: the accesses as written, or those that the compiler leaves (default: source)",
    )


def add_compiler(parser: Declares) -> None:
    """Declare what CUDA C++ is compiled with, in the words of nvcc."""
    parser.add_argument(
        "-I", metavar="FOLDER", dest="folders", action="append", default=[], help="CUDA C++: a folder with headers"
    )
    parser.add_argument(
        "-D", metavar="NAME[=VALUE]", dest="macros", action="append", default=[], help="CUDA C++: define a macro"
    )
    parser.add_argument(
        "-include",
        metavar="HEADER",
        dest="before",
        action="append",
        default=[],
        help="CUDA C++: include this header first",
    )
    parser.add_argument("-std", metavar="c++NN", help="CUDA C++: the standard of the language (default: c++17)")
    parser.add_argument(
        "--compile-commands",
        metavar="JSON",
        type=Path,
        help="CUDA C++: take folders, macros and standard from this compile_commands.json",
    )


def with_compiler(arguments: argparse.Namespace) -> Program | Path:
    """Return the file that a verb names, read for the compiler's options where there are any.

    Raises:
        InputError: when they are given for another language.
    """
    from smemviz.frontends.reading import read_program, read_source

    path: Path = arguments.file
    if not arguments.units and not compiler_words(arguments):
        return path
    program = read_program(path)
    for unit in arguments.units:
        if unit.suffix not in CUDA_CPP_UNITS:
            raise InputError(f"{unit}: is not C++; the other files of a program end in {', '.join(CUDA_CPP_UNITS)}")
    if arguments.units:
        program = program.with_units([(unit.as_posix(), read_source(unit)) for unit in arguments.units])
    return compiled_as(arguments)(program)


def compiler_words(arguments: argparse.Namespace) -> list[str]:
    """Return the compiler's options as they are written on a command line."""
    named = (("-I", arguments.folders), ("-D", arguments.macros), ("-include", arguments.before))
    words = [word for name, values in named for value in values for word in (name, value)]
    words += ["-std", arguments.std] if arguments.std else []
    return [*words, "--compile-commands", str(arguments.compile_commands)] if arguments.compile_commands else words


def compiled_as(arguments: argparse.Namespace) -> Callable[[Program], Program]:
    """Return what gives a program the compiler's options.

    Raises:
        InputError: at once, for a folder that is not there; of what is returned, for a program in another language,
            and for one that the project says nothing of.
    """
    from smemviz.frontends.compile_commands import project_options

    for folder in arguments.folders:
        if not Path(folder).is_dir():
            raise InputError(f"-I {folder}: there is no such folder")
    standard = (f"--std={arguments.std}",) if arguments.std else ()
    options = (*standard, *(f"-D{macro}" for macro in arguments.macros))

    def compiled(program: Program) -> Program:
        if not compiler_words(arguments):
            return program
        if arguments.compile_commands is None:
            return program.with_compiler(options, arguments.folders, arguments.before).in_project()
        of = project_options(arguments.compile_commands, program.file)
        folders, before = (*arguments.folders, *of.folders), (*of.before, *arguments.before)
        others = (option for option in of.options if not (standard and option.startswith("--std")))
        return program.with_compiler((*others, *options), folders, before)

    return compiled


def add_format(parser: argparse.ArgumentParser, what: str, *more: str) -> None:
    """Declare ``--format``, which is ``form`` of the arguments, and ``--json``; ``more`` are forms of a verb."""
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument(
        "--format",
        dest="form",
        choices=("table", "json", *more, "github", "sarif"),
        default="table",
        help=f"print {what} as tables, as JSON, as annotations of GitHub's workflows or as SARIF (default: table)",
    )
    for form in ("json", *more):
        name = "JSON" if form == "json" else form.capitalize()
        forms.add_argument(
            f"--{form}", dest="form", action="store_const", const=form, default="table", help=f"the same in {name}"
        )


def add_triton(parser: Declares) -> None:
    """Declare what decides how kernels of Triton are compiled."""
    parser.add_argument(
        "--target",
        metavar="sm_NN",
        type=target,
        help="Triton: the architecture to compile for without a GPU (default: sm_80)",
    )
    parser.add_argument(
        "--config",
        metavar="N",
        type=whole(0, _MOST_CONFIGURATIONS, "the number of a configuration, from 0"),
        help="Triton: the configuration that autotune takes, from 0 (default: on a GPU the fastest, without one the "
        "first that compiles)",
    )


def triton_words(arguments: argparse.Namespace) -> list[str]:
    """Return what ``add_triton`` declares as it is written on a command line."""
    words = ["--target", "sm_{}{}".format(*arguments.target)] if arguments.target else []
    return words if arguments.config is None else [*words, "--config", str(arguments.config)]


def target(text: str) -> tuple[int, int]:
    """Read an architecture such as ``sm_80``, for argparse."""
    from smemviz.model.hardware.compute_capability import known

    match = re.fullmatch(r"(?:sm_)?(\d+)(\d)a?", text)
    names = {row.cc: f"sm_{row.cc[0]}{row.cc[1]}" for row in known() if row.cc >= _OLDEST_OF_TRITON}
    found = (int(match[1]), int(match[2])) if match else (0, 0)
    if found not in names:
        raise argparse.ArgumentTypeError(f"{text!r} is not {', '.join(names.values())}")
    return found


def add_output(parser: Declares, what: str, **more: Any) -> None:
    """Declare ``-o``, the file that a result goes to."""
    parser.add_argument("-o", "--output", metavar="OUT", type=Path, help=what, **more)


def add_hardware(parser: Declares, default: str) -> None:
    """Declare ``--cc``; ``default`` is what it says of it. Without it the project's is taken, if that names one."""
    what = f"count as this compute capability does, {default}"
    parser.add_argument("--cc", metavar="X.Y", type=hardware, default=project_at(Path.cwd()).cc, help=what)


def add_points(parser: Declares) -> None:
    """Declare what makes many points of one."""
    parser.add_argument(
        "--over",
        metavar="NAME=VALUE,VALUE,...",
        type=several,
        action="append",
        default=[],
        help="repeat for each of these values of a constant; given twice, for all combinations",
    )


def several(text: str) -> tuple[str, tuple[str, ...]]:
    """Read ``NAME=VALUE,VALUE,...``, for argparse."""
    name, values = setting(text)
    return name, tuple(setting(f"{name}={value}")[1] for value in values.split(","))


def combinations(arguments: argparse.Namespace) -> list[dict[str, str]]:
    """Return the constants of each point that ``--set`` and ``--over`` ask for.

    Raises:
        InputError: when a constant is named twice.
    """
    names = [name for name, _ in arguments.over]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"--over {name} is there twice; write all its values in one, {name}=VALUE,VALUE")
    return [
        dict(arguments.set) | dict(zip(names, values, strict=True))
        for values in itertools.product(*(values for _, values in arguments.over))
    ]


def main_output(as_json: bool) -> contextlib.AbstractContextManager[object]:
    """Keep what main() prints out of standard output while that is one JSON document."""
    return contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext()


def setting(text: str) -> tuple[str, str]:
    """Read ``NAME=VALUE``, for argparse."""
    name, equals, value = text.partition("=")
    if not (name.strip() and equals and value.strip()):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name.strip(), value.strip()


def hardware(text: str) -> Hardware:
    """Read a compute capability such as ``9.0`` or ``3.5-8``, for argparse."""
    from smemviz.model.hardware.hardware import Hardware

    try:
        return Hardware.read(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def whole(low: int, high: int, expected: str) -> Callable[[str], int]:
    """Return what reads a whole number between bounds, for argparse; ``expected`` is what any other text is not."""

    def read(text: str) -> int:
        if not (text.isdecimal() and len(text) <= _MOST_DIGITS and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"{text!r} is not {expected}")
        return int(text)

    return read


def real(low: float, high: float, rule: str, unit: str = "") -> Callable[[str], float]:
    """Return what reads a number between bounds, with its unit or without, for argparse; ``rule`` refuses a text."""

    def read(text: str) -> float:
        try:
            value = float(text.removesuffix(unit))
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is {rule}")
        return value

    return read


def require_output(path: Path | None, *endings: str, undone: str = "nothing was run") -> None:
    """Make sure, before the work, that a result may go to ``path``; None is no file.

    Files that a verb replaces end as its results do, so that a name mistyped costs nobody a kernel file.

    Raises:
        InputError: when it ends in none of ``endings``, its folder is not there, or it is not a file.
    """
    if path is None:
        return
    from smemviz.recordings.archive import replaceable

    if not path.name.endswith(endings):
        raise InputError(f"{path}: the result ends in {' or '.join(endings)}; {undone}")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; {undone}")
    try:
        replaceable(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}; {undone}") from None


def recording_for(program: Program, path: Path | None, progress: Callback | None = None) -> Recording:
    """Return the recording stored at ``path`` if there is one, else record the kernel file on this GPU.

    Raises:
        InputError: when the one there is of another file or other constants, or was not made on this card; or when
            there is no such folder.
    """
    from smemviz.engines import run
    from smemviz.engines.backend import gpu_engine
    from smemviz.recordings.file import load

    require_output(path, ".npz")
    if not path or not path.exists():
        return run(program, engine="gpu", progress=progress)
    recording = load(path)
    wanted = (program.sha256, program.values, gpu_engine().device().name)
    if (recording.sha256, recording.constants, recording.device and recording.device.name) != wanted:
        raise InputError(f"{path}: was made from another version of the file, other constants or on another card")
    return recording


def recorded(name: str, constants: Mapping[str, object], engine: Engine) -> Recording:
    """Return the recording that a name on the command line stands for.

    Raises:
        InputError: when there is none, or it cannot be made.
    """
    from smemviz.engines import run
    from smemviz.engines.backend import runner_of
    from smemviz.engines.options import RunOptions
    from smemviz.frontends.reading import read_revision
    from smemviz.recordings.file import load

    if name.endswith(".npz"):
        if constants:
            raise InputError(f"{name}: is a recording; constants are set for kernel files")
        return load(name)
    if ":" in name and not Path(name).exists():
        program = read_revision(name).with_constants(constants)
        return runner_of(program.language).record(program, engine, RunOptions(), None, may_be_script=True)
    return run(name, constants, engine)
