"""A ``.cu`` file's host code made into a program, by the C++ compiler of this machine."""

import atexit
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

from smemviz.engines.lockstep.running_launch import COMPUTE_CAPABILITY
from smemviz.errors import KernelFileError, MissingError, SourceError, UnsupportedError
from smemviz.frontends.cuda.cuda_program import CudaProgram
from smemviz.frontends.cuda.host.headers import HOST_HEADERS
from smemviz.frontends.cuda.host.libraries import library_of
from smemviz.frontends.cuda.host.rewriting import staged, within
from smemviz.frontends.cuda.includes import included, to_install
from smemviz.frontends.cuda.nvrtc import include_folders
from smemviz.messages import english
from smemviz.model.hardware.compute_capability import device

_RUNTIME = Path(__file__).parent / "runtime"
_PARTS = ("channel.h", "smemviz.h", "memory.cpp", "launches.cpp", "devices.cpp", "tensor_maps.cpp", "crashes.cpp")
_COMPILERS = ("g++", "clang++")
_OPTIONS = ("-O2", "-g1", "-w", "-fno-omit-frame-pointer", "-pthread")
_ERROR = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+):(?:(?P<column>\d+):)? (?:fatal )?error: (?P<what>.*)$", re.M)
_UNDEFINED = re.compile(r"undefined reference to [`'](?P<name>[^'\n]+)'")
_DEFINED = re.compile(r"multiple definition of [`'](?P<name>[^'\n]+)'")
_NO_HEADER = re.compile(r"(?P<name>\S+): No such file|'(?P<named>[^']+)' file not found")
_ERROR_NAME = re.compile(r"^\s*(cuda(?:Error\w+|Success))\s*=\s*(\d+)", re.M)
_STUB = re.compile(r" typeinfo name for (.+)::here$", re.M)
_VARIABLE = re.compile(r'::smemviz::declare\("(\w+)"')
_STANDARD = re.compile(r"-{1,2}std=.*")
# Of the H200, whose shared memory lockstep has.
_CARD = {"MULTIPROCESSORS": "132", "MEMORY": "150754820096ull", "BUS_BITS": "6144", "CLOCK_KHZ": "1980000",
         "MEMORY_CLOCK_KHZ": "3201000"}  # fmt: skip


def compiler() -> str:
    """Return the path of the C++ compiler.

    Raises:
        MissingError: when there is none.
    """
    for name in _COMPILERS:
        if path := shutil.which(name):
            return path
    raise MissingError(
        "main() of a .cu file needs a C++ compiler: install g++ or clang++; "
        "launches in comments, // smemviz: kernel<<<grid, block>>>(...), do without"
    )


def build(
    programs: Sequence[CudaProgram], texts: Sequence[dict[Path, str]], folder: Path
) -> tuple[Path, list[tuple[str, ...]]]:
    """Compile the host code of files in a folder and link it; return the program, and the kernels each may launch.

    ``texts`` are those of each file and of its own headers.

    Raises:
        KernelFileError: for an error in one, or a library that is not there, at its line.
        MissingError: when there is no compiler, or no CUDA headers.
    """
    headers = folder / "headers"
    for name, text in HOST_HEADERS.items():
        (headers / name).parent.mkdir(parents=True, exist_ok=True)
        (headers / name).write_text(text)
    compiled = [folder / f"unit{number}.o" for number in range(len(programs))]
    started = [_compiling(*each, folder) for each in zip(programs, texts, compiled, strict=True)]
    runtime = _runtime()
    for program, own, process in zip(programs, texts, started, strict=True):
        errors = process.communicate()[1]
        if process.returncode:
            raise _compile_error(program, own, errors)
    file = programs[0].file
    staged_texts = [within(Path(program.file).resolve(), folder / "source").read_text() for program in programs]
    variables = Counter(name for text in staged_texts for name in set(_VARIABLE.findall(text)))
    if twice := [name for name, files in variables.items() if files > 1]:
        what = english("{name} is a variable of the device in two of the files; give it two names", name=twice[0])
        raise UnsupportedError(file, 1, what)
    executable = folder / (Path(file).stem or "main")
    objects = [*map(str, compiled), str(runtime)]
    linked = _linked(objects, executable)
    if linked and (names := dict.fromkeys(_UNDEFINED.findall(linked))):
        objects.append(str(_stand_ins(names, folder)))
        linked = _linked(objects, executable)
    if linked and (defined := _DEFINED.search(linked)):
        what = english("{name} is defined in two of the files", name=defined["name"])
        raise KernelFileError(file, 1, what)
    if linked:
        what = next(iter(_UNDEFINED.findall(linked)), linked.strip().splitlines()[-1])
        told = english(
            "its host code needs {what}, which is missing here; where another file has it, name that too: "
            "smemviz run {file} OTHER.cu",
            what=what,
            file=file,
        )
        raise KernelFileError(file, 1, told)
    return executable, [_kernels(made) for made in compiled]


