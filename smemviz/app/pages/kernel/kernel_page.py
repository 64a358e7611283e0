"""The kernel page: source, pictures, playback and knobs of one launch."""

from collections.abc import Sequence
from pathlib import Path

from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.components.connect import placed
from smemviz.app.components.frames import Tab, scroller, section, tabbed, text_button
from smemviz.app.components.graph import panel, picture_panel
from smemviz.app.components.launches import Filling, Query
from smemviz.app.components.written_html import Written
from smemviz.app.library import Library
from smemviz.app.pages.kernel.controls import (
    choice,
    drawing_options,
    hardware_select,
    knob_kinds,
    knobs,
    playback,
    source_switch,
)
from smemviz.app.pages.kernel.folded import folded_panels, view_folded
from smemviz.app.pages.kernel.follow import follower, version
from smemviz.app.pages.kernel.global_view import closed_global, global_memory, view_global
from smemviz.app.pages.kernel.layouts_view import can_draw, view_layouts
from smemviz.app.pages.kernel.look_view import looked_at, view_look
from smemviz.app.pages.kernel.measured.hardware_panel import hardware_panel
from smemviz.app.pages.kernel.measured.measured_panels import view_measured
from smemviz.app.pages.kernel.measured.published_panel import published_panel
from smemviz.app.pages.kernel.measured.timing_panel import timing_panel
from smemviz.app.pages.kernel.pictures import Pictures
from smemviz.app.pages.kernel.run_view import view_run
from smemviz.app.pages.kernel.suggest_panel import suggest_panel, suggestable
from smemviz.app.pages.kernel.why_panel import view_why, why_panel
from smemviz.app.state import RunState
from smemviz.app.tasks.stopwatch import Stopwatch
from smemviz.errors import ConstantError
from smemviz.figures.registry import FIGURES
from smemviz.frontends.program import Program
from smemviz.i18n import N_, _
from smemviz.model.hardware.hardware import H200, Hardware

_WARPS_NOTE = N_(
    "A number is the worst degree of a warp's requests, for global memory the most sectors of one. The stronger the "
    "colour, the higher the degree."
)
_PICTURES = Pictures()
looked, touched, folded, explained, laid_out = (
    _PICTURES.cached(view) for view in (view_look, view_global, view_folded, view_why, view_layouts)
)


def kernel_page(library: Library, stopwatch: Stopwatch, run: Query, look: Query, *, follow: bool = False) -> Component:
    """Lay out the page and fill it with what the URL asks for; ``follow`` keeps it up with its file.

    Raises:
        InputError: when the file is not there or cannot be read.
    """
    state = RunState.read(run)
    program = _program(library, state)
    page = kernel_layout(program, state.hardware or H200, follower() if follow else ())
    if follow:
        page[ids.VERSION].data = version(Path(program.file))
    filling = _filling(library, stopwatch, run, look)
    placed(page, filling)
    kernel = filling.get("shown-run.data", {}).get("title") or state.kernel
    page["knobs"].children, page["knobs-of"].data = knobs(program, kernel).children, knob_kinds(program, kernel)
    return page


def _filling(library: Library, stopwatch: Stopwatch, run: Query, look: Query) -> Filling:
    """Show what is asked for; where that is refused, the file with its own constants, and what is wrong."""
    state = RunState.read(run)
    own = {name: value for name, value in run.items() if name not in state.constants}
    refused = bool(state.constants) and looked_at(library, run, look) is None
    drawn = own if refused and looked_at(library, own, look) is not None else run
    measured = view_measured(library, stopwatch, drawn, look.get("theme", "light"))
    later = explained(library, drawn, look) | folded(library, drawn, look)
    closed = closed_global(library, drawn, look)
    later |= touched(library, drawn, look) if closed is None else closed
    filling = view_run(library, drawn) | looked(library, drawn, look) | later | measured
    filling["suggest-panel.hidden"] = not suggestable(library, drawn)  # what stands below it does not move
    if drawn is not run:
        filling |= view_run(library, run, filling["shown-run.data"]["title"], own=True)
    return filling | {"drawn-run.data": drawn}


def _program(library: Library, state: RunState) -> Program:
    """Read the program with the constants it is asked for, or without them when they are impossible."""
    program = library.program(state.file)
    try:
        return program.with_constants(state.constants)
    except ConstantError:  # the page says it
        return program


