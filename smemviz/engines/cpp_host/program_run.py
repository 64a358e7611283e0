"""A ``.cu`` file's ``main()``, run to its end with or without a GPU."""

import os
import re
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from smemviz.engines.backend import After
from smemviz.engines.cpp_host.building import build, shown
from smemviz.engines.cpp_host.conversation import Conversation, Output
from smemviz.engines.cpp_host.memory import DeviceMemory
from smemviz.engines.cpp_host.program_launches import Execute, Kernels, Launches
from smemviz.engines.lockstep.ptx.host.cuda_launch import execute
from smemviz.engines.lockstep.ptx.memory import WINDOW
from smemviz.engines.lockstep.running_launch import Expecting
from smemviz.engines.options import Progress, RunOptions
from smemviz.engines.recorder import Recorder
from smemviz.engines.remedies import wants_arguments
from smemviz.errors import KernelFileError
from smemviz.frontends.cuda import nvrtc
from smemviz.frontends.cuda.cuda_program import CudaProgram
from smemviz.frontends.cuda.host.rewriting import own_files
from smemviz.frontends.cuda.text.cuda_functions import find_functions, find_kernels
from smemviz.messages import english
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import Finding

_LONG_SECONDS = 30.0
_SIZE = 1024  # the least value of a constant that is taken for the size of a problem


def advising(progress: Progress | None, program: CudaProgram, arguments: Sequence[str]) -> Progress | None:
    """Return a progress callback that says of a launch that takes long how to give the program less to do."""
    if not isinstance(progress, Expecting):
        return progress
    values = {name: constant.value for name, constant in program.constants.items()}
    sizes = {name: value for name, value in values.items() if type(value) is int and value >= _SIZE}
    if sizes:
        name = max(sizes, key=lambda name: sizes[name])
        advice = english("{name} is {value}; give less with --set {name}=...", name=name, value=sizes[name])
    elif not arguments and re.search(r"\bargv\b", program.source):
        advice = wants_arguments()
    else:
        return progress
    return _Advising(progress, advice)


@dataclass
class _Advising:
    progress: Progress
    advice: str

    def __call__(self, done: int, total: int, text: str) -> None:
        self.progress(done, total, text)

    def expect(self, seconds: float, text: str) -> None:
        assert isinstance(self.progress, Expecting)
        advice = f" ({self.advice})" if self.advice and seconds > _LONG_SECONDS else ""
        self.progress.expect(seconds, f"{text}{advice}")
        self.advice = "" if advice else self.advice


_SIGNALS = {
    signal.SIGSEGV: "segmentation fault",
    signal.SIGBUS: "bus error",
    signal.SIGFPE: "arithmetic exception (a division by zero)",
    signal.SIGABRT: "abort (a failed assertion, or an exception that nothing catches)",
    signal.SIGILL: "illegal instruction (a __device__ function called by the host)",
}


def main_line(program: CudaProgram) -> int | None:
    """Return where a file defines ``main()``, None where it does not."""
    return next((function.line for function in find_functions(program.text) if function.name == "main"), None)


def run(
    program: CudaProgram,
    arguments: Sequence[str] = (),
    options: RunOptions | None = None,
    output: Output | None = None,
    execute: Execute = execute,
    after: After | None = None,
) -> tuple[tuple[Launch, ...], tuple[Finding, ...]]:
    """Compile a file's host code, run it in its folder with arguments, and record the launches that it makes.

    What it prints is printed, and the beginning of it kept in ``output``; ``execute`` makes a launch, and ``after`` is
    called after each with the kernel's name and the memory that it may have written.
    This executes the file: it is for one that
    its user names, never for text from elsewhere.

    Raises:
        CutShortError: for Ctrl-C once it has launched something.
        InputError: when no launch is of those asked for.
        KernelFileError: when it does not compile, or fails before it launches anything; later that is a finding.
        MissingError: when there is no C++ compiler, or no NVRTC.
        UnsupportedError: when the first kernel is not executed in lockstep; later that is a finding.
    """
    if not program.trusted:
        raise KernelFileError(program.file, 1, english("comes from elsewhere and is not run; save it and run the file"))
    nvrtc.require()
    programs = [_with_folders(replace(unit, view=program.view)) for unit in (program, *program.units)]
    texts = [own_files(unit.text, unit.file, unit.folders) for unit in programs]
    own = {path: text for of_unit in texts for path, text in of_unit.items()}
    if not any(map(find_kernels, own.values())):
        raise KernelFileError(program.file, 1, english("has no __global__ function; write a kernel"))
    mains = ((unit.file, line) for unit in programs if (line := main_line(unit)))
    main = next(mains, (program.file, 1))
    with tempfile.TemporaryDirectory(prefix="smemviz-") as name:
        folder = Path(name)
        executable, names = build(programs, texts, folder)
        options = options or RunOptions()
        recorder = Recorder(replace(options, progress=advising(options.progress, program, arguments)))
        kernels = tuple(map(Kernels, programs, texts, names))
        launches = Launches(kernels, DeviceMemory(folder), recorder, execute, after)
        stoppable = recorder.recording(line_of=lambda error: main[1])  # which of its lines ran nobody knows
        with stoppable, _started(executable, program, arguments, folder) as (process, channel):
            progress = recorder.options.progress
            Conversation(process, channel, launches, main, progress, output or Output()).hold()
            _check_end(process.returncode, program, main, executable, own, arguments)
        if recorder.is_empty and not recorder.picker.seen:
            what = english("main() was run and launched no kernel")
            raise KernelFileError(*main, _with_remedy(what, program, arguments))
        return recorder.result()


