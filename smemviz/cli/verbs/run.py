"""Run a kernel file's main(), or any script, and count what each line of its kernels does.

A .cu file, CUDA C++, runs without a GPU: g++ or clang++ compiles its main(), which runs in the folder of the file with
the words after -- as its arguments. Launches run in lockstep, or on a GPU. A launch that repeats an earlier one, in its
parameters and in every byte of memory, is counted and not run again. Launches may also be written in comments that nvcc
ignores, one per line; main() is not run then:
`// smemviz: transpose<<<dim3(2, 2), dim3(32, 32)>>>(zeros(64, 64), random(64, 64), 64)`.

A file without a main() to call runs as a script: `smemviz run train.py -- --steps 5` does what
`python train.py --steps 5` does, and records every launch of every kernel, also of imported modules. Without a GPU the
kernels run in lockstep. Kernels of CuPy and cuda.core are recorded too, whether or not the library is installed, and
those of PyCUDA where it is not installed. Triton's kernels are compiled for the architecture that --target names, and
run in lockstep with torch on the CPU. A notebook, `smemviz run lesson.ipynb`, runs as the script of all its cells.

Exits 1 when the run found a mistake (out of bounds, a race, a barrier that some threads miss, a launch that no device
would start), or when a kernel after the first was refused, unless --no-fail is given. What was recorded is kept. The
last line says what that is, which line to look at first and the command that opens it.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from smemviz.cli.ending import crash_told, cut_short
from smemviz.cli.settings import (
    add_compiler,
    add_engine,
    add_file_and_settings,
    add_format,
    add_output,
    add_triton,
    add_view,
    compiler_words,
    main_output,
    require_output,
    triton_words,
    with_compiler,
)
from smemviz.errors import CutShortError, SmemvizError, stop_code
from smemviz.i18n import _
from smemviz.languages import language_of
from smemviz.printable import one_line

if TYPE_CHECKING:
    from smemviz.recordings.recording import Recording


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.usage = "%(prog)s FILE [MORE...] [OPTION...] [-- ARGUMENT...]"
    add_file_and_settings(parser)
    parser.add_argument(
        "units", metavar="MORE", type=Path, nargs="*", help="CUDA C++: the other files of the program, .cu or .cpp"
    )
    add_engine(
        parser, "what runs the kernels: the GPU, or NumPy without one (default: auto, the GPU where there is one)"
    )
    add_view(parser)
    add_compiler(parser)
    add_triton(parser)
    add_output(parser, "save the recording (*.smem.npz)")
    parser.add_argument(
        "--blocks",
        metavar="LIST",
        help="the blocks to log in full, by number: 0,5,8-11, or first, middle, last, all (default: all where they fit "
        "the log, else first,middle,last); totals hold for the whole grid in any case",
    )
    parser.add_argument(
        "--kernel", metavar="NAME", action="append", default=[], help="record only this kernel; repeatable"
    )
    parser.add_argument(
        "--launch", metavar="N", type=int, help="record one launch, the N-th of the kernels recorded, from 0"
    )
    parser.add_argument("--max-launches", metavar="N", type=int, help="record at most so many launches")
    parser.add_argument(
        "--machine-code",
        choices=("when-long", "always", "never"),
        default="when-long",
        help="Numba's kernels in lockstep: compile those that take longer than a second, all or none "
        "(default: when-long)",
    )
    parser.add_argument("--no-fail", action="store_true", help="exit 0 even when a kernel has a mistake")
    add_format(parser, "what was found")


def execute(arguments: argparse.Namespace) -> int:
    """Record, save, print."""
    from smemviz.engines import run
    from smemviz.model.hardware.hardware import Hardware
    from smemviz.progress import progress_bar
    from smemviz.reports.annotations import print_found
    from smemviz.wording.first_look import closing

    require_output(arguments.output, ".npz")
    stop: CutShortError | None = None
    with main_output(arguments.form != "table"), progress_bar() as progress, crash_told(arguments.file.as_posix()):
        try:
            recording = run(
                with_compiler(arguments),
                dict(arguments.set),
                arguments.engine,
                progress,
                arguments=arguments.arguments,
                blocks=arguments.blocks,
                kernels=arguments.kernel,
                launch=arguments.launch,
                max_launches=arguments.max_launches,
                view=arguments.view,
                target=arguments.target,
                config=arguments.config,
                machine_code=arguments.machine_code,
            )
        except CutShortError as error:
            stop, recording = error, error.recording
    hardware = Hardware.of(recording)
    try:
        if arguments.output:
            recording.save(arguments.output)
    except SmemvizError:  # what cannot be saved is shown all the same
        print_found(recording, hardware, arguments.form)
        raise
    print_found(recording, hardware, arguments.form)
    if stop:
        print(one_line(f"smemviz: {cut_short(recording, arguments.output)}"), file=sys.stderr)
        return stop_code(stop)
    if arguments.form == "table":
        print(f"\n{closing(recording, _command(arguments, recording), hardware)}")
    return 1 if recording.mistakes and not arguments.no_fail else 0


def _command(arguments: argparse.Namespace, recording: Recording) -> str:
    """Return what opens the result: the page on its file, or on the kernel file, which runs there again if it can."""
    from smemviz.frontends.reading import parse_program

    if arguments.output:
        return shlex.join(["smemviz", str(arguments.output)])
    is_compiled = language_of(arguments.file).is_compiled
    is_script = not is_compiled and parse_program(recording.source, recording.file).is_script
    if (
        arguments.set or arguments.units or (arguments.arguments and not is_compiled and not is_script)
    ):  # the page would run it otherwise
        return _("smemviz run.smem.npz (save it first: add -o run.smem.npz)")
    passed = ["--", *arguments.arguments] if arguments.arguments else []
    return shlex.join(["smemviz", str(arguments.file), *compiler_words(arguments), *triton_words(arguments), *passed])
