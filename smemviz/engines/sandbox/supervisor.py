"""Starts, feeds and ends the processes that run text from browsers, so that no text can take the server with it."""

import atexit
import contextlib
import json
import math
import os
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from smemviz.engines.sandbox.processes import Forked, Forks, can_fork, start
from smemviz.engines.sandbox.run import FILE, TextRun, check_size
from smemviz.engines.sandbox.sandbox_limits import SandboxLimits
from smemviz.engines.sandbox.sharing import Result, Results, Ticket, Turns, name_of
from smemviz.errors import BusyError, InputError, KernelFileError, SmemvizError, UnsupportedError, WaitingError
from smemviz.messages import english
from smemviz.recordings.file import unpacked

AT_ONCE = 2
_START_SECONDS = 60.0
_BUSY_SECONDS = 15.0
_QUEUE_SECONDS = 0.3  # how long a question waits that will be asked again
_NEXT_SECONDS = 2.0  # the same of those that are next, so that no turn is lost until they ask again
_PAUSE_SECONDS = 0.05
_LATER_SECONDS = 5  # after which who found it busy asks again
_FULL_SECONDS = 30
_STARVED = 6  # times its seconds that a run may wait for processors
_MAX_ANSWER = 1 << 20  # bytes
_MAX_RECORDING = 1 << 26  # bytes


@dataclass(eq=False)
class _Worker:
    """One process, ready or getting ready; ``lines`` are what it says."""

    process: subprocess.Popen[bytes] | Forked
    ready: threading.Event = field(default_factory=threading.Event)
    answered: threading.Event = field(default_factory=threading.Event)
    answer: dict[str, object] = field(default_factory=lambda: _parsed(b""))
    recording: bytes = b""

    def has_answered(self, seconds: float) -> bool:
        """Wait for the answer, so long and, while other work keeps the processors busy, until it had them as long."""
        start, before = time.monotonic(), _processor_seconds(self.process.pid)
        left = seconds
        while not self.answered.wait(left):
            had = _processor_seconds(self.process.pid) - before
            if not had < seconds or time.monotonic() > start + _STARVED * seconds:
                return False
            left = seconds - had
        return True

    def listen(self) -> None:
        """Hear what it says, to its end."""
        if isinstance(self.process, Forked):
            self.process.receive()
        assert self.process.stdout is not None
        with contextlib.suppress(OSError), self.process.stdout as pipe:
            if pipe.readline().strip() == b"ready":
                self.ready.set()
                answer = _parsed(pipe.readline(_MAX_ANSWER))
                size = answer.get("bytes")
                if isinstance(size, int) and 0 < size <= _MAX_RECORDING:
                    self.recording = pipe.read(size)
                self.answer = answer
        self.ready.set()
        self.answered.set()

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()


