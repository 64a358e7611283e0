"""A whole ``.cu`` file on the GPU: the launches that its comments ask for, each looked at in lockstep first."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from smemviz.engines.gpu.device import device
from smemviz.engines.gpu.preflight import LIMITS, Preflight, not_run
from smemviz.engines.gpu.ptx.driver import DriverError, Gpu
from smemviz.engines.gpu.ptx.ptx_launch import record
from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.ptx.host import cuda_in_lockstep
from smemviz.engines.lockstep.ptx.host.cuda_launch import launch as launch_in_lockstep
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.engines.lockstep.running_launch import Place
from smemviz.engines.options import DEFAULT_OPTIONS, LaunchOptions, RunOptions
from smemviz.engines.recorder import LaunchOutcome
from smemviz.errors import LaunchError
from smemviz.frontends.cuda.cuda_program import CudaProgram
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import Finding


def run(program: CudaProgram, options: RunOptions) -> tuple[tuple[Launch, ...], tuple[Finding, ...]]:
    """Run the launches that a file asks for on the GPU; returns them, and the mistakes met.

    Raises:
        MissingError: when there is no GPU, or NVRTC is not installed.
    """
    device()
    return cuda_in_lockstep.run(program, options, make=Recorder().launch)


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
        options: LaunchOptions = DEFAULT_OPTIONS,
    ) -> LaunchOutcome:
        """Make one launch, unless it would do harm; the arguments are as for lockstep's."""
        if not options.recorded:
            return None, ()
        if options.progress is not None:
            options.progress(options.number, options.number + 1, entry.name)
        findings = self.findings(entry, configuration, args, place, options.number)
        if any(finding.is_unsafe for finding in findings):
            return None, tuple(map(not_run, findings))
        try:
            return record(Gpu(), entry, configuration, args, place, options.log_bytes, options.logged), findings
        except DriverError as error:
            raise LaunchError(*place, str(error)) from None

    def findings(
        self, entry: Entry, configuration: Configuration, args: Sequence[Any], place: Place, number: int
    ) -> tuple[Finding, ...]:
        """Return the mistakes that lockstep finds in a launch that is small enough, on copies of its arguments."""

        def run(copies: Sequence[Any]) -> tuple[Finding, ...]:
            options = LaunchOptions(limits=LIMITS, number=number, recorded=False)
            variables = entry.variables.copied() if entry.variables is not None else None
            return launch_in_lockstep(replace(entry, variables=variables), configuration, copies, place, options)[1]

        return self.preflight.check(configuration, args, run)
