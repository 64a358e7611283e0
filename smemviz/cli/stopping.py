"""SIGTERM as an error, so that what was recorded is kept and nothing is left behind; and what is said of that."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING

from smemviz.errors import TerminatedError

if TYPE_CHECKING:
    from smemviz.recordings.recording import Recording


@contextmanager
def terminable() -> Iterator[None]:
    """Have SIGTERM raise an error in this process; those that are forked from it end by it as ever."""
    if threading.current_thread() is not threading.main_thread():  # where no signal can be handled
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    _forks_are_told_apart()
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise TerminatedError


@cache
def _forks_are_told_apart() -> None:
    """Give the signal its meaning back in a process that is forked; one that comes meanwhile waits until then."""
    if sys.platform == "win32":
        return

    def wait() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])

    def go_on() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])

    def go_on_in_child() -> None:
        if signal.getsignal(signal.SIGTERM) is _terminate:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        go_on()

    os.register_at_fork(before=wait, after_in_parent=go_on, after_in_child=go_on_in_child)


def cut_short(recording: Recording, saved: object) -> str:
    """Say what a run that was stopped recorded, and where that is."""
    finding, launches = recording.findings[-1], len(recording.launches)
    recorded = f"the {launches:,} launches before that are" if launches > 1 else "the launch before that is"
    where = f"saved in {saved}" if saved else "not saved"
    return f"stopped at {recording.file}:{finding.line}, so this is cut short; {recorded} recorded and {where}"
