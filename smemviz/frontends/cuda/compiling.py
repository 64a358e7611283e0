"""A program and a view of it, compiled: PTX, and the ways from its lines, arrays and parameters back to the text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from os.path import isfile  # unlike Path's it has no error for names that no file can have
from pathlib import Path

from smemviz.errors import KernelFileError, LaunchError, SourceError
from smemviz.frontends.cuda.cuda_program import CudaProgram
from smemviz.frontends.cuda.device_text import device_texts
from smemviz.frontends.cuda.includes import EVERYWHERE, HEADERS, STANDARD, is_of_cuda
from smemviz.frontends.cuda.nvrtc import CompileError, Ptx, compile_ptx
from smemviz.frontends.cuda.shapes import (
    TYPES,
    Parameter,
    SharedDeclaration,
    SharedPiece,
    SizesText,
    without_sizes,
)
from smemviz.frontends.cuda.sources import Text
from smemviz.frontends.cuda.structures import Structure, StructuresText
from smemviz.frontends.cuda.text.cuda_functions import find_functions
from smemviz.frontends.cuda.text.declarations import macros_of
from smemviz.frontends.cuda.text.lexing import one_token_a_line
from smemviz.frontends.cuda.vectors import with_vectors
from smemviz.languages import View
from smemviz.messages import english

_STANDARD = "--std=c++17"
_WITH_DESIGNATORS = "--std=c++20"
_OPTIONS = ("--gpu-architecture=compute_90", "-default-device", f"--pre-include={EVERYWHERE}")
_NAMES = "__nv_name_map"  # what NVRTC calls the names of the kernels that it is asked for
_LINES = "-lineinfo"
_SIZES = "smemviz/sizes.h"
# Keeps the accesses as they are written; without it loops are unrolled and loads forwarded, as nvcc does.
_AS_WRITTEN = "--Ofast-compile=max"
_LIBRARY_BYTES = 2 << 20
# Without it cooperative_groups.h includes cuda/atomic, which takes two seconds; what it is for names cuda::atomic.
_FEW_HEADERS = "-D_CG_LIMIT_INCLUDED_DEPENDENCIES"


@dataclass(frozen=True)
class Compiled:
    """What NVRTC made of a program. ``names`` are the names in the PTX of the kernels asked for.

    ``texts`` are the file and the headers beside it, by the name that NVRTC was given; ``parameters`` are by name in
    the PTX. ``pieces`` is what the compiler made of the one array of shared memory that a kernel of Triton has.
    """

    ptx: str
    names: Mapping[str, str]
    texts: Mapping[str, Text]
    shared: tuple[SharedDeclaration, ...]
    parameters: Mapping[str, tuple[Parameter, ...]]
    pieces: tuple[SharedPiece, ...] = ()

    def text(self, path: str) -> Text | None:
        """Return the file that PTX names by a path."""
        name = path.replace("\\", "/")
        return next((text for given, text in self.texts.items() if name == given or name.endswith(f"/{given}")), None)

    def numbered(self, files: Mapping[int, str]) -> dict[int, Text]:
        """Return the files that PTX names by the numbers it gives them, but for CUDA's own headers."""
        texts = {number: self.text(path) for number, path in files.items()}
        return {number: text for number, text in texts.items() if text is not None}


def compile_program(program: CudaProgram, kernels: Sequence[str], view: View = "source") -> Compiled:
    """Compile a program for some of its kernels, templates with their arguments.

    Raises:
        KernelFileError: for an error in it, at its line and column.
        MissingError: when NVRTC is not installed.
    """
    if not program.trusted:
        raise KernelFileError(
            program.file, 1, english("comes from elsewhere and is not compiled; save it and run the file")
        )
    headers, missing = program.headers()
    names, options = tuple(dict.fromkeys(kernels)), _options(program, _STANDARD)
    beside = tuple((header, _path(program, header), text) for header, text in headers.items())
    libraries = tuple(f"{folder}/" for folder in _libraries(program, beside))
    try:
        return _compile(program.file, program.text, beside, names, view, options, libraries)
    except KernelFileError as error:
        if missing:
            raise missing[0].error(error) from None
        raise


