"""The bytes of structures that a launch line passes by value, with the arrays that their fields point to."""

from __future__ import annotations

from collections.abc import Mapping

from smemviz.engines.lockstep.ptx.code.module import PtxError
from smemviz.engines.lockstep.ptx.code.parse import parse
from smemviz.engines.lockstep.ptx.host.arguments import StructureValue
from smemviz.engines.lockstep.ptx.host.cuda_launch import unsupported
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.engines.lockstep.ptx.host.variables import initial_bytes
from smemviz.frontends.cuda.compiling import compile_structures
from smemviz.frontends.cuda.launches import LaunchPlan, argument_array
from smemviz.frontends.cuda.shapes import Parameter
from smemviz.frontends.cuda.structures import Structure, array_at, variable_of


def structure_values(entry: Entry, structures: Mapping[int, Structure], plan: LaunchPlan) -> dict[int, StructureValue]:
    """Return the structures of a launch, by the numbers of their parameters.

    Raises:
        LaunchError: for a value that its field does not take.
    """
    program, line = entry.program, plan.line
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
