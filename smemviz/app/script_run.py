"""A script of the user's run for a page, in a process of its own: it may change all of it, and may have to be ended."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from smemviz.app.time_limit import TimeLimit
from smemviz.errors import InputError, KernelFileError
from smemviz.frontends.program import Program
from smemviz.messages import english
from smemviz.recordings.file import load
from smemviz.recordings.recording import Recording

_POLL_SECONDS = 0.1
_SAID = re.compile(r"^smemviz: (?:(?P<file>.+?):(?P<line>\d+): )?(?P<what>.+)$", re.MULTILINE)


def run_as_script(program: Program, options: Sequence[str], arguments: Sequence[str], now: TimeLimit) -> Recording:
    """Record what a script launches in lockstep, as ``smemviz run`` with these options and arguments does.

    Raises:
        InputError: what that says where it records nothing.
        StoppedError: when ``now`` was told to stop.
    """
    constants = [word for name, value in program.overrides.items() for word in ("--set", f"{name}={value}")]
    with tempfile.TemporaryDirectory() as folder:
        recorded, said = Path(folder, "run.smem.npz"), Path(folder, "said")
        command = [sys.executable, "-m", "smemviz", "run", program.file, "--engine", "lockstep", "--no-fail"]
        command += ["-o", str(recorded), *constants, *options, "--", *arguments]
        with said.open("w", encoding="utf-8") as errors:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
            try:
                while process.poll() is None:
                    now(now.done, now.total, now.kernel)
                    _wait(process)
            finally:
                process.kill()
                process.wait()
        if recorded.exists():
            return load(recorded)
        raise _error(said.read_text(encoding="utf-8", errors="replace"), program.file)


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return


def _error(text: str, file: str) -> InputError:
    said = list(_SAID.finditer(text))
    if not said:
        return InputError(english("{file}: ended without a recording", file=file))
    last = said[-1]
    return KernelFileError(last["file"], int(last["line"]), last["what"]) if last["file"] else InputError(last["what"])
