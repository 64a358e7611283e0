"""A whole ``.ptx`` file in lockstep: the launches that its comments ask for."""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.launch_shape import Configuration, configuration
from smemviz.engines.lockstep.log import ROW_BYTES
from smemviz.engines.lockstep.ptx.code.module import PtxError, Variable, as_bf16
from smemviz.engines.lockstep.ptx.host.arguments import StructureValue, arrays_among
from smemviz.engines.lockstep.ptx.host.cuda_launch import Make, launch, parsed, prepare
from smemviz.engines.lockstep.ptx.host.entry import DefinedElsewhere, Entry
from smemviz.engines.lockstep.ptx.host.pointed_types import pointed_types
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.options import LaunchOptions, RunOptions
from smemviz.engines.recorder import LaunchOutcome, Recorder
from smemviz.errors import KernelFileError, LaunchError, RefusedLaunchError
from smemviz.frontends.arguments import fits
from smemviz.frontends.cuda.compiling import Compiled
from smemviz.frontends.cuda.constants import UnreadableError, value_of
from smemviz.frontends.cuda.launches import LaunchPlan, argument_array
from smemviz.frontends.cuda.shapes import Element, Parameter
from smemviz.frontends.ptx.ptx_places import PlacedPtx, placed
from smemviz.frontends.ptx.ptx_program import PtxProgram
from smemviz.languages import CUDA_CPP, PTX, TRITON, Spelling, language_of
from smemviz.messages import english
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import Finding
from smemviz.recordings.vocabulary import DTYPES

_Place = tuple[str, int]
_POINTER_BYTES = 8
_TYPES = (*DTYPES, "bfloat16")


def run(
    program: PtxProgram,
    options: RunOptions | None = None,
    after: Callable[[str, Sequence[object]], None] | None = None,
    make: Make = launch,
) -> tuple[tuple[Launch, ...], tuple[Finding, ...]]:
    """Run the launches that a file asks for; returns them, and the mistakes met.

    ``after`` is called with the kernel and its arguments after each launch, which ``make`` makes; it may refuse one
    for its findings, and return None for it.

    Raises:
        InputError: when no launch is of those asked for.
        KernelFileError: when the file is no PTX, or asks for no launch.
        LaunchError: for a launch whose arguments do not fit; one that no device would start is a finding.
        UnsupportedError: for an instruction that is not executed in lockstep.
    """
    planned = program.planned()
    ptx = placed(program)
    try:
        parsed(ptx.text)
    except PtxError as error:
        raise KernelFileError(program.file, _line(error, program.source), error.what) from None
    seen = Recorder(options)

    def outcome(named: PtxProgram, plan: LaunchPlan, options: LaunchOptions) -> LaunchOutcome:
        place = named.file, plan.line
        shape = configuration(place, (plan.grid, plan.block, 0, plan.dynamic_shared))
        entry, kernel, pointers = _entry(program, ptx, plan, shape, place)
        values = _arguments(entry, kernel, pointers, plan, place)
        launched = make(entry, shape, values, place, options)
        if after is not None:
            after(plan.kernel, arrays_among(values))
        return launched

    with seen.stoppable(lambda error: plan.line):
        for named, plan in planned:
            file = _source_of(program, ptx, program.name_of(plan.kernel))
            seen.make(program.name_of(plan.kernel), partial(outcome, named, plan), ROW_BYTES, file)
    return seen.result()


def _line(error: PtxError, source: str) -> int:
    """Return the line of an error: of its instruction, else the first that has the words it names."""
    if error.place and error.place.line:
        return error.place.line
    words = error.what.partition(" is not read")[0].removesuffix("...")
    found = (number for number, line in enumerate(source.splitlines(), 1) if words.split()[0] in line)
    return next(found, 1) if words.split() else 1


def _source_of(program: PtxProgram, ptx: PlacedPtx, name: str) -> str:
    """Return the file that a kernel is written in, the PTX's own where it is not known."""
    function, files = parsed(ptx.text).functions[program.symbols[name]], parsed(ptx.text).files
    text = ptx.texts.get(files[function.place.file]) if function.place.file else None
    return text.file if text and text.file != program.file else ""


def _entry(
    program: PtxProgram, ptx: PlacedPtx, plan: LaunchPlan, shape: Configuration, place: _Place
) -> tuple[Entry, Kernel, dict[str, str]]:
    """Return a kernel ready to be launched, what its PTX says, and the types that its pointers are to.

    Raises:
        RefusedLaunchError: for a launch that no device would start.
        UnsupportedError: for an instruction that is not executed in lockstep, at its line of the PTX.
    """
    name = program.name_of(plan.kernel)
    own, symbol = program.kernels[name], program.symbols[name]
    here = DefinedElsewhere(program.file, name, own.line, own.parameters, PTX.spelling)
    compiled = Compiled(ptx.text, {name: symbol}, ptx.lines, program.shared, {})
    kernel = prepare(Entry(here, compiled, name), shape, place).kernel
    if (wanted := program.block_of(name)) and ".reqntid" in program.source[own.start : own.body]:
        sizes = ", ".join(str(size) for size in shape.block[: wanted.count(",") + 1])
        if wanted not in (sizes, f"dim3({sizes})"):
            what = english("{kernel} is compiled for blocks of {wanted}", kernel=name, wanted=wanted)
            raise RefusedLaunchError(*place, what)
    types = pointed_types(kernel)
    pointers = {
        parameter: types[variable.name]
        for parameter, variable in zip(own.parameters, kernel.function.parameters, strict=True)
        if variable.name in types and variable.size == _POINTER_BYTES
    }
    parameters = tuple(Parameter(name, True, Element("", 1, 1)) for name in pointers)
    source = _source_of(program, ptx, name)
    line = ptx.texts[kernel.module.files[kernel.function.place.file]].place(kernel.function.place.line)
    if source and line:
        here = replace(here, file=source, line=line.line, spelling=_spelling(program, source))
    texts = {path: replace(text, file="" if text.file == here.file else text.file) for path, text in ptx.texts.items()}
    return Entry(here, replace(compiled, texts=texts, parameters={symbol: parameters}), name), kernel, pointers


