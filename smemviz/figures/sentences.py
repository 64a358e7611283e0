"""What the pictures show, said in words: headlines, the present request, where a number comes from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from smemviz.figures.labels import count
from smemviz.figures.moment import Moment
from smemviz.figures.served import H200, Hardware
from smemviz.model.banks import count as count_wavefronts
from smemviz.model.devices import device
from smemviz.model.operations import unpredictable
from smemviz.model.sectors import bytes_used, fewest_sectors, sectors
from smemviz.model.summary import SiteSummary, summarize
from smemviz.model.traffic import traffic_of
from smemviz.recording import LAUNCH_REFUSED, MAIN_FAILED, Finding, Launch, Recording, Site


@dataclass(frozen=True)
class Facts:
    """The sums over a launch: requests on shared memory with what they cost, and sectors of global memory.

    ``wavefronts``, ``ideal`` and ``excess`` leave out sites whose wavefronts depend on the data; ``uncounted`` says
    how many those are.
    """

    requests: int
    wavefronts: int
    ideal: int
    excess: int
    max_degree: int
    sectors: int
    uncounted: int


def facts(launch: Launch, hardware: Hardware = H200) -> Facts:
    """Add up the sites of a launch."""
    rows = summarize(launch, hardware.cc, hardware.bank_bytes)
    shared = [row for site, row in zip(launch.sites, rows, strict=True) if site.space == "shared"]
    return Facts(
        sum(row.requests for row in shared),
        sum(row.wavefronts or 0 for row in shared),
        sum(row.ideal or 0 for row in shared),
        sum(row.excess or 0 for row in shared),
        max((row.max_degree or 0 for row in shared), default=0),
        sum(row.sectors or 0 for row in rows),
        sum(row.wavefronts is None for row in shared),
    )


def headline(launch: Launch, hardware: Hardware = H200) -> str:
    """Say the one thing to know about a launch's use of shared memory."""
    rows = summarize(launch, hardware.cc, hardware.bank_bytes)
    pairs = [pair for pair in zip(launch.sites, rows, strict=True) if pair[0].space == "shared"]
    if not pairs:
        return _global_headline(launch)
    counted = [(site, row) for site, row in pairs if row.wavefronts is not None]
    if not counted:
        return "How often the banks are busy depends on the data"
    total = facts(launch, hardware)
    if total.excess == 0:
        return f"No bank conflict: {count(total.wavefronts, 'wavefront')}, as few as can be"
    row = max((row for _, row in counted), key=lambda row: row.excess or 0)
    assert row.wavefronts is not None
    assert row.ideal is not None
    if row.max_degree is not None and row.max_degree > 1:
        return f"{row.max_degree}-way conflict: {count(row.wavefronts, 'wavefront')} where {row.ideal:,} would do"
    return f"{count(row.wavefronts, 'wavefront')} where {row.ideal:,} would do"


def _global_headline(launch: Launch) -> str:
    """Say the one thing to know about a launch that uses global memory alone: where it moves more than it need."""
    found = [(site, traffic_of(launch, i)) for i, site in enumerate(launch.sites)]
    known = [(site, traffic) for site, traffic in found if traffic is not None and traffic.logged]
    if not known:
        return "No shared memory is used"
    site, worst = max(known, key=lambda pair: pair[1].logged_sectors - pair[1].fewest)
    if worst.logged_sectors == worst.fewest:
        return "No shared memory is used, and no request moves a sector too many"
    each, fewest = worst.logged_sectors / worst.logged, worst.fewest / worst.logged
    return f"{each:.4g} sectors per request of {site.source} where {fewest:.4g} would do"


def degree_of(total: Facts) -> str:
    """Name the worst degree of a launch: ``32-way``, or what keeps it from having one."""
    if total.requests == 0:
        return "global only"
    return f"{total.max_degree}-way" if total.max_degree else "depends on data"


def operation(site: Site) -> str:
    """Write an operation as a reader would: ``reduce add``."""
    return site.op.replace("_", " ")


