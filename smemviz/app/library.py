"""The files that the server was started with, what was recorded of them, and what lockstep makes of them now."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from smemviz.app.helpers import forget, helper_hashes
from smemviz.app.patience import Patience
from smemviz.app.state import RunState
from smemviz.app.texts import Texts
from smemviz.constants import ConstantValue
from smemviz.engines import run
from smemviz.engines.sandbox import Supervisor
from smemviz.errors import BusyError, InputError, KernelFileError, LaunchError, RecordingError, SmemvizError
from smemviz.frontends.cuda import CudaProgram, is_cuda_file
from smemviz.language import _
from smemviz.program import Program, parse_program, read_source, recorded_program
from smemviz.recording import LAUNCH_REFUSED, Finding, Launch, Recording
from smemviz.recording_file import load
from smemviz.resources import plain_name, recording_for

_MOST_RUNS = 32
COMPILED = "@compiled"  # after the name of a file of CUDA C++: its other view

Helpers = tuple[tuple[str, str], ...]  # path and SHA-256 of each module that a kernel file imports
RunKey = tuple[str, str, tuple[tuple[str, ConstantValue], ...]]


@dataclass(frozen=True)
class Shown:
    """What a page shows: a recording, the program it is of, and the recording from a GPU that may stand in for it.

    ``why`` says why the GPU recording is not what is shown, None when it is, or could be.
    """

    program: Program
    recording: Recording
    recorded: Recording | None
    why: str | None

    @property
    def origin(self) -> str:
        """What the requests come from, in words."""
        if not self.from_file:
            return _("lockstep run")
        return _("GPU recording") if self.recording.engine == "gpu" else _("recording")

    @property
    def from_file(self) -> bool:
        """Whether this is the recording from the file."""
        return self.recording is self.recorded

    def launch(self, state: RunState) -> Launch:
        """Return the launch that is meant: the n-th of the kernel, else the first there is.

        Raises:
            LaunchError: when the launch that is meant, or every launch, was refused.
        """
        launches = self.recording.launches
        named = {(launch.kernel, nth): launch for launch, nth in self.numbered()}
        kernel = state.kernel or (launches[0].kernel if launches else "")
        found = named.get((kernel, state.launch)) or named.get((kernel, 0))
        if found is None and (kernel in self.refused() or not launches):
            raise self.refusal(kernel)
        return found or launches[0]

    def refused(self) -> dict[str, Finding]:
        """Return why kernels were not launched, by name, for those that were not launched at all."""
        launched = {launch.kernel for launch in self.recording.launches}
        refusals = (finding for finding in self.recording.findings if finding.kind == LAUNCH_REFUSED)
        return {finding.kernel: finding for finding in refusals if finding.kernel not in launched}

    def refusal(self, kernel: str) -> LaunchError:
        """Return the error that says why a kernel was not launched, or the first that was not."""
        refused = self.refused()
        why = refused.get(kernel) or next(iter(refused.values()), None)
        if why is None:
            return LaunchError(self.program.file, 1, "main() launches no kernel")
        return LaunchError(self.program.file, why.line, why.message)

    def groups(self) -> list[list[tuple[Launch, int]]]:
        """Return the launches as ``numbered`` does, those of one kernel, grid, block and shared size together."""
        alike: dict[tuple[object, ...], list[tuple[Launch, int]]] = {}
        for launch, nth in self.numbered():
            same = (launch.kernel, launch.file, launch.grid, launch.block, launch.dynamic_shared)
            alike.setdefault(same, []).append((launch, nth))
        return list(alike.values())

    def numbered(self) -> list[tuple[Launch, int]]:
        """Return every launch with its number among those of its kernel, from 0."""
        seen: dict[str, int] = {}
        numbered = []
        for launch in self.recording.launches:
            numbered.append((launch, seen.get(launch.kernel, 0)))
            seen[launch.kernel] = numbered[-1][1] + 1
        return numbered


class Library:
    """Kernel files and recordings by the name they have in a URL; runs are kept, the latest ``_MOST_RUNS`` of them.

    ``local`` tells that only this machine reaches the server. Where others do, nothing starts but the sandbox: they
    choose constants, and with them how much a file asks of the machine.
    """

    def __init__(self, paths: Sequence[Path], texts: Texts | None = None, *, local: bool = True) -> None:
        self.texts = texts
        self.local = local
        self._sandbox = texts.supervisor if texts else Supervisor()
        self._paths = _names(paths)
        self._runs: OrderedDict[tuple[RunKey, Helpers, bool], Recording | SmemvizError] = OrderedDict()
        self._files: dict[Path, tuple[int, Recording]] = {}
        self._programs: dict[Path, Program] = {}
        self._lock = threading.Lock()
        self._loading = threading.Lock()

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all files, in order."""
        return tuple(self._paths)

    def program(self, file: str) -> Program:
        """Read the kernel file of this name, or the source in the recording of this name, which is not trusted.

        Raises:
            InputError: when there is no such file, or it cannot be read.
        """
        if self.texts and self.is_text(file):
            return self.texts.program(file)
        path = self._path(file)
        if path.suffix == ".npz":
            recording = self._load(path)
            return replace(recorded_program(recording.source, recording.file, recording.constants), trusted=False)
        source = read_source(path)
        known = self._programs.get(path)
        if known is None or known.source != source:  # a page asks for the same program many times
            known = self._programs[path] = parse_program(source, path.as_posix())
        if isinstance(known, CudaProgram) and file.endswith(COMPILED):
            return replace(known, view="compiled")
        return known

    def is_text(self, file: str) -> bool:
        """Whether a name is that of a text from a browser, which no process but the supervisor's may run."""
        return bool(self.texts and file in self.texts)

    def kernel_file(self, file: str) -> Path | None:
        """Return the path of the kernel file of this name, None when it is a recording or a text.

        Raises:
            InputError: when there is no such file.
        """
        if self.is_text(file):
            return None
        path = self._path(file)
        return None if path.suffix == ".npz" else path

    def show(self, state: RunState) -> Shown:
        """Return what the state asks for: the GPU's recording where it has these constants, else a lockstep run.

        Raises:
            SmemvizError: when the file, the constants or the launch are impossible.
        """
        if self.texts and state.file in self.texts:
            return self._show_text(self.texts, state)
        path = self._path(state.file)
        recorded = self._recorded(path)
        program = self.program(state.file).with_constants(state.constants)
        why = None
        if recorded is None:
            why = _("There is no GPU recording of this file.")
        elif recorded.sha256 != program.sha256:
            why = _changed(recorded)
        elif dict(recorded.constants) != program.values:
            why = _made_otherwise(recorded)
        if recorded is not None and why is None and state.source != "lockstep":
            return Shown(program, recorded, recorded, None)
        return Shown(program, self.run(program), recorded, why)

    def _show_text(self, texts: Texts, state: RunState) -> Shown:
        program = texts.program(state.file).with_constants(state.constants)
        return Shown(
            program, texts.run(state.file, state.constants).recording, None, _("It was written in the editor.")
        )

    def _path(self, file: str) -> Path:
        if file not in self._paths:
            raise InputError(f"{file or 'no file'}: not served here; the gallery lists what is")
        return self._paths[file]

    def _recorded(self, path: Path) -> Recording | None:
        beside = path if path.suffix == ".npz" else recording_for(path)
        return self._load(beside) if beside is not None else None

    def _load(self, path: Path) -> Recording:
        try:
            changed = path.stat().st_mtime_ns
        except OSError as error:  # it was there when the server started
            raise RecordingError(f"{path}: cannot be read any more: {error.strerror}") from None
        with self._loading:  # who asks at once gets one recording, for what is drawn is kept by recording
            known = self._files.get(path)
            if known is None or known[0] != changed:
                known = self._files[path] = (changed, load(path))
        return known[1]

    def run(self, program: Program) -> Recording:
        """Run in lockstep, once for the same source, helpers and constants; one run at a time.

        What came from a browser or in a recording runs as the editor's texts do: in the sandbox, within its limits.
        """
        trusted = program.trusted and self.local
        helpers = helper_hashes(program) if trusted else ()
        key = ((program.sha256, program.variant, tuple(program.values.items())), helpers, trusted)
        with self._lock:
            if key not in self._runs:
                forget(path for path, _ in helpers)
                try:
                    self._runs[key] = self._recording_of(program, trusted)
                except BusyError:
                    raise  # another try may do better
                except SmemvizError as error:
                    self._runs[key] = error
            self._runs.move_to_end(key)
            while len(self._runs) > _MOST_RUNS:
                self._runs.popitem(last=False)
            result = self._runs[key]
        if isinstance(result, SmemvizError):
            raise result
        return result

    def _recording_of(self, program: Program, trusted: bool) -> Recording:
        if isinstance(program, CudaProgram) and not trusted:
            raise KernelFileError(
                program.file,
                1,
                _("CUDA C++ is compiled for you on your own machine only; save it and start smemviz there."),
            )
        if trusted:
            return run(program, engine="lockstep", progress=Patience(program.file))
        return self._sandbox.run(program.source, dict(program.overrides), program.file).recording


def _changed(recording: Recording) -> str:
    if recording.engine == "gpu":
        return _("The file has changed since it was recorded on a GPU.")
    return _("The file has changed since it was recorded.")


def _made_otherwise(recording: Recording) -> str:
    if recording.engine == "gpu":
        return _("The GPU recording was made with other constants.")
    return _("The recording was made with other constants.")


def _names(paths: Sequence[Path]) -> Mapping[str, Path]:
    """Name each file by its stem, with as many folders before it as tell it from the others."""
    names: dict[str, Path] = {}
    for path in paths:
        parts = path.resolve().parts
        stem = plain_name(path)
        name, depth = stem, 2
        while name in names and depth <= len(parts):
            name = "/".join((*parts[-depth:-1], stem))
            depth += 1
        names[name] = path.resolve()
        if is_cuda_file(path.name):
            names[name + COMPILED] = path.resolve()
    return names
