"""A whole kernel file in lockstep, with what the processes launch that it forks."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

from smemviz.engines import recorder
from smemviz.engines.host import Configuration, run_main
from smemviz.engines.lockstep.host.cuda import Cuda
from smemviz.engines.lockstep.host.host_memory import bounded
from smemviz.engines.lockstep.host.vectorize import decorators
from smemviz.engines.lockstep.launching import launch
from smemviz.engines.lockstep.log import ROW_BYTES
from smemviz.engines.lockstep.memory.device_array import AddressSpace
from smemviz.engines.options import RunOptions
from smemviz.frontends.numba.functions import Function, function_in
from smemviz.frontends.numba.program import Program
from smemviz.recordings.data import Finding, Launch


class Recorder(recorder.Recorder):
    """Runs launches as they happen and keeps what they did."""

    def __init__(self, options: RunOptions | None = None) -> None:
        super().__init__(options)
        self._children = Children()

    def launch(
        self,
        function: Function,
        configuration: Configuration,
        args: tuple[Any, ...],
        place: tuple[str, int],
        space: AddressSpace,
    ) -> None:
        """Run one launch; one that no device would start is a finding."""
        self._children.enter(self.launches, self.findings)
        make = partial(launch, function, configuration, args, place, space=space)
        if self.make(function.name, make, ROW_BYTES, function.file):
            self._children.leave(self.launches, self.findings)

    def end(self) -> None:
        """Add what processes recorded that were forked meanwhile."""
        for launches, findings in self._children.collected():
            self.take_over(launches, findings)

    def take_over(self, launches: list[Launch], findings: list[Finding]) -> None:
        """Add what another recorder saw."""
        self.findings += renumbered(findings, len(self.launches))
        self.launches += launches


def run(
    program: Program,
    options: RunOptions | None = None,
    after: Callable[[str, Sequence[Any]], None] | None = None,
) -> tuple[tuple[Launch, ...], tuple[Finding, ...]]:
    """Run a kernel file's ``main()`` and return every launch in it, and the mistakes met.

    Args:
        program: the kernel file, its constants replaced.
        options: how it is run and recorded.
        after: called with the name of a kernel and its arguments after each launch of it.

    Raises:
        InputError: when no launch is of those asked for.
        KernelFileError: when ``main()`` raises before it launches anything; later that is a finding.
        LaunchError: for a first launch whose arguments do not fit; a later one, and one that no device would start,
            is a finding.
        UnsupportedError: for a construct that is not executed in lockstep, in the first launch; later it is a finding.
    """
    seen = Recorder(options)

    def start(
        kernel: FunctionType, configuration: Configuration, args: tuple[Any, ...], place: tuple[str, int]
    ) -> None:
        function = function_in(kernel, program.file, program.source, program.tree)
        seen.launch(function, configuration, args, place, cuda.addresses)
        if after is not None:
            after(kernel.__name__, args)

    cuda = Cuda(program.file, start)
    cuda.in_numba = decorators(cuda)
    with seen.recording(), bounded():
        run_main(program, cuda)
    return seen.result()


class Children:
    """What the forked processes of one run recorded, in a folder that none but this run knows."""

    def __init__(self) -> None:
        self._own = self._seen = os.getpid()
        self._name = f"smemviz-{uuid.uuid4()}"
        self._before = (0, 0)

    def enter(self, launches: list[Launch], findings: list[Finding]) -> None:
        """Note, before a launch, what a process that was just forked has of the one it came from."""
        if os.getpid() != self._seen:
            self._seen = os.getpid()
            self._before = len(launches), len(findings)

    def leave(self, launches: list[Launch], findings: list[Finding]) -> None:
        """Hand over, after a launch, all that a forked process recorded: it may be ended at any time."""
        if self._seen == self._own:
            return
        first, known = self._before
        folder = self._folder()
        folder.mkdir(mode=0o700, exist_ok=True)
        written = folder / f"{self._seen}.part"
        written.write_bytes(pickle.dumps((launches[first:], renumbered(findings[known:], -first))))
        written.replace(written.with_suffix(".pickle"))

    def collected(self) -> Iterator[tuple[list[Launch], list[Finding]]]:
        """Yield what each forked process recorded, and forget it."""
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


def renumbered(findings: list[Finding], by: int) -> list[Finding]:
    """Return findings of launches that have other numbers elsewhere."""
    return [finding if finding.launch is None else replace(finding, launch=finding.launch + by) for finding in findings]
