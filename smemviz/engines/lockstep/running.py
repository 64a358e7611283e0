"""A whole kernel file in lockstep."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from smemviz.engines.host import Configuration, main_failed, run_main
from smemviz.engines.limits import LOG_BYTES
from smemviz.engines.lockstep.cuda import Cuda
from smemviz.engines.lockstep.launching import Progress, launch
from smemviz.engines.lockstep.log import ROW_BYTES
from smemviz.engines.lockstep.machine import DEFAULT_LIMITS, Limits
from smemviz.errors import KernelFileError
from smemviz.functions import function_of
from smemviz.program import Program
from smemviz.recording import Finding, Launch


def run(
    program: Program,
    progress: Progress | None = None,
    log_bytes: int = LOG_BYTES,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[tuple[Launch, ...], tuple[Finding, ...]]:
    """Run a kernel file's ``main()`` and return every launch in it, and the mistakes met.

    Args:
        program: the kernel file, its constants replaced.
        progress: called as ``progress(blocks done, blocks, kernel)`` during each launch.
        log_bytes: the most the logs of all launches may take together.
        limits: what one launch may use.

    Raises:
        KernelFileError: when ``main()`` raises before it launches anything; later that is a finding.
        LaunchError: for a launch that no device would accept.
        UnsupportedError: for a construct that is not executed in lockstep.
    """
    launches: list[Launch] = []
    findings: list[Finding] = []

    def start(
        kernel: FunctionType, configuration: Configuration, args: tuple[Any, ...], place: tuple[str, int]
    ) -> None:
        same_file = kernel.__code__.co_filename == program.file
        function = function_of(kernel, program.source, program.tree) if same_file else function_of(kernel)
        left = log_bytes - sum(len(one.requests) for one in launches) * ROW_BYTES
        made, found = launch(function, configuration, args, place, progress, left, limits, cuda.addresses)
        launches.append(made)
        findings.extend(found)

    cuda = Cuda(program.file, start)
    try:
        run_main(program, cuda)
    except KernelFileError as error:
        if not launches:
            raise
        findings.append(main_failed(error))
    return tuple(launches), tuple(findings)