def _compiling(program: CudaProgram, own: dict[Path, str], made: Path, folder: Path) -> subprocess.Popen[str]:
    """Begin to compile one file."""
    places = staged(own, folder / "source")
    path = Path(program.file).resolve()
    searched = [str(within(Path(f).resolve(), folder / "source")) for f in program.folders]
    searched += [*program.folders, str(path.parent), str(folder / "headers"), *map(str, include_folders())]
    command = [compiler(), *_standard(program.options), *_OPTIONS, "-c", "-include", str(_RUNTIME / "smemviz.h")]
    command += [word for name in program.before for word in ("-include", name)]
    command += [option for option in program.options if not _STANDARD.match(option)]
    command += [f"-I{place}" for place in searched]
    return _started([*command, "-x", "c++", str(places[path]), "-o", str(made)])


def _kernels(compiled: Path) -> tuple[str, ...]:
    """Return what C++ calls the kernels that are in an object file: each has a class of its own there."""
    command = ["nm", "-C", str(compiled)]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, errors="replace").stdout
    except FileNotFoundError:
        return ()
    return tuple(dict.fromkeys(_STUB.findall(listed)))


def _standard(options: Iterable[str]) -> list[str]:
    given = [f"-{option.lstrip('-')}" for option in options if _STANDARD.match(option)]
    return given or ["-std=c++17"]


def _started(command: Sequence[str], text: str | None = None) -> subprocess.Popen[str]:
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        errors="replace", env=environment,
    )  # fmt: skip


def _linked(objects: Sequence[str], executable: Path) -> str:
    command = [compiler(), "-no-pie", "-pthread", *objects, "-ldl", "-lm", "-o", str(executable)]
    process = _started(command)
    errors = process.communicate()[1]
    return errors if process.returncode else ""


def _stand_ins(names: Mapping[str, None], folder: Path) -> Path:
    """Compile functions that end the program and say that they are not here, for C functions that nobody defines."""
    plain = [name for name in names if re.fullmatch(r"\w+", name)]
    lines = [f'extern "C" int {name}() {{ smemviz_missing("{name}"); return 0; }}' for name in plain]
    source = folder / "missing.cpp"
    source.write_text("\n".join(['extern "C" void smemviz_missing(const char *name);', *lines]))
    process = _started([compiler(), "-w", "-c", str(source), "-o", str(folder / "missing.o")])
    errors = process.communicate()[1]
    assert process.returncode == 0, errors
    return folder / "missing.o"


