"""What verbs print: tables and lines for a terminal, or one JSON document."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from smemviz.printable import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def output_console() -> Console:
    """Return a console on standard output, wide where that is no terminal."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from smemviz.reports.console_table import WIDTH_UNSEEN

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
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title) if title else None, title_justify="left")
    for head in heads:
        table.add_column(head, justify="left" if head in words else "right", overflow="fold")
    return table


def print_json(data: Any) -> None:
    """Print one JSON document."""
    json.dump(data, sys.stdout, indent=1)
    print()