def badge(site: Site, row: SiteSummary) -> str:
    """Say in a few words what a site does and costs: ``shared load · 32-way · 992 excess``."""
    kind = f"{site.space} {operation(site)}"
    if row.requests == 0:
        return f"{kind} · never runs"
    if row.sectors is not None:
        return f"{kind} · {count(row.sectors, 'sector')}, {row.sectors / row.requests:.4g} a request"
    if row.wavefronts is None:
        return f"{kind} · depends on the data"
    return f"{kind} · {row.max_degree}-way · {row.excess:,} excess"


def present(now: Moment, hardware: Hardware = H200) -> str:
    """Say what the present request is: ``load by warp 3, step 1: 32 lanes, 32 wavefronts where 1 would do``."""
    row = now.row
    if row is None:
        return "No request of this block was logged"
    requests = now.launch.requests
    site = now.launch.sites[requests.site[row]]
    addresses = requests.addresses[row]
    lanes = int((addresses >= 0).sum())
    who = f"{operation(site)} by warp {requests.warp[row]}, step {requests.step[row]}: {count(lanes, 'lane')}"
    if site.space == "global":
        moved, used = int(sectors(addresses, site.width)), bytes_used(addresses, site.width)
        fewest = int(fewest_sectors(used))
        better = f" where {fewest:,} would do" if moved > fewest else ""
        return f"global {who}, {count(moved, 'sector')} for {count(int(used), 'byte')}{better}"
    if unpredictable(site.op, site.dtype, hardware.cc) is not None:
        return f"{who}, wavefronts depend on the data"
    served = count_wavefronts(addresses, site.width, site.op, hardware.cc, hardware.bank_bytes)
    wavefronts, ideal = int(served.wavefronts), int(served.ideal)
    better = f" where {ideal:,} would do" if wavefronts > ideal else ""
    return f"{who}, {count(wavefronts, 'wavefront')}{better}"


def origin(recording: Recording) -> str:
    """Say what ran the kernel, where and when."""
    date = datetime.fromisoformat(recording.date)
    when = f"{date.day} {date:%B %Y}"
    if recording.device is None:
        return f"run by the {recording.engine} engine, {when}, {date:%H:%M} UTC"
    return f"recorded on {recording.device.name}, driver {recording.device.driver}, {when}"


def rule(hardware: Hardware) -> str:
    """Say what the wavefront counts rest on."""
    basis = device(hardware.cc).basis
    return f"wavefronts by the rule for compute capability {hardware.name}, {basis.kind}"


def findings_of(recording: Recording, launch: Launch) -> tuple[Finding, ...]:
    """Return the mistakes met in a launch, and what ended ``main()``; of older recordings, those in its kernel."""
    number = next(i for i, one in enumerate(recording.launches) if one is launch)
    return tuple(
        finding
        for finding in recording.findings
        if finding.launch == number
        or (finding.launch is None and (finding.kernel == launch.kernel or finding.kind == MAIN_FAILED))
    )


def told(finding: Finding, recording: Recording) -> str:
    """Say what was met, in which kernel, block and threads; a kernel's second launch is named with its number."""
    if finding.kind == MAIN_FAILED:
        return finding.message
    if finding.kind == LAUNCH_REFUSED:
        return f"launch of {finding.kernel} refused: {finding.message}"
    before = recording.launches[: finding.launch or 0]
    nth = sum(launch.kernel == finding.kernel for launch in before) + 1
    kernel = finding.kernel if nth == 1 else f"{finding.kernel} ({nth})"
    shown = ", ".join(str(thread) for thread in finding.threads[:2])
    threads = {0: "", 1: f", thread {shown}", 2: f", threads {shown}"}
    who = f"block {finding.block}" + threads.get(len(finding.threads), f", threads {shown}, ...")
    return f"{finding.kind.replace('_', ' ')} in {kernel}, {who}: {finding.message}"
