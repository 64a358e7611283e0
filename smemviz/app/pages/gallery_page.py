"""The gallery: a card per kernel file."""

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

from dash import html
from dash.development.base_component import Component
from markupsafe import Markup

from smemviz.app.addresses import COMPARE, GALLERY, KERNEL, LEARN
from smemviz.app.components.frames import notice, page_title
from smemviz.app.components.launches import group_name, hardware_of, launch_badge, launch_query, refused_badge, worst_of
from smemviz.app.components.rich import rich, translated
from smemviz.app.components.written_html import Written, as_html
from smemviz.app.library import Library, ShownRun
from smemviz.app.page import Page
from smemviz.app.pages.gallery_cards import KeptCard, card_files, kept_cards
from smemviz.app.state import RunState
from smemviz.errors import SmemvizError
from smemviz.figures.drawing.style import THEMES
from smemviz.figures.tile import thumbnail
from smemviz.i18n import N_, _
from smemviz.lessons.course import LESSONS
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.playback import worst_request
from smemviz.paths import cute_gallery, gallery, hopper_gallery, triton_gallery
from smemviz.recordings.data import Launch
from smemviz.wording.labels import clause, count, degree_name
from smemviz.wording.sentences import facts, present, provenance

_GROUPS = (  # in the order of their cards; files of others stand under no title
    ("Numba", gallery),
    ("CUDA C++", hopper_gallery),
    (N_("Triton and CuTe DSL"), lambda: [*triton_gallery(), *cute_gallery()]),
)
_MOST = 6  # kernels that a card lists before the rest is folded


def gallery_page(library: Library, *, editor: bool = False, kept: Mapping[str, KeptCard] | None = None) -> html.Div:
    """Lay out the gallery, with cards made anew but for those that are kept; with an editor, files can be brought."""
    notes: dict[str, list[str]] = {}  # where the requests of files come from and how they are counted -> the files
    group_of = {path: title for title, files in _GROUPS for path in files()}
    groups: dict[str, list[Component | Markup]] = {}
    for file in card_files(library):
        card, note = (kept or {}).get(file) or _card_and_note(library, file)
        groups.setdefault(group_of.get(library.path_of(file), ""), []).append(card)
        if note:  # else its card says why nothing is shown
            notes.setdefault(note, []).append(file)
    parts: list[Component] = []
    for group, cards in groups.items():
        parts += [html.H2(_(group), className="card-group")] * bool(group and len(groups) > 1)
        parts.append(html.Div(cards, className="cards"))
    return html.Div([heading(editor=editor), *parts, _origins(notes), _own_files()])


def first_gallery(library: Library, *, editor: bool) -> list[Component]:
    """Lay out what can be said of the gallery at once: all of it, or its first words and that cards are coming."""
    kept, files = kept_cards(library), card_files(library)
    if kept.keys() == set(files):
        return [gallery_page(library, editor=editor, kept=kept)]
    waiting = [html.Article(html.Div(className="thumbnail"), className="card waiting") for _file in files]
    loading = html.P(_("Loading"), className="origin", role="status")
    return [heading(editor=editor), loading, html.Div(waiting, className="cards", **{"aria-hidden": "true"})]


def made_card(library: Library, file: str) -> KeptCard:
    """Make the card of a file, to be kept."""
    card, note = _card_and_note(library, file)
    return KeptCard(Markup(as_html(card)), note)


def _card_and_note(library: Library, file: str) -> tuple[Component, str]:
    run = _run(library, file)
    return _card(library, file, run), provenance(run.recording, _hardware(run)) if isinstance(run, ShownRun) else ""


def _hardware(run: ShownRun) -> Hardware:
    return hardware_of(run, RunState(""))


def _run(library: Library, file: str) -> ShownRun | SmemvizError:
    """Return what is shown of a file, or why nothing is."""
    try:
        shown_run = library.show(RunState(file))
        shown_run.launch(RunState(file))
    except SmemvizError as error:
        return error
    return shown_run


def _origins(notes: Mapping[str, Sequence[str]]) -> Component:
    """Say where the requests of the files come from, once for all that it is true of."""
    items = [html.Li(_("{name}: {sentence}", name=", ".join(files), sentence=note)) for note, files in notes.items()]
    return html.Ul(items, className="note origins")


