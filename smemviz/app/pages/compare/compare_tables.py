"""What the compare page says in tables: launches side by side, and what changed since a revision or in the compiler."""

import re
from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app.addresses import KERNEL
from smemviz.app.components.frames import scroller
from smemviz.app.components.launches import Query, hardware_of
from smemviz.app.components.rich import rich, translated
from smemviz.app.components.tables import table
from smemviz.app.file_names import COMPILED
from smemviz.app.library import Library
from smemviz.app.state import RunState
from smemviz.errors import InputError, SmemvizError
from smemviz.frontends.program import Program
from smemviz.frontends.reading import revision_of
from smemviz.i18n import N_, _
from smemviz.model.counting.diff import diff
from smemviz.reports.diff import (
    LAUNCH_HEADS,
    SITE_HEADS,
    Diff,
    Side,
    changed,
    duplicates,
    launch_cells,
    launch_name,
    site_cells,
    verdict,
)
from smemviz.views.comparison import COMPILED_HEADS, KINDS, Row, coalescing, compiled_rows, total_traffic
from smemviz.wording.labels import clause, clauses, degree_name, duration, efficiency_text, names, percent

_WAVEFRONTS = {"store": N_("Store wavefronts"), "load": N_("Load wavefronts"), "update": N_("Update wavefronts")}
_VIEWS = N_("What the compiler did to {kernel}")
_COMPILED = N_("This is the PTX. The GPU's assembler may merge more accesses; verify shows it.")
_SETTING = re.compile(r"(_?[A-Z][A-Z0-9_]*)=(\S+)")
_WORDS = ("access", "operation", "compiler")
_HEADS = {
    "launch": N_("Launch"),
    "line": N_("Line"),
    "access": N_("Access"),
    "operation": N_("Operation"),
    "requests": N_("Requests"),
    "wavefronts": N_("Wavefronts"),
    "excess": N_("Excess"),
    "degree": N_("Degree"),
    "sectors": N_("Sectors"),
    "time": N_("Time"),
    "bytes": N_("Bytes per lane"),
    "compiler": N_("What the compiler did"),
}
_REVISION = re.compile(r"[\w.][\w./~^@{}-]*")


def compare_table(rows: Sequence[Row], links: Sequence[Query]) -> list[Component]:
    """Show what differs, a row per launch, and say what is the same in all; ``links`` lead to their kernel pages."""
    kinds = [kind for kind in KINDS if kind != "update" or any(row.wavefronts_by_kind[kind].wavefronts for row in rows)]
    heads = [_("Launch"), *(_(_WAVEFRONTS[kind]) for kind in kinds), _("Excess"), _("Degree"), _("Shared bytes")]
    heads += [_("Sectors"), _("Sectors per request"), _("Efficiency"), _("Global accesses")]
    heads += [_("Time"), _("Net"), _("Against best"), _("Does it matter?")]
    body = [_row(row, link, kinds) for row, link in zip(rows, links, strict=True)]
    differs = [len(body) < 2 or not at or len({str(row[at]) for row in body}) > 1 for at in range(len(heads))]
    rows_shown = [list(compress(row, differs)) for row in body]
    alike = [(head, cell) for head, cell, other in zip(heads, body[0], differs, strict=True) if not other]
    said = [f"{clause(head)} {getattr(cell, 'children', cell)}" for head, cell in alike]
    note = [html.P(_("The same in all: {facts}.", facts=clauses(*said)), className="note")] if said else []
    return [table("compare", _("Launches side by side"), list(compress(heads, differs)), rows_shown), *note]


def _row(row: Row, link: Query, kinds: Sequence[str]) -> list[object]:
    time = row.entry.measured.time if row.entry.measured else None
    counts = [f"{row.wavefronts_by_kind[kind].wavefronts:,}" for kind in kinds]
    degree = degree_name(row.degree) if row.degree else _("none")
    if row.uncounted:
        degree = _("{degree}; {n} not counted", degree=degree, n=row.uncounted)
    return [
        dcc.Link(row.entry.name, href=f"{KERNEL}?{urlencode(link)}"),
        *counts,
        html.Span(f"▲ {row.excess:,}", className="conflict") if row.excess else "0",
        degree,
        f"{row.entry.launch.shared_bytes:,}",
        f"{row.sectors:,}",
        *_traffic_cells(row),
        coalescing(row),
        duration(time.median_us) if time else _("not measured"),
        duration(time.net_us) if time else _("not measured"),
        f"{row.against_best:.2f} x" if row.against_best else _("not measured"),
        _impact(row),
    ]


def _traffic_cells(row: Row) -> tuple[str, str]:
    """Return sectors per request and the part of the bytes moved that is used."""
    traffic = total_traffic(row)
    each, used = traffic.sectors_per_request, traffic.efficiency
    return _("none") if each is None else f"{each:.4g}", _("none") if used is None else efficiency_text(used)


def _impact(row: Row) -> str:
    if row.impact is None:
        return _("not measured")
    lost, share = row.impact.cost.lost_us, row.impact.share
    if not lost or share is None:
        return row.impact.answer
    return _("{answer}: {time}, {share} of net", answer=row.impact.answer, time=duration(lost), share=percent(share))


