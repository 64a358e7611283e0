"""A progress bar on standard error, for runs long enough to wonder about.

With ``SMEMVIZ_PROGRESS=lines`` in the environment it is a line per step instead, ``2/6 set_row_read_col``, for a
program that shows it elsewhere.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import Progress

from smemviz.printable import printable

Callback = Callable[[int, int, str], None]

LINES = {"SMEMVIZ_PROGRESS": "lines"}

_WONDER_SECONDS = 0.5
_MINUTES_FROM = 100  # seconds


class _Bar:
    """Draws a bar on a terminal, after half a second of running."""

    def __init__(self) -> None:
        # main() may print; its output stays where it was going.
        console = Console(stderr=True)
        self.bar = Progress(console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
        self._task = self.bar.add_task("")
        self._start = monotonic()

    def __call__(self, done: int, total: int, text: str) -> None:
        self.bar.update(self._task, completed=done, total=total, description=text)
        wonder = monotonic() - self._start > _WONDER_SECONDS
        if wonder and self.bar.console.is_terminal and not self.bar.live.is_started:
            self.bar.start()

    def expect(self, seconds: float, text: str) -> None:
        self.bar.console.out(f"smemviz: {_expected(seconds, text)}", highlight=False)


class _Lines:
    """Prints a line per step."""

    def __call__(self, done: int, total: int, text: str) -> None:
        print(printable(f"{done}/{total} {text}"), file=sys.stderr, flush=True)

    def expect(self, seconds: float, text: str) -> None:
        print(_expected(seconds, text), file=sys.stderr, flush=True)


@contextmanager
def progress_bar() -> Iterator[Callback]:
    """Give a callback ``(done, total, text)`` that shows on standard error how far a run is.

    What will take longer than a few seconds is told to its method ``expect(seconds, text)``, and said at once.
    """
    if LINES.items() <= os.environ.items():
        yield _Lines()
        return
    bar = _Bar()
    try:
        yield bar
    finally:
        if bar.bar.live.is_started:
            bar.bar.stop()


def _expected(seconds: float, text: str) -> str:
    time = f"{seconds:.0f} s" if seconds < _MINUTES_FROM else f"{seconds / 60:.0f} min"
    return f"{text} will take about {time}"
