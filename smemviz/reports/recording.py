"""What a recording counted, as plain data and as tables, which say the same; beside it what Nsight Compute counted."""

from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from smemviz.frontends.reading import loaded_sites
from smemviz.languages import spelling_of
from smemviz.model.counting.diff import duplicates, times_made
from smemviz.model.counting.global_traffic import traffic_of
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.compute_capability import Basis
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.hardware.operations import basis, predictable, weakest_basis
from smemviz.model.layout.candidates import Pad, Swizzle
from smemviz.model.layout.search import LayoutFix
from smemviz.recordings.data import Launch, Site, SiteSummary
from smemviz.recordings.findings import Finding
from smemviz.recordings.measured import SiteHardware, Timing
from smemviz.recordings.recording import Recording
from smemviz.reports.terminal import output_console, print_json, table_of
from smemviz.views.columns import COUNTS, TRAFFIC
from smemviz.wording.explanations import Explained, explain
from smemviz.wording.sentences import described, folded

SCHEMA = 1
_PLACE = ("line", "column", "source", "function", "calls", "array", "space", "op", "width")


def facts(recording: Recording, hardware: Hardware = H200) -> dict[str, Any]:
    """Return the counts of a recording on given hardware, ready for JSON.

    Raises:
        InputError: for an unknown compute capability or bank mode.
    """
    return {
        "schema": SCHEMA,
        "engine": recording.engine,
        "device": recording.device and asdict(recording.device),
        "file": recording.file,
        "date": recording.date,
        "cc": list(hardware.cc),
        "basis": weakest_basis(recording.launches, hardware.cc),
        "bank_bytes": hardware.bank_bytes,
        "constants": dict(recording.constants),
        "unrecorded": recording.unrecorded,
        "launches": _launches_facts(recording, hardware),
        "findings": [finding_as_data(finding) for finding in recording.findings],
    }


def finding_as_data(finding: Finding) -> dict[str, Any]:
    """Return a finding as JSON has it, where what it says stands for its facts."""
    return {name: value for name, value in asdict(finding).items() if name != "facts"}


def _launches_facts(recording: Recording, counted: Hardware) -> list[dict[str, Any]]:
    """Return the facts of every launch, worked out once for those that are alike."""
    by_number: dict[int, dict[str, Any]] = {}
    for group in duplicates(recording.launches):
        by_number |= dict.fromkeys(group, _launch_facts(recording, recording.launches[group[0]], counted))
    return [
        by_number[number]
        | ({"repeats": launch.repeats} if launch.repeats else {})
        | ({"machine_code": True} if launch.machine_code else {})
        for number, launch in enumerate(recording.launches)
    ]


def _launch_facts(recording: Recording, launch: Launch, counted: Hardware) -> dict[str, Any]:
    hardware = launch.hardware or (None,) * len(launch.sites)
    spelling = spelling_of(recording.file_of(launch))
    explained = explain(launch, counted, loaded_sites(recording, launch), spelling)
    summary = summarize(launch, counted)
    bases = [_basis(site, counted.cc) for site in launch.sites]
    rows = zip(summary, hardware, explained, bases, strict=True)
    data = {
        "kernel": launch.kernel,
        "file": recording.file_of(launch),
        "grid": launch.grid,
        "block": launch.block,
        "dynamic_shared": launch.dynamic_shared,
        "shared_bytes": launch.shared_bytes,
        "sites": [
            _site_facts(launch, i, counted, *row) | _traffic_facts(launch, i, counted) for i, row in enumerate(rows)
        ],
    }
    if launch.missing:
        data["missing"] = launch.missing
    if launch.time:
        data["time"] = time_facts(launch.time, samples=False)
    if launch.counters:
        data["counters"] = dict(launch.counters)
        data["unaccounted"] = launch.unaccounted
    return data


def time_facts(time: Timing, *, samples: bool = True) -> dict[str, Any]:
    """Return a time as plain data, what follows from the rest included."""
    facts = asdict(time) | {"net_us": time.net_us}
    return facts if samples else {name: value for name, value in facts.items() if name != "samples_us"}


