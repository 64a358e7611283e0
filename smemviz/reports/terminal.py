"""What verbs print: tables and lines for a terminal, or one JSON document."""

import json
import sys
from collections.abc import Collection, Iterator, Sequence, Set
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from smemviz.printable import printable
from smemviz.views.columns import columns_in

_COUNTS = {column.name: column for column in columns_in("terminal")}
_COLUMNS = ("line", "source", "space", "op", "width", *_COUNTS)
_WORDS = ("source", "space", "op", "verdict")
_NOT_OF = {
    space: ("space", *(name for name, column in _COUNTS.items() if space not in column.spaces))
    for space in ("shared", "global")
}
# Columns of the terminal that all of them take, with 8 for the source: the longest word of each head, and the frame.
_HEADS = [column.heads["terminal"] for column in _COUNTS.values()]
_WIDTH_OF_ALL = 41 + sum(max(map(len, head.split())) + 3 for head in _HEADS)
WIDTH_UNSEEN = 65 + sum(len(head) + 3 for head in _HEADS)  # where the output is no terminal: whole heads, more source


def output_console() -> Console:
    """Return a console on standard output, wide where that is no terminal."""

    class Output(Console):
        def on_broken_pipe(self) -> None:
            raise

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            """Let nothing that a recording holds reach the terminal as a command."""
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(printable(segment.text), segment.style)

    console = Output(emoji=False, markup=False, highlight=False)  # "file.py:100:" is a place, "[/a]" text
    if not console.is_terminal:
        console.width = WIDTH_UNSEEN
    return console


def table_of(heads: Sequence[str], words: Collection[str], title: str = "") -> Table:
    """Return a table with such columns, ``words`` from the left and numbers from the right."""
    table = Table(title=Text(title) if title else None, title_justify="left")
    for head in heads:
        table.add_column(head, justify="left" if head in words else "right", overflow="fold")
    return table


def print_json(data: Any) -> None:
    """Print one JSON document."""
    json.dump(data, sys.stdout, indent=1)
    print()


def launch_tables(file: str, launch: dict[str, Any], mistaken: Set[int], times: int, width: int) -> list[Table]:
    """Return what to print of so many launches alike in ``width`` columns: a row per site, the title on the first."""
    columns = (*_COLUMNS, *(("verdict",) if "counters" in launch else ()))
    title, sites = _title(file, launch, times), launch["sites"]
    if width >= _WIDTH_OF_ALL or not sites:
        return [_table(title, sites, columns, mistaken)]
    tables: list[Table] = []
    for space in dict.fromkeys(site["space"] for site in sites):
        table = _table(
            f"{space} memory" if tables else f"{title}\n{space} memory",
            [site for site in sites if site["space"] == space],
            [name for name in columns if name not in _NOT_OF[space]],
            mistaken,
        )
        table.box, table.padding, table.pad_edge = box.SIMPLE_HEAD, (0, 0), False
        tables.append(table)
    return tables


def _title(file: str, launch: dict[str, Any], times: int) -> str:
    sizes = [" x ".join(map(str, launch[name])) for name in ("grid", "block")]
    title = f"{launch['kernel']}: grid {sizes[0]}, block {sizes[1]}, {launch['shared_bytes']} bytes of shared memory"
    if launch["dynamic_shared"]:
        title += f", {launch['dynamic_shared']} of them dynamic"
    if launch["file"] != file:
        title += f", in {launch['file']}"
    if times > 1:
        title += f"; {times:,} identical launches"
    return title


def _table(title: str, sites: Sequence[dict[str, Any]], columns: Sequence[str], mistaken: Set[int]) -> Table:
    """Return a row per site; lines in which a mistake was met have a mark."""
    rows = [
        [
            "! " * (site["line"] in mistaken) + _lines(site) if name == "line" else _cell(name, site[name])
            for name in columns
        ]
        for site in sites
    ]
    table = Table(title=Text(title), title_justify="left")
    for place, name in enumerate(columns):
        header = _COUNTS[name].heads["terminal"] if name in _COUNTS else name
        if name in _WORDS:
            table.add_column(header, overflow="fold")
        else:  # a number is never broken
            longest = max((len(cells[place]) for cells in rows), default=0)
            table.add_column(header, justify="right", overflow="fold", min_width=longest)
    for site, cells in zip(sites, rows, strict=True):
        table.add_row(*map(Text, cells), style="bold" if site["excess"] else "")
    return table


def _cell(name: str, value: Any) -> str:
    """Write a count without separators, so that it can be copied, and nothing as a dash."""
    if isinstance(value, float):
        return _COUNTS[name].text(value)
    return "-" if value is None else str(value)


def _lines(site: dict[str, Any]) -> str:
    """Return the line of a site, after those of the calls that lead to it: ``17 > 6``."""
    own = f"{Path(site['file']).name}:{site['line']}" if "file" in site else str(site["line"])
    return " > ".join((*(str(line) for line, _ in site["calls"]), own))
