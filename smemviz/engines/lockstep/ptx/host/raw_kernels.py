"""Launches of CUDA C++ that a script makes through a library, shown to a recorder as they happen."""

import ast
import ctypes
import linecache
import re
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.launch_shape import configuration, launch_place
from smemviz.engines.lockstep.ptx.code.parse import parse
from smemviz.engines.lockstep.ptx.host.arguments import Extent, with_pointers
from smemviz.engines.lockstep.ptx.host.cuda_launch import Make
from smemviz.engines.lockstep.ptx.host.entry import Entry, Variables
from smemviz.engines.options import LaunchOptions
from smemviz.engines.recorder import LaunchOutcome, Recorder
from smemviz.errors import KernelFileError, LaunchError
from smemviz.frontends.cuda import CudaProgram, compile_program
from smemviz.frontends.cuda.compiling import Compiled
from smemviz.frontends.cuda.cuda_program import parse_cuda
from smemviz.frontends.cuda.shapes import Parameter
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.messages import english

_PASSED = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64)}

# Returns the bytes of the device from an address to the end of the memory that it is in, None where it is in none.
MemoryAt = Callable[[int], NDArray[np.uint8] | None]
_BRANCHING = re.compile(r"^\s*#\s*(?:if|else)|\bnamespace\b", re.MULTILINE)  # some of its kernels have no plain name
_QUOTES = re.compile(r"[rRuU]*('''|\"\"\"|'|\")")


@dataclass(frozen=True)
class Library:
    """A library that launches raw kernels, as messages name it.

    ``numbers`` is what has the types of numbers, ``on_device`` what to write around an array of the host.
    """

    name: str
    numbers: str
    on_device: str


CUPY = Library("CuPy", "cupy", "cupy.asarray(...)")
CUDA_CORE = Library("cuda.core", "numpy", "cupy.asarray(...).data.ptr")
PYCUDA = Library("PyCUDA", "numpy", "pycuda.driver.InOut(...) / In(...) / pycuda.gpuarray.to_gpu(...)")


