"""NVRTC, NVIDIA's compiler as a library: CUDA C++ to PTX, without a GPU and without nvcc.

It runs in processes that are started when they are needed and kept for the next text: some texts make the compiler
crash, others take all time and memory there is. Threads that compile at once have a process each; a process that was
forked has its own.
"""

import atexit
import importlib.util
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from smemviz.errors import MissingError
from smemviz.messages import english
from smemviz.paths import installing

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
            what = english("the compiler was killed; the system may be out of memory")
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


_LIBRARIES = (
    "cu*/lib/libnvrtc.so.[0-9]*",
    "cuda_nvrtc/lib/libnvrtc.so.[0-9]*",
    "cu*/bin/x86_64/nvrtc64_*_0.dll",
    "cuda_nvrtc/bin/nvrtc64_*_0.dll",
)
_INCLUDES = (
    *("cu*/include", "cu*/include/cccl", "cuda_runtime/include", "cuda_cccl/include", "cuda_cccl/include/cccl"),
    *("cuda_nvcc/include", "cuda_crt/include"),
)
_DIAGNOSTIC = re.compile(
    r"^(?:At end of source|(?P<file>[^\n(]+)\((?P<line>\d+)\)): (?:catastrophic )?error(?: #\S+)?: (?P<what>[^\n]*)",
    re.M,
)


@dataclass(frozen=True)
class Ptx:
    """What NVRTC made: PTX, and the name in it of every name that was asked for."""

    text: str
    names: Mapping[str, str]


class CompileError(Exception):
    """The first error of a compilation: the file and line that NVRTC names, 0 where it names none, and what it says."""

    def __init__(self, file: str, line: int, what: str) -> None:
        super().__init__(f"{file}({line}): {what}")
        self.file = file
        self.line = line
        self.what = what


def available() -> bool:
    """Whether NVRTC is installed."""
    return _library_path() is not None


def require() -> None:
    """Make sure of NVRTC.

    Raises:
        MissingError: when it is not installed.
    """
    if not available():
        raise _missing()


@cache
def _missing() -> MissingError:
    what = f"CUDA C++ needs NVRTC, which is not installed: {installing('cpp')}; kernels in Python do without"
    return MissingError(what)


def include_folders() -> tuple[Path, ...]:
    """Return the folders of headers that came with NVRTC."""
    return tuple(path for pattern in _INCLUDES for folder in _folders() for path in sorted(folder.glob(pattern)))


def compile_ptx(
    source: str, file: str, options: Sequence[str], headers: Mapping[str, str], names: Sequence[str]
) -> Ptx:
    """Compile a text; ``headers`` are found before any file, ``names`` are the kernels wanted.

    Raises:
        CompileError: for the first error in it, and where the compiler does not end with an answer.
        MissingError: when NVRTC is not installed.
    """
    library = _library_path()
    if library is None:
        raise _missing()
    request = {
        "source": source,
        "file": file,
        "options": [*options, *(f"-I{folder}" for folder in include_folders())],
        "headers": dict(headers),
        "names": list(names),
    }
    answer = _answer(library, request)
    if "unloadable" in answer:
        raise MissingError(
            english(
                "NVRTC cannot be loaded ({why}); install it again: {how}",
                why=answer["unloadable"],
                how=installing("cpp"),
            )
        )
    if "ptx" in answer:
        return Ptx(answer["ptx"], answer["names"])
    raise _error(answer["log"], file, source)


def _answer(library: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return answer_of(library, request)
    except DeathError as death:
        if death.crashed and request["names"]:
            # It crashes on the name of a template that has an error; where it is given none it says which.
            answer = _answer(library, {**request, "names": []})
            if "log" in answer:
                return answer
        raise CompileError("", 0, str(death)) from None


def _folders() -> list[Path]:
    package = importlib.util.find_spec("nvidia")
    return [Path(folder) for folder in package.submodule_search_locations or ()] if package else []


@cache
def _library_path() -> Path | None:
    paths = (path for folder in _folders() for pattern in _LIBRARIES for path in sorted(folder.glob(pattern)))
    return next((path for path in paths if "builtins" not in path.name), None)


def _error(log: str, file: str, source: str) -> CompileError:
    """Return the first error in a log, one of the text itself before one in a header."""
    errors = [(match["file"] or file, match["line"], match["what"].strip()) for match in _DIAGNOSTIC.finditer(log)]
    if not errors:
        return CompileError("", 0, next((line.strip() for line in log.splitlines() if line.strip()), "NVRTC failed"))
    where, line, what = next((error for error in errors if error[0] == file), errors[0])
    return CompileError(where, int(line or source.count("\n")), what)