def _own_files() -> Component:
    return html.P(
        rich(
            "Your own kernels appear here when you start smemviz with them: {command}. A recording opens in the same "
            "way: {recording}.",
            command=html.Code("smemviz mine.py"),
            recording=html.Code("smemviz mine.smem.npz"),
        ),
        className="note own-files",
    )


def heading(*, editor: bool) -> Component:
    """Lay out the gallery's first words, for which no file has to be read."""
    pick = html.P(_("Or pick a kernel, to see which lane touches which bank and what that costs."), className="note")
    return page_title(_("Shared memory, seen"), _strip(editor=editor), pick, _legend())


def _bring() -> Component:
    """Take a kernel file that is dropped, pasted or chosen; ``assets/bring.js`` opens it in the editor."""
    choose = html.Button(_("choose a file"), type="button", className="text-button", **{"data-bring": ""})
    words = rich("Your own kernel: drop a .py or .cu file on this page, paste its text, or {choose}.", choose=choose)
    return html.Div([html.P(words), html.P(role="status", className="brought")], className="bring")


def _strip(*, editor: bool) -> Component:
    """Show 32 lanes in their banks, at once or in a queue; a style sheet moves them when a button is pressed."""
    lanes = H200.banks
    memory = _(
        "A GPU runs the threads of a block 32 at a time, and each of the 32 is a lane. The block shares a small, fast "
        "memory that is cut into {banks}: in a turn, called a wavefront, each bank gives one word of 4 bytes, such as "
        "one float.",
        banks=count(lanes, "bank"),
    )
    conflict = _(
        "Along a row of an array, 32 words wide, every lane finds a bank of its own. Down a column all 32 words lie in "
        "one bank, and the lanes wait for each other: a bank conflict, 32-way. It takes 32 wavefronts where 1 would "
        "do, 31 in excess."
    )
    ways = {"row": (_("along a row"), "tile[0, lane]"), "column": (_("down a column"), "tile[lane, 0]")}
    buttons = []
    for way, (name, read) in ways.items():
        state = {"data-way": way, "aria-pressed": "true" if way == "column" else "false"}
        buttons.append(html.Button([name, " ", html.Code(read)], type="button", className="text-button", **state))
    costs = {"row": count(1, "wavefront"), "column": count(lanes, "wavefront")}
    first = LESSONS[0]
    start = html.A(_("Start: {lesson}", lesson=clause(_(first.title))), href=f"{LEARN}/{first.slug}", className="start")
    told = html.Div(
        [
            html.P(memory),
            html.P(conflict),
            html.Div(buttons, className="ways", role="group", **{"aria-label": _("How lanes go through an array")}),
            html.P(
                [
                    *(html.Strong(cost, className=f"of-{way}") for way, cost in costs.items()),
                    " ",
                    _("to read 32 words"),
                ],
                role="status",
            ),
            html.P(start, className="first"),
            *([_bring()] if editor else []),
        ],
        className="told",
    )
    queue = html.Div([html.I(style={"--i": i}) for i in range(lanes)], className="lanes")
    numbers = html.Div([html.Span(str(bank)) for bank in range(lanes)], className="bank-numbers")
    bins = html.Div(
        [
            html.P(_("tile, 32 x 32 words: each column above its bank"), className="note"),
            html.Div(className="array"),
            queue,
            numbers,
            html.P(_("bank; each bar is a lane"), className="note"),
        ],
        className="bins",
        **{"aria-hidden": "true"},
    )
    return html.Div([told, bins], className="strip", **{"data-way": "column"})


def _legend() -> Component:
    texts = {
        "banks": _("bank {first} to {last}", first=0, last=H200.banks - 1),
        "lane": _("lane of the worst request"),
        "conflict": _("lane in conflict"),
        "unused": _("never touched"),
    }
    return html.Ul([html.Li(text, className=f"key {key}") for key, text in texts.items()], className="legend")


