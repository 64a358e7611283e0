"""The source of a kernel: each site a button in its line, what a line costs in columns beside it."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from dash import html
from dash.development.base_component import Component
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.token import Comment, Keyword, Name, Number, String, Token  # type: ignore[import-untyped]

from smemviz.app.components.written_html import as_html
from smemviz.frontends.reading import Span, functions, listing
from smemviz.i18n import _
from smemviz.languages import language_of
from smemviz.recordings.data import Launch, Site, SiteSummary
from smemviz.recordings.findings import LAUNCH_REFUSED, Finding, kind_of
from smemviz.recordings.recording import Recording
from smemviz.recordings.text import lines_of
from smemviz.wording.labels import finding_name
from smemviz.wording.sentences import badge_parts
from smemviz.wording.source_lines import costs_of, heat_of, owner_of, told_apart

_CLASSES = ((Comment, "c"), (Keyword, "k"), (String, "s"), (Number, "n"), (Name.Decorator, "d"), (Name.Builtin, "b"))


def source_view(
    recording: Recording, launch: Launch, rows: tuple[SiteSummary, ...], findings: Sequence[Finding] = ()
) -> list[Component]:
    """Show the kernel's lines, and those of the device functions it has sites in, sites and mistakes marked.

    The kernel's own file comes first; the lines of any but the recording's stand under the name of theirs.
    """
    items: list[Component] = [_heads()] if any(row.excess is not None for row in rows) else []
    for file, spans in listing(recording, launch).items():
        sites = [i for i, site in enumerate(launch.sites) if recording.file_of(launch, site) == file]
        if file != recording.file:
            items.append(html.Li(Path(file).name, className="file"))
        mistakes: dict[int, dict[str, None]] = {}
        for finding in findings:
            if recording.file_of_finding(finding) == file:
                mistakes.setdefault(finding.line, {})[finding.kind] = None
        items += _file_view(file, recording.text(file), launch, spans, sites, rows, mistakes)
    return items


def _file_view(
    file: str,
    source: str,
    launch: Launch,
    spans: Iterable[Span],
    sites: list[int],
    rows: tuple[SiteSummary, ...],
    mistakes: Mapping[int, Iterable[str]],
) -> list[Component]:
    """Show the lines of one file: the kernel, where it is there, and the functions that have any of these sites."""
    lines = lines_of(source)
    classes = _token_classes(source, language_of(file).lexer)
    items: list[Component] = []
    for first, last in spans:
        if items:
            items.append(html.Li("⋯", className="gap", **{"aria-hidden": "true"}))
        for number in range(first, last + 1):
            here = [i for i in sites if launch.sites[i].line == number]
            kinds = tuple(mistakes.get(number, ()))
            items.append(_line(number, lines[number - 1], classes[number - 1], launch.sites, here, rows, kinds))
    return items


def line_badges(recording: Recording, launch: Launch, rows: tuple[SiteSummary, ...]) -> dict[int, str]:
    """Return short badges of the lines of a recording's own file as HTML, in each line the worst first."""
    badges: dict[int, str] = {}
    for i, row in sorted(enumerate(rows), key=lambda numbered: -(numbered[1].excess or 0)):
        site = launch.sites[i]
        if recording.file_of(launch, site) == recording.file:
            badges[site.line] = badges.get(site.line, "") + as_html(_short_badge(i, site, row))
    return badges


def _short_badge(i: int, site: Site, row: SiteSummary) -> Component:
    badge, (_kind, *costs) = _badge(i, site, row, ""), badge_parts(site, row)
    badge.children, badge.title = costs[0], f"{site.source}: {badge.title}"
    setattr(badge, "aria-label", badge.title)
    return badge


def refused_source(file: str, source: str, kernel: str, line: int) -> list[Component]:
    """Show a kernel that was not launched, and the line that would have launched it, marked."""
    lines, classes = lines_of(source), _token_classes(source, language_of(file).lexer)
    first, last = next((first, last) for name, first, last in functions(file, source) if name == kernel)
    items = [_line(n, lines[n - 1], classes[n - 1], (), [], (), ()) for n in range(first, min(last, len(lines)) + 1)]
    if 0 < line <= len(lines) and not first <= line <= last:
        launched = _line(line, lines[line - 1], classes[line - 1], (), [], (), (LAUNCH_REFUSED,))
        items += [html.Li("⋯", className="gap", **{"aria-hidden": "true"}), launched]
    return items