def _site_facts(
    launch: Launch,
    i: int,
    counted: Hardware,
    summary: SiteSummary,
    hardware: SiteHardware | None,
    explained: Explained,
    rests_on: Basis | None,
) -> dict[str, Any]:
    """Return a site with its counts; ``complete`` and ``reason`` are there only when they limit what the counts say.

    ``file`` is there only when it is another than the launch's. ``basis`` is what the wavefronts rest on.
    """
    site = launch.sites[i]
    data = {name: getattr(site, name) for name in _PLACE}
    data |= {column.name: column.of_site(launch, i, counted) for column in COUNTS}
    if not summary.complete:
        data["complete"] = False
    if summary.reason is not None:
        data["reason"] = summary.reason
    data |= {"basis": rests_on and rests_on.kind, "explanation": _explanation(explained)}
    if site.file:
        data["file"] = site.file
    if hardware is None:
        return data
    read = asdict(hardware)
    judged = {name: read.pop(name) for name in ("verdict", "because")}
    return data | {"hardware": read} | judged


def _basis(site: Site, cc: tuple[int, int]) -> Basis | None:
    """Return what the wavefronts of a site rest on, None where there are none."""
    counted = site.is_shared and predictable(site.op, site.dtype, cc)
    return basis(site.op, site.width, cc) if counted else None


def _traffic_facts(launch: Launch, i: int, counted: Hardware) -> dict[str, Any]:
    """Return what a site made of what it moved, None where that is not counted.

    ``efficiency`` is ``bytes_used`` over bytes moved. Where part of the requests was not logged both are of the rest,
    ``efficiency_requests`` of them.
    """
    counts: dict[str, Any] = {column.name: column.of_site(launch, i, counted) for column in TRAFFIC}
    traffic = traffic_of(launch, i)
    return counts if traffic is None or traffic.complete else counts | {"efficiency_requests": traffic.logged}


def _explanation(explained: Explained) -> dict[str, Any]:
    """Return why a site costs what it costs: names and sentences, and the same as numbers."""
    return {
        "pattern": explained.pattern,
        "because": explained.because,
        "cure": explained.fix,
        "patterns": [asdict(pattern) | {"requests": requests} for pattern, requests in explained.patterns],
        "pad": _fix_facts(explained.pad),
        "swizzle": _fix_facts(explained.swizzle),
    }


def _fix_facts(fix: LayoutFix[Pad] | LayoutFix[Swizzle] | None) -> dict[str, Any] | None:
    """Return a layout with the excess at all accesses to its array, before and after."""
    if fix is None:
        return None
    before, after = (sum(score.excess for score in scores) for scores in (fix.before, fix.after))
    return asdict(fix.layout) | {"more_bytes": fix.more_bytes, "excess_before": before, "excess_after": after}


def print_recording(recording: Recording, hardware: Hardware = H200, *, as_json: bool = False) -> None:
    """Print the counts of a recording to standard output, as one JSON document or as a table for each launch."""
    data = facts(recording, hardware)
    if as_json:
        print_json(data)
        return
    from smemviz.reports.terminal import launch_tables

    console = output_console()
    for line in _header(data):
        console.print(line, soft_wrap=True)
    for group in duplicates(recording.launches):
        launch = data["launches"][group[0]]
        mistaken = {finding.line for finding in recording.mistakes if finding.launch in group}
        console.print()
        times = times_made(recording.launches[number] for number in group)
        for table in launch_tables(data["file"], launch, mistaken, times, console.width):
            console.print(table, crop=False)
        for note in _notes(launch, hardware.cc, explained=not mistaken):
            console.print(note, soft_wrap=True)
    if recording.findings:
        console.print()
    for finding, more in folded(recording.findings):
        file = recording.file_of_finding(finding)
        sentence = f"{file}:{finding.line}: {described(finding, recording, more)}"
        console.print(sentence, style="bold", soft_wrap=True)


