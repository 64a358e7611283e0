"""The published figures on the kernel page: of the file's kernels, each beside what was recorded on a GPU."""

from __future__ import annotations

from pathlib import PurePath

from dash import html
from dash.development.base_component import Component

from smemviz.app.components.frames import scroller
from smemviz.app.components.launches import Filling
from smemviz.app.components.tables import table
from smemviz.app.components.written import Written
from smemviz.app.library import Shown
from smemviz.app.pages.kernel.measured.scopes import scopes
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


def view_published(shown: Shown) -> Filling:
    """Show what was published of the file, and ours from its recording on a GPU, whatever the knobs say now."""
    rows = published(shown.recorded) if shown.recorded else ()
    body: list[Component] = []
    if shown.recorded and rows:
        body = [_table(rows), _note(shown.recorded), *scopes(PurePath(shown.recorded.file).stem)]
    return dict(zip(PROPERTIES, (body, not rows), strict=True))


def _table(rows: tuple[Published, ...]) -> Component:
    heads = (_("What"), _("Published"), _("Ours"), pgettext("hardware", "On"), "")
    cells = [(row.what, row.published, html.Strong(row.ours), row.hardware, row.note) for row in rows]
    return scroller(table("published", _("Published figures beside ours"), heads, cells), titled="published-title")


def _note(recorded: Recording) -> Component:
    text = _("Ours {origin}, with the constants as the file has them.", origin=origin(recorded))
    return html.P(text, className="note")
