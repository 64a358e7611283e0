"""Compare two recordings, kernel files or revisions of one, line by line, and fail when the second is worse.

A and B are each a recording (*.smem.npz), a kernel file or script to run, or REVISION:FILE as git writes it. Without B
the same file is run twice, with the constants of --set-a and of --set-b:

  smemviz diff HEAD~1:kernels/square.py kernels/square.py
  smemviz diff kernels/square.py --set-a IPAD=0 --set-b IPAD=1

Exits 1 when a launch of B needs more wavefronts, moves more sectors or takes more time than in A, by more than
--tolerance, and when B has a mistake (a race, out of bounds) that A does not have. Times are compared only where both
recordings have one and their 95 % intervals do not overlap.
"""

import argparse
import sys

from smemviz.cli.settings import add_engine, add_format, add_hardware, add_setting, main_output, real, recorded
from smemviz.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("before", metavar="A", help="a recording, a kernel file, or REVISION:FILE")
    parser.add_argument("after", metavar="B", nargs="?", help="another (default: A again)")
    for option, of in (("--set", "A and B"), ("--set-a", "A"), ("--set-b", "B")):
        add_setting(parser, f"replace a constant of {of}", option)
    add_engine(parser, "what runs kernel files (default: auto)")
    parser.add_argument(
        "--tolerance",
        metavar="PERCENT",
        type=real(0, sys.float_info.max, "no percentage, a number from 0 on", "%"),
        default=0.0,
        help="how much more B may cost than A (default: 0)",
    )
    add_hardware(parser, "as for show (default: B's own)")
    add_format(parser, "what has changed", "markdown")


def execute(arguments: argparse.Namespace) -> int:
    """Record or load both, compare, print."""
    from smemviz.model.counting.diff import diff
    from smemviz.model.hardware.hardware import Hardware
    from smemviz.reports.annotations import of_diff, print_annotations
    from smemviz.reports.diff import Diff, Side, print_diff

    both = dict(arguments.set)
    changes = {**both, **dict(arguments.set_a)}, {**both, **dict(arguments.set_b)}
    names = arguments.before, arguments.after or arguments.before
    if names[0] == names[1] and changes[0] == changes[1]:
        raise InputError(f"{names[0]}: A and B are the same; name two, or give --set-a or --set-b")
    with main_output(arguments.form != "table"):
        before, after = (
            recorded(name, constants, arguments.engine) for name, constants in zip(names, changes, strict=True)
        )
    counted = arguments.cc or Hardware.of(after)
    pairs = diff(before, after, counted)
    if not any(pair.before and pair.after for pair in pairs):
        raise InputError(f"{names[0]} and {names[1]}: no kernel is launched in both; nothing can be compared")
    sides = Side(names[0], changes[0], before), Side(names[1], changes[1], after)
    compared = Diff(*sides, pairs, counted, arguments.tolerance / 100)
    if arguments.form in ("github", "sarif"):
        print_annotations(of_diff(compared), arguments.form)
    else:
        print_diff(compared, arguments.form)
    return 1 if compared.worse else 0
