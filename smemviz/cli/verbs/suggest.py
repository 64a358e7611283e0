"""Suggest pads and swizzles for shared arrays with bank conflicts, written into the kernel file and verified.

The recorded requests of each such array are counted in other layouts: all pads, all XOR swizzles of its rows, and
CuTe's Swizzle<B, M, S> of the whole array. The best of each kind are written into a copy of the kernel file. The copy
is run in lockstep, and on the GPU where there is one: it must leave the same arrays and take exactly the wavefronts
promised. On a GPU it is also timed. FILE is never changed; the difference is printed, for `patch -p1` or `git apply`.

  smemviz suggest kernels/transpose.py:tile
  smemviz suggest kernels/rectangle.py --set IPAD=1 -o better.patch
  smemviz suggest kernels/transpose.cu

The compiler of Triton lays shared memory out itself. Of its kernels, sizes of blocks, num_warps and num_stages are
turned by one step, or the configurations of autotune taken one after the other. Each is run and counted.

  smemviz suggest kernels/triton/matmul.py

--over repeats this for each choice of constants.

A recording (*.smem.npz) is verified only where its kernel file is here and unchanged: no code of a recording is run.

Exits 1 when a suggestion failed verification.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from smemviz.cli.settings import (
    add_engine,
    add_output,
    add_points,
    add_setting,
    add_triton,
    add_view,
    combinations,
    main_output,
    require_output,
)
from smemviz.errors import InputError
from smemviz.languages import is_kernel_file, suffixes

if TYPE_CHECKING:
    from smemviz.engines import Engine
    from smemviz.frontends.program import Program
    from smemviz.progress import Callback
    from smemviz.recordings.recording import Recording
    from smemviz.suggest.answering import Answer

    Answered = tuple[dict[str, str], Recording, Answer, tuple[str, ...]]  # with its constants and notes

_HEADERS = ("--- a/", "+++ b/", "@@ ", "\\ ")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file", metavar="FILE[:KERNEL]", help="a kernel file or a recording, perhaps with one of its kernels"
    )
    add_setting(parser, "replace a constant")
    add_engine(
        parser, "what records and verifies: lockstep alone, or the GPU too (default: auto, the GPU where there is one)"
    )
    add_view(parser)
    add_triton(parser)
    add_output(parser, "write the difference to this file")
    add_points(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def execute(arguments: argparse.Namespace) -> int:
    """Record or load, search, rewrite, verify, print."""
    from smemviz.reports.suggestions import answer_facts, print_answer
    from smemviz.reports.terminal import output_console, print_json

    if arguments.output and (is_kernel_file(arguments.output) or arguments.output.suffix == ".npz"):
        raise InputError(f"{arguments.output}: is no name for a difference; it may end in .patch; nothing was run")
    if arguments.output and arguments.over:
        raise InputError("a difference is for one choice of constants: -o goes with --set; nothing was run")
    require_output(arguments.output, "")
    facts, sound = [], True
    for constants, recording, answered, notes in _answers(arguments):
        sound = sound and answered.sound
        if arguments.over and arguments.json:
            facts.append(answer_facts(recording, answered, notes))
            continue
        if arguments.over:
            output_console().print(", ".join(f"{name}={value}" for name, value in constants.items()))
        if arguments.output:
            _write(arguments.output, answered.diff, Path(recording.file))
        print_answer(recording, answered, notes, as_json=arguments.json)
    if facts:
        print_json({"points": facts})
    return 0 if sound else 1


def _answers(arguments: argparse.Namespace) -> Iterator[Answered]:
    """Answer for each choice of constants, as answers come."""
    from smemviz.progress import progress_bar

    of = arguments.engine, arguments.view, arguments.target, arguments.config
    for constants in combinations(arguments):
        with progress_bar() as progress:
            answered = _answer(arguments.file, constants, *of, progress)
        yield answered


def _answer(
    file: str,
    constants: dict[str, str],
    engine: Engine,
    view: str | None,
    target: tuple[int, int] | None,
    config: int | None,
    progress: Callback | None = None,
) -> Answered:
    """Answer for one choice of constants."""
    from dataclasses import replace

    from smemviz.engines.backend import chosen
    from smemviz.engines.options import DEFAULT_TARGET
    from smemviz.model.hardware.hardware import Hardware
    from smemviz.suggest.answering import answer
    from smemviz.suggest.turning import best, turned

    path, kernel = _file_and_kernel(file)
    target = target or DEFAULT_TARGET
    with main_output(True):
        recording, program, why = _recorded(path, constants, engine, view, (target, config), progress)
        kernels = dict.fromkeys(launch.kernel for launch in recording.launches)
        if kernel is not None and kernel not in kernels:
            raise InputError(f"{path}: launches no kernel {kernel}; it launches {', '.join(kernels) or 'none'}")
        wanted = None if why else chosen(engine)
        answered = answer(recording, program, kernel, wanted, Hardware.of(recording), progress)
        if path.suffix != ".npz" and (turns := turned(recording, program, kernel, target, config, progress)):
            first = best(turns)
            answered = replace(answered, turns=turns, diff=answered.diff or (first.diff if first else ""))
            why = why if answered.suggested else None
    return constants, recording, answered, (*answered.notes, f"not verified: {why}") if why else answered.notes


def _file_and_kernel(text: str) -> tuple[Path, str | None]:
    """Take ``FILE:KERNEL`` apart; a template's kernel in C++ is named with its arguments."""
    match = re.fullmatch(rf"(.*(?:{'|'.join(map(re.escape, suffixes()))})):(.+)|(.*):([^\W\d]\w*)", text)
    if match is None or Path(text).exists():
        return Path(text), None
    file, kernel, *python = match.groups()
    return (Path(file), kernel) if file else (Path(python[0]), python[1])


def _recorded(
    path: Path,
    constants: dict[str, str],
    engine: Engine,
    view: str | None,
    compiled: tuple[tuple[int, int], int | None],
    progress: Callback | None,
) -> tuple[Recording, Program, str | None]:
    """Return a recording, its program, and why that cannot be run here, None where it can."""
    from smemviz.engines import run
    from smemviz.frontends.reading import check_runnable, read_program, recorded_program, with_values
    from smemviz.recordings.file import load

    if path.suffix != ".npz":
        program = read_program(path).with_constants(constants)
        if program.is_script:
            recording = run(path, constants, engine, progress, view=view, target=compiled[0], config=compiled[1])
            return recording, program, f"{path} is a script"
        check_runnable(program)
        recording = run(program, None, engine, progress, view=view, target=compiled[0], config=compiled[1])
        return recording, program.in_view(recording.view), None
    if constants or view:
        raise InputError(f"{path}: is a recording; constants and a view are set for kernel files")
    recording = load(path)
    try:
        here = read_program(recording.file)
    except InputError as error:
        why = f"its kernel file is not here ({error})"
    else:
        if here.sha256 == recording.sha256 and here.has_main:
            return recording, with_values(here, recording.constants).in_view(recording.view), None
        changed = here.sha256 != recording.sha256
        why = f"{recording.file} {'has changed since it was recorded' if changed else 'is a script'}"
    return recording, recorded_program(recording.source, recording.file, recording.constants), why


def _write(path: Path, diff: str, of: Path) -> None:
    """Write a difference, with the line ends of the file it is of, without which it could not be applied."""
    from smemviz.recordings.archive import writing

    if of.exists() and b"\r\n" in of.read_bytes():
        diff = "".join(line if line.startswith(_HEADERS) else f"{line[:-1]}\r\n" for line in diff.splitlines(True))
    with writing(path) as partial:
        partial.write_text(diff, encoding="utf-8", newline="")