def _card(library: Library, file: str, shown_run: ShownRun | SmemvizError) -> Component:
    if isinstance(shown_run, SmemvizError):
        why = notice(translated(str(shown_run)), _("This file cannot be shown"), kind="wrong")
        return html.Article([html.H3(file), why], className="card")
    hardware = _hardware(shown_run)
    launches = shown_run.recording.launches
    worst, nth = worst_of(shown_run, shown_run.numbered(), hardware)
    excess = sum(facts(launch, hardware).excess for launch in launches)
    degree = max(facts(launch, hardware).max_degree for launch in launches)
    kernels = [
        *(_kernel(file, shown_run, group, hardware) for group in shown_run.groups()),
        *(_refused(file, kernel) for kernel in shown_run.refused()),
    ]
    words, compare = _("Compare the kernels of {file}", file=file), f"{COMPARE}?" + urlencode({"file": file})
    return html.Article(
        [
            html.Div(_pictures(worst, hardware), className="thumbnail"),
            html.H3([html.A(file, href=_href(file, worst, nth), className="card-link"), *_kind(library, file)]),
            html.P(shown_run.program.summary, className="summary", lang="en"),
            html.P(_in_short(shown_run, degree, excess), className="worst"),
            *_kernels(kernels),
            *([html.A(words, href=compare, className="compare-link")] if len(kernels) > 1 else []),
        ],
        className="card",
    )


def _pictures(worst: Launch, hardware: Hardware) -> list[Component | str]:
    """Picture a launch in either theme; the style sheet shows the one that is on."""
    drawn = {theme: thumbnail(worst, hardware=hardware, theme=theme) for theme in THEMES}
    if not all(drawn.values()):
        return [html.Span(_("no shared memory"), className="note")]
    caption = _("The shared tile of {kernel} under its worst request", kernel=worst.kernel)
    alt = _("{name}: {sentence}", name=caption, sentence=present(worst_request(worst, hardware), hardware))
    return [
        html.Img(src=f"data:image/svg+xml,{quote(svg, safe=' /:=')}", alt=alt, className=f"in-{theme}")
        for theme, svg in drawn.items()
    ]


def _kernels(entries: list[Component]) -> list[Component]:
    """List the kernels of a file; of many the rest is folded, so that cards are of a size."""
    if len(entries) <= _MOST + 1:
        return [html.Ul(entries, className="card-kernels")]
    listed, rest = entries[:_MOST], entries[_MOST:]
    more = html.Summary(_("{n} more kernels", n=len(rest)))
    return [
        html.Ul(listed, className="card-kernels"),
        html.Details([more, html.Ul(rest, className="card-kernels")], className="more-kernels"),
    ]


def _kind(library: Library, file: str) -> list[Component | str]:
    if library.kernel_file(file) is not None:
        return []
    return [" ", html.Span(_("recording"), className="from-file")]


def _kernel(file: str, shown_run: ShownRun, group: list[tuple[Launch, int]], hardware: Hardware) -> Component:
    worst, nth = worst_of(shown_run, group, hardware)
    return html.Li([html.A(group_name(group), href=_href(file, worst, nth)), launch_badge(shown_run, worst, hardware)])


def _in_short(shown_run: ShownRun, degree: int, excess: int) -> list[Component | str]:
    """Say the one thing to know about a file: its mistakes before its conflicts."""
    findings = shown_run.recording.mistakes
    if findings:
        return rich("{mistakes} found while it ran", mistakes=html.Strong(count(len(findings), "mistake")))
    if excess:
        return rich(
            "{degree} at worst, {wavefronts} in excess",
            degree=html.Strong(degree_name(degree)),
            wavefronts=count(excess, "wavefront"),
        )
    return [html.Strong(_("No bank conflict"))]


def _refused(file: str, kernel: str) -> Component:
    href = f"{KERNEL}?" + urlencode({"file": file, "kernel": kernel})
    return html.Li([html.A(kernel, href=href), refused_badge()])


def _href(file: str, launch: Launch, nth: int) -> str:
    return f"{KERNEL}?" + urlencode({"file": file} | launch_query(launch, nth))


PAGE = Page(
    GALLERY,
    "",
    lambda services, address: Written(
        gallery_page(services.library, editor=services.texts is not None, kept=kept_cards(services.library))
    ),
    link=N_("Gallery"),
)
