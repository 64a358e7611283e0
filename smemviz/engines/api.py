"""Choosing an engine, and putting what it captured into a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from smemviz.engines.backend import (
    Engine,
    assembled,
    chosen,
    cut_short_as,
    gpu_engine,
    gpu_engine_for_cuda,
    recording_of,
)
from smemviz.engines.host import configuration
from smemviz.engines.limits import LOG_BYTES
from smemviz.engines.options import LaunchOptions, Progress, RunOptions
from smemviz.engines.script import run_script
from smemviz.engines.selection import Blocks, Picker, as_blocks, selection
from smemviz.errors import InputError, KernelFileError, LaunchError
from smemviz.frontends.cuda import CudaProgram, parse_cuda
from smemviz.frontends.numba.functions import function_of, python_function
from smemviz.frontends.numba.program import Program
from smemviz.frontends.reading import read_program
from smemviz.messages import english
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import Finding
from smemviz.recordings.recording import Recording

if TYPE_CHECKING:
    from smemviz.engines.lockstep.ptx.host.running import CudaFile


def run(
    program: Program | str | Path,
    constants: Mapping[str, object] | None = None,
    engine: Engine = "auto",
    progress: Progress | None = None,
    log_bytes: int = LOG_BYTES,
    arguments: Sequence[str] | None = None,
    *,
    blocks: str | int | Sequence[int] | Blocks | None = None,
    kernels: str | Sequence[str] = (),
    launch: int | None = None,
    max_launches: int | None = None,
    view: str | None = None,
) -> Recording:
    """Run a kernel file's ``main()`` with constants replaced and record every launch in it.

    A file without a ``main()`` to call is run as the script that it is, as ``python FILE ARGUMENTS`` does; so is any
    file that ``arguments`` are given for, and one with ``if __name__ == "__main__"`` whose ``main()`` launches nothing
    by itself. A program already read is never run as a script.

    Args:
        program: the path of a kernel file or of a script, or a kernel file already read.
        constants: values for constants of the file, by name; what is computed from them is recomputed.
        engine: ``gpu``, ``lockstep``, or ``auto``: the GPU where there is one.
        progress: called as ``progress(done, total, text)``.
        log_bytes: the most that the logs may take; beyond it a launch has exact totals and a log of some blocks
            only, and says how much is missing.
        arguments: what a script finds in ``sys.argv`` after its name.
        blocks: the blocks to log in full, by linear number: ``"0,5,8-11"``, ``"first,middle,last"``, ``"all"``, a
            list of numbers. None means all where they fit the log, else the first, the middle and the last. Totals
            hold for the whole grid in any case.
        kernels: names of the kernels to record; none means every kernel.
        launch: the one launch to record, numbered from 0 among those of these kernels.
        max_launches: how many launches to record at most. Launches that are not recorded happen all the same.
        view: for CUDA C++, ``source``, the accesses as written, or ``compiled``, those that the compiler leaves.

    Raises:
        CutShortError: for Ctrl-C, a KeyboardInterrupt whose ``recording`` is what was recorded before.
        InputError: for a file, a constant, a block or a launch that cannot be used.
        MissingError: when the engine needs what this machine lacks.
    """
    if constants is not None and not isinstance(constants, Mapping):
        raise InputError(f"constants are given by name, such as {{'IPAD': 2}}; {constants!r} are not")
    options = RunOptions(progress, log_bytes, Picker(selection(blocks, kernels, launch, max_launches)))
    trusted = not isinstance(program, Program)
    if not isinstance(program, Program):
        program = read_program(program)
    program = program.with_constants(constants or {})
    if isinstance(program, CudaProgram):
        return _run_cuda(program, view, engine, options, arguments or ())
    if view not in (None, "source"):
        raise InputError(english("{file} is Python, which has one view only; leave out the view", file=program.file))
    if trusted and (arguments is not None or not program.has_main):
        return run_script(program, arguments or (), engine, options)
    main = program.require_main()
    failed: KernelFileError | LaunchError | None = None
    launches: Sequence[Launch] = ()
    findings: Sequence[Finding] = ()
    kind = chosen(engine)
    recorded = partial(recording_of, program, kind, options)
    try:
        with cut_short_as(recorded):
            if kind == "gpu":
                launches, findings = gpu_engine().run(program, options)
            else:
                from smemviz.engines import lockstep

                launches, findings = lockstep.run(program, options)
    except (KernelFileError, LaunchError) as error:
        failed = error
    if launches or findings:
        return recorded(launches, findings)
    if trusted and program.runs_itself:  # it may launch elsewhere, or main() want what only a script has
        return run_script(program, (), engine, options)
    raise failed or KernelFileError(
        program.file, main.lineno, english("main() launches no kernel; write kernel[grid, block](...)")
    )


def _run_cuda(
    program: CudaProgram, view: str | None, engine: Engine, options: RunOptions, arguments: Sequence[str]
) -> Recording:
    """Run the launches that a file of CUDA C++ asks for in comments, or where it has none its ``main()``."""
    from smemviz.engines.lockstep.ptx.host import running

    if view is not None:
        program = replace(program, view=running.checked_view(view))
    if program.runs_main:
        return _run_main(program, engine, options, arguments)
    kind = chosen(engine)
    recorded = partial(recording_of, program, kind, options, view=program.view)
    with cut_short_as(recorded):
        return recorded(*(gpu_engine_for_cuda().run if kind == "gpu" else running.run)(program, options))


def _run_main(program: CudaProgram, engine: Engine, options: RunOptions, arguments: Sequence[str]) -> Recording:
    """Run the ``main()`` of a file of CUDA C++, which lockstep alone does."""
    from smemviz.engines.cpp_host import running
    from smemviz.engines.cpp_host.conversation import Output

    if engine == "gpu":
        what = english(
            "its main() is run in lockstep only; on the GPU say its launches in comments: {how}",
            how="// smemviz: kernel<<<grid, block>>>(...)",
        )
        raise KernelFileError(program.file, 1, what)
    output = Output()

    def recorded(launches: Sequence[Launch], findings: Sequence[Finding]) -> Recording:
        recording = recording_of(program, "lockstep", options, launches, findings, program.view)
        return replace(recording, printed=output.kept)

    with cut_short_as(recorded):
        return recorded(*running.run(program, arguments, options, output))


def cuda_cpp(text: str | Path, constants: Mapping[str, object] | None = None, view: str = "source") -> CudaFile:
    """Return the kernels of a file of CUDA C++, or of its text, to be launched from Python.

    ``cuda_cpp("transpose.cu")["transpose"][grid, block](out, a, n)`` gives a recording, and writes ``out``; arrays are
    NumPy's. A template is asked for with its arguments, ``["copy<float, 32>"]``. A text is told from a path by its
    line ends and braces.

    Raises:
        InputError: for a file or a constant that cannot be used.
        MissingError: when NVRTC is not installed.
    """
    from smemviz.engines.lockstep.ptx.host.running import CudaFile, checked_view

    is_text = isinstance(text, str) and ("\n" in text or "{" in text)
    program = parse_cuda(str(text), "<text>.cu") if is_text else read_program(text)
    if not isinstance(program, CudaProgram):
        raise InputError(english("{file} is not CUDA C++; name a file that ends in .cu", file=program.file))
    changed = program.with_constants(constants or {})
    assert isinstance(changed, CudaProgram)
    return CudaFile(replace(changed, view=checked_view(view)))


def record(
    kernel: object,
    grid: object,
    block: object,
    args: Sequence[Any],
    dynamic_shared: int = 0,
    engine: Engine = "auto",
    log_bytes: int = LOG_BYTES,
    *,
    blocks: str | int | Sequence[int] | Blocks | None = None,
) -> Recording:
    """Record one launch of a kernel: a ``@cuda.jit`` function, or the plain function under it.

    ``args`` are what the kernel would be launched with: arrays of NumPy or of the device, numbers, tuples. In lockstep
    NumPy arrays are written as the kernel would; on the GPU every array ends as it began. ``blocks`` as for ``run``.

    Raises:
        InputError: when it is no kernel, or its source cannot be found.
        MissingError: when the engine needs what this machine lacks.
    """
    inner = kernel if isinstance(kernel, FunctionType) else python_function(kernel)
    if inner is None:
        raise InputError(f"{kernel!r} is no kernel; pass a function under @cuda.jit")
    function = function_of(inner)
    place = (function.file, function.node.lineno)
    config = configuration(place, (grid, block, 0, dynamic_shared))
    findings: tuple[Finding, ...] = ()
    launches: tuple[Launch, ...]
    options = LaunchOptions(log_bytes=log_bytes, logged=as_blocks(blocks))
    if chosen(engine) == "gpu":
        launches = gpu_engine().record(function, config, args, options)
    else:
        from smemviz.engines import lockstep

        launch, findings = lockstep.launch(function, config, tuple(args), place, options)
        launches = (launch,)
    return assembled(Path(function.file).as_posix(), function.source, {}, chosen(engine), launches, findings)
