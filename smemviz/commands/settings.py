"""The arguments that every verb on a kernel file has."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_file_and_settings(parser: argparse.ArgumentParser) -> None:
    """Declare FILE and ``--set NAME=VALUE``."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a Python file with @cuda.jit kernels and a main()")
    parser.add_argument(
        "--set", metavar="NAME=VALUE", type=_setting, action="append", default=[], help="replace a constant; repeatable"
    )


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name.strip() and equals and value.strip()):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name.strip(), value.strip()
