"""The gallery: a card per kernel file."""

from __future__ import annotations

from collections import Counter
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, html, no_update
from dash.development.base_component import Component

from smemviz.app.addresses import COMPARE, GALLERY, KERNEL, LEARN
from smemviz.app.components.frames import page_title
from smemviz.app.components.graph import graph, table_button
from smemviz.app.components.launches import group_name, hardware_of, launch_badge, launch_query, refused_badge, worst_of
from smemviz.app.components.rich import rich, translated
from smemviz.app.library import Library, Shown
from smemviz.app.page import Page, Services
from smemviz.app.state import LookState, RunState
from smemviz.errors import SmemvizError
from smemviz.figures.thumbnail import thumbnail
from smemviz.i18n import N_, _
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.recordings.data import Launch
from smemviz.wording.labels import count, ways
from smemviz.wording.sentences import facts, provenance


def gallery_page(library: Library) -> list[Component]:
    """Lay out the gallery; the pictures are filled in once the theme is known."""
    notes = {file: _origin_note(library, file) for file in library.files}
    shared = _of_most(list(notes.values()))
    cards = [_card(library, file, "" if notes[file] == shared else notes[file]) for file in library.files]
    note = [html.P(shared, className="note", id="of-most")] if shared else []
    return [heading(), *note, html.Div(cards, className="cards"), _own_files()]


def _origin_note(library: Library, file: str) -> str:
    """Say where the requests of a file come from and how they are counted, nothing where it cannot be shown."""
    state = RunState(file)
    try:
        shown = library.show(state)
        shown.launch(state)
    except SmemvizError:  # its card says it
        return ""
    return provenance(shown.recording, hardware_of(shown, state))


def _of_most(notes: list[str]) -> str:
    """Return what would stand on most cards, to be said once above them; "" where it is of one card only."""
    common = Counter(filter(None, notes)).most_common(1)
    return common[0][0] if common and common[0][1] > 1 else ""


def _own_files() -> Component:
    """Say how one's own files come here."""
    return html.P(
        rich(
            "Your own kernels stand here when smemviz is started with them: {command}. A recording opens in the same "
            "way: {recording}.",
            command=html.Code("smemviz mine.py"),
            recording=html.Code("smemviz mine.smem.npz"),
        ),
        className="note own-files",
    )


def heading() -> Component:
    """Lay out the gallery's first words, for which no file has to be read."""
    begin = rich(
        "New to this? Begin with {learn}: short lessons that ask before they show, for one reader or before a class.",
        learn=html.A(_("Learn"), href=LEARN),
    )
    what = _("Pick a kernel to see which lane touches which bank, and what that costs.")
    return page_title(_("Shared memory, seen"), what, html.P(begin), _legend())


def _legend() -> Component:
    """Say what the colours of the small pictures mean."""
    named = {
        "bank-first": _("bank {bank}", bank=0),
        "bank-last": _("bank {bank}", bank=H200.banks - 1),
        "lane": _("lane of the worst request"),
        "conflict": _("lane in conflict"),
        "unused": _("never touched"),
    }
    return html.Ul([html.Li(text, className=f"key {key}") for key, text in named.items()], className="legend")


def register(app: Dash, services: Services) -> None:
    """Connect the gallery of an app to its files."""
    library = services.library

    @app.callback(  # type: ignore[untyped-decorator]
        Output({"type": "thumbnail", "file": ALL}, "figure"),
        Input("theme", "data"),
        State({"type": "thumbnail", "file": ALL}, "id"),
    )
    def draw(theme: str, pictures: list[dict[str, str]]) -> list[object]:
        look = LookState.read({"theme": theme})
        figures: list[object] = []
        for picture in pictures:
            state = RunState(str(picture["file"]))
            try:
                shown = library.show(state)
            except SmemvizError:  # the card says it
                figures.append(no_update)
                continue
            hardware = hardware_of(shown, state)
            worst, _nth = worst_of(shown, shown.numbered(), hardware)
            figures.append(thumbnail(worst, hardware=hardware, theme=look.theme))
        return figures


def _card(library: Library, file: str, note: str) -> Component:
    state = RunState(file)
    try:
        shown = library.show(state)
        shown.launch(state)
    except SmemvizError as error:
        why = translated(str(error))
        return html.Article(
            [html.H2(file), dmc.Alert(why, title=_("This file cannot be shown"), color="red")], className="card"
        )
    hardware = hardware_of(shown, state)
    launches = shown.recording.launches
    worst, nth = worst_of(shown, shown.numbered(), hardware)
    excess = sum(facts(launch, hardware).excess for launch in launches)
    degree = max(facts(launch, hardware).max_degree for launch in launches)
    return html.Article(
        [
            html.Div(graph({"type": "thumbnail", "file": file}, still=True), className="thumbnail"),
            html.H2([html.A(file, href=_href(file, worst, nth), className="card-link"), *_kind(library, file)]),
            html.P(shown.program.summary, className="summary", lang="en"),
            html.P(_in_short(shown, degree, excess), className="worst"),
            html.Ul(
                [
                    *(_kernel(file, shown, group, hardware) for group in shown.groups()),
                    *(_refused(file, kernel) for kernel in shown.refused()),
                ],
                className="card-kernels",
            ),
            html.Div(
                [
                    html.A(
                        _("Compare the kernels of {file}", file=file),
                        href=f"{COMPARE}?" + urlencode({"file": file}),
                        className="compare-link",
                    ),
                    table_button(_("The shared tile of {kernel} under its worst request", kernel=worst.kernel)),
                ],
                className="card-tools",
            ),
            *([html.P(note, className="note")] if note else []),
        ],
        className="card",
    )


def _kind(library: Library, file: str) -> list[Component | str]:
    """Tell a recording from a kernel file."""
    if library.kernel_file(file) is not None:
        return []
    return [" ", html.Span(_("recording"), className="from-file")]


def _kernel(file: str, shown: Shown, group: list[tuple[Launch, int]], hardware: Hardware) -> Component:
    worst, nth = worst_of(shown, group, hardware)
    return html.Li([html.A(group_name(group), href=_href(file, worst, nth)), launch_badge(shown, worst, hardware)])


def _in_short(shown: Shown, degree: int, excess: int) -> list[Component | str]:
    """Say the one thing to know about a file: its mistakes before its conflicts."""
    findings = shown.recording.mistakes
    if findings:
        return rich("{mistakes} found while it ran", mistakes=html.Strong(count(len(findings), "mistake")))
    if excess:
        return rich(
            "{degree} at worst, {wavefronts} in excess",
            degree=html.Strong(ways(degree)),
            wavefronts=count(excess, "wavefront"),
        )
    return [html.Strong(_("No bank conflict"))]


def _refused(file: str, kernel: str) -> Component:
    href = f"{KERNEL}?" + urlencode({"file": file, "kernel": kernel})
    return html.Li([html.A(kernel, href=href), refused_badge()])


def _href(file: str, launch: Launch, nth: int) -> str:
    return f"{KERNEL}?" + urlencode({"file": file} | launch_query(launch, nth))


PAGE = Page(GALLERY, "", lambda services, address: gallery_page(services.library), register, link=N_("Gallery"))
