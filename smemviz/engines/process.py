"""What the user's own code may change of this process while it runs, and what is put back after it."""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn


@contextmanager
def replaced(owner: Any, values: Mapping[str, Any]) -> Iterator[None]:
    """Give a module or class other attributes while this lasts."""
    missing = object()
    before = {name: vars(owner).get(name, missing) for name in values}
    for name, value in values.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is missing:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


_OUTPUTS = ("stdout", "stderr")


@contextmanager
def as_it_was() -> Iterator[None]:
    """Put back the working folder and the standard streams, and take ``os._exit`` for ``sys.exit``.

    What is recorded is written after the user's code, to a path that may be relative, and said on standard output.
    """
    with _same_folder(), _open_streams(), _exits_seen():
        yield


@contextmanager
def _same_folder() -> Iterator[None]:
    here = None
    with contextlib.suppress(OSError):  # it is gone already
        here = os.getcwd()
    try:
        yield
    finally:
        if here is not None:
            with contextlib.suppress(OSError):  # it is gone now; whoever writes there says so
                os.chdir(here)


@contextmanager
def _open_streams() -> Iterator[None]:
    """Put back the objects that stand for standard output, and what is behind them where that was closed."""
    streams = {name: getattr(sys, name) for name in _OUTPUTS}
    spare = {name: _duplicate(stream) for name, stream in streams.items()}
    try:
        yield
    finally:
        for name, stream in streams.items():
            setattr(sys, name, _opened(stream, spare[name]))


def _duplicate(stream: Any) -> int | None:
    try:
        return os.dup(stream.fileno())
    except (AttributeError, ValueError, OSError):  # there is no stream, or none of the system's behind it
        return None


def _opened(stream: Any, spare: int | None) -> Any:
    if spare is None:
        return stream
    if stream.closed:  # its number may be another file's by now
        return open(spare, "w", encoding=stream.encoding, errors="backslashreplace")
    try:
        os.fstat(stream.fileno())
    except OSError:
        os.dup2(spare, stream.fileno())
    os.close(spare)
    return stream


@contextmanager
def _exits_seen() -> Iterator[None]:
    """Let ``os._exit`` in the main thread end the user's code as ``sys.exit`` does.

    Where threads are left that would keep the process, it ends the process, as ever; so too in a process that was
    forked.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    leave, process, before = os._exit, os.getpid(), set(threading.enumerate())

    def leave_or_raise(status: int) -> NoReturn:
        here = os.getpid() == process and threading.current_thread() is threading.main_thread()
        if not here:
            leave(status)
        if any(not thread.daemon for thread in set(threading.enumerate()) - before):
            print("smemviz: os._exit() with threads running; what was recorded is lost", file=sys.stderr, flush=True)
            leave(status)
        raise SystemExit(status)

    with replaced(os, {"_exit": leave_or_raise}):
        yield
