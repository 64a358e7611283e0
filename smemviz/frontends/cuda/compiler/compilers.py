"""Processes that compile CUDA C++, started when they are needed and kept for the next text.

Some texts make the compiler crash, others take all time and memory there is. Threads that compile at once have a
process each; a process that was forked has its own.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from smemviz.errors import MissingError
from smemviz.messages import english

_SCRIPT = Path(__file__).with_name("nvrtc_process.py")
_SECONDS = 120  # of one text: CUB's largest headers take 5
_BYTES = 3 * 1024**3  # and half of one
_MOST_IDLE = 2  # of 80 to 300 MB


class DeathError(Exception):
    """A compiler that ended without an answer; ``crashed`` where the text itself made it."""

    def __init__(self, what: str, *, crashed: bool = False) -> None:
        super().__init__(what)
        self.crashed = crashed


def answer_of(library: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    """Let a process that has a library loaded answer a request, ``nvrtc_process`` says how.

    Raises:
        DeathError: when it does not.
        MissingError: when it cannot be started.
    """
    compiler = _idle_one() or _Compiler(library)
    try:
        answer = compiler.answer({**request, "bytes": _BYTES})
    except BaseException:  # Ctrl-C, too
        compiler.end()
        raise
    if len(_idle) < _MOST_IDLE:
        _idle.append(compiler)
    else:
        compiler.end()
    return answer


def _folder() -> str | None:
    """Return the working folder, from which NVRTC names files; None where a script has removed it."""
    try:
        return os.getcwd()
    except OSError:
        return None


class _Compiler:
    """One process, which answers one request at a time."""

    def __init__(self, library: Path) -> None:
        self._is_late = False
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", _SCRIPT, library],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,  # or a process forked meanwhile would write what is left in the buffer, too
                cwd=library.parent,
                start_new_session=True,  # Ctrl-C reaches this process alone, which then ends it
            )
        except OSError as error:
            raise MissingError(english("NVRTC cannot be started: {error}", error=error)) from None
        assert self._process.stdin is not None
        assert isinstance(self._process.stdout, io.RawIOBase)
        self._requests: IO[bytes] = self._process.stdin
        self._answers: IO[bytes] = io.BufferedReader(self._process.stdout)

    def is_running(self) -> bool:
        return self._process.poll() is None

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        clock = threading.Timer(_SECONDS, self._stop)
        clock.daemon = True
        clock.start()
        try:
            waiting = memoryview(json.dumps({**request, "folder": _folder()}).encode() + b"\n")
            while waiting:
                waiting = waiting[self._requests.write(waiting) :]
            line = self._answers.readline()
        except BrokenPipeError:
            line = b""
        finally:
            clock.cancel()
            clock.join()
        if not line.endswith(b"\n"):
            raise self._death()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._close()

    def leave(self) -> None:
        """Leave it to the process that this one was forked from."""
        self._process.returncode = 0  # it is not ours to wait for
        self._close()

    def _close(self) -> None:
        self._requests.close()
        self._answers.close()

    def _stop(self) -> None:
        self._is_late = True
        self._process.kill()

    def _death(self) -> DeathError:
        code = self._process.wait()
        if self._is_late:
            what = english("the compiler was stopped after {seconds} seconds", seconds=_SECONDS)
        elif sys.platform != "win32" and code == -signal.SIGKILL:
            what = english("the compiler was killed; the system may lack memory")
        else:
            names = {-number: number.name for number in signal.Signals}
            what = english("the compiler itself crashed on it ({code})", code=names.get(code, hex(code & 0xFFFFFFFF)))
            return DeathError(what, crashed=True)
        return DeathError(what)


_idle: list[_Compiler] = []  # adding and taking one are atomic


def _idle_one() -> _Compiler | None:
    while _idle:
        try:
            compiler = _idle.pop()
        except IndexError:  # another thread was quicker
            return None
        if compiler.is_running():
            return compiler
        compiler.end()
    return None


def _end_all() -> None:
    while compiler := _idle_one():
        compiler.end()


def _leave_all() -> None:
    while _idle:
        _idle.pop().leave()


atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)
