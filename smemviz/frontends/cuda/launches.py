"""The launches that a ``.cu`` file asks for, in comments that nvcc ignores, one a line:

``// smemviz: transpose<<<dim3(2, 2), dim3(32, 32), 0>>>(zeros(64, 64), random(64, 64), 64)``
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import KernelFileError, LaunchError, UnlaunchedError
from smemviz.frontends.arguments import fits, is_whole, wrong_number
from smemviz.frontends.cuda.constants import UnreadableError, parse, value_of
from smemviz.frontends.cuda.cuda_program import NOTE, CudaProgram
from smemviz.frontends.cuda.shapes import Parameter
from smemviz.frontends.cuda.structures import MAKERS, Declared, Fields, Structure, declared, fields_of, read_structure
from smemviz.frontends.cuda.text.cuda_functions import Function, parts
from smemviz.frontends.cuda.text.lexing import Lines, closing, code, scan
from smemviz.messages import english
from smemviz.recordings.vocabulary import ConstantValue

_LAUNCH = re.compile(
    r"(?P<name>[A-Za-z_][\w:]*\s*(?:<(?!<<).*?>)?)\s*<<<(?P<shape>.*?)>>>\s*\((?P<arguments>.*)\)\s*;?", re.DOTALL
)
_HOW = "// smemviz: kernel<<<grid, block>>>(zeros(1024), 1024)"
_MOST_BYTES = 1 << 32
_MANY = "1024"  # elements of an array of which nothing is known
_MOST_AXES = 64  # that an array of NumPy has


@dataclass(frozen=True)
class LaunchPlan:
    """One launch that is asked for, its numbers computed but for arrays, whose types the kernel's parameters say.

    Its arguments are expressions, and structures by value; ``scope`` is what names in them stand for.
    """

    kernel: str
    line: int
    grid: Any
    block: Any
    dynamic_shared: int
    arguments: tuple[ast.expr | Structure, ...]
    scope: Mapping[str, ConstantValue]


class Launching(Protocol):
    """A program whose launches stand in comments."""

    @property
    def file(self) -> str:
        """The file with the comments, as errors name it."""

    def kernel(self, name: str, line: int) -> Function:
        """Return a kernel by its name; ``line`` is where it is named."""


def planned_launches(program: CudaProgram) -> tuple[LaunchPlan, ...]:
    """Return the launches that a program's comments ask for.

    Raises:
        KernelFileError: when there are none, or one names a kernel that the file does not have.
        LaunchError: when one cannot be read.
    """
    notes = tuple(_notes(program.text))
    scope = program.scope() if notes else {}
    launches = tuple(plan_of(program, text, line, scope) for text, line in notes)
    if not launches:
        kernels = tuple(program.kernel_functions.values())
        if not kernels:
            raise KernelFileError(program.file, 1, english("has no __global__ function; write a kernel"))
        raise unlaunched(program.file, kernels[0].line, _example(program))
    return launches


def unlaunched(file: str, line: int, offer: str) -> UnlaunchedError:
    """Return the error of a file that launches nothing, which offers a comment that does."""
    return UnlaunchedError(file, line, english("has no launch; add a comment such as {launch}", launch=offer), offer)


def _example(program: CudaProgram) -> str:
    """Return a comment that launches the first kernel of a file."""
    name, function = next(iter(program.kernel_functions.items()))
    fields = _structure_fields(program)
    arguments = (_written(declared(declaration), fields) for declaration in function.declarations)
    return f"// smemviz: {name}<<<1, 32>>>({', '.join(arguments)})"


def _written(parameter: Declared, fields: Fields) -> str:
    """Return an argument for a parameter: an array, a structure of such values, or a number."""
    if parameter.pointer or parameter.array:
        return f"zeros({_MANY})"
    if known := fields(parameter.type):
        return f"{parameter.type}{{{', '.join(_written(field, fields) for field in known)}}}"
    return _MANY


def argument_array(
    node: ast.expr, parameter: Parameter, scope: Mapping[str, ConstantValue], place: tuple[str, int]
) -> NDArray[Any] | None:
    """Return what ``array_of`` makes of an argument of a launch at a place.

    Raises:
        LaunchError: when it is not read, or a number in it is none of the parameter's type.
    """
    try:
        return array_of(node, parameter, scope)
    except UnreadableError as error:
        what = english("{text} is not read as an argument for {name}", text=error, name=parameter.name)
    except MisfitError as error:
        value, dtype = error.args
        what = english("{name}: {value} does not fit {dtype}", name=parameter.name, value=value, dtype=str(dtype))
    raise LaunchError(*place, what)


class MisfitError(Exception):
    """A number that is none of a type."""


def array_of(node: ast.expr, parameter: Parameter, scope: Mapping[str, ConstantValue]) -> NDArray[Any] | None:
    """Make the array that an argument asks for, of the type that its parameter points to; None when it is a number.

    ``random`` gives the same numbers in every run, and ``ring(n, apart)`` n numbers of which each that is a multiple
    of ``apart`` is the place of the next, until all are visited.

    Raises:
        UnreadableError: when it is not read here.
        MisfitError: when an array is filled with what is none of its type.
    """
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS):
        return None
    values = [value_of(argument, scope) for argument in node.args]
    maker, dtype = node.func.id, np.dtype(parameter.element.dtype or "uint8")
    fill = [values.pop(0)] if maker == "full" and values else []
    fill = [values.pop(1)] if maker == "ring" and len(values) == 2 else fill
    if not values or not all(is_whole(value) and value >= 0 for value in values):
        raise UnreadableError(ast.unparse(node))
    sizes = tuple(int(value) for value in values)
    lanes = (parameter.element.lanes,) if parameter.element.lanes > 1 else ()
    shape = (*sizes, *lanes)
    if len(shape) > _MOST_AXES or int(np.prod(shape, dtype=object)) * dtype.itemsize > _MOST_BYTES:
        raise UnreadableError(ast.unparse(node))
    if maker == "ring" and (len(shape) > 1 or not 0 < (fill or [1])[0] <= shape[0]):
        raise UnreadableError(ast.unparse(node))
    return _array(maker, shape, dtype, fill)


def _array(maker: str, shape: tuple[int, ...], dtype: np.dtype[Any], fill: Sequence[float]) -> NDArray[Any]:
    if maker == "random":
        random = np.random.default_rng(0)
        if dtype.kind == "f":
            return random.random(shape).astype(dtype)
        return random.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)
    if maker == "arange":
        return np.arange(int(np.prod(shape))).astype(dtype).reshape(shape)
    if maker == "ring":
        apart = int(fill[0]) if fill else 1
        places = np.random.default_rng(0).permutation(shape[0] // apart) * apart
        ring = np.zeros(shape, dtype)
        ring[places] = np.roll(places, -1)
        return ring
    if fill and not fits(fill[0], dtype):
        raise MisfitError(fill[0], dtype)
    return np.full(shape, fill[0] if fill else int(maker == "ones"), dtype)


def _notes(source: str) -> Iterator[tuple[str, int]]:
    lines = Lines(source)
    for token in scan(source):
        match = NOTE.fullmatch(token.text) if token.kind == "comment" else None
        if match:
            yield match[1].strip(), lines.place(token.start)[0]


def plan_of(program: Launching, text: str, line: int, scope: Mapping[str, ConstantValue]) -> LaunchPlan:
    """Read a launch in a comment at a line; ``scope`` is what names in it stand for.

    Raises:
        KernelFileError: when it names a kernel that the program does not have.
        LaunchError: when it cannot be read.
    """
    match = _LAUNCH.fullmatch(text)
    if match is None:
        raise LaunchError(program.file, line, english("{text} is not a launch; write {how}", text=text, how=_HOW))
    name = " ".join(match["name"].split())
    function = program.kernel(name, line)
    try:
        shape = _arguments(match["shape"])
        arguments = _with_structures(match["arguments"], function, program)
        sizes = [_size(node, scope) for node in shape]
    except UnreadableError as error:
        raise LaunchError(
            program.file,
            line,
            english(
                "{text} is not read; use numbers, constants of the file, and {makers}",
                text=error,
                makers=", ".join(MAKERS),
            ),
        ) from None
    if not 2 <= len(sizes) <= 4:
        raise LaunchError(program.file, line, english("a launch needs a grid and a block; write {how}", how=_HOW))
    if len(arguments) != len(function.parameters):
        raise wrong_number(program.file, line, function.name, function.parameters, len(arguments))
    dynamic = sizes[2] if len(sizes) > 2 else 0
    if not isinstance(dynamic, int) or dynamic < 0:
        raise LaunchError(
            program.file,
            line,
            english("dynamic shared memory is a number of bytes; {value} is not", value=repr(dynamic)),
        )
    return LaunchPlan(name, line, sizes[0], sizes[1], dynamic, tuple(arguments), scope)


def _arguments(text: str) -> list[ast.expr]:
    call = parse(f"_({text})")
    if not isinstance(call, ast.Call) or call.keywords:
        raise UnreadableError(text)
    return call.args


def _with_structures(text: str, kernel: Function, program: Launching) -> list[ast.expr | Structure]:
    if "{" not in text or not isinstance(program, CudaProgram):
        return [*_arguments(text)]
    fields = _structure_fields(program)
    arguments: list[ast.expr | Structure] = []
    for number, tokens in enumerate(parts(code(text))):
        at = next((i for i, token in enumerate(tokens) if token.text == "{"), None)
        if at is not None and tokens[closing(tokens, at)].text != "}":
            raise UnreadableError(text)
        if at is not None:
            declaration = kernel.declarations[number] if number < len(kernel.declarations) else ()
            arguments.append(read_structure(tokens, declared(declaration), fields))
        else:
            arguments.append(parse(text[tokens[0].start : tokens[-1].end] if tokens else text))
    return arguments


def written_structure(program: CudaProgram, kernel: str, number: int) -> str:
    """Return a value for a structure that is one of a kernel's parameters, to be filled in."""
    parameter = declared(program.kernel(kernel, 1).declarations[number])
    value = _written(parameter, _structure_fields(program))
    return value if "{" in value else f"{parameter.type}{{...}}"


def _structure_fields(program: CudaProgram) -> Fields:
    headers = program.headers()[0] if program.trusted else {}
    return fields_of("\n".join((program.text, *headers.values())))


def _size(node: ast.expr, scope: Mapping[str, ConstantValue]) -> Any:
    """Return a number, or several where it is a ``dim3``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dim3":
        return tuple(value_of(argument, scope) for argument in node.args) or (1, 1, 1)
    return value_of(node, scope)