@dataclass(eq=False)
class RawKernels:
    """Makes the launches of raw kernels; those of ``script`` stand in its strings.

    ``make`` makes a launch, each of whose logged requests takes ``row_bytes``; ``memory_at`` finds what an address is
    passed for, and ``memories`` are what addresses in arrays are of. The libraries pass numbers alike, ``library`` is
    the one that messages name.
    """

    script: PythonProgram
    recorder: Recorder
    make: Make
    row_bytes: int
    memory_at: MemoryAt
    library: Library = CUPY
    memories: Callable[[], Iterable[Extent]] = tuple
    _others: dict[str, str] = field(default_factory=dict, init=False)
    _variables: dict[object, Variables] = field(default_factory=dict, init=False)

    def program(self, code: str, name: str, options: Sequence[str]) -> CudaProgram:
        """Return a text of CUDA C++ as a program that has a kernel of this name.

        Raises:
            KernelFileError: when it has none; it names the line that asks for it.
        """
        program = embedded(code, name, options, self.script, self._others)
        self.check(program, name)
        return program

    def text(self, code: str, options: Sequence[str]) -> CudaProgram:
        """Return a text of CUDA C++ as a program, called after its first kernel where it is one of its own."""
        name = next(iter(parse_cuda(code, "").kernels), "module")
        return embedded(code, name, options, self.script, self._others)

    def check(self, program: CudaProgram, name: str) -> None:
        """Make sure that a program has a kernel.

        Raises:
            KernelFileError: when it has none of that name; it names the line that asks for it.
        """
        place = launch_place("")
        try:
            program.kernel(name, place[1])
        except KernelFileError as error:
            raise KernelFileError(*place, error.what) from None

    def compiled(self, program: CudaProgram, name: str | None = None) -> Compiled:
        """Compile a program, with all its kernels at once where they can be named, else for one of them.

        Raises:
            KernelFileError: for an error in it, at its line and column.
        """
        together = [one.name for one in program.definitions if one.is_kernel and not one.template]
        if _BRANCHING.search(program.text) or len(set(together)) < len(together):
            together = []
        return compile_program(program, together if name is None or name in together else [name], program.view)

    def variables_of(self, program: CudaProgram) -> Variables:
        """Return the variables of a program, which is one module as long as its text and its macros are the same."""
        return self._variables.setdefault((program.text.strip(), program.options), Variables())

    def variable(self, program: CudaProgram, name: str, variables: Variables) -> NDArray[np.uint8]:
        """Return the bytes of a variable of a program, which its launches read and write.

        Raises:
            LaunchError: where no kernel uses one of that name.
        """
        held = variables.named(parse(self.compiled(program).ptx), name)
        if held is None:
            what = english("there is no variable {name} that a kernel uses", name=name)
            raise LaunchError(*launch_place(""), what)
        return held

    def launch(
        self,
        program: CudaProgram,
        name: str,
        shape: tuple[Any, Any, int],
        args: Sequence[Any],
        expressions: Sequence[str] = (),
        variables: Variables | None = None,
    ) -> bool:
        """Make one launch of so many blocks, threads and bytes of dynamic shared memory; tell whether it was made.

        Arrays are NumPy's, a pointer may be an address, and what is passed as it is, bytes. ``expressions`` are the
        kernels that C++ gives names of its own, and ``variables`` those of the module as its last launch left them.

        Raises:
            LaunchError: for a launch that the library does not make, or that does not pass what the kernel takes.
            UnsupportedError: for a kernel that is not executed in lockstep.
        """
        place = launch_place("")

        def make(options: LaunchOptions) -> LaunchOutcome:
            entry = Entry(program, self.compiled(program, name), name, variables=variables)
            if entry.symbol != name and name not in expressions:
                what = english(
                    '{library} finds no {name}, which C++ gives another name; write extern "C" before it',
                    library=self.library.name,
                    name=name,
                )
                raise LaunchError(*place, what)
            grid, block, dynamic = shape
            passed = self._passed(entry, args, place)
            return self.make(entry, configuration(place, (grid, block, 0, dynamic)), passed, place, options)

        return self.recorder.make(name, make, self.row_bytes, program.file)

    def _passed(self, entry: Entry, args: Sequence[Any], place: tuple[str, int]) -> list[Any]:
        """Return the arguments with arrays for addresses and bytes for what is no number of C++'s own."""
        known = {parameter.name: parameter for parameter in entry.compiled.parameters.get(entry.symbol, ())}
        names = [*entry.program.kernel(entry.name, place[1]).parameters, *[""] * len(args)]
        passed: list[Any] = []
        for name, value in zip(names, args, strict=False):
            parameter = known.get(name)
            if parameter is not None and parameter.pointer and isinstance(value, int | np.integer) and value:
                value = self._array_at(int(value), parameter, place)
            elif parameter is not None and parameter.pointer and isinstance(value, bytes):
                what = english(
                    "{name} is a pointer, and {library} passes an array of the host by value; write {on_device}",
                    name=name,
                    library=self.library.name,
                    on_device=self.library.on_device,
                )
                raise LaunchError(*place, what)
            elif isinstance(value, complex | np.complexfloating | np.void):
                value = (np.complex128(value) if isinstance(value, complex) else value).tobytes()
            elif parameter is not None:
                self._check(parameter, value, place)
            passed.append(with_pointers(value, self.memories) if isinstance(value, np.ndarray) else value)
        return passed

    def _array_at(self, address: int, parameter: Parameter, place: tuple[str, int]) -> NDArray[Any]:
        memory = self.memory_at(address)
        if memory is None:
            what = english(
                "{name} is a pointer, and there is no array at {address}: pass the array, or keep it until the launch",
                name=parameter.name,
                address=hex(address),
            )
            raise LaunchError(*place, what)
        dtype = np.dtype(parameter.element.dtype or np.uint8)
        return memory[: len(memory) // dtype.itemsize * dtype.itemsize].view(dtype)

    def _check(self, parameter: Parameter, value: Any, place: tuple[str, int]) -> None:
        """Refuse a number of which a kernel would read other bytes than those that are passed.

        Python's numbers are passed as 8 bytes, whatever the kernel takes, and NumPy's as they are.
        """
        passed = value.dtype if isinstance(value, np.generic) else _PASSED.get(type(value))
        if passed is None or parameter.pointer or parameter.element.lanes != 1:
            return
        if not parameter.element.dtype or _fits(passed, parameter):
            return
        dtype = parameter.element.dtype
        what = english(
            "{name} is a {dtype}, and {library} passes {value} as {passed}; write {numbers}.{dtype}({value})",
            name=parameter.name,
            dtype=dtype,
            library=self.library.name,
            numbers=self.library.numbers,
            value=value,
            passed=str(passed),
        )
        raise LaunchError(*place, what)


def _fits(passed: np.dtype[Any], parameter: Parameter) -> bool:
    wanted = np.dtype(parameter.element.dtype)
    if "f" in (passed.kind, wanted.kind) or "c" in (passed.kind, wanted.kind):
        return passed == wanted
    return passed.itemsize >= wanted.itemsize  # the lowest byte comes first


def number_of(value: Any) -> Any:
    """Return a number of ctypes as NumPy's; everything else as it is."""
    if isinstance(value, ctypes.c_void_p):
        return value.value or 0
    return np.ctypeslib.as_array(value)[()] if type(value).__module__ == "ctypes" else value


def macros(options: Any) -> tuple[str, ...]:
    """Return those of cuda.core's ``ProgramOptions``, or a dictionary of them, that decide what a text means."""
    by_name = options if isinstance(options, dict) else vars(options or object)
    arguments: list[str] = []
    for letter, name in (("D", "define_macro"), ("U", "undefine_macro")):
        defined = by_name.get(name) or []
        for macro in [defined] if isinstance(defined, str | tuple) else defined:
            arguments.append(f"-{letter}{macro if isinstance(macro, str) else '='.join(map(str, macro))}")
    return tuple(arguments)


def embedded(
    code: str, name: str, options: Sequence[str], script: PythonProgram, others: MutableMapping[str, str]
) -> CudaProgram:
    """Return a text of CUDA C++ as a program.

    Where it stands in a Python file as it is, its lines and columns are those of that file. A text made otherwise is
    one of its own, called after ``name``.

    Args:
        code: the text.
        name: a kernel in it.
        options: what the compiler is told.
        script: the Python file.
        others: the texts of their own so far, by their names; this one is added if it is another.
    """
    place = _place(code, script.tree, script.source)
    if place is not None:
        line, column = place
        program = parse_cuda("\n" * (line - 1) + " " * column + code, script.file)
    else:
        own = _own_name(code, name, others)
        others[own] = code
        linecache.cache[own] = (len(code), None, code.splitlines(keepends=True), own)
        program = parse_cuda(code, own)
    return replace(program, options=definitions(options))


def definitions(options: Sequence[str]) -> tuple[str, ...]:
    """Return those of a compiler's options that decide what a text means: its macros."""
    flags: list[str] = []
    remaining = iter(options)
    for option in remaining:
        if option in ("-D", "--define-macro", "-U", "--undefine-macro"):
            flags.append(f"-{'U' if 'U' in option or 'un' in option else 'D'}{next(remaining, '')}")
        elif match := re.match(r"(?:-D|--define-macro=)(.+)", option):
            flags.append(f"-D{match[1]}")
        elif match := re.match(r"(?:-U|--undefine-macro=)(.+)", option):
            flags.append(f"-U{match[1]}")
    return tuple(flags)


def _place(code: str, tree: ast.Module, source: str) -> tuple[int, int] | None:
    """Return line and column of the first character of a text that a string of a file holds as it is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == code:
            written = ast.get_source_segment(source, node) or ""
            quotes = _QUOTES.match(written)
            if quotes and written[quotes.end() : -len(quotes[1])] == code:
                return node.lineno, node.col_offset + quotes.end()
    return None


def _own_name(code: str, name: str, others: MutableMapping[str, str]) -> str:
    """Return a file name for a text, another one for each text."""
    plain = re.sub(r"\W+", "_", name)
    names = (f"{plain}{number or ''}.cu" for number in count())
    return next(name for name in names if others.get(name, code) == code)
