"""Two recordings side by side, as plain data, as tables and as Markdown; all say the same."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from smemviz.i18n import N_, _, ngettext
from smemviz.model.counting.diff import COUNTS, LaunchPair, SitePair, new_findings
from smemviz.model.hardware.hardware import Hardware
from smemviz.printable import printable
from smemviz.recordings.data import Site
from smemviz.recordings.findings import Finding
from smemviz.recordings.recording import Recording
from smemviz.reports.recording import finding_as_data
from smemviz.reports.terminal import output_console, print_json, table_of
from smemviz.wording.labels import access_name, clauses, duration, items, listed
from smemviz.wording.sentences import described, folded

SCHEMA = 1
ARROW = "→"
TOTALS = ("requests", "wavefronts", "excess", "max_degree", "sectors")
GROWN = {"wavefronts": N_("wavefronts"), "sectors": N_("sectors"), "time": N_("time")}
Form = Literal["json", "markdown", "table"]


@dataclass(frozen=True)
class Side:
    """One of the two: how it was named, the constants that were asked for, and its recording."""

    name: str
    constants: Mapping[str, object]
    recording: Recording

    @property
    def title(self) -> str:
        """The name, with the constants that were asked for."""
        settings = ", ".join(f"{name}={value}" for name, value in self.constants.items())
        return f"{self.name} ({settings})" if settings else self.name


@dataclass(frozen=True)
class Diff:
    """Both sides and what was paired; ``tolerance`` is the fraction that B may cost more."""

    before: Side
    after: Side
    pairs: tuple[LaunchPair, ...]
    hardware: Hardware
    tolerance: float

    @property
    def mistakes(self) -> tuple[Finding, ...]:
        """What was found in B and not in A."""
        return new_findings(self.before.recording, self.after.recording)

    @property
    def worse(self) -> bool:
        """Whether a launch costs more than the tolerance allows, or B makes a mistake that is not in A."""
        return bool(self.mistakes) or any(pair.worse(self.tolerance) for pair in self.pairs)


def print_diff(diff: Diff, form: Form) -> None:
    """Print a comparison to standard output."""
    if form == "json":
        print_json(diff_facts(diff))
    elif form == "markdown":
        print(printable(to_markdown(diff)))
    else:
        _print_tables(diff)


def diff_facts(diff: Diff) -> dict[str, Any]:
    """Return a comparison as plain data; A and B stand for before and after."""
    return {
        "schema": SCHEMA,
        "a": _side_facts(diff.before),
        "b": _side_facts(diff.after),
        "cc": list(diff.hardware.cc),
        "bank_bytes": diff.hardware.bank_bytes,
        "tolerance_percent": round(diff.tolerance * 100, 6),
        "worse": diff.worse,
        "findings": [finding_as_data(finding) for finding in diff.mistakes],
        "launches": [_launch_facts(diff, pair) for pair in diff.pairs],
    }


def _side_facts(side: Side) -> dict[str, Any]:
    recording = side.recording
    device = recording.device and asdict(recording.device)
    constants = dict(recording.constants)
    return {
        "name": side.name,
        "file": recording.file,
        "sha256": recording.sha256,
        "engine": recording.engine,
        "device": device,
        "constants": constants,
    }


def _launch_facts(diff: Diff, pair: LaunchPair) -> dict[str, Any]:
    times = pair.times
    data: dict[str, Any] = {
        "kernel": pair.kernel,
        "number": pair.number,
        "a": dict(pair.totals[0]) if pair.before else None,
        "b": dict(pair.totals[1]) if pair.after else None,
        "worse": list(pair.worse(diff.tolerance)),
        "sites": [_site_facts(pair, site) for site in pair.sites],
    }
    if not pair.complete:
        data["complete"] = False
    return data | ({"time_us": {"a": times[0], "b": times[1]}} if times else {})


def _site_facts(pair: LaunchPair, site: SitePair) -> dict[str, Any]:
    old, new = _sites(pair, site)
    known = new or old
    assert known
    data: dict[str, Any] = {"array": known.array, "space": known.space, "op": known.op}
    for name, compared, counts in (("a", old, site.counts[0]), ("b", new, site.counts[1])):
        data[name] = None
        if compared and counts:
            data[name] = {"line": compared.line, "column": compared.column, "source": compared.source}
            data[name] |= {count: getattr(counts, count) for count in COUNTS}
    return data


def _sites(pair: LaunchPair, site: SitePair) -> tuple[Site | None, Site | None]:
    old = pair.before.sites[site.before] if pair.before and site.before is not None else None
    new = pair.after.sites[site.after] if pair.after and site.after is not None else None
    return old, new


def duplicates(diff: Diff) -> tuple[tuple[LaunchPair, int], ...]:
    """Return the pairs without those that say the same as an earlier one, each with how many say it."""
    groups: dict[object, list[LaunchPair]] = {}
    for pair in diff.pairs:
        sites = tuple(tuple(site_cells(pair, site)) for site in changed(pair))
        key = (pair.kernel, tuple(launch_cells(pair)), sites, pair.worse(diff.tolerance), pair.complete)
        groups.setdefault(key, []).append(pair)
    return tuple((pairs[0], len(pairs)) for pairs in groups.values())


def launch_name(pair: LaunchPair, times: int = 1) -> str:
    """Name a launch: by its kernel, with a number from the second on, and how many are alike."""
    number = [str(pair.number + 1)] * bool(pair.number)
    if times > 1:
        more = clauses(*number, ngettext("{n:,} identical launch", "{n:,} identical launches", times))
        return _("{kernel} ({more})", kernel=pair.kernel, more=more)
    return f"{pair.kernel} ({number[0]})" if number else pair.kernel


def launch_cells(pair: LaunchPair) -> list[str]:
    """Return what a row says of a launch: the totals before and after, and the times."""
    if not (pair.before and pair.after):
        own = pair.totals[0 if pair.before else 1]
        counts = [_change(own[name], own[name]) for name in TOTALS[1:]]
        return [_("only in A") if pair.before else _("only in B"), *counts, ""]
    cells = [_change(pair.totals[0][name], pair.totals[1][name]) for name in TOTALS]
    return [*cells, f"{duration(pair.times[0])} {ARROW} {duration(pair.times[1])}" if pair.times else _("not measured")]


def changed(pair: LaunchPair) -> tuple[SitePair, ...]:
    """Return the sites whose counts differ, or that only one of the two has."""
    return tuple(site for site in pair.sites if site.counts[0] != site.counts[1])


def site_cells(pair: LaunchPair, site: SitePair) -> list[str]:
    """Return what a row says of a site: its line, access and operation, and its counts before and after."""
    old, new = _sites(pair, site)
    known = new or old
    assert known
    places = [str(site.line) if site else "-" for site in (old, new)]
    sources = [site.source for site in (old, new) if site]
    old_counts, new_counts = site.counts
    counts = [_change(getattr(old_counts, name, None), getattr(new_counts, name, None)) for name in TOTALS]
    return [_same(places), _same(sources), access_name(known.space, known.op), *counts]


def _change(before: float | None, after: float | None) -> str:
    return _same(["-" if value is None else f"{value:,}" for value in (before, after)])


def _same(texts: Sequence[str]) -> str:
    return f" {ARROW} ".join(dict.fromkeys(texts))


def verdict(diff: Diff) -> str:
    """Say in one sentence whether B is worse."""
    worse = {launch_name(*pair): grown for pair in duplicates(diff) if (grown := pair[0].worse(diff.tolerance))}
    percent = diff.tolerance * 100
    if not worse:
        if not percent:
            return _("No launch is worse in B.")
        return _("No launch is worse in B by more than {percent:g} %.", percent=percent)
    launches = items(
        *(
            _("{launch} in {counts}", launch=name, counts=listed(_(GROWN[count]) for count in grown))
            for name, grown in worse.items()
        )
    )
    if not percent:
        return _("Worse in B: {launches}.", launches=launches)
    return _("Worse in B by more than {percent:g} %: {launches}.", percent=percent, launches=launches)


def notes(diff: Diff) -> list[str]:
    """Say which counts do not cover every request, and which mistakes were found in B alone."""
    covered = [
        f"{launch_name(pair, times)}: counts cover only the requests that were logged"
        for pair, times in duplicates(diff)
        if not pair.complete
    ]
    after = diff.after.recording
    findings = [
        f"{after.file_of_finding(finding)}:{finding.line}: {described(finding, after, more)}"
        for finding, more in folded(diff.mistakes)
    ]
    return [*covered, *(f"Found in B and not in A: {sentence.removesuffix('.')}" for sentence in findings)]


LAUNCH_HEADS = ("launch", *(name.replace("max_", "") for name in TOTALS), "time")
SITE_HEADS = ("line", "access", "operation", *(name.replace("max_", "") for name in TOTALS))


def to_markdown(diff: Diff) -> str:
    """Write a comparison as Markdown, for a pull request."""
    lines = [f"**{verdict(diff)}**", "", f"A: `{diff.before.title}`, B: `{diff.after.title}`; counted for compute "]
    lines[-1] += f"capability {diff.hardware.name}."
    rows = [[f"`{launch_name(pair, times)}`", *launch_cells(pair)] for pair, times in duplicates(diff)]
    lines += ["", *_markdown_table(LAUNCH_HEADS, rows)]
    for pair, times in duplicates(diff):
        if changed(pair):
            rows = [[cells[0], f"`{cells[1]}`", *cells[2:]] for cells in (site_cells(pair, s) for s in changed(pair))]
            lines += ["", f"`{launch_name(pair, times)}`, by line:", "", *_markdown_table(SITE_HEADS, rows)]
    lines += [line for note in notes(diff) for line in ("", f"{note}.")]
    return "\n".join(lines)


def _markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def _print_tables(diff: Diff) -> None:
    from rich.text import Text

    console = output_console()

    def say(text: str, style: str = "") -> None:
        console.print(text, soft_wrap=True, style=style)

    def show(title: str, heads: Sequence[str], rows: Sequence[tuple[Sequence[str], bool]]) -> None:
        table = table_of(heads, ("launch", "access", "operation"), title)
        for cells, strong in rows:
            table.add_row(*map(Text, cells), style="bold" if strong else "")
        console.print(table)

    say(f"A: {diff.before.title}")
    say(f"B: {diff.after.title}")
    say(f"counted for compute capability {diff.hardware.name}")
    say("")
    rows = [
        ([launch_name(*pair), *launch_cells(pair[0])], bool(pair[0].worse(diff.tolerance))) for pair in duplicates(diff)
    ]
    show("launches", LAUNCH_HEADS, rows)
    for pair, times in duplicates(diff):
        if changed(pair):
            say("")
            show(launch_name(pair, times), SITE_HEADS, [(site_cells(pair, site), False) for site in changed(pair)])
    for note in notes(diff):
        say(note)
    say("")
    say(verdict(diff), style="bold")
