"""A recording in a notebook: a table of its launches and the banks under its worst request, in plain HTML and SVG.

Nothing in it is loaded from anywhere or runs; it follows the colours of JupyterLab, VS Code, or the system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Any

from markupsafe import Markup

from smemviz.figures.drawing.style import THEMES, blend, css_variables
from smemviz.i18n import _
from smemviz.model.counting.diff import duplicates, times_made
from smemviz.model.hardware.compute_capability import known
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.playback import BankService, RequestView, bank_layout, bank_service, worst_request
from smemviz.recordings.data import Launch, Site
from smemviz.recordings.recording import Recording
from smemviz.reports.html.page import rendered
from smemviz.views.columns import columns_in
from smemviz.wording.labels import count, duration, sentences
from smemviz.wording.sentences import Facts, described, facts, folded, headline, origin, present, rule

_MOST_LAUNCHES = 20
_MOST_FINDINGS = 5
_MOST_ROWS = 16
_BANKS = max(row.banks for row in known())
_COLOURS = ("paper", "ink", "muted", "idle", "unused", "conflict")
_CELL, _ROW, _LEFT, _BOTTOM = 20, 20, 34, 32  # pixels


def to_html(recording: Recording) -> str:
    """Return the recording as a piece of HTML: facts of every launch, and the banks under the worst request."""
    hardware = Hardware.of(recording)
    written = {"file": escape(recording.file), "origin": escape(origin(recording))}
    counted = escape(rule(hardware, recording.launches))
    said = _("<b>{file}</b>: requests {origin}; {rule}.", **written, rule=counted)
    notes, findings = list(_missing(recording)), list(_findings(recording))
    return _page(said, recording.launches, hardware, recording.file_of, notes, findings)


def launch_html(launch: Launch) -> str:
    """Return a launch as a piece of HTML; the recording that it is of is not at hand."""
    counted = rule(H200, [launch])
    said = escape(_("{sentence}.", sentence=counted[:1].upper() + counted[1:]))
    return _page(said, [launch], H200, lambda launch, site: site.file or launch.file, [], [])


def _page(
    said: str,
    launches: Sequence[Launch],
    hardware: Hardware,
    file_of: Callable[[Launch, Site], str],
    notes: Sequence[str],
    findings: Sequence[str],
) -> str:
    sums = [facts(launch, hardware) for launch in launches]
    heads, rows, more = _table(launches, sums, hardware)
    shown: dict[str, Any] = {"title": "", "picture": None}
    if any(total.wavefronts for total in sums):
        worst = max(range(len(sums)), key=lambda i: sums[i].excess)
        shown |= _worst(worst_request(launches[worst], hardware), hardware, file_of)
    light, dark = (
        css_variables(THEMES[name], _COLOURS, b=blend(THEMES[name].ramp, _BANKS)) for name in ("light", "dark")
    )
    return rendered(
        "notebook.html",
        light=light,
        dark=dark,
        banks=_BANKS,
        origin=Markup(said),
        heads=heads,
        rows=rows,
        notes=[*more, *notes],
        findings=findings,
        **shown,
    )


def _table(
    launches: Sequence[Launch], sums: Sequence[Facts], hardware: Hardware
) -> tuple[list[str], list[tuple[list[str], bool]], list[str]]:
    """Return heads and rows of a table with a row for launches that are alike, and what is said below it."""
    timed = any(launch.time for launch in launches)
    counts = columns_in("notebook")
    heads = [_("launch"), _("grid"), _("block"), *(column.head("notebook") for column in counts), *[_("time")] * timed]
    rows = []
    groups = duplicates(launches)
    for group in groups[:_MOST_LAUNCHES]:
        launch = launches[group[0]]
        times = times_made(launches[number] for number in group)
        name = launch.kernel if times == 1 else f"{launch.kernel} \N{MULTIPLICATION SIGN} {times:,}"
        cells = [name, *(" x ".join(map(str, sizes)) for sizes in (launch.grid, launch.block))]
        cells += [column.total_text(launch, hardware) for column in counts]
        cells += [duration(launch.time.median_us) if launch.time else "-"] * timed
        rows.append((cells, bool(sums[group[0]].excess)))
    more = sum(map(len, groups[_MOST_LAUNCHES:]))
    return heads, rows, [_("and {more}", more=count(more, "more launch"))] if more else []


def _missing(recording: Recording) -> Iterator[str]:
    """Say what of the run is not in the recording."""
    if recording.unrecorded:
        launches = count(recording.unrecorded, "more launch")
        yield _("{launches} of the run not recorded, as asked", launches=launches)
    requests = sum(launch.missing for launch in recording.launches)
    if requests:
        yield _("{requests} were counted and not logged one by one", requests=count(requests, "request"))


def _findings(recording: Recording) -> Iterator[str]:
    folded_findings = folded(recording.findings)
    for finding, alike in folded_findings[:_MOST_FINDINGS]:
        yield _("line {line}: {what}", line=finding.line, what=described(finding, recording, alike))
    more = sum(1 + alike for _finding, alike in folded_findings[_MOST_FINDINGS:])
    if more > 0:
        yield _("and {more}", more=count(more, "more finding"))


def _worst(now: RequestView, hardware: Hardware, file_of: Callable[[Launch, Site], str]) -> dict[str, Any]:
    """Say what the worst request is and draw it: a column per bank, a row per wavefront, the lanes in the cells."""
    site = now.site
    if site is None:
        return {}
    where = bank_layout(now.launch, hardware)
    service = bank_service(now, where, hardware)
    file = file_of(now.launch, site)
    place = f"{file}:{site.line}" if file else _("line {line}", line=site.line)
    title = _("{kernel}: {headline}", kernel=now.launch.kernel, headline=headline(now.launch, hardware))
    sentence = _("{place}, {site}: {request}.", place=place, site=site.source, request=present(now, hardware))
    label = sentences(_("{sentence}.", sentence=title), sentence)
    picture = _picture(service, where.banks) if service.wavefronts else None
    return {"title": title, "sentence": sentence, "label": label, "picture": picture}


def _picture(service: BankService, banks: int) -> dict[str, Any]:
    """Place the first wavefronts; a cell has its lane, ``7``, or ``0+`` for lanes 0 and others."""
    rows, total = min(service.wavefronts, _MOST_ROWS), service.wavefronts
    height = rows * _ROW + _BOTTOM
    boxes: list[tuple[str, int, int, int]] = [("idle", _LEFT, row * _ROW, banks * _CELL - 1) for row in range(rows)]
    texts: list[tuple[str, float, int, object]] = []
    for wavefront, bank, lanes, _words in service.cells():
        if wavefront < rows:
            x, y = _LEFT + bank * _CELL, wavefront * _ROW
            boxes.append((f"b{bank}", x, y, _CELL - 1))
            texts.append(("", x + _CELL / 2 - 0.5, y + 14, f"{min(lanes)}+" if len(set(lanes)) > 1 else lanes[0]))
    texts += [("row", _LEFT - 6, row * _ROW + 14, row + 1) for row in range(rows)]
    texts += [("axis", _LEFT + bank * _CELL + _CELL / 2, rows * _ROW + 12, bank) for bank in range(0, banks, 4)]
    axes = _("lanes by bank (across) and wavefront (down)")
    if rows < total:
        axes = _("lanes by bank (across) and wavefront (down), the first {rows} of {total}", rows=rows, total=total)
    texts.append(("note", _LEFT, height - 4, axes))
    edges = "".join(f"M{_LEFT + bank * _CELL - 0.5} 0V{rows * _ROW}" for bank in range(1, banks))
    size = {"width": _LEFT + banks * _CELL, "height": height, "high": _ROW - 1}
    return {**size, "boxes": boxes, "texts": texts, "edges": edges}