@lru_cache(maxsize=16)
def _token_classes(source: str, lexer: str) -> list[list[str]]:
    """Give every character of every line a class for its colour, "" for plain text."""
    classes: list[list[str]] = [[]]
    for token, text in get_lexer_by_name(lexer, stripnl=False, ensurenl=False).get_tokens(source):
        name = next((short for kind, short in _CLASSES if token in kind), "") if token is not Token.Text else ""
        for character in text:
            if character == "\n":
                classes.append([])
            else:
                classes[-1].append(name)
    return classes + [[] for _ in range(source.count("\n") + 1 - len(classes))]


def _line(
    number: int,
    text: str,
    classes: list[str],
    sites: tuple[Site, ...],
    here: list[int],
    rows: tuple[SiteSummary, ...],
    mistakes: tuple[str, ...],
) -> Component:
    """Show one line: its number, its text with a button for each site, and what it costs, or what is wrong."""
    buttons = _buttons(number, text, classes, sites, here, rows)
    shown = {part.to_plotly_json()["props"].get("data-site") for part in buttons}
    same = [_badge(i, sites[i], rows[i], told_apart(sites[i])) for i in here if str(i) not in shown]
    heat = heat_of(here, rows)
    cells = _found(mistakes) if mistakes else _costs(here, sites, rows, conflict=heat > 0)
    serious = any(kind_of(kind).severity != "harmless" for kind in mistakes)
    looks = ["source-line", *["mistaken"] * serious, *[f"heat-{heat}"] * bool(heat)]
    return html.Li(
        [
            html.Span(str(number), className="line-number"),
            html.Code(buttons or " ", style={"--indent": f"{len(text) - len(text.lstrip())}ch"}),
            *([html.Span([*same, *cells], className="costs")] if same or cells else []),
        ],
        className=" ".join(looks),
    )


def _buttons(
    number: int,
    text: str,
    classes: list[str],
    sites: tuple[Site, ...],
    here: list[int],
    rows: tuple[SiteSummary, ...],
) -> list[Component]:
    """Write a line with a button for each site; what stands behind another site inside of it is marked alike."""
    tokens = classes[: len(text)] + [""] * (len(text) - len(classes))
    owners = [owner_of(number, column, here, sites) for column in range(len(text))]
    parts: list[Component] = []
    named: set[int] = set()
    for site, run in groupby(zip(owners, tokens, text, strict=True), key=lambda character: character[0]):
        written: list[Component] = []
        for name, letters in groupby(run, key=lambda character: character[1]):
            written.append(html.Span("".join(one for *_rest, one in letters), className=f"tok-{name}" * bool(name)))
        if site is None:
            parts += written
        elif site in named:
            parts.append(html.Span(written, className=f"site {_state(rows[site])}", **{"data-site": str(site)}))
        else:
            parts.append(_badge(site, sites[site], rows[site], written))
            named.add(site)
    return parts


def _heads() -> Component:
    """Name the columns."""
    names = {"degree": _("degree"), "excess": _("excess"), "share": _("share")}
    heads = [html.Span(name, className=kind) for kind, name in names.items()]
    written = html.Span(_("as written:"), className="as-written")
    return html.Li(html.Span([written, *heads], className="costs"), className="source-line source-heads")


def _found(mistakes: Iterable[str]) -> list[Component]:
    """Name what was found wrong in a line, which takes the place of what it costs."""
    severity = {kind: "hint" if kind_of(kind).severity == "harmless" else "mistake" for kind in mistakes}
    return [html.Span(finding_name(kind), className=severity[kind]) for kind in severity]


def _costs(
    here: list[int], sites: tuple[Site, ...], rows: tuple[SiteSummary, ...], *, conflict: bool
) -> list[Component]:
    """Say in columns what the accesses of a line to shared memory cost, else in one what those to global memory do."""
    costs = costs_of(here, sites, rows).items()
    return [html.Span(said, className=f"{name} conflict" if conflict else name) for name, said in costs]


def _badge(i: int, site: Site, row: SiteSummary, shown: object) -> Component:
    """A button that selects a site."""
    parts = badge_parts(site, row)
    if site.calls:
        parts = *parts[:-1], _("{badge} via line {line}", badge=parts[-1], line=site.calls[0][0])
    said = " · ".join(parts)
    return html.Button(
        shown,
        title=said,
        className=f"badge {_state(row)}",
        type="button",
        **{"aria-pressed": "false", "aria-label": f"{site.source} {said}", "data-site": str(i)},
    )


def _state(row: SiteSummary) -> str:
    return "conflict" if row.excess else "plain"
