"""Time a file's matrix products over sizes on the GPU, beside cuBLAS, NumPy and the card's measured ceilings.

The file has constants M, K and N, and kernels that take (c, a, b). A size that is expected to take longer than --limit
is skipped, and the result says so. Exits 1 when main() failed at a size.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from smemviz.cli.settings import (
    add_file_and_settings,
    add_output,
    add_points,
    combinations,
    main_output,
    real,
    require_output,
)
from smemviz.errors import InputError, KernelFileError

if TYPE_CHECKING:
    from smemviz.frontends.program import Program
    from smemviz.recordings.sweep import Size, Sweep

SIZES = "64,128,256,512,1024,2048,4096,8192"
_LARGEST = 1 << 15
_PARAMETERS = ("c", "a", "b")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_file_and_settings(parser)
    parser.add_argument(
        "--sizes",
        metavar="S,MxKxN,...",
        type=_sizes,
        default=SIZES,
        help=f"one number for a cube, or M, K and N with x between (default: {SIZES})",
    )
    parser.add_argument(
        "--limit",
        metavar="SECONDS",
        type=real(sys.float_info.min, sys.float_info.max, "not a number of seconds"),
        default=10.0,
        help="skip sizes that are expected to take longer (default: 10)",
    )
    add_output(parser, "add the result to this file")
    add_points(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def execute(arguments: argparse.Namespace) -> int:
    """Measure, keep, print."""
    from smemviz.frontends.program import digests
    from smemviz.frontends.reading import read_program
    from smemviz.recordings.sweep import OF_ANOTHER, joined, load_sweep, save_sweep, sweep_facts
    from smemviz.reports.terminal import print_json

    plain = read_program(arguments.file)
    program, *_ = programs = [plain.with_constants(constants) for constants in combinations(arguments)]
    _require_products(program)
    for name, _ in arguments.over:  # points that a sweep would take for one and the same
        if name != "TILE" and program.constants[name].kind != "dtype":
            raise InputError(
                f"--over {name}: points of a sweep differ in size, TILE and type; "
                f"give sizes with --sizes, any other constant with --set and a file of its own"
            )
    require_output(arguments.output, "", undone="nothing was measured")
    older = load_sweep(arguments.output) if arguments.output and arguments.output.exists() else None
    if older and not older.is_of(program.sha256, digests(program)):
        raise InputError(f"{arguments.output}: {OF_ANOTHER}; nothing was measured, name another file")
    newer = _measured(arguments, programs, older)
    if arguments.output:
        save_sweep(joined(older, newer) if older else newer, arguments.output)
    if arguments.json:
        print_json(sweep_facts(newer))
    else:
        _print(newer)
    return 1 if newer.notes else 0


def _measured(arguments: argparse.Namespace, programs: Sequence[Program], older: Sweep | None) -> Sweep:
    from smemviz.engines.backend import gpu_engine
    from smemviz.progress import progress_bar
    from smemviz.recordings.sweep import OF_ANOTHER, joined

    if older and older.device.name != gpu_engine().device().name:
        raise InputError(f"{arguments.output}: {OF_ANOTHER}; nothing was measured, name another file")
    with main_output(arguments.json), progress_bar() as progress:
        from smemviz.measure.sweep.sweep import sweep

        return reduce(joined, (sweep(program, arguments.sizes, arguments.limit, progress) for program in programs))


def _require_products(program: Program) -> None:
    """Refuse a kernel file that does not multiply matrices of a size that can be set."""
    from smemviz.frontends.reading import check_runnable
    from smemviz.recordings.sweep import SIZE_CONSTANTS

    check_runnable(program)
    missing = [name for name in SIZE_CONSTANTS if name not in program.constants]
    if missing:
        raise KernelFileError(program.file, 1, f"a sweep sets M, K and N; there is no constant {', '.join(missing)}")
    for name, (line, parameters) in program.heads().items():
        if parameters != _PARAMETERS:
            raise KernelFileError(program.file, line, f"a sweep needs kernels of (c, a, b); {name} is none")


def _print(sweep: Sweep) -> None:
    from smemviz.reports.terminal import output_console, table_of
    from smemviz.wording.labels import duration

    console = output_console()
    console.print(f"{sweep.file} on {sweep.device.name}; {sweep.library}; host {sweep.host.processor}")
    for ceiling in sweep.ceilings:
        unit = "TB/s" if ceiling.kind == "bytes" else "TFLOP/s"
        console.print(f"{ceiling.name}: {ceiling.rate / 1e12:.2f} {unit}; {ceiling.how}")
    heads = ("size", "kernel", "time", "GFLOP/s", "with copies", "largest error", "sectors")
    table = table_of(heads, ("kernel",))
    for point in sweep.points:
        time = point.time
        whole = duration(time.whole_us) if time and time.whole_us is not None else ""
        table.add_row(
            point.size.name,
            point.kernel,
            duration(time.median_us) if time else point.skipped,
            f"{(point.rate or 0) / 1e9:,.0f}" if time else "",
            whole,
            "" if point.error is None else f"{point.error:.2g}",
            f"{point.moved.load_sectors + point.moved.store_sectors:,}" if point.moved else "",
        )
    console.print(table)
    for note in sweep.notes:
        console.print(f"main() failed at {note}")


def _sizes(text: str) -> list[Size]:
    from smemviz.recordings.sweep import Size

    sizes = []
    for part in text.split(","):
        size = Size.read(part.strip(), _LARGEST)
        if size is None:
            raise argparse.ArgumentTypeError(f"{part!r} is no size: 1024, or 228x240x112, numbers up to {_LARGEST}")
        sizes.append(size)
    return sizes
