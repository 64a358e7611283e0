"""A recording in a notebook: a table of its launches and the banks under its worst request, in plain HTML and SVG.

Nothing in it is loaded from anywhere or runs; it follows the colours of JupyterLab, VS Code, or the system.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from smemviz.figures.drawing.style import THEMES, blend, css_variables, font, mono
from smemviz.i18n import _, spoken
from smemviz.model.counting.diff import duplicates, times_made
from smemviz.model.hardware.compute_capability import known
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.playback.bank_service import BankService, bank_layout, bank_service
from smemviz.model.playback.request_view import RequestView, worst_request
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording
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
    sums = [facts(launch, hardware) for launch in recording.launches]
    parts = [
        f"<p>{_origin(recording, hardware)}</p>",
        _table(recording.launches, sums, hardware),
        *_missing(recording),
        *_findings(recording),
    ]
    if any(total.wavefronts for total in sums):
        worst = max(range(len(sums)), key=lambda i: sums[i].excess)
        parts.append(_picture(recording, worst_request(recording.launches[worst], hardware), hardware))
    return f'<div class="smemviz" lang="{spoken()}"><style>{_style()}</style>{"".join(parts)}</div>'


def _origin(recording: Recording, hardware: Hardware) -> str:
    where_from, counted = escape(origin(recording)), escape(rule(hardware, recording.launches))
    return _("<b>{file}</b>: requests {origin}; {rule}.", file=escape(recording.file), origin=where_from, rule=counted)


def _table(launches: Sequence[Launch], sums: Sequence[Facts], hardware: Hardware) -> str:
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
        tag = "<tr class=conflict>" if sums[group[0]].excess else "<tr>"
        rows.append(tag + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    more = sum(map(len, groups[_MOST_LAUNCHES:]))
    further = _("and {more}", more=count(more, "more launch"))
    note = f"<p>{escape(further)}</p>" if more else ""
    head = "".join(f"<th scope=col>{escape(name)}</th>" for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{note}"


def _missing(recording: Recording) -> Iterator[str]:
    """Say what of the run is not in the recording."""
    if recording.unrecorded:
        launches = count(recording.unrecorded, "more launch")
        yield f"<p>{escape(_('{launches} of the run not recorded, as asked', launches=launches))}</p>"
    requests = sum(launch.missing for launch in recording.launches)
    if requests:
        lost = count(requests, "request")
        yield f"<p>{escape(_('{requests} were counted and not logged one by one', requests=lost))}</p>"


def _findings(recording: Recording) -> Iterator[str]:
    folded_findings = folded(recording.findings)
    for finding, alike in folded_findings[:_MOST_FINDINGS]:
        sentence = _("line {line}: {what}", line=finding.line, what=described(finding, recording, alike))
        yield f"<p class=finding>{escape(sentence)}</p>"
    more = sum(1 + alike for _finding, alike in folded_findings[_MOST_FINDINGS:])
    if more > 0:
        further = _("and {more}", more=count(more, "more finding"))
        yield f"<p class=finding>{escape(further)}</p>"


def _picture(recording: Recording, now: RequestView, hardware: Hardware) -> str:
    """Say what the worst request is and draw it: a column per bank, a row per wavefront, the lanes in the cells."""
    site = now.site
    if site is None:
        return ""
    where = bank_layout(now.launch, hardware)
    service = bank_service(now, where, hardware)
    place = f"{recording.file_of(now.launch, site)}:{site.line}"
    title = _("{kernel}: {headline}", kernel=now.launch.kernel, headline=headline(now.launch, hardware))
    sentence = _("{place}, {site}: {request}.", place=place, site=site.source, request=present(now, hardware))
    text = f"<p><b>{escape(title)}</b><br>{escape(sentence)}</p>"
    if not service.wavefronts:
        return text
    return text + _svg(service, where.banks, sentences(_("{sentence}.", sentence=title), sentence))


def _svg(service: BankService, banks: int, label: str) -> str:
    """Draw the first wavefronts; a cell has its lane, ``7``, or ``0+`` for lanes 0 and others."""
    rows = min(service.wavefronts, _MOST_ROWS)
    width, height = _LEFT + banks * _CELL, rows * _ROW + _BOTTOM
    cells = []
    for wavefront, bank, lanes, _words in service.cells():
        if wavefront < rows:
            x, y = _LEFT + bank * _CELL, wavefront * _ROW
            lane_label = f"{min(lanes)}+" if len(set(lanes)) > 1 else f"{lanes[0]}"
            shape = f'<rect class="b{bank}" x="{x}" y="{y}" width="{_CELL - 1}" height="{_ROW - 1}"/>'
            cells.append(f'{shape}<text x="{x + _CELL / 2 - 0.5}" y="{y + 14}">{lane_label}</text>')
    idle = (
        f'<rect class="idle" x="{_LEFT}" y="{row * _ROW}" width="{banks * _CELL - 1}" height="{_ROW - 1}"/>'
        for row in range(rows)
    )
    edges = "".join(f"M{_LEFT + bank * _CELL - 0.5} 0V{rows * _ROW}" for bank in range(1, banks))
    ticks = [f'<path d="{edges}"/>']
    ticks += [f'<text x="{_LEFT - 6}" y="{row * _ROW + 14}" class="row">{row + 1}</text>' for row in range(rows)]
    ticks += [
        f'<text x="{_LEFT + bank * _CELL + _CELL / 2}" y="{rows * _ROW + 12}" class="axis">{bank}</text>'
        for bank in range(0, banks, 4)
    ]
    axes = _("lanes by bank (across) and wavefront (down)")
    if rows < service.wavefronts:
        total = service.wavefronts
        axes = _("lanes by bank (across) and wavefront (down), the first {rows} of {total}", rows=rows, total=total)
    ticks.append(f'<text x="{_LEFT}" y="{height - 4}" class="note">{escape(axes)}</text>')
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(label)}">{"".join(idle)}{"".join(cells)}{"".join(ticks)}</svg>'
    )


def _style() -> str:
    """Return the style sheet: light, dark where the system is, and either where the notebook says so."""
    light, dark = (
        css_variables(THEMES[name], _COLOURS, b=blend(THEMES[name].ramp, _BANKS)) for name in ("light", "dark")
    )
    as_light = "body[data-jp-theme-light=true] .smemviz,body.vscode-light .smemviz"
    as_dark = "body[data-jp-theme-light=false] .smemviz,body.vscode-dark .smemviz"
    return (
        f".smemviz{{{light}}}@media(prefers-color-scheme:dark){{.smemviz{{{dark}}}}}{as_light}{{{light}}}{as_dark}{{{dark}}}"
        f".smemviz{{background:var(--paper);color:var(--ink);font:13px/1.45 {font()};padding:8px 12px;overflow-x:auto}}"
        ".smemviz p{margin:6px 0}"
        ".smemviz table{border-collapse:collapse;margin:6px 0;background:none;color:inherit;font-size:13px}"
        ".smemviz th,.smemviz td{padding:3px 10px;text-align:right;background:none;border:0;white-space:nowrap}"
        ".smemviz th{color:var(--muted);font-weight:500;border-bottom:1px solid var(--unused)}"
        f".smemviz td:first-child{{font-family:{mono()}}}"
        ".smemviz th:first-child,.smemviz td:first-child{text-align:left}"
        ".smemviz .conflict td:nth-child(n+7):nth-child(-n+8),.smemviz .finding{color:var(--conflict);font-weight:600}"
        ".smemviz svg{display:block;max-width:none}.smemviz path{stroke:var(--paper)}"
        f".smemviz text{{font:600 11px {mono()};text-anchor:middle;fill:var(--ink)}}"
        f".smemviz .axis,.smemviz .row,.smemviz .note{{font:400 11px {font()};fill:var(--muted)}}"
        ".smemviz .row{text-anchor:end}.smemviz .note{text-anchor:start}.smemviz .idle{fill:var(--idle)}"
        + "".join(f".smemviz .b{bank}{{fill:var(--b{bank})}}" for bank in range(_BANKS))
    )
