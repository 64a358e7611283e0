"""Tables of counts in a terminal: one where it is wide, one for each space where it is narrow, no number broken."""

import io
from typing import Any

import pytest
from rich.console import Console

from smemviz.reports.terminal import launch_tables
from smemviz.views.columns import columns_in


def a_site(line: int, space: str, **counts: Any) -> dict[str, Any]:
    none = dict.fromkeys(column.name for column in columns_in("terminal"))
    place = {"line": line, "source": "tile[first + tx, ty]", "space": space, "op": "load", "width": 4, "calls": ()}
    return none | place | {"requests": 4294967296} | counts


LAUNCH = {
    "kernel": "k", "grid": [1, 1, 1], "block": [32, 32, 1], "shared_bytes": 4096, "dynamic_shared": 0, "file": "a.py",
    "sites": [
        a_site(7, "shared", wavefronts=137438953472, ideal=4294967296, excess=133143986176, max_degree=32),
        a_site(8, "global", sectors=17179869184, sectors_per_request=4.0, efficiency=1.0),
    ],
}  # fmt: skip


def printed(width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    for table in launch_tables("a.py", LAUNCH, {7}, 1, width):
        console.print(table, crop=False)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_terminal_of_80_columns_gets_a_table_for_each_space() -> None:
    assert [line for line in printed(80) if line and "─" not in line] == [
        "k: grid 1 x 1 x 1, block 32 x 32 x 1, 4096 bytes of shared memory",
        "shared memory",
        "                                                                               max    bytes",
        " line source   op   width   requests   wavefronts      ideal       excess   degree   wasted",
        "  ! 7 tile[fir load     4 4294967296 137438953472 4294967296 133143986176       32        -",
        "      st + tx,",
        "      ty]",
        "global memory",
        "                                                   sectors/r                bytes",
        " line source     op   width   requests     sectors    equest efficiency    wasted",
        "    8 tile[first load     4 4294967296 17179869184         4      100 %         -",
        "      + tx, ty]",
    ]


@pytest.mark.parametrize("width", [60, 80, 100, 140, 141, 175])
def test_no_number_is_broken_in_a_narrow_terminal(width: int) -> None:
    words = " ".join(printed(width)).replace("│", " ").split()
    assert {"4294967296", "137438953472", "133143986176", "17179869184"} <= set(words)
    assert ("space" in words) == (width >= 141)
