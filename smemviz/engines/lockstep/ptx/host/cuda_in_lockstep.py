"""A whole ``.cu`` file in lockstep: the launches that its comments ask for, and kernels launched from Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from smemviz.engines.launch_shape import Configuration, configuration
from smemviz.engines.lockstep.log import ROW_BYTES
from smemviz.engines.lockstep.ptx.code.module import PtxError
from smemviz.engines.lockstep.ptx.code.parse import parse
from smemviz.engines.lockstep.ptx.host.arguments import StructureValue, arrays_among
from smemviz.engines.lockstep.ptx.host.cuda_launch import Make, launch, unsupported
from smemviz.engines.lockstep.ptx.host.entry import Entry, initial_bytes
from smemviz.engines.options import LaunchOptions, RunOptions
from smemviz.engines.recorder import LaunchOutcome, Recorder
from smemviz.errors import LaunchError
from smemviz.frontends.cuda import nvrtc
from smemviz.frontends.cuda.compiling import compile_program, compile_structures
from smemviz.frontends.cuda.constants import UnreadableError, value_of
from smemviz.frontends.cuda.cuda_program import CudaProgram
from smemviz.frontends.cuda.launches import LaunchPlan, argument_array, planned_launches, written_structure
from smemviz.frontends.cuda.shapes import Element, Parameter
from smemviz.frontends.cuda.structures import Structure, array_at, variable_of
from smemviz.messages import english
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import Finding


def run(
    program: CudaProgram,
    options: RunOptions | None = None,
    after: Callable[[str, Sequence[object]], None] | None = None,
    make: Make = launch,
) -> tuple[tuple[Launch, ...], tuple[Finding, ...]]:
    """Run the launches that a file asks for; returns them, and the mistakes met.

    ``after`` is called with the kernel and its arguments after each launch, which ``make`` makes; it may refuse one
    for its findings, and return None for it.

    Raises:
        InputError: when no launch is of those asked for.
        KernelFileError: when the file does not compile, or asks for no launch.
        LaunchError: for a launch whose arguments do not fit; one that no device would start is a finding.
        MissingError: when NVRTC is not installed.
        UnsupportedError: for what is not executed in lockstep.
    """
    nvrtc.require()
    plans = planned_launches(program)
    compiled = compile_program(program, [plan.kernel for plan in plans], program.view)
    seen = Recorder(options)

    def outcome(plan: LaunchPlan, options: LaunchOptions) -> LaunchOutcome:
        place, entry = (program.file, plan.line), Entry(program, compiled, plan.kernel)
        arguments = _arguments(plan, entry, program)
        shape = configuration(place, (plan.grid, plan.block, 0, plan.dynamic_shared))
        launched = make(entry, shape, arguments, place, options)
        if after is not None:
            after(plan.kernel, arrays_among(arguments))
        return launched

    with seen.stoppable(lambda error: plan.line):
        for plan in plans:
            seen.make(plan.kernel, partial(outcome, plan), ROW_BYTES)
    return seen.result()


def _arguments(plan: LaunchPlan, entry: Entry, program: CudaProgram) -> list[Any]:
    """Make the arguments that a comment asks for."""
    structures = {number: value for number, value in enumerate(plan.arguments) if isinstance(value, Structure)}
    values = structure_values(program, entry, structures, plan) if structures else {}
    names = program.kernel(plan.kernel, plan.line).parameters
    known = {parameter.name: parameter for parameter in entry.compiled.parameters.get(entry.symbol, ())}
    arguments: list[Any] = []
    for number, (name, node) in enumerate(zip(names, plan.arguments, strict=True)):
        if isinstance(node, Structure):
            arguments.append(values[number])
            continue
        parameter = known.get(name) or Parameter(name, True, Element("uint8", 1, 1))
        if parameter.structure:
            how = written_structure(program, plan.kernel, number)
            what = english("{name} is a structure; write its values in braces, {how}", name=name, how=how)
            raise LaunchError(program.file, plan.line, what)
        array = argument_array(node, parameter, plan.scope, (program.file, plan.line))
        try:
            arguments.append(value_of(node, {**plan.scope, "nullptr": 0}) if array is None else array)
        except UnreadableError as error:
            what = english("{text} is not read as an argument for {name}", text=error, name=name)
            raise LaunchError(program.file, plan.line, what) from None
    return arguments


class CudaFile:
    """A file of CUDA C++ whose kernels can be launched: ``cuda_cpp("t.cu")["transpose"][grid, block](a, b)``."""

    def __init__(self, program: CudaProgram) -> None:
        nvrtc.require()
        self.program = program

    def __getitem__(self, kernel: str) -> CudaKernel:
        """Return a kernel by its name; a template's with its arguments, ``"copy<float, 32>"``."""
        self.program.kernel(kernel, 1)
        return CudaKernel(self, kernel)

    def __repr__(self) -> str:
        return f"<CUDA C++ {self.program.file}: {', '.join(self.program.kernel_functions)}>"


class CudaKernel:
    """One kernel of a file; brackets say how it is launched."""

    def __init__(self, file: CudaFile, name: str, shape: object = None) -> None:
        self._file = file
        self._name = name
        self._shape = shape

    def __getitem__(self, shape: object) -> CudaKernel:
        """Return the kernel with a grid, a block and perhaps bytes of dynamic shared memory."""
        return CudaKernel(self._file, self._name, shape)

    def __repr__(self) -> str:
        return f"<CUDA C++ kernel {self._name} of {self._file.program.file}>"

    def __call__(self, *args: Any) -> Any:
        """Launch it in lockstep and return the recording; arrays of NumPy are written as the kernel writes them.

        Raises:
            LaunchError: for a launch that cannot be made.
            KernelFileError: when the file does not compile.
        """
        from smemviz.engines.backend import assembled

        program = self._file.program
        place = (program.file, program.kernel(self._name, 1).line)
        compiled = compile_program(program, [self._name], program.view)
        entry = Entry(program, compiled, self._name)
        recorded_launch, findings = launch(entry, self._configuration(place), args, place)
        recording = assembled(program.file, program.source, program.values, "lockstep", [recorded_launch], findings)
        return replace(recording, view=program.view)

    def _configuration(self, place: tuple[str, int]) -> Configuration:
        shape = self._shape
        if not isinstance(shape, tuple) or not 2 <= len(shape) <= 3:
            raise LaunchError(
                *place, english("a launch needs kernel[grid, block], then perhaps bytes of dynamic shared memory")
            )
        return configuration(place, (shape[0], shape[1], 0, *shape[2:]))


def structure_values(
    program: CudaProgram, entry: Entry, structures: Mapping[int, Structure], plan: LaunchPlan
) -> dict[int, StructureValue]:
    """Return the structures of a launch, by the numbers of their parameters.

    Raises:
        LaunchError: for a value that its field does not take.
    """
    line = plan.line
    try:
        variables = parse(compile_structures(program, entry.name, structures, line)).variables
    except PtxError as error:
        raise unsupported(error, entry, {}) from None
    values = {}
    for number, structure in structures.items():
        data, pointers = initial_bytes(variables[variable_of(number)])
        arrays = {}
        for at, symbol in pointers.items():
            placed = array_at(symbol)
            if placed is None:
                continue
            index, element = placed
            field = structure.array_fields[index]
            name = program.kernel(entry.name, line).parameters[number] + field
            parameter = Parameter(name, True, element)
            array = argument_array(structure.arrays[index], parameter, plan.scope, (program.file, line))
            if array is not None:
                arrays[at] = field, array
        values[number] = StructureValue(data, arrays)
    return values