def _with_folders(program: CudaProgram) -> CudaProgram:
    """Return a program that also finds headers where its own headers lie."""
    own = own_files(program.text, program.file, program.folders)
    return replace(program, folders=tuple(dict.fromkeys((*program.folders, *(str(path.parent) for path in own)))))


@contextmanager
def _started(
    executable: Path, program: CudaProgram, arguments: Sequence[str], folder: Path
) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    """Start a program; it ends with the statement, however that ends."""
    ours, theirs = socket.socketpair()
    environment = {**os.environ, "SMEMVIZ_CHANNEL": str(theirs.fileno()), "SMEMVIZ_FOLDER": str(folder)}
    with ours:
        with theirs:
            process = subprocess.Popen(
                [f"./{executable.name}", *arguments],
                executable=executable,
                cwd=Path(program.file).resolve().parent,
                stdout=subprocess.PIPE,
                env=environment,
                pass_fds=[theirs.fileno()],
            )
        with process:
            try:
                yield process, ours
            finally:
                process.kill()


def _check_end(
    code: int,
    program: CudaProgram,
    main: tuple[str, int],
    executable: Path,
    own: dict[Path, str],
    arguments: Sequence[str],
) -> None:
    """Complain of a program that did not end well.

    Raises:
        KernelFileError: at the line that a signal ended it at, or at ``main()``.
        KeyboardInterrupt: when it was interrupted.
    """
    if code == -signal.SIGINT:
        raise KeyboardInterrupt
    if code > 0:
        what = english("exits with status {code}", code=code)
        raise KernelFileError(*main, _with_remedy(what, program, arguments))
    if code < 0:
        file, line, address = _crash(executable, own)
        place = (shown(program, file), line) if file else main
        what = _SIGNALS.get(signal.Signals(-code), signal.Signals(-code).name)
        if 0 <= address - WINDOW[0] < WINDOW[1]:
            what = english(
                "{what}: the host reads or writes memory of the device here; copy it with cudaMemcpy", what=what
            )
        elif file and "argv" in own[Path(file)].splitlines()[line - 1]:
            what = _with_remedy(what, program, arguments)
        raise KernelFileError(*place, what)


def _with_remedy(what: str, program: CudaProgram, arguments: Sequence[str]) -> str:
    """Add to what went wrong that a program was not given the arguments that it reads."""
    return what if arguments or not re.search(r"\bargv\b", program.source) else f"{what}; {wants_arguments()}"


def _crash(executable: Path, own: dict[Path, str]) -> tuple[str, int, int]:
    """Return the user's file and line that a signal ended a program at, empty where unknown, and the address wanted."""
    note = executable.parent / "crash"
    if not note.is_file():
        return "", 0, 0
    first, *calls = note.read_text().split("\n")
    address = int(first.split()[1], 16)
    try:
        command = ["addr2line", "-e", str(executable), "-i", *filter(None, calls)]
        places = subprocess.run(command, capture_output=True, text=True, errors="replace").stdout.splitlines()
    except FileNotFoundError:
        return "", 0, address
    for place in places:
        file, _, line = place.partition(" ")[0].rpartition(":")
        if file and Path(os.path.normpath(file)) in own and line.isdecimal():
            return os.path.normpath(file), int(line), address
    return "", 0, address
