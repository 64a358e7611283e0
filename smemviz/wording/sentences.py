"""What the pictures show, said in words: headlines, the present request, where a number comes from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from smemviz.i18n import _, ngettext
from smemviz.messages import say
from smemviz.model.counting.costs import cost_and_least, rule_at, unit_of
from smemviz.model.counting.global_traffic import traffic_of
from smemviz.model.counting.service import bytes_used
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.compute_capability import BasisKind
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.hardware.operations import weakest_basis
from smemviz.model.playback import RequestView
from smemviz.recordings.data import Launch, Site, SiteSummary
from smemviz.recordings.findings import LAUNCH_REFUSED, MAIN_FAILED, Finding
from smemviz.recordings.recording import Recording
from smemviz.wording.labels import (
    access_name,
    capital,
    clauses,
    count,
    day,
    degree_name,
    efficiency_text,
    finding_name,
    names,
    operation_name,
    sentences,
    share_of_them,
)

_MOST_ALIKE = 2


@dataclass(frozen=True)
class Facts:
    """The sums over a launch: requests on shared memory with what they cost, and sectors of global memory.

    ``wavefronts``, ``ideal`` and ``excess`` leave out sites whose wavefronts are not counted; ``uncounted`` says
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
    rows = summarize(launch, hardware)
    shared = [rows[i] for i in launch.sites_in("shared")]
    return Facts(
        sum(row.requests for row in shared),
        sum(row.wavefronts or 0 for row in shared),
        sum(row.ideal or 0 for row in shared),
        sum(row.excess or 0 for row in shared),
        max((row.max_degree or 0 for row in shared), default=0),
        sum(row.sectors or 0 for row in rows),
        sum(row.wavefronts is None for row in shared),
    )


def headline_of(recording: Recording, launch: Launch, hardware: Hardware = H200) -> str:
    """Say the one thing to know about a launch of a recording: a mistake met in it, else its use of shared memory."""
    met = (f for f in findings_of(recording, launch) if f.kind != MAIN_FAILED and not f.harmless)
    mistakes = list(dict.fromkeys((finding.kind, finding.line) for finding in met))
    if not mistakes:
        return headline(launch, hardware)
    (kind, line), more = mistakes[0], len(mistakes) - 1
    mistake = capital(finding_name(kind))
    if not more:
        return _("{mistake} on line {line}", mistake=mistake, line=line)
    return ngettext(
        "{mistake} on line {line}, and {n:,} more mistake",
        "{mistake} on line {line}, and {n:,} more mistakes",
        more,
        mistake=mistake,
        line=line,
    )


def headline(launch: Launch, hardware: Hardware = H200) -> str:
    """Say the one thing to know about a launch's use of shared memory."""
    rows = summarize(launch, hardware)
    pairs = [(launch.sites[i], rows[i]) for i in launch.sites_in("shared")]
    if not pairs:
        return _global_headline(launch)
    counted = [(site, row) for site, row in pairs if row.wavefronts is not None]
    if not counted:
        return _("Its accesses to shared memory have no wavefronts that are counted")
    total = facts(launch, hardware)
    if total.excess == 0:
        return _("No bank conflict: {wavefronts}, as few as possible", wavefronts=count(total.wavefronts, "wavefront"))
    return _excess_headline(counted, total.excess)


def _excess_headline(counted: Sequence[tuple[Site, SiteSummary]], total: int) -> str:
    """Say what a launch has in excess, and which line has most of it: ``..., all on line 53, 32-way``."""
    lines: dict[tuple[str, int], list[SiteSummary]] = {}
    for site, row in counted:
        lines.setdefault((site.file, site.line), []).append(row)
    excess = {line: sum(row.excess or 0 for row in rows) for line, rows in lines.items()}
    worst = max(excess, key=lambda line: excess[line])
    where, degree = _("line {n}", n=worst[1]), max(row.max_degree or 0 for row in lines[worst])
    if degree > 1:
        where = clauses(where, degree_name(degree))
    wavefronts = count(total, "excess wavefront")
    if excess[worst] == total:
        return _("{wavefronts}, all on {where}", wavefronts=wavefronts, where=where)
    share = share_of_them(excess[worst] / total)
    return _("{wavefronts}; worst: {where}, {share}", wavefronts=wavefronts, where=where, share=share)