@cache
def _runtime() -> Path:
    """Return what stands in for CUDA's runtime, compiled once on a machine: it is the same for every program."""
    declared = next(path for place in include_folders() if (path := place / "driver_types.h").is_file())
    names = {int(number): name for name, number in _ERROR_NAME.findall(declared.read_text(errors="replace"))}
    row = device(COMPUTE_CAPABILITY)
    values = _CARD | {
        "MAJOR": row.cc[0], "MINOR": row.cc[1], "THREADS": row.max_threads, "SHARED": row.static_shared,
        "OPT_IN_SHARED": row.opt_in_shared, "RESERVED_SHARED": row.reserved_shared,
        "SHARED_IN_ALL": row.multiprocessor.shared_bytes, "RESIDENT_THREADS": row.multiprocessor.threads,
        "RESIDENT_BLOCKS": row.multiprocessor.blocks,
    }  # fmt: skip
    defined = [f"-DSMEMVIZ_{name}={value}" for name, value in values.items()]
    searched = [f"-I{place}" for place in (_RUNTIME, *include_folders())]
    command = [compiler(), "-std=c++17", "-O1", "-w", "-c", *defined, *searched]
    parts = [(_RUNTIME / part).read_text(encoding="utf-8") for part in _PARTS]
    version = subprocess.run([compiler(), "--version"], capture_output=True, text=True, errors="replace").stdout
    key = "\0".join([*command, version, *parts, str(names)])
    compiled = _cache() / f"runtime-{hashlib.sha256(key.encode()).hexdigest()[:16]}.o"
    if not compiled.is_file():
        _compile_runtime(command, names, compiled)
    return compiled


def _compile_runtime(command: Sequence[str], names: Mapping[int, str], compiled: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="smemviz-runtime-", dir=compiled.parent) as name:
        folder = Path(name)
        lines = [f"NAMED({name}, {number})\n" for number, name in names.items()]
        (folder / "error_names.h").write_text("".join(lines))
        (folder / "runtime.cpp").write_text("".join(f'#include "{part}"\n' for part in _PARTS))
        made = folder / "runtime.o"
        process = _started([*command, f"-I{folder}", str(folder / "runtime.cpp"), "-o", str(made)])
        errors = process.communicate()[1]
        if process.returncode:
            first = next(iter(_ERROR.finditer(errors)), None)
            why = first["what"] if first else errors[:200]
            raise MissingError(f"{compiler()} does not compile for CUDA here: {why}")
        made.replace(compiled)


def _cache() -> Path:
    """Return the user's folder for what need not be made again, one for this process where that cannot be written."""
    folder = user_cache_path("smemviz", appauthor=False)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if os.access(folder, os.W_OK):
        return folder
    folder = Path(tempfile.mkdtemp(prefix="smemviz-runtime-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _compile_error(program: CudaProgram, own: Mapping[Path, str], errors: str) -> KernelFileError:
    """Return the first error that a compiler names in the user's files, in words about what to do."""
    found = list(_ERROR.finditer(errors))
    if not found:
        lines = errors.strip().splitlines() or ["the compiler failed"]
        return KernelFileError(program.file, 1, english("its host code does not compile: {why}", why=lines[0]))
    match = next((match for match in found if Path(match["file"]) in own), found[0])
    what, place = match["what"].strip(), Path(match["file"])
    file = shown(program, match["file"])
    if header := _NO_HEADER.search(what):
        return _no_header(program, own, header["name"] or header["named"], file, int(match["line"]))
    for path, text in own.items():
        for name, line, _quoted in included(text, str(path)):
            if library := library_of(name):
                why = english(
                    "needs {library}, which does not run without a GPU ({why}); {remedy}",
                    library=library, why=what, remedy=_comments(),
                )  # fmt: skip
                return KernelFileError(shown(program, str(path)), line, why)
    if place not in own:
        file, what = program.file, f"{match['file']}:{match['line']}: {what}"
        return KernelFileError(file, 1, english("its host code does not compile: {why}", why=what))
    text = english("its host code does not compile: {why}", why=what)
    return SourceError(file, int(match["line"]), int(match["column"] or 1), text)


def _no_header(program: CudaProgram, own: Mapping[Path, str], name: str, file: str, line: int) -> KernelFileError:
    if library := library_of(name):
        remedy = _comments()
        why = english("needs {library}, which does not run without a GPU; {remedy}", library=library, remedy=remedy)
        return KernelFileError(file, line, why)
    what = english("the header {name} is not found; name its folder with -I FOLDER", name=name)
    return KernelFileError(file, line, to_install(name) or what)


def _comments() -> str:
    return english("write its launches in comments: {how}", how="// smemviz: kernel<<<grid, block>>>(...)")


def shown(program: CudaProgram, file: str) -> str:
    """Return the name of a file of the user's as messages show it."""
    return program.file if Path(file) == Path(program.file).resolve() else file
