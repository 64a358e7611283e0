"""What others call: a kernel file run, one launch recorded, and the kernels of a file of CUDA C++."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smemviz.engines.backend import Engine, runner_of
from smemviz.engines.options import DEFAULT_TARGET, LOG_BYTES, LaunchOptions, MachineCode, Progress, RunOptions
from smemviz.engines.selection import Blocks, Picker, as_blocks, selection
from smemviz.errors import InputError
from smemviz.frontends.program import Program
from smemviz.frontends.reading import read_program
from smemviz.languages import CUDA_CPP, PYTHON, loaded
from smemviz.recordings.recording import Recording

if TYPE_CHECKING:
    from smemviz.engines.lockstep.ptx.host.cuda_in_lockstep import CudaFile


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
    target: tuple[int, int] | None = None,
    config: int | None = None,
    machine_code: MachineCode = "when-long",
) -> Recording:
    """Run a kernel file's ``main()`` with constants replaced and record every launch in it.

    A file without a ``main()`` to call is run as a script, as ``python FILE ARGUMENTS`` does; so is any
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
        target: the compute capability that kernels of Triton are compiled for where there is no GPU, (8, 0) without.
        config: which configuration Triton's ``autotune`` takes, numbered from 0; without it the fastest on a GPU, and
            the first that compiles where there is none.
        machine_code: whether Numba compiles kernels in Python for lockstep: ``when-long`` those that take longer than
            a second, ``always`` or ``never``. One that it cannot compile, or that has a mistake, is interpreted.

    Example:
        import smemviz
        recording = smemviz.run("kernels/square.py", constants={"IPAD": 2}, engine="lockstep")
        launch = recording["set_row_read_col"]
        print(launch.sites[0].source, launch.sites[0].wavefronts)

    Raises:
        CutShortError: for Ctrl-C, a KeyboardInterrupt whose ``recording`` is what was recorded before.
        InputError: for a file, a constant, a block or a launch that cannot be used.
        MissingError: when the engine needs what this machine lacks.
    """
    if constants is not None and not isinstance(constants, Mapping):
        raise InputError(f"constants are given by name, such as {{'IPAD': 2}}; {constants!r} are not")
    picker = Picker(selection(blocks, kernels, launch, max_launches))
    target = target or DEFAULT_TARGET
    options = RunOptions(progress, log_bytes, picker, target=target, config=config, machine_code=machine_code)
    may_be_script = not isinstance(program, Program)
    if not isinstance(program, Program):
        program = read_program(program)
    program = program.with_constants(constants or {}).in_view(view)
    return runner_of(program.language).record(program, engine, options, arguments, may_be_script=may_be_script)


def cuda_cpp(text: str | Path, constants: Mapping[str, object] | None = None, view: str = "source") -> CudaFile:
    """Return the kernels of a file of CUDA C++, or of its text, to be launched from Python.

    ``cuda_cpp("transpose.cu")["transpose"][grid, block](out, a, n)`` gives a recording, and writes ``out``; arrays are
    NumPy's. A template's kernel is named with its arguments, ``["copy<float, 32>"]``. Whatever has line breaks or
    braces is a text, not a path. ``constants`` replaces macros and constants by name; ``view`` is as for ``run``.

    Raises:
        InputError: for a file or a constant that cannot be used.
        MissingError: when NVRTC is not installed.
    """
    opened: CudaFile = loaded(CUDA_CPP.runner).cuda_file(text, constants, view)
    return opened


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
    NumPy arrays are written as the kernel would; on the GPU no array is changed. ``grid`` and ``block`` are
    a number or up to three, ``dynamic_shared`` and ``log_bytes`` bytes; ``engine`` and ``blocks`` are as for ``run``.

    Example:
        import numpy as np
        import smemviz
        from numba import cuda, float32
        @cuda.jit
        def transpose(out, given):
            tile = cuda.shared.array((32, 32), float32)
            x, y = cuda.threadIdx.x, cuda.threadIdx.y
            tile[y, x] = given[y, x]
            cuda.syncthreads()
            out[y, x] = tile[x, y]
        given = np.ones((32, 32), np.float32)
        launch = smemviz.record(transpose, 1, (32, 32), [np.zeros_like(given), given], engine="lockstep")["transpose"]
        assert [site.wavefronts for site in launch.sites] == [None, 32, 1024, None]

    Raises:
        InputError: when it is no kernel, or its source cannot be found.
        MissingError: when the engine needs what this machine lacks.
    """
    options = LaunchOptions(log_bytes=log_bytes, logged=as_blocks(blocks))
    recording: Recording = loaded(PYTHON.runner).record_launch(
        kernel, grid, block, args, dynamic_shared, engine, options
    )
    return recording