def _global_headline(launch: Launch) -> str:
    """Say the one thing to know about a launch that uses global memory alone: where it moves more than it need."""
    traffics = [(site, traffic_of(launch, i)) for i, site in enumerate(launch.sites)]
    known = [(site, traffic) for site, traffic in traffics if traffic is not None and traffic.logged]
    if not known:
        return _("No shared memory is used")
    site, worst = max(known, key=lambda pair: pair[1].logged_sectors - pair[1].fewest)
    if worst.logged_sectors == worst.fewest:
        return _("No shared memory is used, and every access is coalesced")
    return _(
        "{each:.4g} sectors per request of {site}, {share} of their bytes used",
        each=worst.logged_sectors / worst.logged,
        site=site.source,
        share=efficiency_text(worst.used / worst.moved),
    )


def degree_of(total: Facts) -> str:
    """Name the worst degree of a launch: ``32-way``, or what keeps it from having one."""
    if total.requests == 0:
        return _("global only")
    return degree_name(total.max_degree) if total.max_degree else _("not counted")


def access_kind(site: Site) -> str:
    """Name what a site does to which kind of memory: ``shared load``."""
    return access_name(site.space, site.op)


def action(site: Site) -> str:
    """Name what a site does; of shared memory, which is what is looked at, without saying so."""
    return access_kind(site) if site.space == "global" else operation_name(site.op)


def badge_parts(site: Site, row: SiteSummary) -> tuple[str, ...]:
    """Say in a few words each what a site does and costs, the most telling first: ``shared load``, ``32-way``."""
    kind = access_kind(site)
    if row.requests == 0:
        return kind, _("never runs")
    if row.sectors is not None:
        sectors = count(row.sectors, "sector")
        return kind, _("{sectors}, {each:.4g} per request", sectors=sectors, each=row.sectors / row.requests)
    if row.max_degree is None:
        return kind, _("not counted")
    return kind, degree_name(row.max_degree), _("{excess:,} excess", excess=row.excess)


def badge(site: Site, row: SiteSummary) -> str:
    """Say in a few words what a site does and costs: ``shared load · 32-way · 992 excess``."""
    return " · ".join(badge_parts(site, row))


def present(now: RequestView, hardware: Hardware = H200) -> str:
    """Say what the present request is: ``load by warp 3, step 1: 32 lanes, 32 wavefronts where 1 would do``."""
    if now.site is None:
        return _("No request of this block was logged")
    requests = now.launch.requests
    return _(
        "{access} by warp {warp}, step {step}: {cost}",
        access=action(now.site),
        warp=requests.warp[now.row],
        step=requests.step[now.row],
        cost=cost(now, hardware),
    )


def cost(now: RequestView, hardware: Hardware = H200) -> str:
    """Say what the present request, which there has to be, costs: ``32 lanes, 32 wavefronts where 1 would do``."""
    site = now.launch.sites[now.launch.requests.site[now.row]]
    addresses = now.launch.requests.addresses[now.row]
    lanes = count(int((addresses >= 0).sum()), "lane")
    if rule_at(site, hardware) is None:
        return _("{lanes}, not counted in wavefronts", lanes=lanes)
    moved, fewest = map(int, cost_and_least(site, addresses, hardware))
    spent = count(moved, unit_of(site.space))
    if not site.is_shared:
        used = int(bytes_used(addresses, site.width))
        spent = _("{sectors} for {bytes}", sectors=spent, bytes=count(used, "byte"))
    if moved > fewest:
        return _("{lanes}, {cost} where {ideal:,} would do", lanes=lanes, cost=spent, ideal=fewest)
    return _("{lanes}, {cost}", lanes=lanes, cost=spent)


