"""One command at a time in a process of its own: bounded in time, stopped on request and when the server ends.

Each that the dashboard asks for has its result, or why there is none.
"""

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO, Generic, Literal, TypeVar, cast

from smemviz.errors import InputError
from smemviz.recordings.vocabulary import ConstantValue

State = Literal["idle", "running", "done", "failed", "cancelled"]

LIMIT_SECONDS = 300.0
_MAX_OUTPUT = 1 << 26  # characters of standard output; beyond it the command is stopped
_MESSAGE_LINES = 50
Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


@dataclass(frozen=True)
class Status:
    """What became of the last command: ``key`` names it, ``message`` is the last line it wrote to standard error.

    ``output`` is its standard output once it is done; ``problem`` says in a line why it failed.
    """

    state: State
    key: Hashable = None
    seconds: float = 0.0
    message: str = ""
    output: str = ""
    problem: str = ""


class Job:
    """Runs one command at a time; ``environment`` is added to the server's own. Not ``allowed``, it starts none."""

    def __init__(
        self,
        limit_seconds: float = LIMIT_SECONDS,
        environment: Mapping[str, str] | None = None,
        *,
        allowed: bool = True,
    ) -> None:
        self.limit_seconds = limit_seconds
        self.allowed = allowed
        self._environment = {**os.environ, **(environment or {})}
        self._lock = threading.Lock()
        self._run: _Run | None = None
        atexit.register(self.cancel)

    def start(self, key: Hashable, command: Sequence[str], answers: Sequence[int] = ()) -> bool:
        """Start a command unless one is running, or none may be started; return whether it was started.

        ``answers`` are exit codes besides 0 with which it has done what it should.
        """
        with self._lock:
            if not self.allowed or (self._run and self._run.status().state == "running"):
                return False
            self._run = _Run(key, command, self.limit_seconds, self._environment, answers)
            return True

    def cancel(self) -> None:
        """Stop what is running, if anything is."""
        run = self._run
        if run:
            run.stop("cancelled")

    def status(self) -> Status:
        """Say how the last command is doing."""
        run = self._run
        return run.status() if run else Status("idle")

    def wait(self, seconds: float) -> Status:
        """Wait until nothing is running, at most so long."""
        run = self._run
        if run:
            run.ended.wait(seconds)
        return self.status()


