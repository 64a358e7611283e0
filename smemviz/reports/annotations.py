"""What a run or a comparison found, at its places in the source: as GitHub shows it beside the lines, and as SARIF."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from smemviz.frontends.reading import loaded_sites
from smemviz.i18n import N_, _
from smemviz.languages import spelling_of
from smemviz.model.counting.diff import COSTS, duplicates, grew
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import Hardware
from smemviz.printable import one_line
from smemviz.recordings.data import Site
from smemviz.recordings.findings import Finding
from smemviz.recordings.recording import Recording
from smemviz.reports.diff import ARROW, GROWN, Diff, launch_name
from smemviz.reports.recording import print_recording
from smemviz.reports.terminal import print_json
from smemviz.version import __version__
from smemviz.wording.explanations import explain
from smemviz.wording.labels import degree_name, finding_name, listed, sentences
from smemviz.wording.sentences import described, folded

Form = Literal["github", "sarif"]
Level = Literal["error", "warning", "note"]
_GITHUB: Mapping[Level, str] = {"error": "error", "warning": "warning", "note": "notice"}
_CONFLICT, _WORSE = "bank_conflict", "costs_more"
_TITLES = {_CONFLICT: N_("bank conflict"), _WORSE: N_("costs more than before")}


@dataclass(frozen=True)
class Annotation:
    """Something to say at a place: ``rule`` names its kind, lines and columns are from 1, 0 where there is no column.

    ``end_column`` is the last that belongs to it.
    """

    level: Level
    rule: str
    file: str
    message: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    @property
    def title(self) -> str:
        """What its kind is called."""
        return _(_TITLES[self.rule]) if self.rule in _TITLES else finding_name(self.rule)


def of_recording(recording: Recording, hardware: Hardware) -> list[Annotation]:
    """Return the findings of a recording, mistakes as errors, and its bank conflicts as warnings, the worst first."""
    conflicts: dict[tuple[object, ...], tuple[int, Annotation]] = {}
    for group in duplicates(recording.launches):
        launch = recording.launches[group[0]]
        rows = summarize(launch, hardware)
        explained = explain(launch, hardware, loaded_sites(recording, launch), spelling_of(recording.file_of(launch)))
        for site, row, why in zip(launch.sites, rows, explained, strict=True):
            if not row.excess:
                continue
            what = _(
                "{site} in {kernel}: {degree}, {n:,} wavefronts more than needed.",
                site=site.source,
                kernel=launch.kernel,
                degree=degree_name(row.max_degree or 0),
                n=row.excess,
            )
            found = _at(recording.file_of(launch, site), site, _CONFLICT, sentences(what, why.because, why.fix or ""))
            place = found.file, site.line, site.column, site.op
            conflicts[place] = max(conflicts.get(place, (0, found)), (row.excess, found), key=lambda one: one[0])
    worst = [found for _excess, found in sorted(conflicts.values(), key=lambda one: -one[0])]
    return [*_findings(recording, recording.findings), *worst]


def of_diff(diff: Diff) -> list[Annotation]:
    """Return the mistakes that are new in B, and where launches of B cost more than the tolerance allows."""
    after = diff.after.recording
    found = list(_findings(after, diff.mistakes))
    for pair in diff.pairs:
        grown = pair.worse(diff.tolerance)
        if not grown or pair.after is None:
            continue
        before = len(found)
        for site in pair.sites:
            old, new = site.counts
            costs = {name: (getattr(old, name, None) or 0, getattr(new, name, None) or 0) for name in COSTS}
            more = [
                _("{before:,} {arrow} {after:,} {counts}", before=a, arrow=ARROW, after=b, counts=_(GROWN[name]))
                for name, (a, b) in costs.items()
                if name in grown and grew(a, b, diff.tolerance)
            ]
            if more and site.after is not None:
                at = pair.after.sites[site.after]
                what = _("{site} in {kernel}: {counts}.", site=at.source, kernel=launch_name(pair), counts=listed(more))
                found.append(_at(after.file_of(pair.after, at), at, _WORSE, what, "error"))
        if len(found) == before:  # it takes more time, or something of all its accesses together
            what = _(
                "{kernel} is worse in {counts}.",
                kernel=launch_name(pair),
                counts=listed(_(GROWN[name]) for name in grown),
            )
            found.append(Annotation("error", _WORSE, _named(after.file_of(pair.after)), what, pair.after.line))
    return list(dict.fromkeys(found))


def _findings(recording: Recording, findings: Sequence[Finding]) -> Iterator[Annotation]:
    for finding, more in folded(findings):
        file = _named(recording.file_of_finding(finding))
        said = described(finding, recording, more)
        yield Annotation("note" if finding.harmless else "error", finding.kind, file, said, max(finding.line, 1))


def _at(file: str, site: Site, rule: str, message: str, level: Level = "warning") -> Annotation:
    return Annotation(
        level, rule, _named(file), message, site.line, site.column + 1, site.end_line, max(site.end_column, 1)
    )


def _named(file: str) -> str:
    """Name a file from where we stand if it is below, as a check does that runs at the top of a repository."""
    path = Path(file)
    here = Path.cwd()
    return (path.relative_to(here) if path.is_absolute() and path.is_relative_to(here) else path).as_posix()


def print_found(recording: Recording, hardware: Hardware, form: Form | Literal["table", "json"]) -> None:
    """Print what a recording counted, or the annotations that it gives rise to, to standard output."""
    if form == "github" or form == "sarif":
        print_annotations(of_recording(recording, hardware), form)
    else:
        print_recording(recording, hardware, as_json=form == "json")


def print_annotations(annotations: Sequence[Annotation], form: Form) -> None:
    """Print annotations to standard output: as commands of GitHub's workflows, a line each, or as one SARIF log."""
    if form == "sarif":
        print_json(to_sarif(annotations))
        return
    for line in to_github(annotations):
        print(line)


def to_github(annotations: Iterable[Annotation]) -> Iterator[str]:
    """Write annotations as the commands that GitHub's runners read: ``::error file=k.py,line=3::What is wrong``."""
    for one in annotations:
        places = {"file": one.file, "line": one.line, "endLine": one.end_line, "col": one.column}
        places |= {"endColumn": one.end_column if one.end_line in (0, one.line) else 0, "title": one.title}
        given = ",".join(f"{name}={_property(str(value))}" for name, value in places.items() if value)
        yield f"::{_GITHUB[one.level]} {given}::{_escaped(one_line(one.message))}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(one_line(text)).replace(":", "%3A").replace(",", "%2C")


def to_sarif(annotations: Sequence[Annotation]) -> dict[str, Any]:
    """Return annotations as a log of SARIF 2.1.0, OASIS's format for what tools find in source."""
    titles = {one.rule: one.title for one in annotations}
    rules = [{"id": rule, "shortDescription": {"text": title}} for rule, title in titles.items()]
    run = {
        "tool": {"driver": {"name": "smemviz", "version": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, list(titles)) for one in annotations],
    }
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _result(one: Annotation, rules: Sequence[str]) -> dict[str, Any]:
    region = {"startLine": one.line, "startColumn": one.column, "endLine": one.end_line}
    region |= {"endColumn": one.end_column + 1 if one.end_column else 0}  # the one behind it
    uri = Path(one.file).as_uri() if Path(one.file).is_absolute() else quote(one.file)
    place = {"artifactLocation": {"uri": uri}, "region": {name: value for name, value in region.items() if value}}
    return {
        "ruleId": one.rule,
        "ruleIndex": rules.index(one.rule),
        "level": one.level,
        "message": {"text": one.message},
        "locations": [{"physicalLocation": place}],
    }
