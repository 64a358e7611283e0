"""Processes that serve one socket together: one that ends before it is told to is started again."""

import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from smemviz.errors import MissingError

_POLL_SECONDS = 0.1
_STOP_SECONDS = 40.0  # more than a process gives the answers it is working on
_SOON = 10.0  # seconds; a process that ends sooner ended because of something that will happen again
_TRIES = 3


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    line: socket.socket  # its standard input; it closes with this process
    started: float = field(default_factory=time.monotonic)
    ready: bool = False


class Workers:
    """So many processes of one command, each of which says on its standard input that it is ready."""

    def __init__(self, command: Sequence[str], count: int, listening: socket.socket, environment: Mapping[str, str]):
        self._command = [*command, str(listening.fileno())]
        self._environment = dict(environment)
        self._descriptor = listening.fileno()
        self._stopping = threading.Event()
        self._count = count
        self._workers: list[_Worker] = []
        self._short = 0  # how many in a row ended soon

    def stop(self, *_: object) -> None:
        """Have all of them answer what they are working on, and end."""
        self._stopping.set()

    def run(self, ready: Callable[[], None]) -> None:
        """Keep them running until ``stop``; ``ready`` is called when all of them answer.

        Raises:
            MissingError: when one ends before it is ready, or they end as soon as they start.
        """
        try:
            self._workers = [self._start() for _ in range(self._count)]
            if not all(self._is_ready(worker) for worker in self._workers):
                if not self._stopping.is_set():
                    raise MissingError("a process of the server ended before it was ready; its output is above")
            else:
                ready()
            while not self._stopping.wait(_POLL_SECONDS):
                self._replace()
        finally:
            self._end()

    def _replace(self) -> None:
        for at, worker in enumerate(self._workers):
            if worker.process.poll() is None:
                continue
            soon = time.monotonic() < worker.started + _SOON or not self._is_ready(worker)
            self._short = self._short + 1 if soon else 0
            if self._short >= _TRIES:
                raise MissingError("the processes of the server end as soon as they start; their output is above")
            worker.line.close()
            self._workers[at] = self._start()

    def _start(self) -> _Worker:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                self._command,
                stdin=theirs.fileno(),
                env=self._environment,
                pass_fds=[self._descriptor],
                start_new_session=True,  # Ctrl-C is for this process, which then tells them
            )
        return _Worker(process, ours)

    def _is_ready(self, worker: _Worker) -> bool:
        """Wait until a process is ready; False when it ended before, or all are to stop."""
        worker.line.settimeout(_POLL_SECONDS)
        while not worker.ready and not self._stopping.is_set():
            try:
                worker.ready = bool(worker.line.recv(1))
            except TimeoutError:
                continue
            except ConnectionResetError:  # of what it did not read
                break
            if not worker.ready:
                break
        return worker.ready

    def _end(self) -> None:
        for worker in self._workers:
            worker.process.send_signal(signal.SIGTERM)
            worker.line.close()
        end = time.monotonic() + _STOP_SECONDS
        for worker in self._workers:
            try:
                worker.process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