class _Run:
    """One process, with a thread that reads each of its two pipes and a timer that ends it."""

    def __init__(
        self,
        key: Hashable,
        command: Sequence[str],
        limit: float,
        environment: Mapping[str, str],
        answers: Sequence[int],
    ) -> None:
        self.key = key
        self.answers = answers
        self.limit = limit
        self.ended = threading.Event()
        self._began = time.monotonic()
        self._lines: deque[str] = deque(maxlen=_MESSAGE_LINES)
        self._stopped: State | None = None
        self._final: Status | None = None
        # A session of its own, so that what the command starts is stopped with it.
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        self._timer = threading.Timer(limit, self.stop, ("failed",))
        for thread in (self._timer, threading.Thread(target=self._wait)):
            thread.daemon = True
            thread.start()

    def stop(self, state: State) -> None:
        """End the process and everything it started; ``state`` is what becomes of the run."""
        if self._final is None and self._stopped is None:
            self._stopped = state
            _kill(self._process)

    def status(self) -> Status:
        if self._final:
            return self._final
        return Status("running", self.key, time.monotonic() - self._began, self._lines[-1] if self._lines else "")

    def _wait(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        listener = threading.Thread(target=self._listen, args=(self._process.stderr,), daemon=True)
        listener.start()
        output = self._process.stdout.read(_MAX_OUTPUT + 1)
        if len(output) > _MAX_OUTPUT:
            self.stop("failed")
        code = self._process.wait()
        listener.join()
        self._timer.cancel()
        self._final = self._conclude(code, output)
        for pipe in (self._process.stdout, self._process.stderr):
            pipe.close()
        self.ended.set()

    def _listen(self, pipe: IO[str]) -> None:
        for line in pipe:
            if line.strip():
                self._lines.append(line.strip())

    def _conclude(self, code: int, output: str) -> Status:
        seconds = time.monotonic() - self._began
        message = self._lines[-1] if self._lines else ""
        if self._stopped == "cancelled":
            return Status("cancelled", self.key, seconds, message)
        if self._stopped:
            too_long = f"it was stopped after {self.limit:g} s"
            problem = too_long if len(output) <= _MAX_OUTPUT else "it was stopped because it wrote too much"
            return Status("failed", self.key, seconds, message, problem=problem)
        if code and code not in self.answers:
            return Status("failed", self.key, seconds, message, problem=message or f"it ended with exit code {code}")
        return Status("done", self.key, seconds, message, output)


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process and, where there are process groups, everything it started."""
    if sys.platform == "win32":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
        os.killpg(process.pid, signal.SIGKILL)


def own_command(verb: str, what: str, overrides: Mapping[str, ConstantValue], *more: str) -> list[str]:
    """Return what runs a verb of our own command line with constants, and prints JSON."""
    return [sys.executable, "-m", "smemviz", verb, what, *settings(overrides), *more, "--json"]


def settings(overrides: Mapping[str, ConstantValue]) -> list[str]:
    """Return constants as the command line takes them."""
    return [part for name, value in overrides.items() for part in ("--set", f"{name}={value}")]


class Tasks(Generic[Key, Result]):
    """Starts commands for keys by a job that others may share, and keeps what each printed, as ``read`` reads it.

    ``read`` raises an ``InputError`` for what is of no use, and what decoding raises for what cannot be read.
    ``answers`` are exit codes besides 0 with which a command has done what it should.
    """

    def __init__(self, job: Job, read: Callable[[Key, str], Result], answers: Sequence[int] = ()) -> None:
        self.allowed = job.allowed
        self._result_count = 0
        self._job = job
        self._read = read
        self._answers = answers
        self._results: dict[Key, Result] = {}
        self._problems: dict[Key, str] = {}
        self._collected: Status | None = None
        self._lock = threading.Lock()

    @property
    def latest(self) -> int:
        """How many results have been kept; a page that knows a smaller number has not seen the latest."""
        self.collect()
        return self._result_count

    def start(self, key: Key, command: Sequence[str]) -> bool:
        """Start a command; return False when something is running, or nothing may be started."""
        self.collect()
        started = self._job.start((self, key), command, self._answers)
        if started:
            self._problems.pop(key, None)
        return started

    def cancel(self) -> None:
        """Stop what is running, if it was started here."""
        if self.running():
            self._job.cancel()

    def running(self) -> Status | None:
        """Say how what was started here is doing, by its key; None when nothing is running."""
        status = self.collect()
        key = self._key(status)
        return replace(status, key=key) if status.state == "running" and key is not None else None

    def result(self, key: Key) -> Result | None:
        """Return what the last command for a key found, None when there was none."""
        self.collect()
        return self._results.get(key)

    def problem(self, key: Key) -> str | None:
        """Say why the last command for a key failed, None when it did not."""
        self.collect()
        return self._problems.get(key)

    def collect(self) -> Status:
        """Keep the result of a command that has ended; say how the last one is doing, here or elsewhere."""
        status = self._job.status()
        key = self._key(status)
        with self._lock:
            if key is not None and status is not self._collected and status.state in ("done", "failed"):
                self._collected = status
                self._keep(key, status)
        return status

    def _keep(self, key: Key, status: Status) -> None:
        try:
            if status.state == "failed":
                raise InputError(status.problem)
            self._results[key] = self._read(key, status.output)
            self._result_count += 1
        except InputError as error:
            self._problems[key] = str(error)
        except (ValueError, KeyError, TypeError) as error:
            self._problems[key] = f"its output cannot be read: {error}"

    def _key(self, status: Status) -> Key | None:
        """Return the key of what was started here; the job may be shared."""
        key = status.key
        return cast(Key, key[1]) if isinstance(key, tuple) and key[0] is self else None
