"""Hold what was recorded against what Nsight Compute counts in the same kernels, and explain every difference.

Each site gets a verdict: agrees; explained, by what the compiler did to it; inflated, when global traffic adds to a
counter of the whole launch; unexplained. Exits 1 when something is unexplained.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smemviz.cli.settings import add_file_and_settings, main_output
from smemviz.cli.stored import recording_for
from smemviz.errors import LaunchError, MissingError

if TYPE_CHECKING:
    from rich.table import Table

    from smemviz.frontends.numba.program import Program
    from smemviz.measure.ncu.counters import ProfiledLaunch
    from smemviz.measure.ncu.reconcile import Reconciled
    from smemviz.progress import Callback
    from smemviz.recordings.data import Launch
    from smemviz.recordings.recording import Recording

DETAILED_LOG_BYTES = 1 << 30  # for a launch whose log must be complete to explain it; about 2 million requests


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_file_and_settings(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=Path,
        help="store the verdicts and counters in this recording; made when it is not there",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def execute(arguments: argparse.Namespace) -> int:
    """Record, profile, reconcile, store, print."""
    from smemviz.engines.backend import gpu_engine
    from smemviz.frontends.reading import read_program
    from smemviz.measure.ncu.counters import find_ncu, profile
    from smemviz.model.hardware.hardware import Hardware
    from smemviz.progress import progress_bar
    from smemviz.reports.recording import facts

    program = read_program(arguments.file).with_constants(dict(arguments.set))
    program.require_main()
    if not gpu_engine().available():
        raise MissingError("no GPU here that Numba can use; verify needs one, and Nsight Compute (ncu)")
    ncu = find_ncu()
    with main_output(arguments.json), progress_bar() as progress:
        recording = recording_for(program, arguments.output, progress)
        _refuse_harm(recording)
        kernels = [launch.kernel for launch in recording.launches]
        profiled = profile(ncu, arguments.file, dict(arguments.set), kernels, progress)
        reconciled = _reconcile(program, recording, profiled, progress)
    recording = with_verdicts(recording, profiled, reconciled)
    if arguments.output:
        recording.save(arguments.output)
    if arguments.json:
        json.dump(facts(recording, Hardware.of(recording)), sys.stdout, indent=1)
        print()
    else:
        print_verdicts(recording)
    return 0 if all(one.sound for one in reconciled) else 1


def _refuse_harm(recording: Recording) -> None:
    """Refuse a file with a launch that was not made because it may do harm: under the profiler it would be."""
    from smemviz.engines.gpu.preflight import UNSAFE

    for finding in recording.findings:
        if finding.kind in UNSAFE and finding.launch is None:
            what = f"{finding.kind.replace('_', ' ')} in {finding.kernel}: {finding.message} Mend it, then verify"
            raise LaunchError(recording.file_of_finding(finding), finding.line, what)


def _reconcile(
    program: Program, recording: Recording, profiled: tuple[ProfiledLaunch, ...], progress: Callback
) -> list[Reconciled]:
    """Reconcile every launch; where that needs requests that were not logged, with a longer log."""
    from smemviz.engines import run

    reconciled = reconcile_all(recording, profiled)
    if any(launch.missing and not one.sound for launch, one in zip(recording.launches, reconciled, strict=True)):
        detailed = run(program, engine="gpu", progress=progress, log_bytes=DETAILED_LOG_BYTES)
        reconciled = reconcile_all(detailed, profiled)
    return reconciled


def reconcile_all(recording: Recording, profiled: tuple[ProfiledLaunch, ...]) -> list[Reconciled]:
    """Reconcile each launch of a recording with what was profiled of it."""
    from smemviz.measure.ncu.reconcile import reconcile

    assert recording.device is not None
    cc = recording.device.compute_capability
    both = zip(recording.launches, profiled, strict=True)
    return [reconcile(launch, one, recording.source, recording.file, cc) for launch, one in both]


def with_verdicts(
    recording: Recording, profiled: tuple[ProfiledLaunch, ...], reconciled: list[Reconciled]
) -> Recording:
    """Return the recording with verdicts and counters in its launches."""
    from dataclasses import replace

    launches = tuple(
        replace(launch, hardware=one.hardware, counters=counted.metrics, unaccounted=one.unaccounted)
        for launch, counted, one in zip(recording.launches, profiled, reconciled, strict=True)
    )
    return replace(recording, launches=launches)


def print_verdicts(recording: Recording) -> None:
    """Print a table for each launch, and what belongs to no site under it."""
    from smemviz.reports.recording import output_console

    console = output_console()
    assert recording.device is not None
    cc = recording.device.compute_capability
    console.print(f"{recording.file}: recorded and counted on {recording.device.name}", markup=False, highlight=False)
    console.print("recorded -> counted by the hardware; one number where both are the same", highlight=False)
    for launch in recording.launches:
        console.print()
        console.print(_table(launch, cc))
        for sentence in launch.unaccounted:
            console.print(sentence, markup=False, highlight=False, style="bold")
        duration = launch.counters.get("gpu__time_duration.sum")
        if duration is not None:
            console.print(f"{duration / 1000:.3f} us under the profiler", highlight=False)


def _table(launch: Launch, cc: tuple[int, int]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(launch.kernel), title_justify="left")
    for name in ("line", "source", "space", "op", "requests", "wavefronts", "sectors", "verdict", "because"):
        numbers = name in ("line", "requests", "wavefronts", "sectors")
        table.add_column(name, justify="right" if numbers else "left", overflow="fold")
    for site, counted, found in zip(launch.sites, launch.summary(cc), launch.hardware, strict=True):
        pairs = [(getattr(counted, name), getattr(found, name)) for name in ("requests", "wavefronts", "sectors")]
        words = (str(site.line), site.source, site.space, site.op, *(_pair(*pair) for pair in pairs))
        style = "bold" if found.verdict == "unexplained" else ""
        table.add_row(*(Text(word) for word in (*words, found.verdict, found.because)), style=style)
    return table


def _pair(recorded: Any, counted: Any) -> str:
    if recorded == counted:
        return "-" if recorded is None else f"{recorded:,}"
    return f"{'?' if recorded is None else f'{recorded:,}'} -> {counted:,}"
