"""Processes that run one text each: forked from one that has everything imported, or started where that cannot be.

A start takes half a second of a processor, nearly all of it imports; a fork takes some milliseconds.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from typing import IO, Any

_NICENESS = 10  # pages come before runs


def start(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start a process that gets ready by itself."""
    # It finds modules where this process does, and not in the folder that it happens to stand in.
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        [sys.executable, "-P", "-W", "ignore", "-m", "smemviz.engines.sandbox.worker", *arguments],
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options},
        env={**os.environ, **path},
        start_new_session=True,
    )
    if sys.platform != "win32":
        os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)
    return process


def can_fork() -> bool:
    """Tell whether processes can be forked and held by descriptors, which never come to mean others as numbers do."""
    if sys.platform != "linux":
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


class Forked:
    """A process that was asked for with ``connection``, through which it sends its number and descriptor first."""

    def __init__(self, connection: socket.socket) -> None:
        self.pid = 0
        self.stdin: IO[bytes] = connection.makefile("wb")
        self.stdout: IO[bytes] = connection.makefile("rb")
        self._connection = connection
        self._descriptor = -1
        self._is_missing = False

    def receive(self) -> None:
        """Wait until it is there."""
        try:
            number, descriptors, *_ = socket.recv_fds(self._connection, 16, 1)
            self.pid, self._descriptor = int(number), descriptors[0]
        except (OSError, ValueError, IndexError):
            self._is_missing = True

    def poll(self) -> int | None:
        """Return 0 if it has ended."""
        return 0 if self._is_missing or self._has_ended(0) else None

    def wait(self) -> int:
        """Wait for its end; one that is not there yet ends as soon as it finds its connection closed."""
        self._has_ended(None)
        return 0

    def send_signal(self, number: int) -> None:
        if self._descriptor >= 0:
            signal.pidfd_send_signal(self._descriptor, number)

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        self.send_signal(signal.SIGKILL)

    def _has_ended(self, milliseconds: int | None) -> bool:
        if self._descriptor < 0:
            return False
        waiting = select.poll()
        waiting.register(self._descriptor, select.POLLIN)
        return bool(waiting.poll(milliseconds))

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)


class Forks:
    """A process that has everything imported and forks others from itself; it ends with this one."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            self._process = start(str(number), pass_fds=[number], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def fork(self) -> Forked:
        """Ask for a process.

        Raises:
            OSError: when the one to fork from has ended.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._control, [b"f"], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        return Forked(ours)

    def close(self) -> None:
        """End it; what it forked goes on."""
        self._control.close()
        self._process.kill()
        self._process.wait()
