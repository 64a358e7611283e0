"""A recording held against the hardware: its kernels under Nsight Compute, and a verdict for each of its sites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from smemviz import engines
from smemviz.errors import LaunchError
from smemviz.frontends.cuda import CudaProgram, compile_program
from smemviz.frontends.numba.program import Program
from smemviz.measure.ncu import counters
from smemviz.measure.ncu.clean_cuda import as_written
from smemviz.measure.ncu.counters import ProfiledLaunch
from smemviz.measure.ncu.reconcile import Reconciled, reconcile
from smemviz.measure.ncu.views import through_compiled
from smemviz.progress import Callback
from smemviz.recordings.data import UNSAFE
from smemviz.recordings.recording import Recording

DETAILED_LOG_BYTES = 1 << 30  # for a launch whose log must be complete to explain it; about 2 million requests


def verify(
    program: Program, settings: Mapping[str, object], recording: Recording, ncu: Path, progress: Callback
) -> tuple[Recording, bool]:
    """Profile the kernels of a recording; return it with verdicts and counters, and whether all is explained.

    Args:
        program: the kernel file that was recorded.
        settings: the constants that were set, as the profiled process gets them.
        recording: what was recorded of it on this GPU.
        ncu: the program of Nsight Compute.
        progress: is told how far the profiling is.

    Raises:
        LaunchError: for a launch that was not made because it may do harm: under the profiler it would be.
    """
    _refuse_harm(recording)
    kernels = [launch.kernel for launch in recording.launches]
    profiled = counters.profile(ncu, Path(program.file), settings, kernels, progress)
    if isinstance(program, CudaProgram):
        compiled = compile_program(program, list(dict.fromkeys(kernels)), "compiled")
        profiled = tuple(as_written(profile, compiled, program.file) for profile in profiled)
    reconciled = reconcile_fully(program, recording, profiled, progress)
    if isinstance(program, CudaProgram) and program.view == "source":
        reconciled = _with_compiled_view(program, recording, profiled, reconciled, progress)
    return _with_verdicts(recording, profiled, reconciled), all(compared.sound for compared in reconciled)


def _refuse_harm(recording: Recording) -> None:
    """Refuse a file with a launch that was not made because it may do harm: under the profiler it would be."""
    for finding in recording.findings:
        if finding.kind in UNSAFE and finding.launch is None:
            what = f"{finding.kind.replace('_', ' ')} in {finding.kernel}: {finding.message} Mend it, then verify"
            raise LaunchError(recording.file_of_finding(finding), finding.line, what)


def reconcile_fully(
    program: Program, recording: Recording, profiled: tuple[ProfiledLaunch, ...], progress: Callback
) -> list[Reconciled]:
    """Reconcile every launch; where that needs requests that were not logged, with a longer log."""
    reconciled = reconcile_all(recording, profiled)
    if any(
        launch.missing and not compared.sound for launch, compared in zip(recording.launches, reconciled, strict=True)
    ):
        detailed = engines.run(program, engine="gpu", progress=progress, log_bytes=DETAILED_LOG_BYTES)
        reconciled = reconcile_all(detailed, profiled)
    return reconciled


def _with_compiled_view(
    program: CudaProgram,
    recording: Recording,
    profiled: tuple[ProfiledLaunch, ...],
    reconciled: list[Reconciled],
    progress: Callback,
) -> list[Reconciled]:
    """Explain what the source alone does not by what the compiler makes of it before ptxas sees it."""
    if all(compared.sound for compared in reconciled):
        return reconciled
    seen = replace(program, view="compiled")
    compiled = engines.run(seen, engine="gpu", progress=progress)
    through = reconcile_fully(seen, compiled, profiled, progress)
    launches = zip(recording.launches, reconciled, compiled.launches, through, strict=True)
    return [
        compared
        if compared.sound or not other.sound
        else through_compiled(launch, made, other, _cc(recording)) or compared
        for launch, compared, made, other in launches
    ]


def reconcile_all(recording: Recording, profiled: tuple[ProfiledLaunch, ...]) -> list[Reconciled]:
    """Reconcile each launch of a recording with what was profiled of it."""
    both = zip(recording.launches, profiled, strict=True)
    return [reconcile(launch, profile, recording.source, recording.file, _cc(recording)) for launch, profile in both]


def _cc(recording: Recording) -> tuple[int, int]:
    assert recording.device is not None
    return recording.device.compute_capability


def _with_verdicts(
    recording: Recording, profiled: tuple[ProfiledLaunch, ...], reconciled: list[Reconciled]
) -> Recording:
    """Return the recording with verdicts and counters in its launches."""
    launches = tuple(
        replace(launch, hardware=compared.hardware, counters=counted.metrics, unaccounted=compared.unaccounted)
        for launch, counted, compared in zip(recording.launches, profiled, reconciled, strict=True)
    )
    return replace(recording, launches=launches)
