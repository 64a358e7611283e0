"""A progress bar on standard error, for runs long enough to wonder about.

With ``SMEMVIZ_PROGRESS=lines`` in the environment it is a line per step instead, ``2/6 set_row_read_col``, for a
program that shows it elsewhere.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import Progress

Callback = Callable[[int, int, str], None]

LINES = {"SMEMVIZ_PROGRESS": "lines"}

_WONDER_SECONDS = 0.5


@contextmanager
def progress_bar() -> Iterator[Callback]:
    """Give a callback ``(done, total, text)`` that draws a bar on a terminal, after half a second of running."""
    if LINES.items() <= os.environ.items():
        yield _print_line
        return
    # main() may print; its output stays where it was going.
    bar = Progress(console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False)
    task = bar.add_task("")
    start = monotonic()

    def report(done: int, total: int, text: str) -> None:
        bar.update(task, completed=done, total=total, description=text)
        if bar.console.is_terminal and not bar.live.is_started and monotonic() - start > _WONDER_SECONDS:
            bar.start()

    try:
        yield report
    finally:
        if bar.live.is_started:
            bar.stop()


def _print_line(done: int, total: int, text: str) -> None:
    print(f"{done}/{total} {text}", file=sys.stderr, flush=True)