class Supervisor:
    """Runs texts, a few at a time, each in a process of its own that was started ahead.

    Those of other processes are among the few, where ``turns`` are shared with them, and so are ``results``.
    """

    def __init__(
        self, limits: SandboxLimits | None = None, turns: Turns | None = None, results: Results | None = None
    ) -> None:
        self.limits = limits or SandboxLimits()
        self._turns = turns or Turns(AT_ONCE)
        self._results = results
        self._lock = threading.Lock()
        self._waiting: _Worker | None = None
        self._all: set[_Worker] = set()
        self._forks: Forks | None = None
        self._closed = False
        atexit.register(self.close)

    def warm(self) -> None:
        """Start a process ahead, so that the next run need not wait for it."""
        with self._lock:
            if self._waiting is None and not self._closed:
                self._waiting = self._start()

    def run(
        self,
        source: str,
        constants: Mapping[str, object] | None = None,
        file: str = FILE,
        *,
        visitor: str = "",
        request_name: str = "",
    ) -> TextRun:
        """Run a text; ``file`` is the name that errors show.

        ``visitor`` is who asks, and ``request_name`` by what name; who gives one keeps the place in the queue by
        asking again.

        Raises:
            WaitingError: when it is not this text's turn yet, and it was asked for by a name.
            InputError: for what the text does wrong, a limit it meets, or when too many run already.
        """
        check_size(source, file, self.limits)
        run = (file, source, dict(constants or {}))
        known = self._results and self._results.read(*run)
        if not known:
            ticket = Ticket(visitor, f"{visitor} {request_name or uuid4()} {name_of(run)}")
            self._wait_for_turn(ticket, file, again=bool(request_name))
            try:
                known = (self._results and self._results.read(*run)) or self._run_now(*run)
            finally:
                self._turns.done(ticket)
        return TextRun(unpacked(known.recording, file), known.printed)

    def _run_now(self, file: str, source: str, constants: Mapping[str, object]) -> Result:
        worker = self._take()
        try:
            result = self._ask(worker, source, constants, file)
        finally:
            self._drop(worker)
            self.warm()
        if self._results:
            self._results.write(result, file, source, constants)
        return result

    def _wait_for_turn(self, ticket: Ticket, file: str, *, again: bool) -> None:
        end = time.monotonic() + (_QUEUE_SECONDS if again else _BUSY_SECONDS)
        while True:
            place = self._turns.place(ticket)
            if place == 0:
                return
            if place is None:
                what = english(
                    "{file}: too many runs are waiting already; try again in {seconds} s",
                    file=file,
                    seconds=_FULL_SECONDS,
                )
                raise BusyError(what, _FULL_SECONDS)
            if time.monotonic() > end + _NEXT_SECONDS * (again and place <= self._turns.at_once):
                break
            time.sleep(_PAUSE_SECONDS)
        if again:
            raise WaitingError(
                english("{file}: it waits for its turn, at place {place:,}", file=file, place=place), place
            )
        self._turns.done(ticket)
        what = english(
            "{file}: the server is busy with other runs; try again in {seconds} s", file=file, seconds=_LATER_SECONDS
        )
        raise BusyError(what, _LATER_SECONDS)

    def close(self) -> None:
        """End every process."""
        with self._lock:
            self._closed = True
            workers, self._waiting = list(self._all), None
            forks, self._forks = self._forks, None
        if forks:
            forks.close()
        for worker in workers:
            self._drop(worker)

    def _ask(self, worker: _Worker, source: str, constants: Mapping[str, object], file: str) -> Result:
        if not worker.ready.wait(_START_SECONDS) or worker.process.poll() is not None:
            raise BusyError(
                english("{file}: the process that runs texts did not start; look at the server's output", file=file)
            )
        request = {
            "source": source,
            "file": file,
            "constants": dict(constants),
            "seconds": self.limits.seconds,
            "memory_bytes": self.limits.memory_bytes,
        }
        assert worker.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it ended; the answer below says so
            worker.process.stdin.write(json.dumps(request).encode() + b"\n")
            worker.process.stdin.flush()
        if not worker.has_answered(self.limits.seconds):
            raise InputError(
                english(
                    "{file}: it was stopped after {seconds:g} s; give it less to do",
                    file=file,
                    seconds=self.limits.seconds,
                )
            )
        if "error" in worker.answer:
            raise _error(worker.answer, file)
        return Result(str(worker.answer.get("printed", "")), worker.recording)

    def _start(self) -> _Worker:
        process = self._process()
        worker = _Worker(process)
        threading.Thread(target=worker.listen, daemon=True).start()
        self._all.add(worker)
        return worker

    def _process(self) -> subprocess.Popen[bytes] | Forked:
        if not can_fork():
            return start()
        if self._forks:
            try:
                return self._forks.fork()
            except OSError:  # the system may have ended it
                self._forks.close()
        self._forks = Forks()
        return self._forks.fork()

    def _take(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise InputError(english("{file}: the server is shutting down", file=FILE))
            worker, self._waiting = self._waiting, None
            if worker is None or worker.process.poll() is not None:
                return self._start()
            return worker

    def _drop(self, worker: _Worker) -> None:
        worker.end()
        with self._lock:
            self._all.discard(worker)


def _processor_seconds(process: int) -> float:
    """Return how long a process has had processors; not a number where the system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return math.nan
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")  # of itself and of the system for it


def _parsed(line: bytes) -> dict[str, object]:
    """Read an answer; a process that ended without one was ended by the operating system."""
    try:
        answer = json.loads(line)
    except ValueError:
        answer = None
    if isinstance(answer, dict):
        return answer
    return {"error": english("it used more time or memory than the editor gives; give it less to do")}


def _error(answer: Mapping[str, object], file: str) -> SmemvizError:
    what, line = str(answer["error"]), answer.get("line")
    if not isinstance(line, int):
        return InputError(what if what.startswith(file) else f"{file}: {what}")
    return (UnsupportedError if answer.get("kind") == "UnsupportedError" else KernelFileError)(file, line, what)
