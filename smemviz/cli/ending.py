"""How a command ends: with one line and an exit code; by SIGTERM, which keeps what was recorded; or in a crash."""

from __future__ import annotations

import contextlib
import errno
import faulthandler
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING

from smemviz.errors import DEBUG, InputError, MissingError, SmemvizError, TerminatedError, fault
from smemviz.printable import one_line

if TYPE_CHECKING:
    from smemviz.recordings.recording import Recording

# It ends with this process, whose last words it reads: a process that has crashed can say nothing itself.
_WATCHER = r"""
import re, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
name, what, place = sys.argv[1], None, None
for line in sys.stdin:
    if line == "done\n":
        raise SystemExit
    what = what or re.match("Fatal Python error: (.*)", line)
    place = re.match(f' *File "{re.escape(name)}", line ([0-9]+)', line)
    if what and place:
        break
if what:
    line = f":{place[1]}" if place else ""
    print(f"smemviz: {name}{line}: the process ended here ({what[1]}); what was recorded is lost", file=sys.stderr)
"""


@contextlib.contextmanager
def crash_told(file: str) -> Iterator[None]:
    """Have a crash meanwhile told in a line that names the innermost line of ``file``.

    Whoever has switched on Python's own faulthandler, as pytest does, is told by that.
    """
    if faulthandler.is_enabled() or sys.platform == "win32":
        yield
        return
    reading, writing = os.pipe()
    command = [sys.executable, "-I", "-S", "-c", _WATCHER, file]
    try:
        watcher = subprocess.Popen(command, stdin=reading, stdout=subprocess.DEVNULL)
    except OSError:  # no process may be started, for instance
        os.close(writing)
        yield
        return
    finally:
        os.close(reading)
    faulthandler.enable(writing, all_threads=False)
    try:
        yield
    finally:
        faulthandler.disable()
        with contextlib.suppress(OSError):  # the user's code may have closed it
            os.write(writing, b"done\n")  # a process that was forked meanwhile may keep it open
            os.close(writing)
        watcher.wait()


FAILED = 4
BROKEN_PIPE = 141  # as a shell reports SIGPIPE
_OF_OUTPUT = (errno.EPIPE, errno.EINVAL, errno.ENOSPC, errno.EIO, errno.EFBIG)


def fail(message: str, code: int) -> int:
    """Leave a line, and return the exit code."""
    print(one_line(f"smemviz: {message}"), file=sys.stderr)
    return code


def fail_with(error: BaseException) -> int:
    """Say what ended a command; raises it again where whoever runs it wants to see where it came from."""
    if isinstance(error, SmemvizError):
        return fail(str(error), error.exit_code)
    if isinstance(error, MemoryError):
        return fail("this machine has not enough memory for that", MissingError.exit_code)
    if isinstance(error, OSError):
        return _refused(error)
    if isinstance(error, ImportError):  # of a library, which lacks memory or a part of its own
        return fail(f"this machine cannot load what that needs: {error}", MissingError.exit_code)
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return fail("this machine gives no more threads", MissingError.exit_code)
    if os.environ.get(DEBUG):
        raise error
    return fail(fault(error), FAILED)


def _refused(error: OSError) -> int:
    """Say why standard output cannot be written, or what else the system refused; commands name files themselves."""
    if error.filename is not None or error.errno not in _OF_OUTPUT:
        return fail(f"the system refused something: {error}", MissingError.exit_code)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where the interpreter's last flush goes
    if error.errno in (errno.EPIPE, errno.EINVAL):  # whoever read our output has left; EINVAL on Windows
        return BROKEN_PIPE
    return fail(f"standard output cannot be written: {error.strerror}", InputError.exit_code)


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
