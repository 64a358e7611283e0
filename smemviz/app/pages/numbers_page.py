"""The page that explains every number and says where it comes from."""

from functools import cache
from pathlib import Path

from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app.addresses import KERNEL, NUMBERS
from smemviz.app.components.frames import page_title
from smemviz.app.components.rich import rich
from smemviz.app.components.tables import place
from smemviz.app.page import Page
from smemviz.i18n import N_, _
from smemviz.paths import kernels_dir, plain_name, recording_for
from smemviz.recordings.file import load
from smemviz.recordings.recording import Recording
from smemviz.views.glossary import Number, Section, numbers
from smemviz.wording.labels import names
from smemviz.wording.sentences import origin

_FILE, _KERNEL = "square.py", "set_row_read_col"  # whose numbers are the examples


def numbers_page() -> list[Component]:
    """Lay out the page; its examples are those of a recording in the gallery."""
    recording = _examples()
    lead = rich(
        "Examples are of {kernel} in {file}, {recorded}.",
        kernel=dcc.Link(html.Code(_KERNEL), href=f"{KERNEL}?file={plain_name(Path(_FILE))}&kernel={_KERNEL}"),
        file=html.Code(_FILE),
        recorded=origin(recording),
    )
    sections = numbers(recording[_KERNEL])
    return [
        page_title(_("What the numbers mean, and where they come from"), lead),
        html.Div(
            [
                html.Nav(
                    [html.A(section.title, href=f"#{place(section.numbers[0].anchor)}") for section in sections],
                    className="numbers-nav",
                    **{"aria-label": _("Sections")},
                ),
                html.Div([_section(section) for section in sections], className="numbers"),
            ],
            className="numbers-page",
        ),
    ]


@cache
def _examples() -> Recording:
    path = recording_for(kernels_dir() / _FILE)
    assert path is not None
    return load(path)


def _section(section: Section) -> Component:
    identity = f"about-{section.numbers[0].anchor}"
    return html.Section(
        [html.H2(section.title, id=identity), html.Dl([_number(number) for number in section.numbers])],
        className="panel",
        **{"aria-labelledby": identity},
    )


def _number(number: Number) -> Component:
    definitions = [html.Dd(number.meaning), html.Dd(number.source, className="note")]
    if number.example:
        value = html.Strong(number.example)
        definitions.append(html.Dd(rich("Here: {value}", value=value), className="example"))
    return html.Div([html.Dt(names(*number.names)), *definitions], id=place(number.anchor), className="number")


PAGE = Page(NUMBERS, N_("What the numbers mean"), lambda services, address: numbers_page())
