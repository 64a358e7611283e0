"""Print what lockstep executes of CUDA, where a GPU may count differently, and what lockstep refuses.

CUDA C++ is executed as the PTX that NVRTC makes of it, so its rows are instructions of PTX.
"""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def execute(arguments: argparse.Namespace) -> int:
    """Print the table."""
    from rich.table import Table

    from smemviz.engines.lockstep.coverage import ptx_rows, python_rows
    from smemviz.reports.terminal import output_console, print_json

    rows = (*python_rows(), *ptx_rows())
    if arguments.json:
        facts = [
            {"group": row.group, "feature": row.feature, "executed": row.executed, "says": row.says or None}
            | ({"otherwise": row.otherwise} if row.otherwise else {})
            for row in rows
        ]
        print_json({"schema": 1, "features": facts})
        return 0
    plain = [row for row in rows if row.executed and not row.otherwise]
    inside = Table("group", "executed in lockstep", title="In")
    for group in dict.fromkeys(row.group for row in plain):
        inside.add_row(group, ", ".join(row.feature for row in plain if row.group == group))
    otherwise = Table("feature", "how requests are counted", title="In, and perhaps otherwise on a GPU")
    for row in rows:
        if row.otherwise:
            otherwise.add_row(row.feature, row.otherwise)
    outside = Table("feature", "what a refusal says", title="Out")
    for row in rows:
        if not row.executed:
            outside.add_row(row.feature, row.says)
    console = output_console()
    console.print(inside)
    console.print(otherwise)
    console.print(outside)
    return 0