def compare_impact(rows: Sequence[Row]) -> list[Component]:
    """Say of each launch whether its excess matters, and what that rests on."""
    terms = [
        html.Div([html.Dt(row.entry.name), html.Dd(_described(row))])
        for row in rows
        if row.excess or (row.impact and row.impact.cost.wavefronts)
    ]
    bases = dict.fromkeys(row.impact.basis for row in rows if row.impact and row.impact.basis)
    without = [row.entry.name for row in rows if not row.excess]
    return [
        html.Dl(terms, className="impacts"),
        *([html.P(_("No excess wavefronts: {launches}.", launches=names(*without)))] if without else []),
        *(html.P(basis, className="note") for basis in bases),
    ]


def _described(row: Row) -> list[Component | str]:
    if row.impact is None:
        return [_("Not known: its time was not measured.")]
    answer = html.Strong(_("{answer}.", answer=row.impact.answer))
    return rich("{before} {after}", before=answer, after=row.impact.sentence)


def changes_panel() -> Component:
    """Lay out the section: what to compare with, and a place for what differs."""
    against = dmc.TextInput(
        id="against",
        label=_("Before"),
        description=_("A revision such as HEAD~1, constants such as IPAD=0, or both"),
        placeholder="HEAD~1",
        debounce=True,
        size="sm",
        className="against",
    )
    title = html.Summary(html.H2(_("Changes since a revision, or with other constants")))
    changes = html.Div(id="compare-changes", role="status")
    return html.Details([title, against, changes], id="changes", className="panel folded")


def view_changes(library: Library, query: Query) -> list[Component]:
    """Compare the file of the query with what ``against`` names: totals of every launch, lines that changed."""
    against = query.get("against", "").split()
    if not against:
        return []
    try:
        compared = _compared(library, query, against)
    except SmemvizError as error:
        return [dmc.Alert(translated(str(error)), color="red", className="refusal")]
    launches = [[launch_name(pair, times), *launch_cells(pair)] for pair, times in duplicates(compared)]
    tables = [_table(_("Launches, before and after"), LAUNCH_HEADS, launches)]
    for pair, times in duplicates(compared):
        if changed(pair):
            name, rows = launch_name(pair, times), [site_cells(pair, site) for site in changed(pair)]
            tables += [html.H3(name), _table(_("Lines of {launch}", launch=name), SITE_HEADS, rows)]
    sides = _(
        "A is {before}, B is {after} as this page shows it.", before=compared.before.name, after=compared.after.name
    )
    return [html.P(verdict(compared), className="worst"), html.P(sides, className="note"), *tables]


def view_compiled(picks: Sequence[str], rows: Sequence[Row]) -> list[Component]:
    """Hold the two views of each kernel against each other that is compared in both, access by access."""
    known, parts = dict(zip(picks, rows, strict=True)), []
    for pick, row in known.items():
        file, kernel = row.entry.file, row.entry.launch.kernel
        other = known.get(f"{file}{COMPILED}{pick.removeprefix(file)}")
        if other is not None:
            cells = compiled_rows(row.entry.launch, other.entry.launch, row.entry.hardware)
            title = _(_VIEWS, kernel=kernel)
            note = html.P(_(_COMPILED), className="note")
            parts += [html.H3(title), note, _table(title, COMPILED_HEADS, cells)]
    return parts


def _compared(library: Library, query: Query, against: Sequence[str]) -> Diff:
    file = query.get("file") or library.files[0]
    constants = {name: value for name, value in query.items() if _SETTING.fullmatch(f"{name}={value}")}
    state = RunState(file, constants=constants)
    shown_run = library.show(state)
    recording = library.run(_before(library, file, constants, against))
    counted = hardware_of(shown_run, RunState.read(query))
    pairs = diff(recording, shown_run.recording, counted)
    before, after = Side(" ".join(against), {}, recording), Side(file, constants, shown_run.recording)
    return Diff(before, after, pairs, counted, 0.0)


def _before(library: Library, file: str, constants: Query, against: Sequence[str]) -> Program:
    """Return the program that is compared with: an earlier one, constants of its own before those of the page."""
    settings = {match[1]: match[2] for word in against if (match := _SETTING.fullmatch(word))}
    revisions = [word for word in against if not _SETTING.fullmatch(word)]
    if len(revisions) > 1 or not all(map(_REVISION.fullmatch, revisions)):
        raise InputError(f"{' '.join(against)}: write a revision such as HEAD~1, constants such as IPAD=0, or both")
    program = library.program(file)
    if revisions:
        path = library.kernel_file(file)
        if not library.local:
            raise InputError(f"{file}: revisions are read only when the server is reachable from this machine alone")
        if path is None:
            raise InputError(f"{file}: is not a file here; only a kernel file has revisions")
        program = revision_of(Path(path), revisions[0])
    known = {name: value for name, value in constants.items() if name in program.constants}
    return program.with_constants({**known, **settings})


def _table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Component:
    kinds = ["words" if head in _WORDS else "" for head in heads]
    return scroller(table("compare", caption, [_(_HEADS[head]) for head in heads], rows, kinds), label=caption)
