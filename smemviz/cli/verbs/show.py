"""Print what a recording counted, line by line."""

import argparse
from pathlib import Path

from smemviz.cli.settings import add_format, add_hardware


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("recording", metavar="RECORDING", type=Path, help="a *.smem.npz file")
    add_format(parser, "what was found")
    add_hardware(parser, "3.5-8 with banks of 8 bytes (default: the GPU that recorded, else 9.0)")


def execute(arguments: argparse.Namespace) -> int:
    """Load and print."""
    from smemviz.model.hardware.hardware import Hardware
    from smemviz.recordings.file import load
    from smemviz.reports.annotations import print_found

    recording = load(arguments.recording)
    counted = arguments.cc or Hardware.of(recording)
    print_found(recording, counted, arguments.form)
    return 0
