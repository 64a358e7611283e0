"""What Nsight Compute counted beside what was recorded, and the verdicts, printed as tables."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording
from smemviz.reports.terminal import output_console, table_of


def print_verdicts(recording: Recording) -> None:
    """Print a table for each launch, and what belongs to no site under it."""
    console = output_console()
    assert recording.device is not None
    cc = recording.device.compute_capability
    console.print(f"{recording.file}: recorded and counted on {recording.device.name}")
    console.print("recorded -> counted by the hardware; one number where both are the same")
    for launch in recording.launches:
        console.print()
        console.print(_table(launch, cc))
        for sentence in launch.unaccounted:
            console.print(sentence, style="bold")
        duration = launch.counters.get("gpu__time_duration.sum")
        if duration is not None:
            console.print(f"{duration / 1000:.3f} us under the profiler")


def _table(launch: Launch, cc: tuple[int, int]) -> Table:
    heads = ("line", "source", "space", "op", "requests", "wavefronts", "sectors", "verdict", "because")
    table = table_of(heads, ("source", "space", "op", "verdict", "because"), launch.kernel)
    for site, counted, hardware in zip(launch.sites, launch.summary(cc), launch.hardware, strict=True):
        pairs = [(getattr(counted, name), getattr(hardware, name)) for name in ("requests", "wavefronts", "sectors")]
        words = (str(site.line), site.source, site.space, site.op, *(_pair(*pair) for pair in pairs))
        style = "bold" if hardware.verdict == "unexplained" else ""
        table.add_row(*(Text(word) for word in (*words, hardware.verdict, hardware.because)), style=style)
    return table


def _pair(recorded: Any, counted: Any) -> str:
    if recorded == counted:
        return "-" if recorded is None else f"{recorded:,}"
    return f"{'?' if recorded is None else f'{recorded:,}'} -> {counted:,}"
