"""What a run puts on the kernel page: headline, source, facts, and what the controls show."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.addresses import COMPARE, EDITOR, KERNEL
from smemviz.app.components.frames import notice
from smemviz.app.components.launches import (
    Filling,
    Query,
    group_name,
    hardware_of,
    launch_badge,
    launch_query,
    pick_of,
    refused_badge,
    worst_of,
)
from smemviz.app.components.rich import rich, translated
from smemviz.app.components.tables import fact
from smemviz.app.file_names import COMPILED
from smemviz.app.library import Library, ShownRun
from smemviz.app.pages.kernel.controls import knob_note
from smemviz.app.pages.kernel.source_view import line_badges, refused_source, source_view
from smemviz.app.state import RunState
from smemviz.app.texts import page_of
from smemviz.errors import LaunchError, PlaceError, SmemvizError, UnlaunchedError
from smemviz.frontends.program import Program
from smemviz.i18n import _, ngettext
from smemviz.languages import language_of
from smemviz.messages import say
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import Hardware
from smemviz.paths import gallery
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import Finding
from smemviz.recordings.places import access_of
from smemviz.recordings.text import lines_of
from smemviz.views.columns import columns_in
from smemviz.wording.first_look import alike_at, first_mistake, reason_and_remedy
from smemviz.wording.labels import capital, finding_name, sentences
from smemviz.wording.sentences import (
    described_where,
    facts,
    findings_of,
    folded,
    headline_of,
    met_by,
    more_of_a_kind,
    origin,
    rule,
)

_HEADLINE = 90  # letters

RUN_PROPERTIES = (
    f"{ids.KERNELS}.html",
    "eyebrow.html",
    "twins.html",
    "headline.children",
    "origin.children",
    "notices.html",
    f"{ids.SOURCE}.html",
    "facts.html",
    "facts-note.children",
    "shown-run.data",
    "results.className",
)


def view_run(library: Library, query: Query, before: str | None = None, *, own: bool = False) -> Filling:
    """Run what the query asks for; a refusal leaves what is there, the launch ``before``, and says so.

    ``own`` is whether that is with the file's own constants.
    """
    state = RunState.read(query)
    shown_run = None
    try:
        shown_run = library.show(state)
        launch = shown_run.launch(state)
    except SmemvizError as error:
        program = shown_run.program if shown_run else None
        texts = (program.source, program.file) if program else ("", "")
        refused = refusal(error, before, *texts, own=own)
        if isinstance(error, UnlaunchedError) and not before:
            return refused | _unlaunched(library.program(state.file), error)
        return refused | (_around(shown_run, query, state, before, error) if shown_run else {})
    hardware = hardware_of(shown_run, state)
    findings, rows = findings_of(shown_run.recording, launch), summarize(launch, hardware)
    in_editor = {}  # what it shows at the lines of a text
    if library.is_text(state.file):
        in_editor = {"file": state.file, "badges": line_badges(shown_run.recording, launch, rows)}
    return {
        f"{ids.KERNELS}.html": _kernel_links(shown_run, launch, query, hardware),
        "eyebrow.html": _eyebrow(shown_run, launch.kernel),
        "twins.html": [
            *_twin_links(library, launch.kernel, query),
            *_views_link(launch.kernel, query),
            *_copy_link(library, launch.kernel, query),
        ],
        "headline.children": headline_of(shown_run.recording, launch, hardware),
        "origin.children": _origin(shown_run, launch, hardware),
        "notices.html": _notices(shown_run, launch, findings, query),
        f"{ids.SOURCE}.html": source_view(shown_run.recording, launch, rows, findings),
        "facts.html": _facts(launch, hardware),
        "facts-note.children": _("From the {origin}; {rule}.", origin=shown_run.origin, rule=rule(hardware, [launch])),
        "shown-run.data": _shown_run(shown_run, launch.kernel, hardware) | in_editor,
        "results.className": "columns" if launch.shared_arrays else "columns without-tile",
    }


def _unlaunched(program: Program, error: UnlaunchedError) -> Filling:
    """Return the source of a file that says no launch yet."""
    kernel = next(iter(program.kernels))
    return {
        f"{ids.SOURCE}.html": refused_source(program.file, program.source, kernel, error.line),
        "eyebrow.html": [Path(program.file).name, " · ", html.Strong(kernel)],
        "results.className": "columns nothing refused",
    }


def _around(shown_run: ShownRun, query: Query, state: RunState, before: str | None, error: SmemvizError) -> Filling:
    """Return the ways to other kernels, what makes the knobs work, and the source where another stands there."""
    hardware = hardware_of(shown_run, state)
    filling: Filling = {"shown-run.data": _shown_run(shown_run, before or "", hardware)}
    links = _kernel_links(shown_run, None, query, hardware)
    if links:
        filling[f"{ids.KERNELS}.html"] = links
    kernel = shown_run.program.kernels.get(state.kernel or next(iter(shown_run.refused()), ""))
    if kernel is not None and kernel.name != before and isinstance(error, LaunchError):
        filling[f"{ids.SOURCE}.html"] = refused_source(
            shown_run.program.file, shown_run.program.source, kernel.name, error.line
        )
        filling["eyebrow.html"] = _eyebrow(shown_run, kernel.name)
        filling["results.className"] = "columns stale refused" if before else "columns nothing refused"
    return filling


def _eyebrow(shown_run: ShownRun, kernel: str) -> list[Component | str]:
    return [Path(shown_run.program.file).name, " · ", html.Strong(kernel)]


def _kernel_links(shown_run: ShownRun, launch: Launch | None, query: Query, hardware: Hardware) -> list[Component]:
    """Link every launch of the run, those of a group together, with its badge, and every kernel that was refused one.

    Constants and hardware stay as they are; without a launch it is the kernel of the query that is current.
    """
    here = next(((other.kernel, nth) for other, nth in shown_run.numbered() if other is launch), None)
    shown_run = shown_run.others or shown_run
    if not shown_run.recording.launches:
        return []
    links = []
    page = page_of(query.get("file", ""))
    rest = {key: value for key, value in query.items() if key not in ("kernel", "launch")}

    def add(name: str, badge: Component, link_query: Query, *, current: bool) -> None:
        look = "kernel-link current" if current else "kernel-link"
        links.append(html.A([html.Span(name), badge], href=f"{page}?{urlencode(rest | link_query)}", className=look))

    for group in shown_run.groups():
        worst, nth = worst_of(shown_run, group, hardware)
        shown = next((other for other, number in group if (other.kernel, number) == here), None)
        badge = launch_badge(shown_run, shown or worst, hardware)
        add(group_name(group), badge, launch_query(worst, nth), current=shown is not None)
    for kernel in shown_run.refused():
        current = launch is None and kernel == query.get("kernel")
        add(kernel, refused_badge(), {"kernel": kernel}, current=current)
    return [*links, html.A(_("Compare"), href=f"{COMPARE}?{urlencode(rest)}", className="compare-link")]


def _twin_links(library: Library, kernel: str, query: Query) -> list[Component]:
    """Link the kernel in each other language, with those of the constants that are there too."""
    links: list[Component] = []
    for other in library.twins(query.get("file", ""), kernel):
        program = library.program(other)
        rest = {name: query[name] for name in query if name == "cc" or name in program.constants}
        href = f"{KERNEL}?{urlencode({'file': other, 'kernel': kernel, **rest})}"
        links.append(html.A(_("The same in {language}", language=program.language.title), href=href))
    return links


def _views_link(kernel: str, query: Query) -> list[Component]:
    """Link a kernel as it is written and as it is compiled, side by side, where its language has both views."""
    file = query.get("file", "").removesuffix(COMPILED)
    if "compiled" not in language_of(file).views:
        return []
    picks = [("launch", pick_of(name, kernel, 0)) for name in (file, file + COMPILED)]
    rest = [(name, value) for name, value in query.items() if name not in ("file", "kernel", "launch")]
    href = f"{COMPARE}?{urlencode([('file', file), *picks, *rest])}"
    return [html.A(_("What the compiler did"), href=href)]


def _copy_link(library: Library, kernel: str, query: Query) -> list[Component]:
    """Link a kernel of the gallery in the editor, where it can be changed and run."""
    file = query.get("file", "")
    if library.texts is None or library.is_text(file) or library.kernel_file(file) not in gallery():
        return []
    return [html.A(_("Change it in the editor"), href=f"{EDITOR}?{urlencode({'file': file, 'kernel': kernel})}")]


def _origin(shown_run: ShownRun, launch: Launch, hardware: Hardware) -> str:
    lines = [_("Requests {origin}; {rule}.", origin=origin(shown_run.recording), rule=rule(hardware, [launch]))]
    if shown_run.recording.unrecorded:
        singular = "{n:,} more launch of the run not recorded, as asked."
        lines.append(
            ngettext(singular, "{n:,} more launches of the run not recorded, as asked.", shown_run.recording.unrecorded)
        )
    return sentences(*lines, shown_run.why or "")


def _notices(shown_run: ShownRun, launch: Launch, findings: Sequence[Finding], query: Query) -> list[Component]:
    """Say what is missing from the recording, and what went wrong while it was made."""
    notices: list[Component] = []
    if launch.missing:
        text = ngettext(
            "{n:,} request were counted but not logged; pictures show the logged blocks.",
            "{n:,} requests were counted but not logged; pictures show the logged blocks.",
            launch.missing,
        )
        notices.append(notice(text, _("Not every request is logged")))
    folded_findings: dict[tuple[str, int, str, str], tuple[Finding, int]] = {}
    for finding, more in folded(findings):
        where = described_where(finding, shown_run.recording)
        folded_findings.setdefault((finding.kind, finding.line, where, finding.message), (finding, more))
    first = first_mistake(shown_run.recording, launch)
    titled = (first, *alike_at(shown_run.recording, launch, first))
    for (kind, line, where, message), (finding, more) in folded_findings.items():
        if any(finding is one for one in titled):
            continue
        alike = first is not None and (kind, message) == (first.kind, first.message)
        parts = [
            *_described(line, where, "" if alike else message),
            *_more_and_access(shown_run, launch, finding, more, query),
        ]
        notices.append(notice(parts, capital(finding_name(kind)), kind="plain" if finding.harmless else "wrong"))
    if shown_run.recording.printed:
        printed = html.Pre(shown_run.recording.printed, id="printed")
        notices.append(html.Details([html.Summary(_("What {main} printed", main="main()")), printed]))
    return notices


def met_at(shown_run: ShownRun, launch: Launch, mistake: Finding, query: Query) -> list[Component | str]:
    """Say in which line, block and threads the first mistake of a launch was met, and lead to the access."""
    found = folded(findings_of(shown_run.recording, launch))
    more = next((more for finding, more in found if finding is mistake), 0)
    where = rich("Line {line}: {where}", line=mistake.line, where=met_by(mistake))
    return [*where, *_more_and_access(shown_run, launch, mistake, more, query)]


def also_at(shown_run: ShownRun, launch: Launch, mistake: Finding, query: Query) -> list[Component]:
    """Say what else is wrong in the line of the first mistake in the same way, and lead to those accesses."""
    return [
        html.P(
            [
                *rich("Also: {reason}", reason=reason_and_remedy(other)[0]),
                *_more_and_access(shown_run, launch, other, 0, query),
            ]
        )
        for other in alike_at(shown_run.recording, launch, mistake)
    ]


def _more_and_access(
    shown_run: ShownRun, launch: Launch, finding: Finding, more: int, query: Query
) -> list[Component | str]:
    """Say that there are more mistakes of a kind, and lead to the access that one was met in, where that is one."""
    parts: list[Component | str] = [" ", more_of_a_kind(more)] if more else []
    access = access_of(shown_run.recording, launch, finding)
    if access is None:
        return parts
    names = zip(("site", "block", "warp"), access, strict=True)
    changes = {name: str(value) for name, value in names if value is not None}
    href = f"{page_of(query.get('file', ''))}?{urlencode(query | changes)}"
    return [*parts, " ", html.A(_("Show the access"), href=href, className="access-link")]


def _described(line: int, where: str, message: str) -> list[Component | str]:
    """Say in which line, kernel, block and threads a mistake was met, and what it was, unless that stands elsewhere."""
    what = translated(message)
    if not message:
        return rich("Line {line}: {where}", line=line, where=where)
    if not where:
        return rich("Line {line}: {message}", line=line, message=what)
    return rich("Line {line}: {where}: {message}", line=line, where=where, message=what)


def refusal(error: SmemvizError, before: str | None, source: str = "", file: str = "", *, own: bool = False) -> Filling:
    """Say why there is nothing to show, ``source`` being the text of ``file``; the launch ``before`` stays, greyed.

    ``own`` is whether that is with the file's own constants.
    """
    unlaunched, launched = isinstance(error, UnlaunchedError), isinstance(error, LaunchError)
    headline = _cause(error) if launched else _("This cannot be run")
    refused = _refusal(error, _still_there(before, own) if before else "", source, file)
    return {
        "headline.children": _("How is this kernel launched?") if unlaunched else headline,
        "origin.children": "",
        "notices.html": _offer(error.offer) if isinstance(error, UnlaunchedError) and not before else refused,
        "results.className": "columns stale" if before else "columns nothing",
    }


def _cause(error: SmemvizError) -> str:
    """Return the first sentence of why a launch is refused; what to do follows below."""
    what = error.what if isinstance(error, PlaceError) else str(error)
    said = say(what) or what
    first = re.split(r"(?<=[.。])(?:\s|$)", said, maxsplit=1)[0].rstrip(".。")
    return capital(first) if len(first) <= _HEADLINE else _("This cannot be launched")


def _offer(comment: str) -> Component:
    """Offer the comment that launches a kernel."""
    copy = html.Button(_("Copy"), type="button", className="text-button", **{"data-code": comment})
    said = _("Nothing in this file says that. Add this comment to it, with sizes of your own, and save it:")
    return notice([said, html.P([html.Code(comment), " ", copy])], kind="plain refusal", id="error")


def _still_there(kernel: str, own: bool) -> str:
    """Say what the pictures are of that are still there."""
    if own:
        return _("The pictures below are of {kernel} with the constants as the file has them.", kernel=kernel)
    return _("The pictures below are of the last run that worked, {kernel}.", kernel=kernel)


def _refusal(error: SmemvizError, still_there: str, source: str, file: str) -> Component:
    """Say what is wrong and in which line, and what the pictures are of."""
    text = f"{Path(error.file).name}:{error.line}: {error.what}" if isinstance(error, PlaceError) else str(error)
    lines = lines_of(source)
    line = ""
    if isinstance(error, PlaceError) and error.file == file and 0 < error.line <= len(lines):
        line = lines[error.line - 1].strip()
    parts = [translated(text)]
    if line:
        parts += [html.Br(), html.Code(line)]
    if still_there:
        parts.append(html.P(still_there))
    return notice(parts, kind="wrong refusal", id="error")


def _facts(launch: Launch, hardware: Hardware) -> list[Component]:
    total = facts(launch, hardware)
    items = [
        fact(_("grid"), " x ".join(map(str, launch.grid))),
        fact(_("block"), " x ".join(map(str, launch.block))),
        fact(_("shared bytes"), f"{launch.shared_bytes:,}", "shared-bytes"),
    ]
    for column in columns_in("page"):
        conflict = column.name == "excess" and total.excess > 0
        items.append(fact(column.head("page"), column.total_text(launch, hardware), column.anchor, conflict=conflict))
    if total.uncounted:
        items.append(fact(_("accesses not counted"), f"{total.uncounted:,}", "data"))
    return items


def _shown_run(shown_run: ShownRun, title: str, hardware: Hardware) -> dict[str, Any]:
    """Tell the browser what the controls should show; without a title no launch is shown."""
    constants = shown_run.program.constants
    return {
        "title": title,
        "values": {
            **{name: c.value if c.kind in ("int", "float") else str(c.value) for name, c in constants.items()},
            "cc": hardware.key,
            "source": "recording" if shown_run.from_file else "lockstep",
        },
        "notes": {name: knob_note(shown_run.program, constant) for name, constant in constants.items()},
        "switchable": shown_run.recorded is not None and shown_run.why is None,
    }