def _spelling(program: PtxProgram, source: str) -> Spelling:
    """Return how the language of a source writes; Python's are many, and Triton is told by what its PTX has."""
    if language_of(source) is CUDA_CPP:
        return CUDA_CPP.spelling
    return TRITON if "global_smem" in program.source else PTX.spelling


def _arguments(entry: Entry, kernel: Kernel, pointers: Mapping[str, str], plan: LaunchPlan, place: _Place) -> list[Any]:
    """Make the arguments that a comment asks for: arrays, and the bytes of numbers and structures."""
    arguments: list[Any] = []
    names = entry.program.kernel(entry.name, 1).parameters
    for name, variable, node in zip(names, kernel.function.parameters, plan.arguments, strict=True):
        assert isinstance(node, ast.expr)
        if isinstance(node, ast.Set):
            arguments.append(_structure(name, variable, node.elts, plan, place))
        elif (array := _array(node, name, pointers.get(name, ""), plan, place)) is not None:
            arguments.append(array)
        elif isinstance(node, ast.Name) and node.id == "nullptr":
            arguments.append(bytes(8))
        else:
            arguments.append(_number(name, variable, _value(node, name, plan, place), place))
    return arguments


def _array(node: ast.expr, name: str, known: str, plan: LaunchPlan, place: _Place) -> NDArray[Any] | None:
    """Make an array of the type that it names, ``zeros(64, dtype=float16)``, or that the PTX tells."""
    if not isinstance(node, ast.Call):
        return None
    asked = [ast.unparse(keyword.value) for keyword in node.keywords if keyword.arg == "dtype"]
    if node.keywords and (len(asked) != len(node.keywords) or asked[0] not in _TYPES):
        what = english(
            "{text} is not read; a type is one of {types}", text=ast.unparse(node), types=", ".join(sorted(_TYPES))
        )
        raise LaunchError(*place, what)
    dtype = asked[0] if asked else known
    short = dtype == "bfloat16"
    numbers = np.dtype("float32" if short else dtype or "uint8")
    parameter = Parameter(name, True, Element(str(numbers), 1, numbers.itemsize))
    array = argument_array(ast.Call(node.func, node.args, []), parameter, plan.scope, place)
    if array is not None and not dtype:
        what = english(
            "the PTX does not say what {name} points to; write its type, {text}",
            name=name,
            text=f"{ast.unparse(node)[:-1]}, dtype=float32)",
        )
        raise LaunchError(*place, what)
    return as_bf16(array) if short and array is not None else array


def _value(node: ast.expr, name: str, plan: LaunchPlan, place: _Place) -> Any:
    try:
        return value_of(node, plan.scope)
    except UnreadableError as error:
        what = english("{text} is not read as an argument for {name}", text=error, name=name)
        raise LaunchError(*place, what) from None


def _number(name: str, variable: Variable, value: Any, place: _Place) -> bytes:
    """Return a number as a parameter has it: a type of bits takes an integer as such, and a fraction as a float."""
    kind, size = variable.type[0], variable.size
    kind = kind if kind == "f" or not isinstance(value, float) else "f" if kind == "b" else kind
    dtype = (
        np.dtype(f"f{size}" if kind == "f" else f"{'i' if value < 0 else 'u'}{size}") if size in (1, 2, 4, 8) else None
    )
    if dtype is None:
        what = english("{name} is a structure of {size} bytes; write its fields in braces", name=name, size=size)
        raise LaunchError(*place, what)
    if not fits(value, dtype):
        raise LaunchError(
            *place, english("{name}: {value} does not fit {dtype}", name=name, value=value, dtype=f".{variable.type}")
        )
    return np.array([value]).astype(dtype).tobytes()


def _structure(
    name: str, variable: Variable, fields: Sequence[ast.expr], plan: LaunchPlan, place: _Place
) -> StructureValue:
    """Lay out the fields of a structure, each at a multiple of its size: pointers, and numbers of 4 bytes or a type."""
    data, arrays = bytearray(), dict[int, tuple[str, NDArray[Any]]]()
    for number, node in enumerate(fields):
        array = _array(node, f"{name}.{number}", "", plan, place)
        typed = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in DTYPES and node.args
        if array is not None or (isinstance(node, ast.Name) and node.id == "nullptr"):
            value, dtype = 0, np.dtype("u8")
        elif typed:
            assert isinstance(node, ast.Call)
            value, dtype = _value(node.args[0], f"{name}.{number}", plan, place), np.dtype(ast.unparse(node.func))
        else:
            value = _value(node, f"{name}.{number}", plan, place)
            dtype = np.dtype("f4" if isinstance(value, float) else "i4")
        data += bytes(-len(data) % dtype.itemsize)
        if array is not None:
            arrays[len(data)] = f".{number}", array
        data += np.array([value]).astype(dtype).tobytes()
    if not len(data) <= variable.size < len(data) + variable.alignment:
        what = english("{name} takes {size} bytes; {given} are given", name=name, size=variable.size, given=len(data))
        raise LaunchError(*place, what)
    return StructureValue(np.frombuffer(bytes(data.ljust(variable.size, b"\0")), np.uint8).copy(), arrays)
