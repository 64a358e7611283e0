"""Time every kernel launch of a kernel file on the GPU, without a profiler and without Python's overhead.

The kernel is replayed, without counters, as a CUDA graph of many launches, beside an empty kernel of the same size.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from smemviz.cli.settings import add_file_and_settings, add_output, main_output, recording_for

if TYPE_CHECKING:
    from rich.table import Table

    from smemviz.frontends.program import Program
    from smemviz.measure.time.meter import Timed
    from smemviz.recordings.data import Launch
    from smemviz.recordings.measured import Timing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_file_and_settings(parser)
    parser.add_argument("--cold", action="store_true", help="empty the L2 cache before each launch")
    add_output(parser, "store the times in this recording, which is created if needed")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def execute(arguments: argparse.Namespace) -> int:
    """Time, store, print."""
    from dataclasses import asdict, replace

    from smemviz.engines.backend import gpu_engine
    from smemviz.frontends.reading import check_runnable, read_program
    from smemviz.measure.meters import meter_of
    from smemviz.progress import progress_bar
    from smemviz.reports.terminal import print_json

    program = read_program(arguments.file).with_constants(dict(arguments.set))
    check_runnable(program)
    device = gpu_engine().device()
    with main_output(arguments.json), progress_bar() as progress:
        recording = recording_for(program, arguments.output) if arguments.output else None
        timed = meter_of(program, "time").time_program(program, arguments.cold, progress)
    if recording:
        replace(recording, launches=with_times(recording.launches, timed)).save(arguments.output)
    if arguments.json:
        print_json(_facts(program, asdict(device), timed))
    else:
        _print(program, device.name, timed)
    return 0


def with_times(launches: Sequence[Launch], timed: Timed) -> tuple[Launch, ...]:
    """Return launches with their times; those of kernels that ran without being recorded belong to none."""
    from dataclasses import replace

    times = zip(timed.kernels, timed.times, strict=True)

    def own(launch: Launch) -> Timing | None:
        return next((time for kernel, time in times if kernel == launch.kernel), None)

    return tuple(replace(launch, time=own(launch)) for launch in launches)


def _facts(program: Program, device: dict[str, Any], timed: Timed) -> dict[str, Any]:
    from smemviz.reports.recording import time_facts

    times = zip(timed.kernels, timed.times, strict=True)
    return {
        "schema": 1,
        "engine": "gpu",
        "device": device,
        "file": program.file,
        "constants": program.values,
        "wall": {"first_s": timed.first_seconds, "again_s": timed.again_seconds},
        "launches": [{"kernel": kernel, "time": time_facts(time)} for kernel, time in times],
        "unsafe": timed.unsafe,
    }


def _print(program: Program, device: str, timed: Timed) -> None:
    from smemviz.reports.terminal import output_console

    console = output_console()
    console.print(f"{program.file}: kernel time on {device} by CUDA graph replay, us per launch")
    console.print(_table(timed))
    for kernel, time in zip(timed.kernels, timed.times, strict=True):
        for note in time.notes:
            console.print(f"{kernel}: {note}")
    for kernel in timed.unsafe:
        console.print(f"{kernel}: not launched, for it may do harm; smemviz run says why")
    conditions = timed.times[-1].conditions if timed.times else {}
    if conditions:
        console.print(", ".join(f"{name} {value}" for name, value in conditions.items()))
    console.print(
        f"the whole of main(): {timed.first_seconds:.3f} s the first time (start-up, compiling, copies), "
        f"{timed.again_seconds:.3f} s again (copies and launches)"
    )


def _table(timed: Timed) -> Table:

    from smemviz.reports.terminal import table_of

    heads = ("kernel", "median", "95 % interval", "p5", "p95", "floor", "net", "samples", "nodes")
    table = table_of(heads, ("kernel",))
    for kernel, t in zip(timed.kernels, timed.times, strict=True):
        interval = f"{t.low_us:.3f} to {t.high_us:.3f}"
        values = (f"{v:.3f}" for v in (t.p5_us, t.p95_us, t.floor_us, t.net_us))
        table.add_row(kernel, f"{t.median_us:.3f}", interval, *values, str(t.samples), str(t.nodes))
    return table
