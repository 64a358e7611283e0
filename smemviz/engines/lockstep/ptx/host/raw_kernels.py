"""Launches of CuPy's raw kernels, shown to a recorder as they happen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smemviz.engines.host import configuration, launch_place
from smemviz.engines.lockstep.ptx.host.embedded import embedded
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.engines.recorder import Make, Recorder
from smemviz.errors import LaunchError
from smemviz.frontends.cuda import CudaProgram, compile_program
from smemviz.frontends.cuda.shapes import Parameter
from smemviz.frontends.numba.program import Program
from smemviz.messages import said
from smemviz.recordings.data import Finding, Launch

_PASSED = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64)}


class RawKernels:
    """Makes the launches of raw kernels; those of ``script`` stand in its strings.

    ``make`` makes a launch, each of whose logged requests takes ``row_bytes``.
    """

    def __init__(self, script: Program, recorder: Recorder, make: Make, row_bytes: int) -> None:
        self._script = script
        self._recorder = recorder
        self._make = make
        self._row_bytes = row_bytes
        self._others: dict[str, str] = {}

    def program(self, code: str, name: str, options: Sequence[str]) -> CudaProgram:
        """Return a text of CUDA C++ as a program."""
        return embedded(code, name, options, self._script, self._others)

    def launch(
        self,
        program: CudaProgram,
        name: str,
        shape: tuple[Any, Any, int],
        args: Sequence[Any],
        expressions: Sequence[str] = (),
    ) -> bool:
        """Make one launch of so many blocks, threads and bytes of dynamic shared memory; tell whether it was made.

        Arrays are NumPy's. ``expressions`` are the kernels that C++ gives names of its own.

        Raises:
            LaunchError: for a launch that CuPy does not make, or that does not pass what the kernel takes.
            UnsupportedError: for a kernel that is not executed in lockstep.
        """
        place = launch_place("")

        def make(**options: Any) -> tuple[Launch | None, tuple[Finding, ...]]:
            entry = Entry(program, compile_program(program, [name], program.view), name)
            if entry.symbol != name and name not in expressions:
                what = said('CuPy finds no {name}, which C++ gives another name; write extern "C" before it', name=name)
                raise LaunchError(*place, what)
            _check_arguments(entry, args, place)
            grid, block, dynamic = shape
            return self._make(entry, configuration(place, (grid, block, 0, dynamic)), args, place, **options)

        return self._recorder.make(name, make, self._row_bytes, program.file)


def _check_arguments(entry: Entry, args: Sequence[Any], place: tuple[str, int]) -> None:
    """Refuse numbers of which a kernel would read other bytes than those that CuPy passes.

    CuPy passes Python's numbers as 8 bytes, whatever the kernel takes, and NumPy's as they are.
    """
    known = {parameter.name: parameter for parameter in entry.compiled.parameters.get(entry.symbol, ())}
    for name, value in zip(entry.program.kernel(entry.name, place[1]).parameters, args, strict=False):
        parameter = known.get(name)
        passed = value.dtype if isinstance(value, np.generic) else _PASSED.get(type(value))
        if parameter is None or passed is None or parameter.pointer or parameter.element.lanes != 1:
            continue
        if not parameter.element.dtype or _fits(passed, parameter):
            continue
        dtype = parameter.element.dtype
        raise LaunchError(
            *place,
            said(
                "{name} is a {dtype}, and CuPy passes {value} as {passed}; write cupy.{dtype}({value})",
                name=name,
                dtype=dtype,
                value=value,
                passed=str(passed),
            ),
        )


def _fits(passed: np.dtype[Any], parameter: Parameter) -> bool:
    wanted = np.dtype(parameter.element.dtype)
    if "f" in (passed.kind, wanted.kind) or "c" in (passed.kind, wanted.kind):
        return passed == wanted
    return passed.itemsize >= wanted.itemsize  # the lowest byte comes first
