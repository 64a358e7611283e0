"""Print what a recording counted, line by line."""

from __future__ import annotations

import argparse
import re
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("recording", metavar="RECORDING", type=Path, help="a *.smem.npz file")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument(
        "--cc",
        metavar="X.Y",
        type=compute_capability,
        help="count as this compute capability does (default: that of the GPU that recorded, else 9.0)",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Load and print."""
    from smemviz.recording_file import load
    from smemviz.report import own_cc, print_recording

    recording = load(arguments.recording)
    print_recording(recording, arguments.cc or own_cc(recording), as_json=arguments.json)
    return 0


def compute_capability(text: str) -> tuple[int, int]:
    """Read a compute capability such as ``9.0``, for argparse."""
    match = re.fullmatch(r"(\d{1,2})\.(\d)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a compute capability such as 9.0")
    return int(match[1]), int(match[2])