def kernel_layout(program: Program, hardware: Hardware, lead: Sequence[Component] = ()) -> Component:
    """Lay out the page without what a run fills in; ``lead`` comes before the knobs."""
    parts = [
        # What the server found, for the browser's part of the page.
        dcc.Store(id="shown-run"),
        dcc.Store(id="shown-look"),
        dcc.Store(id="drawn-run"),  # the run that the pictures are of: what is less urgent follows it
        dcc.Store(id="played"),  # the requests of a block
        dcc.Store(id="layouts"),  # the same in other layouts of its arrays, which follow the page
        dcc.Store(id="present"),  # the one that was asked for; from there on the browser steps
        dcc.Store(id=ids.STEPPED),  # the one that it has stepped to
        dcc.Store(id=ids.STEPPED_GLOBALLY),  # the same, while global memory is shown
        dcc.Store(id=ids.GLOBAL_OPEN),  # whether it is shown
        dcc.Store(id="measured-last"),
        dcc.Store(id=ids.VERSION),  # of a file that is followed
        dcc.Store(id="knobs-of", data=knob_kinds(program)),
        Written(html.Nav(id=ids.KERNELS, className="kernels", **{"aria-label": _("Kernels of this file")})),
        _title(),
        Written(html.Div(id="notices", role="status", className="notices")),
        html.Div(
            [
                html.Div(
                    [*lead, _source(), _player(), suggest_panel(), _constants(program, hardware)],
                    className="left opening",
                ),
                _border(),
                html.Div(_pictures(), className="right opening"),
            ],
            className="columns",
            id="results",
        ),
        _below(),
    ]
    return html.Div(parts)


def _border() -> Component:
    """Place what is dragged to give the source more room, or the pictures; ``assets/border.js`` does that."""
    reach = {"aria-valuenow": "40", "aria-valuemin": "25", "aria-valuemax": "70", "aria-orientation": "vertical"}
    said = {"aria-label": _("Border between source and pictures"), **reach}
    return Written(html.Div(role="separator", tabIndex=0, className="border", title=_("Drag, or use ← and →"), **said))


def _below() -> Component:
    """Lay out what else there is to say of the launch, in tabs, and below it where the numbers come from."""
    warps = panel(FIGURES["warps"].title, ids.WARPS, note=_(_WARPS_NOTE))
    as_written = html.P(_("Counted as the kernel is written."), className="note as-written")
    of_launch = [as_written, _facts(), warps, *folded_panels(), global_memory()]
    tabs = (
        Tab("launch", _("Launch"), html.Div(of_launch, className="right")),
        Tab("time", _("Time"), timing_panel()),
        Tab("counters", _("Hardware counters"), hardware_panel()),
        Tab("published", _("Published figures"), published_panel()),
    )
    return tabbed(_("More of this launch"), tabs, html.P(id="origin", className="origin"))


def _title() -> Component:
    """Lay out what is said first: the kernel, the headline, why it is so, and the fix."""
    return html.Header(
        [
            html.Div(
                [
                    Written(html.P(id="eyebrow", className="eyebrow")),
                    Written(html.Span(id="twins", className="twins")),
                    choice("launch", _("Launch of this kernel")),
                ],
                className="eyebrow-line",
            ),
            html.H1(
                [html.Span(id=ids.HEADLINE), Written(html.Span(id=ids.STAGED_HEADLINE, hidden=True))],
                className="headline",
            ),
            why_panel(),
        ],
        className="title",
    )


def _source() -> Component:
    keys = html.P(_("↑ ↓ go from access to access"), className="note keys")
    return html.Section(
        [
            Written(html.Div([html.H2(_("Source"), id="source-title"), keys], className="panel-head")),
            scroller(Written(html.Ol(id=ids.SOURCE, className="source")), titled="source-title"),
        ],
        className="panel source-panel",
        id=ids.SOURCE_PANEL,
    )


def _constants(program: Program, hardware: Hardware) -> Component:
    title, reset = Written(html.H2(_("Constants"), id="knobs-title")), text_button(_("Reset"), id="reset")
    fields = html.Div([hardware_select(hardware), source_switch()], className="fields")
    return section(
        "knobs", html.Div([title, reset], className="panel-head"), knobs(program), fields, kind="knobs-panel"
    )


def _player() -> Component:
    """Lay out what steps through the requests."""
    head = Written(html.H2(_("Playback"), className="visually-hidden"))
    return html.Section([head, choice("block", _("Block")), playback()], className="panel playback-panel")


def _pictures() -> Component:
    """Lay out the pictures of the present request."""
    controls = _layouts(), choice("array", _("Shared array")), drawing_options()
    tile = picture_panel(FIGURES["tile"].title, ids.TILE, *controls)
    tile.children.insert(1, Written(html.P(id=ids.LAYOUT_SAYS, role="status", className="layout-says")))
    pictures = [tile, picture_panel(FIGURES["banks"].title, ids.REQUEST)]
    lit = html.P(id=ids.LIT, role="status", className="visually-hidden")
    return html.Div([*pictures, lit], className="pictures")


def _layouts() -> Component:
    """Leave room for the choice of layouts, which the script lays out."""
    more = {"aria-label": _("Layout")} | ({"data-gif": "yes"} if can_draw() else {})
    return Written(html.Div(id=ids.LAYOUTS, className="layouts", role="radiogroup", **more))


def _facts() -> Component:
    return section(
        "facts",
        Written(html.H2(_("Launch"), id="facts-title")),
        Written(html.Dl(id="facts", className="facts")),
        html.P(id="facts-note", className="note"),
        kind="facts-panel",
    )
