"""What an engine has seen of a run so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from smemviz.engines.children import Children, renumbered
from smemviz.engines.host import main_failed, not_recorded, running_line, stopped
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
from smemviz.recordings.findings import LAUNCH_REFUSED, Finding

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
    def recording(self, failed: Callable[[PlaceError], Finding] = main_failed) -> Iterator[None]:
        """Let what launches kernels run; once it has launched one, what ends it is a finding.

        Raises:
            CutShortError: when Ctrl-C or SIGTERM ends it after that.
            KernelFileError: when it fails before.
            LaunchError: when the first launch does not fit, or one has not the blocks asked for.
            UnsupportedError: when the first kernel cannot be recorded.
        """
        try:
            with self.stoppable():
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