def origin(recording: Recording) -> str:
    """Say what ran the kernel, where and when."""
    date = datetime.fromisoformat(recording.date)
    card = recording.device
    if card is None:
        return _(
            "run by the {engine} engine, {day}, {time:%H:%M} UTC", engine=recording.engine, day=day(date), time=date
        )
    return _("recorded on {card}, driver {driver}, {day}", card=card.name, driver=card.driver, day=day(date))


def rule(hardware: Hardware, launches: Iterable[Launch] = (), kind: BasisKind | None = None) -> str:
    """Say what the wavefront counts of launches rest on; ``kind`` is that of accesses that no launch made."""
    kind = kind or weakest_basis(launches, hardware.cc)
    if kind == "measured":
        return _("wavefronts by the rule for compute capability {name}, measured", name=hardware.name)
    if kind == "documented":
        return _("wavefronts by the rule for compute capability {name}, documented", name=hardware.name)
    return _("wavefronts by the rule for compute capability {name}, partly assumed", name=hardware.name)


def provenance(recording: Recording, hardware: Hardware) -> str:
    """Say where the numbers of a recording come from."""
    return _("Requests {origin}; {rule}.", origin=origin(recording), rule=rule(hardware, recording.launches))


def findings_of(recording: Recording, launch: Launch) -> tuple[Finding, ...]:
    """Return the mistakes met in a launch, and what ended ``main()``; of older recordings, those in its kernel."""
    number = next(i for i, other in enumerate(recording.launches) if other is launch)
    return tuple(
        finding
        for finding in recording.findings
        if finding.launch == number
        or (finding.launch is None and (finding.kernel == launch.kernel or finding.kind == MAIN_FAILED))
    )


def folded(findings: Iterable[Finding]) -> tuple[tuple[Finding, int], ...]:
    """Return the findings to tell of, each with how many more it stands for.

    Of more than two of one kind in one line of a launch that is the first: where every access to an array races with
    every other, the pairs are many and the reason is one.
    """
    by_place: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        by_place.setdefault((finding.kind, finding.kernel, finding.line, finding.launch), []).append(finding)
    groups: list[tuple[Finding, int]] = []
    for first, *others in by_place.values():
        many = len(others) >= _MOST_ALIKE
        groups += [(first, len(others))] if many else [(finding, 0) for finding in (first, *others)]
    return tuple(groups)


def more_of_a_kind(more: int) -> str:
    """Say how many findings of the same kind and line are not told of, nothing of none."""
    return _("And {n:,} more of this kind on this line.", n=more) if more else ""


def described(finding: Finding, recording: Recording, more: int = 0) -> str:
    """Say what was met, in which kernel, block and threads, and the message, in English where no other is known.

    It stands for so many ``more``.
    """
    where, message = described_where(finding, recording), say(finding.message) or finding.message
    return sentences(_("{where}: {message}", where=where, message=message) if where else message, more_of_a_kind(more))


def described_where(finding: Finding, recording: Recording) -> str:
    """Say what was met, in which kernel, block and threads; a kernel's second launch is named with its number.

    Of ``main()`` there is nothing to say but the message: "".
    """
    if finding.kind == MAIN_FAILED:
        return ""
    if finding.kind == LAUNCH_REFUSED:
        return _("launch of {kernel} refused", kernel=finding.kernel)
    before = recording.launches[: finding.launch or 0]
    nth = sum(launch.kernel == finding.kernel for launch in before) + 1
    return _(
        "{mistake} in {kernel}, {who}",
        mistake=finding_name(finding.kind),
        kernel=finding.kernel if nth == 1 else f"{finding.kernel} ({nth})",
        who=met_by(finding),
    )


def met_by(finding: Finding) -> str:
    """Name the block and at most two of the threads."""
    block, threads = finding.block, names(*map(str, finding.threads[:2]))
    match len(finding.threads):
        case 0:
            return _("block {block}", block=block)
        case 1:
            return _("block {block}, thread {thread}", block=block, thread=threads)
        case 2:
            return _("block {block}, threads {threads}", block=block, threads=threads)
    return _("block {block}, threads {threads}, ...", block=block, threads=threads)
