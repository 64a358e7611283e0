"""What an engine has seen of a run so far, in this process and in the child processes that it starts."""

import os
import pickle
import shutil
import sys
import tempfile
import traceback
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import spawn
from pathlib import Path
from typing import Any

from smemviz.engines.launch_shape import is_library
from smemviz.engines.options import LaunchOptions, RunOptions
from smemviz.errors import (
    BlocksError,
    CutShortError,
    KernelFileError,
    LaunchError,
    PlaceError,
    RefusedLaunchError,
    UnsupportedError,
    stop_behind,
    stop_code,
)
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import LAUNCH_REFUSED, MAIN_FAILED, Finding


class Children:
    """What the child processes of one run recorded, in a folder that none but this run knows."""

    def __init__(self) -> None:
        self._own = self._seen = os.getpid()
        self._name = f"smemviz-{uuid.uuid4()}"
        self._before = (0, 0)

    @property
    def is_child(self) -> bool:
        """Whether this is another process than the one that the run began in."""
        return os.getpid() != self._own

    def enter(self, launches: list[Launch], findings: list[Finding]) -> None:
        """Note, before a launch, what a child that was just forked or started has of the process it came from."""
        if os.getpid() != self._seen:
            self._seen = os.getpid()
            self._before = len(launches), len(findings)

    def leave(self, launches: list[Launch], findings: list[Finding]) -> None:
        """Hand over, after a launch, all that a child recorded: it may be ended at any time."""
        if not self.is_child:
            return
        first, known = self._before
        folder = self._folder()
        folder.mkdir(mode=0o700, exist_ok=True)
        written = folder / f"{self._seen}.part"
        written.write_bytes(pickle.dumps((launches[first:], renumbered(findings[known:], -first))))
        written.replace(written.with_suffix(".pickle"))

    def collected(self) -> Iterator[tuple[list[Launch], list[Finding]]]:
        """Yield what each child recorded, and forget it."""
        if os.getpid() != self._own:
            return
        try:
            folder = self._folder()
        except FileNotFoundError:  # nothing can be written here, so nothing was handed over
            return
        if folder.exists():
            for path in sorted(folder.glob("*.pickle")):
                yield pickle.loads(path.read_bytes())
            shutil.rmtree(folder)

    def _folder(self) -> Path:
        """Return the folder; looked for when it is needed, for the editor's processes may write nowhere."""
        return Path(tempfile.gettempdir(), self._name)


def renumbered(findings: Sequence[Finding], by: int) -> list[Finding]:
    """Return findings of launches that have other numbers elsewhere."""
    return [finding if finding.launch is None else replace(finding, launch=finding.launch + by) for finding in findings]


