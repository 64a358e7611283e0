"""The published figures on the kernel page: of the file's kernels, each beside what was recorded on a GPU."""

from dataclasses import dataclass
from pathlib import PurePath

from dash import html
from dash.development.base_component import Component

from smemviz.app.components.frames import scroller
from smemviz.app.components.launches import Filling
from smemviz.app.components.tables import table
from smemviz.app.components.written_html import Written
from smemviz.app.library import ShownRun
from smemviz.i18n import _, pgettext
from smemviz.recordings.recording import Recording
from smemviz.views.published_findings import Published, published
from smemviz.wording.sentences import origin

PROPERTIES = ("published-body.html", "published.hidden")


def published_panel() -> Component:
    """Lay out the panel; it is hidden until there is something in it."""
    return html.Section(
        [
            Written(html.H2(_("Published figures beside ours"), id="published-title")),
            Written(html.Div(id="published-body")),
        ],
        className="panel measured-panel",
        id="published",
        hidden=True,
    )


def view_published(shown_run: ShownRun) -> Filling:
    """Show what was published of the file, and ours from its recording on a GPU, whatever the knobs say now."""
    rows = published(shown_run.recorded) if shown_run.recorded else ()
    body: list[Component] = []
    if shown_run.recorded and rows:
        body = [_table(rows), _note(shown_run.recorded), *scopes(PurePath(shown_run.recorded.file).stem)]
    return dict(zip(PROPERTIES, (body, not rows), strict=True))


def _table(rows: tuple[Published, ...]) -> Component:
    heads = (_("What"), _("Published"), _("Ours"), pgettext("hardware", "On"), "")
    cells = [(row.what, row.published, html.Strong(row.ours), row.hardware, row.note) for row in rows]
    return scroller(table("published", _("Published figures beside ours"), heads, cells), titled="published-title")


def _note(recorded: Recording) -> Component:
    text = _("Ours {origin}, with the constants as the file has them.", origin=origin(recorded))
    return html.P(text, className="note")


@dataclass(frozen=True)
class _Lines:
    """The declarations of a kernel file of the gallery, static and dynamic, and a launch with a dynamic array."""

    static: tuple[str, str]
    dynamic: tuple[str, str]
    launch: tuple[str, str]


_LINES = {
    "square": _Lines(
        ("__shared__ int tile[BDIMY][BDIMX];", "tile = cuda.shared.array((BDIMY, BDIMX), int32)"),
        ("extern __shared__ int tile[];", "tile = cuda.shared.array(0, int32)"),
        ("kernel<<<1, block, bytes>>>(out);", "kernel[1, block, 0, bytes](out)"),
    ),
    "reverse": _Lines(
        ("__shared__ int held[N];", "held = cuda.shared.array(N, int32)"),
        ("extern __shared__ int held[];", "held = cuda.shared.array(0, int32)"),
        ("kernel<<<1, N, N * 4>>>(values);", "kernel[1, N, 0, N * 4](values)"),
    ),
}


def scopes(file: str) -> list[Component]:
    """Draw file scope and kernel scope, one inside the other, for both languages; nothing for files without."""
    lines = _LINES.get(file)
    if lines is None:
        return []
    c_static, c_dynamic, c_launch = (pair[0] for pair in (lines.static, lines.dynamic, lines.launch))
    static, dynamic, launch = (pair[1] for pair in (lines.static, lines.dynamic, lines.launch))
    return [
        html.H3(_("Where a shared array is declared")),
        html.Div(
            [
                _language("CUDA C++", (c_static, c_dynamic), (c_static, c_dynamic), c_launch),
                _language("Numba", (), (static, dynamic), launch),
            ],
            className="scopes",
        ),
    ]


def _language(name: str, of_file: tuple[str, ...], of_kernel: tuple[str, ...], launch: str) -> Component:
    inside = _scope(_("kernel scope"), [_declared(of_kernel)])
    outside: list[Component] = [_declared(of_file)] if of_file else [html.P(_("no shared array"), className="note")]
    return html.Div(
        [
            html.H4(name),
            _scope(_("file scope"), [*outside, inside]),
            html.P([_("A launch gives the bytes of a dynamic one:"), " ", html.Code(launch)], className="note"),
        ]
    )


def _declared(lines: tuple[str, ...]) -> Component:
    words = (_("static"), _("dynamic"))
    pairs = [[html.Dt(word), html.Dd(html.Code(line))] for word, line in zip(words, lines, strict=True)]
    return html.Dl([part for pair in pairs for part in pair], className="declared")


def _scope(name: str, content: list[Component]) -> Component:
    return html.Div([html.P(name, className="scope-name"), *content], className="scope")
