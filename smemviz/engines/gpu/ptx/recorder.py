"""A whole ``.cu`` file on the GPU: the launches that its comments ask for, each looked at in lockstep first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smemviz.engines.gpu.preflight import LIMITS, Preflight
from smemviz.engines.gpu.ptx.driver import DriverError, Gpu
from smemviz.engines.gpu.ptx.passes import record
from smemviz.engines.gpu.recorder import device, not_run
from smemviz.engines.host import Configuration
from smemviz.engines.limits import LOG_BYTES
from smemviz.engines.lockstep.launching import Place
from smemviz.engines.lockstep.ptx.host import running
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.engines.lockstep.ptx.host.launching import launch as launch_in_lockstep
from smemviz.engines.recorder import Progress
from smemviz.engines.selection import Blocks, Picker
from smemviz.errors import LaunchError
from smemviz.frontends.cuda.program import CudaProgram
from smemviz.recordings.data import UNSAFE, Finding, Launch


def run(
    program: CudaProgram, progress: Progress | None, log_bytes: int, picker: Picker | None = None
) -> tuple[tuple[Launch, ...], tuple[Finding, ...]]:
    """Run the launches that a file asks for on the GPU; returns them, and the mistakes met.

    Raises:
        MissingError: when there is no GPU, or NVRTC is not installed.
    """
    device()
    return running.run(program, progress, log_bytes, picker=picker, make=Recorder().launch)


class Recorder:
    """Makes launches on the GPU."""

    def __init__(self) -> None:
        self.preflight = Preflight()

    def launch(
        self,
        entry: Entry,
        configuration: Configuration,
        args: Sequence[Any],
        place: Place,
        *,
        progress: Progress | None = None,
        log_bytes: int = LOG_BYTES,
        number: int = 0,
        logged: Blocks | None = None,
        recorded: bool = True,
        **_limits: Any,
    ) -> tuple[Launch | None, tuple[Finding, ...]]:
        """Make one launch, unless it would do harm; the arguments are as for lockstep's, which has ``limits``."""
        if not recorded:
            return None, ()
        if progress is not None:
            progress(number, number + 1, entry.name)
        findings = self.findings(entry, configuration, args, place, number)
        if any(finding.kind in UNSAFE for finding in findings):
            return None, tuple(map(not_run, findings))
        try:
            return record(Gpu(), entry, configuration, args, place, log_bytes, logged), findings
        except DriverError as error:
            raise LaunchError(*place, str(error)) from None

    def findings(
        self, entry: Entry, configuration: Configuration, args: Sequence[Any], place: Place, number: int
    ) -> tuple[Finding, ...]:
        """Return the mistakes that lockstep finds in a launch that is small enough, on copies of its arguments."""

        def run(copies: Sequence[Any]) -> tuple[Finding, ...]:
            return launch_in_lockstep(
                entry, configuration, copies, place, limits=LIMITS, number=number, recorded=False
            )[1]

        return self.preflight.check(configuration, args, run)
