"""What runs kernel files in Python: their ``main()``, whole scripts, and single launches of kernels."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

from smemviz.engines import lockstep
from smemviz.engines.backend import After, Engine, RunOutcome, assembled, chosen, cut_short_as, gpu_engine, recording_of
from smemviz.engines.launch_shape import configuration
from smemviz.engines.options import LaunchOptions, RunOptions
from smemviz.engines.script import run_script
from smemviz.errors import InputError, KernelFileError, LaunchError
from smemviz.frontends.numba.python_functions import function_of, python_function
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.frontends.program import Program
from smemviz.messages import english
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import Finding
from smemviz.recordings.recording import Recording


def record(
    program: Program, engine: Engine, options: RunOptions, arguments: Sequence[str] | None, *, may_be_script: bool
) -> Recording:
    """Run a kernel file's ``main()``, or where there is none the script, and record every launch in it."""
    program = _python(program)
    if may_be_script and (arguments is not None or not program.has_main):
        return run_script(program, arguments or (), engine, options)
    main = program.require_main()
    failed: KernelFileError | LaunchError | None = None
    launches: Sequence[Launch] = ()
    findings: Sequence[Finding] = ()
    kind = chosen(engine)
    recorded = partial(recording_of, program, kind, options)
    try:
        with cut_short_as(recorded):
            launches, findings = (run_on_gpu if kind == "gpu" else run_in_lockstep)(program, options)
    except (KernelFileError, LaunchError) as error:
        failed = error
    if launches or findings:
        return recorded(launches, findings)
    if may_be_script and program.runs_itself:  # it may launch elsewhere, or main() want what only a script has
        return run_script(program, (), engine, options)
    raise failed or KernelFileError(
        program.file, main.lineno, english("main() launches no kernel; write kernel[grid, block](...)")
    )


def run_in_lockstep(program: Program, options: RunOptions, after: After | None = None) -> RunOutcome:
    """Run a kernel file's ``main()`` in lockstep."""
    return lockstep.run(_python(program), options, after)


def run_on_gpu(program: Program, options: RunOptions) -> RunOutcome:
    """Run a kernel file's ``main()`` on the GPU."""
    outcome: RunOutcome = gpu_engine().run(_python(program), options)
    return outcome


def record_launch(
    kernel: object,
    grid: object,
    block: object,
    args: Sequence[Any],
    dynamic_shared: int,
    engine: Engine,
    options: LaunchOptions,
) -> Recording:
    """Record one launch of a kernel, as ``engines.record`` says.

    Raises:
        InputError: when it is no kernel, or its source cannot be found.
        MissingError: when the engine needs what this machine lacks.
    """
    inner = kernel if isinstance(kernel, FunctionType) else python_function(kernel)
    if inner is None:
        raise InputError(f"{kernel!r} is not a kernel; pass a function under @cuda.jit")
    function = function_of(inner)
    place = (function.file, function.node.lineno)
    config = configuration(place, (grid, block, 0, dynamic_shared))
    findings: tuple[Finding, ...] = ()
    launches: tuple[Launch, ...]
    if chosen(engine) == "gpu":
        launches = gpu_engine().record(function, config, args, options)
    else:
        launch, findings = lockstep.launch(function, config, tuple(args), place, options)
        launches = (launch,)
    return assembled(Path(function.file).as_posix(), function.source, {}, chosen(engine), launches, findings)


def _python(program: Program) -> PythonProgram:
    assert isinstance(program, PythonProgram)
    return program
