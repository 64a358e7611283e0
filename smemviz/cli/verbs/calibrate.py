"""Measure what the model assumes of shared memory on this machine's GPU, without a profiler.

The result is kept, and recordings made on the same card carry it. Exits 1 when the card deviates from the model.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from smemviz.cli.settings import add_output

if TYPE_CHECKING:
    from smemviz.recordings.measured import Calibration


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_output(parser, "keep the result here instead (*.json)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def execute(arguments: argparse.Namespace) -> int:
    """Measure, keep, print."""
    from dataclasses import asdict

    from smemviz.cli.settings import require_output
    from smemviz.engines.backend import gpu_engine
    from smemviz.progress import progress_bar
    from smemviz.recordings.calibration import save_calibration
    from smemviz.reports.terminal import print_json

    require_output(arguments.output, ".json", undone="nothing was measured")
    card = gpu_engine().device()
    with progress_bar() as progress:
        from smemviz.measure.calibration.calibrate import calibrate
        from smemviz.measure.calibration.cycles import cycles

        calibration = calibrate(card, cycles, progress)
    arguments.output = save_calibration(calibration, arguments.output)
    if arguments.json:
        print_json({"schema": 1} | asdict(calibration))
    else:
        _print(calibration, arguments.output)
    return 0 if all(row.agrees for row in calibration.rows) else 1


def _print(calibration: Calibration, path: Path) -> None:
    from smemviz.reports.terminal import output_console, table_of

    heads = ("what", "model", "card", "")
    table = table_of(heads, heads)
    for row in calibration.rows:
        table.add_row(row.what, row.model, row.card, "agrees" if row.agrees else "DEVIATES")
    console = output_console()
    console.print(f"{calibration.device.name}, {calibration.date}")
    console.print(table)
    slopes = sorted(calibration.slopes.values())
    console.print(f"cycles per wavefront: {slopes[0]} to {slopes[-1]} over {len(slopes)} kinds of access")
    deviating = sum(not row.agrees for row in calibration.rows)
    console.print(f"{deviating} of {len(calibration.rows)} assumptions deviate on this card")
    console.print(f"kept in {path}", soft_wrap=True)
