"""Which engine runs, what it captured as a recording, and what a launch leaves in its arrays, as hashes."""

import ctypes
import hashlib
import importlib.util
import linecache
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, cast

import numpy as np

from smemviz.engines.options import RunOptions
from smemviz.errors import CutShortError, InputError, MissingError
from smemviz.frontends.program import Program, source_sha256
from smemviz.languages import Language, View, loaded
from smemviz.recordings.calibration import calibration_of
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import Finding
from smemviz.recordings.recording import EngineName, Recording
from smemviz.version import __version__

Engine = Literal["auto", "gpu", "lockstep"]

DRIVER_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


After = Callable[[str, Sequence[object]], None]  # a kernel, and its arguments after a launch of it
RunOutcome = tuple[tuple[Launch, ...], tuple[Finding, ...]]


class Runner(Protocol):
    """What the module of a language does that its entry names as what runs it."""

    def record(
        self,
        program: Program,
        engine: Engine,
        options: RunOptions,
        arguments: Sequence[str] | None,
        *,
        may_be_script: bool,
    ) -> Recording:
        """Run a kernel file and record its launches; as a script where it may be one and has no ``main()`` to call."""

    def run_in_lockstep(self, program: Program, options: RunOptions, after: After | None = None) -> RunOutcome:
        """Run a kernel file in lockstep; ``after`` is called after each launch."""

    def run_on_gpu(self, program: Program, options: RunOptions) -> RunOutcome:
        """Run a kernel file on the GPU."""


def runner_of(language: Language) -> Runner:
    """Return what runs a language."""
    return cast(Runner, loaded(language.runner))


def chosen(engine: Engine) -> EngineName:
    """Return the engine that is meant, ``auto`` being the GPU where there is one.

    Raises:
        InputError: when there is none of that name.
    """
    if engine not in ("auto", "gpu", "lockstep"):
        raise InputError(f"there is no engine {engine!r}; use auto, gpu or lockstep")
    if engine != "auto":
        return engine
    installed = importlib.util.find_spec("numba_cuda")
    return "gpu" if installed and has_driver() and gpu_engine().is_there() else "lockstep"


@cache
def has_driver() -> bool:
    """Whether there is a driver of CUDA, without which there is no GPU; numba-cuda takes a second to be imported."""
    if os.environ.get("NUMBA_CUDA_DRIVER"):
        return True  # it may lie anywhere
    try:
        ctypes.CDLL(DRIVER_LIBRARY)
    except OSError:
        return False
    return True


def gpu_engine() -> Any:
    """Return the gpu engine, the only part that imports CUDA: ``smemviz.engines.gpu.python_on_gpu``.

    Raises:
        MissingError: when numba-cuda is not installed.
    """
    return gpu_module("smemviz.engines.gpu.python_on_gpu")


def gpu_module(name: str) -> Any:
    """Import a module that imports CUDA.

    Raises:
        MissingError: when numba-cuda is not installed.
    """
    if importlib.util.find_spec("numba_cuda") is None:
        raise MissingError("the gpu engine needs numba-cuda: pip install 'numba-cuda[cu13]'; lockstep does without")
    return importlib.import_module(name)


def assembled(
    file: str,
    source: str,
    constants: Mapping[str, Any],
    engine: EngineName,
    launches: Sequence[Launch],
    findings: Sequence[Finding],
    unrecorded: int = 0,
    view: View = "source",
) -> Recording:
    """Return the recording of what an engine saw of a file, with the text of every other file that is in it."""
    launches, sources = gather_files(file, launches)
    device = gpu_engine().device() if engine == "gpu" else None
    return Recording(
        file=file,
        source=source,
        sha256=source_sha256(source),
        constants=dict(constants),
        engine=engine,
        device=device,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        launches=launches,
        findings=tuple(findings),
        calibration=calibration_of(device.name) if device else None,
        sources=sources,
        unrecorded=unrecorded,
        view=view,
    )


def recording_of(
    program: Program, kind: EngineName, options: RunOptions, launches: Sequence[Launch], findings: Sequence[Finding]
) -> Recording:
    """Return the recording of a program's run."""
    skipped = options.picker.skipped
    return assembled(program.file, program.source, program.values, kind, launches, findings, skipped, program.view)


@contextmanager
def cut_short_as(assemble: Callable[[Sequence[Launch], Sequence[Finding]], Recording]) -> Iterator[None]:
    """Make a recording of what a run recorded before Ctrl-C or SIGTERM, and hand it on with that."""
    try:
        yield
    except CutShortError as cut:
        cut.recording = assemble(cut.launches, cut.findings)
        raise


def gather_files(file: str, launches: Sequence[Launch]) -> tuple[tuple[Launch, ...], dict[str, str]]:
    """Return launches that name files as a recording of ``file`` does, and the text of the others by their names.

    A file below the folder of ``file`` is named as if from where ``file`` is; any other by its whole path.
    """
    texts: dict[str, str] = {}

    def remembered(path: str) -> str:
        if not path or path == file:
            return ""
        name = _name(path, file)
        texts[name] = "".join(linecache.getlines(path))
        return name

    def renamed(launch: Launch) -> Launch:
        own = remembered(launch.file)
        if not own and not any(site.file for site in launch.sites):
            return replace(launch, file="") if launch.file else launch
        sites = (replace(site, file=remembered(site.file) or file) if site.file else site for site in launch.sites)
        return replace(launch, file=own, sites=tuple(sites))

    return tuple(renamed(launch) for launch in launches), texts


def _name(path: str, file: str) -> str:
    folder = Path(file).parent
    resolved = Path(path).resolve()
    if resolved.is_relative_to(folder.resolve()):
        return (folder / resolved.relative_to(folder.resolve())).as_posix()
    return Path(path).as_posix()


class OutputHash(NamedTuple):
    """The SHA-256 of each array of a launch after it, in the order of its arguments."""

    kernel: str
    arrays: tuple[str, ...]


def hashed(values: Iterable[Any]) -> tuple[str, ...]:
    """Hash the arrays among values, and those in tuples among them."""
    hashes: list[str] = []
    for value in values:
        if isinstance(value, tuple):
            hashes.extend(hashed(value))
        elif hasattr(value, "dtype") and hasattr(value, "shape") and not isinstance(value, np.generic):
            array = np.ascontiguousarray(value)
            hashes.append(hashlib.sha256(array.tobytes()).hexdigest())
    return tuple(hashes)