class _Entry:
    """What a child process that is started anew calls when it reads it."""

    def __init__(self, enter: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self._call = enter, arguments

    def __reduce__(self) -> tuple[Callable[..., None], tuple[Any, ...]]:
        return self._call


@contextmanager
def entering(enter: Callable[..., None], *arguments: Any) -> Iterator[None]:
    """Let every process that ``multiprocessing`` starts anew meanwhile call a function before it runs the script."""
    prepared = spawn.get_preparation_data

    def prepared_to_enter(name: str) -> dict[str, Any]:
        return {"smemviz": _Entry(enter, arguments), **prepared(name)}

    spawn.get_preparation_data = prepared_to_enter
    try:
        yield
    finally:
        spawn.get_preparation_data = prepared


def run_in_child(run: Callable[[], None]) -> None:
    """Let ``run`` execute the script in a child that was started anew, once it has its path and arguments."""
    spawn._fixup_main_from_path = lambda path: run()  # type: ignore[attr-defined]


def main_failed(error: PlaceError) -> Finding:
    """Turn what ended ``main()`` after it launched something into a finding, so that what was recorded is kept."""
    is_sentence = not isinstance(error, KernelFileError)  # and no exception's name
    return Finding.of(MAIN_FAILED, "main", error.line, {"what": error.what, "is_sentence": is_sentence})


def running_line(error: BaseException) -> int:
    """Return the line of the user's that was running when something stopped it."""
    names = [frame for frame in traceback.extract_tb(error.__traceback__) if not is_library(frame.filename)]
    own = [frame.lineno for frame in names if not frame.filename.startswith(("<", sys.prefix, sys.base_prefix))]
    return (own[-1] if own else None) or 1


def stopped(line: int) -> Finding:
    """Turn Ctrl-C or SIGTERM into a finding at the line that was running, so that what was recorded is kept."""
    return Finding.of(MAIN_FAILED, "main", line, {})


def not_recorded(error: PlaceError, *, has_run: bool = False, in_cell: bool = False) -> Finding:
    """Turn the refusal to record a kernel into a finding, so that what the others recorded is kept.

    ``has_run`` is whether the launch was made all the same, ``in_cell`` whether others follow in a notebook.
    """
    if not error.kernel:
        return main_failed(error)
    missing = "its recording" if has_run else "its cell" if in_cell else "all after it"
    return Finding.of(LAUNCH_REFUSED, error.kernel, error.line, {"what": sentence(error.what), "missing": missing})


def sentence(text: str) -> str:
    """Return a text with a full stop at its end."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


LaunchOutcome = tuple[Launch | None, tuple[Finding, ...]]  # None stands for a launch that its mistakes forbid
Make = Callable[[LaunchOptions], LaunchOutcome]  # makes one launch


class Recorder:
    """Keeps the launches of a run and the mistakes met; ``log_bytes`` is what is left for logs."""

    def __init__(self, options: RunOptions | None = None) -> None:
        self.launches: list[Launch] = []
        self.findings: list[Finding] = []
        self.options = options or RunOptions()
        self.picker = self.options.picker
        self.log_bytes = self.options.log_bytes
        self.children = Children()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was launched, nor refused."""
        return not self.launches and not self.findings

    @contextmanager
    def recording(
        self,
        failed: Callable[[PlaceError], Finding] = main_failed,
        line_of: Callable[[BaseException], int] = running_line,
    ) -> Iterator[None]:
        """Let what launches kernels run; once it has launched one, what ends it is a finding.

        ``line_of`` says which line Ctrl-C stopped.

        Raises:
            CutShortError: when Ctrl-C or SIGTERM ends it after that.
            KernelFileError: when it fails before.
            LaunchError: when the first launch does not fit, or one has not the blocks asked for.
            UnsupportedError: when the first kernel cannot be recorded.
        """
        try:
            with self.stoppable(line_of):
                yield
        except KernelFileError as error:
            if self.is_empty:
                raise
            self._end_with(failed(error))
        except (LaunchError, UnsupportedError) as error:
            if not self.launches or isinstance(error, BlocksError):
                raise
            self._end_with(not_recorded(error) if error.kernel else failed(error))
        self._end_child(0)

    def _end_with(self, finding: Finding) -> None:
        with self.handing_over():
            self.findings.append(finding)
        self._end_child(1)

    @contextmanager
    def stoppable(self, line_of: Callable[[BaseException], int] = running_line) -> Iterator[None]:
        """Hand on, with Ctrl-C or SIGTERM, what was recorded before; ``line_of`` says which line it stopped.

        Raises:
            CutShortError: for either, once something was launched.
        """
        try:
            yield
        except BaseException as error:
            stop = stop_behind(error)
            if not self.launches or stop is None:
                raise
            self._end_child(stop_code(stop))
            self.end()
            self.findings.append(stopped(line_of(stop)))
            raise CutShortError(tuple(self.launches), tuple(self.findings)) from stop

    def _end_child(self, status: int) -> None:
        """End a process that the script forked and that comes to the script's end: the result is another's to tell."""
        if self.children.is_child:
            raise SystemExit(status)

    def keep(self, launch: Launch, row_bytes: int, findings: Sequence[Finding] = ()) -> None:
        """Keep a launch, each of whose logged requests takes so many bytes, and its mistakes."""
        self.log_bytes -= len(launch.requests) * row_bytes
        self.launches.append(launch)
        self.findings.extend(findings)

    def make(self, kernel: str, make: Make, row_bytes: int, file: str = "") -> bool:
        """Make one launch of a kernel and keep what it did if it is to be recorded; tell whether it was made.

        Each of its logged requests takes ``row_bytes``; ``file`` is the kernel's.

        Raises:
            LaunchError: for a launch that cannot be made; one that no device would start is a finding.
            UnsupportedError: for a kernel that is not executed.
        """
        with self.handing_over():
            return self._made(kernel, make, row_bytes, file)

    @contextmanager
    def handing_over(self) -> Iterator[None]:
        """Hand what a launch added to the process that the run began in, if this is a child of it."""
        self.children.enter(self.launches, self.findings)
        yield
        self.children.leave(self.launches, self.findings)

    def _made(self, kernel: str, make: Make, row_bytes: int, file: str) -> bool:
        recorded = self.picker.takes(kernel)
        options = LaunchOptions(
            progress=self.options.progress,
            log_bytes=self.log_bytes,
            limits=self.options.limits,
            number=len(self.launches),
            logged=self.picker.selection.blocks,
            recorded=recorded,
            machine_code=self.options.machine_code,
        )
        try:
            launch, findings = make(options)
        except RefusedLaunchError as error:
            self.refuse(kernel, error)
            return False
        except (LaunchError, UnsupportedError) as error:
            error.kernel = kernel
            raise
        if recorded and launch is not None:
            self.keep(launch if launch.file == file else replace(launch, file=file), row_bytes, findings)
        elif recorded:
            self.findings.extend(findings)
        return launch is not None or not recorded

    def refuse(self, kernel: str, error: RefusedLaunchError) -> None:
        """Note at its line that a launch was refused, so that ``main()`` can go on."""
        self.findings.append(Finding.of(LAUNCH_REFUSED, kernel, error.line, {"what": error.what}))

    def leave_out(self, error: PlaceError) -> None:
        """Note at its line that a launch of a notebook's cell is not recorded, so that the others are."""
        self.findings.append(not_recorded(error, in_cell=True))

    def runs_unrecorded(self, kernel: str, error: UnsupportedError) -> None:
        """Note once at its line that what is launched there runs and is not recorded."""
        error.kernel = error.kernel or kernel
        finding = not_recorded(error, has_run=True)
        if finding not in self.findings:
            with self.handing_over():
                self.findings.append(finding)

    def end(self) -> None:
        """Add what child processes recorded, which is known only once the run is over."""
        for launches, findings in self.children.collected():
            self.take_over(launches, findings)

    def take_over(self, launches: Sequence[Launch], findings: Sequence[Finding]) -> None:
        """Add what another recorder saw."""
        self.findings += renumbered(findings, len(self.launches))
        self.launches += launches

    def result(self) -> tuple[tuple[Launch, ...], tuple[Finding, ...]]:
        """Return everything that was seen, of which nothing stays here: what ``main()`` defined may know the recorder.

        Raises:
            InputError: when no launch is of those that the picker is asked for.
        """
        self.end()
        self.picker.check()
        result = tuple(self.launches), tuple(self.findings)
        self.launches.clear()
        self.findings.clear()
        return result