def _libraries(program: CudaProgram, beside: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return the folders named for a program whose headers are so many that the compiler reads them as they are.

    Accesses in them are shown where the program calls them.
    """
    folders = [Path(folder).resolve().as_posix() for folder in program.folders]
    sizes = (sum(len(text) for _, path, text in beside if path.startswith(f"{folder}/")) for folder in folders)
    return [folder for folder, size in zip(folders, sizes, strict=True) if size > _LIBRARY_BYTES]


def _path(program: CudaProgram, header: str) -> str:
    paths = [Path(folder) / header for folder in (str(Path(program.file).parent), *program.folders)]
    return next((path for path in paths if isfile(path)), paths[0]).as_posix()


def _options(program: CudaProgram, standard: str) -> tuple[str, ...]:
    """Return a program's own options, with the standard where they name none."""
    named = any(option.startswith(("-std", "--std")) for option in program.options)
    before = (f"--pre-include={name}" for name in program.before)
    return (*(() if named else (standard,)), *program.options, *before)


def _few_headers(texts: Mapping[str, str]) -> tuple[str, ...]:
    return () if any("cuda::" in text or "cuda/" in text for text in texts.values()) else (_FEW_HEADERS,)


@lru_cache(maxsize=32)
def _compile(
    file: str,
    source: str,
    beside: tuple[tuple[str, str, str], ...],
    kernels: tuple[str, ...],
    view: View,
    options: tuple[str, ...],
    libraries: tuple[str, ...] = (),
) -> Compiled:
    name = Path(file).name
    macros = macros_of([source, *(text for _, _, text in beside)])
    beside = tuple(one for one in beside if not one[1].startswith(libraries))
    options = (*options, *(f"-I{folder}" for folder in libraries))
    sources = device_texts({name: source, **{header: text for header, _, text in beside}}, kernels, macros)
    texts = {name: Text("", source), **{header: Text(path, text) for header, path, text in beside}}
    for own_file, text in sources.items():
        lines, places = one_token_a_line(text)
        texts[own_file] = replace(texts[own_file], lines=lines, places=places)
    exploded = {own_file: texts[own_file].lines for own_file in sources}
    standard = STANDARD if any("std::" in text for text in sources.values()) else {}
    options = (*_OPTIONS, *options, *_few_headers(sources), _LINES)

    def compiled(own: Mapping[str, str], *more: str) -> Ptx:
        headers = {**HEADERS, **standard, _SIZES: TYPES, **{file: text for file, text in own.items() if file != name}}
        return compile_ptx(own[name], name, (*options, *more), headers, kernels)

    sizes = SizesText({own_file: texts[own_file] for own_file in sources})
    why = None
    try:
        sized = compiled(sizes.texts, _AS_WRITTEN, f"--pre-include={_SIZES}")
    except CompileError as error:
        why = error
    try:
        ptx = sized if view == "source" and not why else compiled(exploded, *((_AS_WRITTEN,) if why else ()))
    except CompileError as error:
        line = next((function.line for function in find_functions(source) if function.is_kernel), 1)
        raise _at_its_place(error, file, texts, line) from None
    if why:
        place = texts[name].place(why.line) if why.file == name else None
        line = place.line if place else 1
        raise KernelFileError(file, line, english("its types cannot be read: {why}", why=why.what))
    shared, parameters = sizes.read(sized.text)
    text = with_vectors(without_sizes(ptx.text)) if view == "source" else ptx.text
    return Compiled(text, ptx.names, texts, shared, parameters)


def compile_structures(program: CudaProgram, kernel: str, values: Mapping[int, Structure], line: int) -> str:
    """Return PTX that has the bytes of the structures that a launch at a line passes, by the numbers of parameters.

    Raises:
        LaunchError: for a value that its type does not take, naming the field.
    """
    name = Path(program.file).name
    own, _ = program.headers()
    sources = device_texts({name: program.text, **own})
    text = StructuresText(sources.pop(name), kernel, values)
    headers = {**HEADERS, **sources}
    standard = _WITH_DESIGNATORS if any(value.designated for value in values.values()) else _STANDARD
    options = (*_OPTIONS, *_options(program, standard), *_few_headers({name: program.text, **own}), _AS_WRITTEN)
    try:
        return compile_ptx(text.text, name, options, headers, text.names).text
    except CompileError as error:
        parameter, field, why = text.explained(error.line, error.what)
        name = program.kernel(kernel, line).parameters[parameter]
        raise LaunchError(program.file, line, f"{name}{field}: {why}") from None


def _at_its_place(error: CompileError, file: str, texts: Mapping[str, Text], line: int) -> KernelFileError:
    """Return the error with the line and column of the text as it was written, with ``line`` where it names none."""
    text = texts.get(error.file) or texts.get(Path(error.file).name)
    place = text.place(error.line) if text else None
    if text is None or place is None:
        is_text = error.file and error.file != _NAMES
        if is_text and not is_of_cuda(error.file):  # nothing of another file is shown
            return KernelFileError(file, 1, english("a file that it includes does not compile"))
        where = f"{error.file}:{error.line}: " if is_text else ""
        return KernelFileError(file, line, english("does not compile: {why}", why=f"{where}{error.what}"))
    return SourceError(text.file or file, place.line, place.column + 1, _removed(error.what) or error.what)


def _removed(what: str) -> str:
    """Say of what CUDA or C++ had once that it is no more, and what is instead; empty for another error."""
    if what.startswith("texture is not a template"):
        return english("CUDA has no texture references since version 12; pass the array, and index it")
    if '"register"' in what:
        return english('C++ has no "register" since C++17; leave it out')
    return ""
