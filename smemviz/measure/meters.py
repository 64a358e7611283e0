"""What measures a kernel file on a GPU, by its language."""

from importlib.util import find_spec
from typing import Any

from smemviz.errors import InputError
from smemviz.frontends.program import Program
from smemviz.languages import loaded
from smemviz.messages import english


def meter_of(program: Program, room: str) -> Any:
    """Return the module that measures a kernel file in one of the rooms, which import CUDA.

    In ``time`` it has ``time_program(program, cold, progress, kernels)`` and ``outputs(program, kernels)``, which
    hashes what each launch leaves in its arrays; in ``sweep`` ``measure_products(program, measure)``; in ``ncu``
    ``run_clean(program, folder)``, which makes the launches under the profiler, and
    ``as_written(program, kernels, profiled)``, which finds the text's accesses for the instructions of launches.

    Raises:
        InputError: when its language is not measured.
    """
    module = program.language.meter.format(room=room)
    if not module or find_spec(module) is None:
        what = english("{file}: {language} is not measured", file=program.file, language=program.language.title)
        raise InputError(what)
    return loaded(module)
