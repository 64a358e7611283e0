"""Print what lockstep executes of CUDA in Python, and what it refuses and why."""

from __future__ import annotations

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def execute(arguments: argparse.Namespace) -> int:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table

    from smemviz.engines.lockstep.coverage import rows

    found = rows()
    if arguments.json:
        facts = [
            {"group": row.group, "feature": row.feature, "executed": row.executed, "says": row.says or None}
            for row in found
        ]
        print(json.dumps({"schema": 1, "features": facts}, indent=1))
        return 0
    groups = dict.fromkeys(row.group for row in found if row.executed)
    inside = Table("group", "executed in lockstep", title="In")
    for group in groups:
        inside.add_row(group, ", ".join(row.feature for row in found if row.executed and row.group == group))
    outside = Table("feature", "what a refusal says", title="Out")
    for row in found:
        if not row.executed:
            outside.add_row(row.feature, row.says)
    console = Console()
    console.print(inside)
    console.print(outside)
    return 0
