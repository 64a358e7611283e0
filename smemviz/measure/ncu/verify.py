"""A recording held against the hardware: its kernels under Nsight Compute, and a verdict for each of its sites."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from smemviz import engines
from smemviz.errors import LaunchError
from smemviz.frontends.program import Program
from smemviz.measure.meters import meter_of
from smemviz.measure.ncu import counters
from smemviz.measure.ncu.counters import ProfiledLaunch
from smemviz.measure.ncu.reconcile import Reconciled, reconcile
from smemviz.measure.ncu.verdicts import plural
from smemviz.messages import english
from smemviz.model.counting.costs import own_counts
from smemviz.model.hardware.operations import effect_of
from smemviz.progress import Callback
from smemviz.recordings.data import Launch, Site, SiteSummary
from smemviz.recordings.measured import SiteHardware
from smemviz.recordings.recording import Recording

DETAILED_LOG_BYTES = 1 << 30  # for a launch whose log must be complete to explain it; about 2 million requests
# Where the accesses that the compiler leaves belong, the first that is found.
_KEYS: tuple[Callable[[Site], object], ...] = (
    lambda site: (site.file, site.line, site.column, site.space, effect_of(site.op)),
    lambda site: (site.file, site.line, site.space, effect_of(site.op)),
    lambda site: (site.array, site.space, effect_of(site.op)),
)


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
    for finding in recording.findings:
        if finding.is_unsafe and finding.launch is None:
            what = f"{finding.kind.replace('_', ' ')} in {finding.kernel}: {finding.message} Mend it, then verify"
            raise LaunchError(recording.file_of_finding(finding), finding.line, what)
    kernels = [launch.kernel for launch in recording.launches]
    profiled = counters.profile(ncu, Path(program.file), settings, kernels, progress)
    profiled = meter_of(program, "ncu").as_written(program, kernels, profiled)
    reconciled = reconcile_fully(program, recording, profiled, progress)
    if "compiled" in program.language.views and program.view == "source":
        reconciled = _with_compiled_view(program, recording, profiled, reconciled, progress)
    launches = tuple(
        replace(launch, hardware=compared.hardware, counters=counted.metrics, unaccounted=compared.unaccounted)
        for launch, counted, compared in zip(recording.launches, profiled, reconciled, strict=True)
    )
    return replace(recording, launches=launches), all(compared.sound for compared in reconciled)


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
    program: Program,
    recording: Recording,
    profiled: tuple[ProfiledLaunch, ...],
    reconciled: list[Reconciled],
    progress: Callback,
) -> list[Reconciled]:
    """Explain what the source alone does not by what the compiler makes of it before ptxas sees it."""
    if all(compared.sound for compared in reconciled):
        return reconciled
    seen = program.in_view("compiled")
    compiled = engines.run(seen, engine="gpu", progress=progress)
    through = reconcile_fully(seen, compiled, profiled, progress)
    launches = zip(recording.launches, reconciled, compiled.launches, through, strict=True)
    return [
        compared
        if compared.sound or not other.sound
        else through_compiled(launch, compiled_launch, other, _cc(recording)) or compared
        for launch, compared, compiled_launch, other in launches
    ]


def reconcile_all(recording: Recording, profiled: tuple[ProfiledLaunch, ...]) -> list[Reconciled]:
    """Reconcile each launch of a recording with what was profiled of it."""
    both = zip(recording.launches, profiled, strict=True)
    return [reconcile(launch, profile, recording.source, recording.file, _cc(recording)) for launch, profile in both]


def _cc(recording: Recording) -> tuple[int, int]:
    assert recording.device is not None
    return recording.device.compute_capability


def through_compiled(
    written: Launch, compiled: Launch, reconciled: Reconciled, cc: tuple[int, int]
) -> Reconciled | None:
    """Return verdicts for the source view of a launch from those of its compiled view.

    None when the compiler leaves an access that belongs to none of the source.
    """
    places = [_counterpart(site, written.sites) for site in compiled.sites]
    if None in places:
        return None
    rows = compiled.summary(cc)
    hardware = []
    for number, summary in enumerate(written.summary(cc)):
        own = [other for other, place in enumerate(places) if place == number]
        counted = [(rows[other], reconciled.hardware[other]) for other in own]
        hardware.append(_verdict(summary, counted, written.sites[number].space))
    return replace(reconciled, hardware=tuple(hardware))


def _counterpart(site: Site, sites: Sequence[Site]) -> int | None:
    for key in _KEYS:
        same = [number for number, other in enumerate(sites) if key(other) == key(site)]
        if same:
            return next((number for number in same if sites[number].width == site.width), same[0])
    return None


def _verdict(summary: SiteSummary, copies: Sequence[tuple[SiteSummary, SiteHardware]], space: str) -> SiteHardware:
    """Return the verdict of one site, of which the compiler made others."""
    before = plural(summary.requests, "request")
    if not copies:
        because = english("the compiler leaves none of its {before}", before=before)
        return SiteHardware(0, **own_counts(space, lambda name: 0), verdict="explained", because=because)
    first, row = copies[0]
    if len(copies) == 1 and _counts(first) == _counts(summary):
        return row
    requests = sum(row.requests for row, _ in copies)
    because = "; ".join(dict.fromkeys(hardware.because for _, hardware in copies))
    if requests != summary.requests:
        because = english(
            "the compiler makes {after} of {before}; {what}",
            after=plural(requests, "request"),
            before=before,
            what=because,
        )
    else:
        because = english("the compiler makes other accesses of it; {what}", what=because)
    executed = sum(hardware.requests for _, hardware in copies)
    counts = own_counts(space, lambda name: sum(getattr(hardware, name) or 0 for _, hardware in copies))
    return SiteHardware(executed, **counts, verdict="explained", because=because)


def _counts(row: SiteSummary) -> tuple[int | None, ...]:
    return row.requests, row.wavefronts, row.ideal, row.sectors