def _header(data: dict[str, Any]) -> list[str]:
    device = data["device"]
    by = "lockstep engine, no GPU"
    if device:
        capability = ".".join(map(str, device["compute_capability"]))
        by = f"{device['name']} (compute capability {capability}, driver {device['driver']}, {device['runtime']})"
    return [
        f"{data['file']}: recorded by {data['engine'] + ' engine on ' if device else ''}{by}, {data['date']}",
        "constants: " + (", ".join(f"{name} = {value}" for name, value in data["constants"].items()) or "none"),
        f"counted for compute capability {'.'.join(map(str, data['cc']))} with banks of {data['bank_bytes']} bytes, "
        + ("by rules that are partly assumed" if data["basis"] == "assumed" else f"by {data['basis']} rules"),
        *([f"{data['unrecorded']} more launches were made and not recorded, as asked"] if data["unrecorded"] else []),
    ]


def _notes(launch: dict[str, Any], cc: tuple[int, int], *, explained: bool) -> list[str]:
    """Say what the numbers of a table do not: the time, what they do not cover, and which rules are assumed.

    Why a site has excess is ``explained`` where no mistake has to be mended first.
    """
    notes = []
    time = launch.get("time")
    if time:
        median, low, high, floor = (f"{time[f'{name}_us']:.3f}" for name in ("median", "low", "high", "floor"))
        cold = ", cold" if time["cold"] else ""
        notes.append(f"kernel time {median} us ({low} to {high}, 95 %), an empty kernel {floor} us{cold}")
    notes.extend(launch.get("unaccounted", ()))
    if "missing" in launch:
        notes.append(f"{launch['missing']} requests were counted but not logged one by one")
    for site in launch["sites"]:
        if not site.get("complete", True):
            notes.append(f"line {site['line']}, {site['source']}: counts cover only the requests that were logged")
        if "efficiency_requests" in site:
            which = f"{site['efficiency_requests']:,} of {site['requests']:,} requests"
            notes.append(f"line {site['line']}, {site['source']}: efficiency of {which}, those that were logged")
        if "reason" in site:
            notes.append(f"line {site['line']}, {site['source']}: {site['reason']}")
        if site["basis"] == "assumed":
            source = basis(site["op"], site["width"], cc).source
            notes.append(f"line {site['line']}, {site['source']}: its rule is assumed. {source}")
        if site["excess"] and explained:
            explanation = site["explanation"]
            notes.append(f"line {site['line']}, {site['source']}: {explanation['because']} {explanation['cure']}")
    return notes


def print_verdicts(recording: Recording) -> None:
    """Print a table for each launch, and what belongs to no site under it."""
    console = output_console()
    assert recording.device is not None
    cc = recording.device.compute_capability
    console.print(f"{recording.file}: recorded and counted on {recording.device.name}")
    console.print("recorded -> counted by the hardware; one number where both are the same")
    for launch in recording.launches:
        console.print()
        console.print(_table(launch, cc))
        for sentence in launch.unaccounted:
            console.print(sentence, style="bold")
        duration = launch.counters.get("gpu__time_duration.sum")
        if duration is not None:
            console.print(f"{duration / 1000:.3f} us under the profiler")


def _table(launch: Launch, cc: tuple[int, int]) -> Table:
    heads = ("line", "source", "space", "op", "requests", "wavefronts", "sectors", "verdict", "because")
    table = table_of(heads, ("source", "space", "op", "verdict", "because"), launch.kernel)
    for site, counted, hardware in zip(launch.sites, launch.summary(cc), launch.hardware, strict=True):
        pairs = [(getattr(counted, name), getattr(hardware, name)) for name in ("requests", "wavefronts", "sectors")]
        words = (str(site.line), site.source, site.space, site.op, *(_pair(*pair) for pair in pairs))
        style = "bold" if hardware.verdict == "unexplained" else ""
        table.add_row(*(Text(word) for word in (*words, hardware.verdict, hardware.because)), style=style)
    return table


def _pair(recorded: Any, counted: Any) -> str:
    if recorded == counted:
        return "-" if recorded is None else f"{recorded:,}"
    return f"{'?' if recorded is None else f'{recorded:,}'} -> {counted:,}"
