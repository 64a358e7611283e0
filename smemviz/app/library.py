"""The files that the server was started with, what was recorded of them, and what lockstep makes of them now."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from smemviz.app.cache import Cache, visitor
from smemviz.app.file_names import COMPILED, beside, in_other_languages, names_of
from smemviz.app.script_run import run_as_script
from smemviz.app.server.requests import note_busy
from smemviz.app.state import RunState
from smemviz.app.texts import Texts
from smemviz.app.time_limit import StoppedError, TimeLimit
from smemviz.engines import run
from smemviz.engines.sandbox import Supervisor
from smemviz.errors import BusyError, InputError, KernelFileError, LaunchError, RecordingError, SmemvizError
from smemviz.frontends.program import Program
from smemviz.frontends.reading import frontend_of, parse_program, read_source, recorded_program
from smemviz.i18n import _
from smemviz.languages import language_of
from smemviz.paths import recording_for
from smemviz.recordings.data import Launch
from smemviz.recordings.file import load
from smemviz.recordings.findings import LAUNCH_REFUSED, Finding
from smemviz.recordings.recording import Recording, numbered
from smemviz.recordings.vocabulary import ConstantValue

_MOST_BYTES = 1 << 30  # of all runs together

Helpers = tuple[tuple[str, str], ...]  # path and SHA-256 of each module that a kernel file imports
RunKey = tuple[str, str, tuple[tuple[str, ConstantValue], ...]]
_Run = tuple[RunKey, Helpers, bool]  # whether it is trusted


@dataclass(frozen=True)
class ShownRun:
    """What a page shows: a recording, the program it is of, and the recording from a GPU that may stand in for it.

    ``why`` says why the GPU recording is not what is shown, None when it is, or could be.
    """

    program: Program
    recording: Recording
    recorded: Recording | None
    why: str | None
    others: ShownRun | None = None  # what is shown of the other kernels, where that is another recording

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
        by_number = {(launch.kernel, nth): launch for launch, nth in self.numbered()}
        kernel = state.kernel or (launches[0].kernel if launches else "")
        named_launch = by_number.get((kernel, state.launch)) or by_number.get((kernel, 0))
        if named_launch is None and (kernel in self.refused() or not launches):
            raise self.refusal(kernel)
        return named_launch or launches[0]

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
        groups: dict[tuple[object, ...], list[tuple[Launch, int]]] = {}
        for launch, nth in self.numbered():
            same = (launch.kernel, launch.file, launch.grid, launch.block, launch.dynamic_shared)
            groups.setdefault(same, []).append((launch, nth))
        return list(groups.values())

    def numbered(self) -> list[tuple[Launch, int]]:
        """Return every launch with its number among those of its kernel, from 0."""
        return numbered(self.recording.launches)


@dataclass(frozen=True)
class Started:
    """How programs in CUDA C++ are compiled, and the arguments that their ``main()`` gets, and scripts.

    ``script_options`` are those of ``smemviz run`` that scripts are run with.
    """

    compiled: Callable[[Program], Program] = lambda program: program
    arguments: Sequence[str] | None = None
    script_options: Sequence[str] = ()


class Library:
    """Kernel files and recordings by the name they have in a URL; the latest runs are kept.

    ``local`` tells that only this machine reaches the server. Where others do, nothing starts but the sandbox: they
    choose constants, and with them how much a file asks of the machine.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        texts: Texts | None = None,
        *,
        local: bool = True,
        sandbox: Supervisor | None = None,
        started: Started | None = None,
    ) -> None:
        self._started = started or Started()
        self.texts = texts
        self.local = local
        self.sandbox = sandbox or (texts.supervisor if texts else Supervisor())
        self._paths = names_of(paths)
        self._own_names = tuple(self._paths)
        self._paths |= in_other_languages(self._paths)
        self._runs: Cache[_Run, Recording | SmemvizError] = Cache(_MOST_BYTES)
        self._files: Cache[tuple[Path, int], Recording] = Cache(sys.maxsize, weigh=lambda recording: 0)  # all stay
        self._versions: dict[Path, int] = {}  # when each of them was last changed
        self._programs: dict[Path, Program] = {}
        self._running = threading.Lock()
        self.now: TimeLimit | None = None  # the run in this process, and how far it is
        self._stopped: list[_Run] = []

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all files, in order; those that only a twin leads to are not among them."""
        return self._own_names

    def twins(self, file: str, kernel: str) -> tuple[str, ...]:
        """Return the files beside it, in other languages, that have a kernel too.

        Where others reach the server only what the sandbox runs is run, and so nothing leads to the rest.
        """
        return () if self.is_text(file) else tuple(self._twins(file, (kernel,)))

    def _twins(self, file: str, kernels: Iterable[str]) -> Iterator[str]:
        for other in beside(self._paths, file.removesuffix(COMPILED)):
            language = language_of(self._paths[other])
            is_run = (self.local or language.in_sandbox) and frontend_of(language).is_available()
            if is_run and not self.program(other).kernels.keys().isdisjoint(kernels):
                yield other

    def family(self, file: str) -> tuple[str, ...]:
        """Return the names of a file and of all that has the same kernels: its other view, and other languages."""
        names = (file.removesuffix(COMPILED), *self._twins(file, self.program(file).kernels))
        return tuple(name for other in names for name in (other, other + COMPILED) if name in self._paths)

    @property
    def every_file(self) -> tuple[str, ...]:
        """The names of all files, those that only a twin leads to as well."""
        return tuple(self._paths)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Where the files lie."""
        return tuple(self._paths.values())

    def program(self, file: str) -> Program:
        """Read the kernel file of this name, or the source in the recording of this name, which is not trusted.

        Raises:
            InputError: when there is no such file, or it cannot be read.
        """
        if self.texts and self.is_text(file):
            return self.texts.program(file)
        path = self.path_of(file)
        if path.suffix == ".npz":
            recording = self._load(path)
            return replace(recorded_program(recording.source, recording.file, recording.constants), trusted=False)
        with self._without_folders(path):
            source = read_source(path)
        known = self._programs.get(path)
        if known is None or known.source != source:  # a page asks for the same program many times
            shown_path = path.as_posix() if self.local else path.name
            known = self._programs[path] = self._started.compiled(parse_program(source, shown_path))
        return known.in_view("compiled") if file.endswith(COMPILED) else known

    def kernels(self, file: str) -> tuple[str, ...]:
        """Return the names of a file's kernels; those of a script may be any library's, and are known once it has run.

        Raises:
            SmemvizError: when it cannot be read, or a script not be run.
        """
        program = self.program(file)
        if program.kernels or not program.is_script:
            return tuple(program.kernels)
        return tuple(dict.fromkeys(launch.kernel for launch in self.show(RunState(file)).recording))

    def is_text(self, file: str) -> bool:
        """Whether a name is that of a text from a browser, which no process but the supervisor's may run."""
        return bool(self.texts and file in self.texts and file not in self._paths)

    def kernel_file(self, file: str) -> Path | None:
        """Return the path of the kernel file of this name, None when it is a recording or a text.

        Raises:
            InputError: when there is no such file.
        """
        if self.is_text(file):
            return None
        path = self.path_of(file)
        return None if path.suffix == ".npz" else path

    def show(self, state: RunState) -> ShownRun:
        """Return what the state asks for: the GPU's recording where it has these constants, else a lockstep run.

        Raises:
            SmemvizError: when the file, the constants or the launch are impossible.
        """
        if self.texts and self.is_text(state.file):
            program = self.texts.program(state.file).with_constants(state.constants)
            recording = self.texts.run(state.file, state.constants).recording
            return ShownRun(program, recording, None, _("It was written in the editor."))
        path = self.path_of(state.file)
        recorded = self._recorded(path)
        program = self.program(state.file).with_constants(state.constants)
        why = None
        if recorded is None:
            why = _("There is no GPU recording of this file.")
        elif recorded.sha256 != program.sha256:
            why = _changed(recorded)
        elif dict(recorded.constants) != program.values:
            by_gpu = _("The GPU recording was made with other constants.")
            why = by_gpu if recorded.engine == "gpu" else _("The recording was made with other constants.")
        if recorded is not None and why is None and state.source != "lockstep":
            return ShownRun(program, recorded, recorded, None)
        run = ShownRun(program, self.run(program), recorded, why)
        if recorded is not None and state.source != "lockstep" and recorded.sha256 == program.sha256:
            return self._as_recorded(run, recorded, state) or run
        return run

    def _as_recorded(self, run: ShownRun, recorded: Recording, state: RunState) -> ShownRun | None:
        """Return the recording where the kernel named does not read what was changed, and does the same in lockstep."""
        program, kernel = run.program, state.kernel or ""
        read = frontend_of(program.language).code_reads(program, kernel)
        changed = {name for name, value in program.values.items() if recorded.constants.get(name) != value}
        if read is None or read & changed:
            return None
        try:
            before = replace(run, recording=self.run(program.with_constants(recorded.constants)))
            same = is_same(run.launch(state), before.launch(state))
        except SmemvizError:  # a launch was refused
            return None
        return replace(run, recording=recorded, why=None, others=run) if same else None

    def path_of(self, file: str) -> Path:
        """Return where a file lies.

        Raises:
            InputError: when there is no such file.
        """
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
            shown_path = path if self.local else path.name
            raise RecordingError(f"{shown_path}: can no longer be read: {error.strerror}") from None
        with self._without_folders(path):
            recording = self._files.once((path, changed), lambda: load(path))  # drawings are kept by recording
        before = self._versions.get(path, changed)
        self._versions[path] = changed
        if before != changed:
            self._files.forget((path, before))
        return recording

    @contextmanager
    def _without_folders(self, path: Path) -> Iterator[None]:
        """Name a file in errors without the folders it lies in, where others read them."""
        try:
            yield
        except InputError as error:
            if self.local:
                raise
            raise InputError(str(error).replace(str(path), path.name)) from None

    def run(self, program: Program) -> Recording:
        """Run in lockstep, once for the same source, helpers and constants; nobody waits for the run of another.

        What came from a browser or in a recording runs as the editor's texts do: in the sandbox, within its limits.
        """
        trusted = program.trusted and self.local
        helpers = program.helper_hashes() if trusted else ()
        key = ((program.sha256, program.variant, tuple(program.values.items())), helpers, trusted)
        result = self._runs.once(key, lambda: self._result_of(program, key))
        if isinstance(result, SmemvizError):
            raise result.again()
        return result

    def stop(self) -> None:
        """Have the run in this process end, for all who wait for it; it stays refused until ``again``."""
        now = self.now
        if now is not None and self.local:
            now.stop()

    def again(self) -> None:
        """Have runs that were stopped run when they are next asked for."""
        while self._stopped:
            self._runs.forget(self._stopped.pop())

    def _result_of(self, program: Program, key: _Run) -> Recording | SmemvizError:
        _known, helpers, trusted = key
        try:
            if not (trusted or program.language.in_sandbox):
                raise KernelFileError(
                    program.file,
                    1,
                    _(
                        "{language} is compiled only on your own machine. Save the file and start smemviz there.",
                        language=program.language.title,
                    ),
                )
            if not trusted:
                overrides = dict(program.overrides)
                return self.sandbox.run(program.source, overrides, program.file, visitor=visitor()).recording
            with self._running:  # it may import modules, which all of this process share
                program.forget(path for path, _ in helpers)
                return self._run_here(program)
        except BusyError as error:
            note_busy(error)
            raise  # another try may do better
        except StoppedError as error:
            self._stopped.append(key)
            return error.again()
        except SmemvizError as error:
            return error.again()

    def _run_here(self, program: Program) -> Recording:
        self.now = TimeLimit(program.file)
        try:
            if program.is_script:
                return run_as_script(program, self._started.script_options, self._started.arguments or (), self.now)
            arguments = self._started.arguments if program.language.is_compiled else None
            return run(program, engine="lockstep", progress=self.now, arguments=arguments)
        finally:
            self.now = None


def _changed(recording: Recording) -> str:
    if recording.engine == "gpu":
        return _("The file has changed since it was recorded on a GPU.")
    return _("The file has changed since it was recorded.")


def is_same(launch: Launch, other: Launch) -> bool:
    """Tell whether two launches make the same requests and store the same, as far as lockstep knows."""
    shape = ("kernel", "line", "grid", "block", "dynamic_shared", "shared_bytes", "sites", "missing")
    if any(getattr(launch, name) != getattr(other, name) for name in shape):
        return False
    names = ("site", "block", "warp", "step", "epoch", "addresses", "values")
    pairs = ((getattr(launch.requests, name), getattr(other.requests, name)) for name in names)
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)
