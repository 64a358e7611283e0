"""The figures there are: what each is called, what it needs, and what draws it.

The kernel page, ``export --figure`` and the report look figures up here. A new one is an entry and its function. No
library for drawing is loaded before a figure is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from smemviz.i18n import N_, _

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from smemviz.figures.drawing.style import ThemeName
    from smemviz.model.hardware.hardware import Hardware
    from smemviz.model.playback import RequestView
    from smemviz.recordings.data import Launch, Space
    from smemviz.recordings.recording import Recording
    from smemviz.views.comparison import Row
    from smemviz.views.stage import Scene

Needs = Literal["request", "launch", "launches"]
_REQUEST = ("site", "block", "warp", "step")


class FigureInput(NamedTuple):
    """What a figure is drawn of: the present request of a launch, or launches side by side, one of ``rows`` each.

    Those may come from several recordings, and then it is ``of`` none. ``lines`` are the first and last lines of the
    source to show, ``scenes`` the request in each layout that was found; ``array``, ``whole`` and ``banks`` are of the
    figures that have such options.
    """

    of: Recording | None
    hardware: Hardware
    theme: ThemeName
    at: RequestView | None = None
    rows: Sequence[Row] = ()
    view: str | None = None
    array: str | None = None
    whole: bool = False
    banks: int | None = None
    lines: Callable[[], Sequence[tuple[int, int]]] = tuple
    scenes: Callable[[], Sequence[Scene]] = tuple

    @property
    def recording(self) -> Recording:
        """The recording of the launch."""
        if self.of is None:
            raise ValueError("this figure needs a recording")
        return self.of

    @property
    def now(self) -> RequestView:
        """The present request."""
        if self.at is None:
            raise ValueError("this figure needs a request")
        return self.at

    @property
    def launch(self) -> Launch:
        """The launch of the present request."""
        return self.now.launch

    @property
    def site(self) -> int | None:
        """The site of the present request, None where none was logged."""
        return int(self.launch.requests.site[self.now.row]) if self.now.row is not None else None

    @property
    def warp(self) -> int | None:
        """The warp of the present request, None where none was logged."""
        return int(self.launch.requests.warp[self.now.row]) if self.now.row is not None else None


class Figure(NamedTuple):
    """A figure: its ``noun`` in a title, ``heading`` on a page, and what ``needs`` to be chosen for it.

    ``options`` choose it on the command line, ``views`` are those of ``view``; without a noun it is not exported.
    ``space`` is the memory that a request is chosen from where none is named. ``caption`` says what is seen where that
    is not what the request or the launch is. A ``folded`` one is shown on the kernel page in a section of its own that
    opens, and in the report, where its bars are drawn; it is left out where it has nothing to show.
    """

    draw: Callable[[FigureInput], go.Figure]
    needs: Needs
    noun: str = ""
    heading: str = ""
    options: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    space: Space = "shared"
    caption: Callable[[FigureInput], str] | None = None
    folded: bool = False

    @property
    def title(self) -> str:
        """Return its heading in the spoken language."""
        return _(self.heading)


def _tile(inputs: FigureInput) -> go.Figure:
    from smemviz.figures.tile import View, tile

    view: View = "physical" if inputs.view == "physical" else "declared"
    array = inputs.array or ""
    return tile(inputs.now, array, view=view, banks=inputs.banks, hardware=inputs.hardware, theme=inputs.theme)


def _banks(inputs: FigureInput) -> go.Figure:
    from smemviz.figures.banks import banks

    return banks(inputs.now, banks=inputs.banks, hardware=inputs.hardware, theme=inputs.theme)


def _warps(inputs: FigureInput) -> go.Figure:
    from smemviz.figures.warps import warps

    block, hardware = inputs.now.block, inputs.hardware
    return warps(inputs.launch, block, site=inputs.site, warp=inputs.warp, hardware=hardware, theme=inputs.theme)


def _sectors(inputs: FigureInput) -> go.Figure:
    from smemviz.figures.sectors import sectors

    return sectors(inputs.now, theme=inputs.theme)


def _timeline(inputs: FigureInput) -> go.Figure:
    from smemviz.figures.timeline import timeline

    return timeline(inputs.now, hardware=inputs.hardware, theme=inputs.theme)


def _timeline_sentence(inputs: FigureInput) -> str:
    from smemviz.wording.sentences import cost

    framed = cost(inputs.now, inputs.hardware)
    return _("A bar is a request; framed: {request}", request=framed)


def _compare(inputs: FigureInput) -> go.Figure:
    from smemviz.figures.compare import sector_bars, time_bars, wavefront_bars

    draw = {"wavefronts": wavefront_bars, "sectors": sector_bars, "times": time_bars}[inputs.view or "wavefronts"]
    return draw(inputs.rows, theme=inputs.theme)


def _source(inputs: FigureInput) -> go.Figure:
    from smemviz.figures.source import source

    lines, hardware = inputs.lines(), inputs.hardware
    return source(inputs.recording, inputs.launch, lines, site=inputs.site, hardware=hardware, theme=inputs.theme)


def _spread(inputs: FigureInput) -> go.Figure:
    from smemviz.figures.drawing.style import THEMES, empty
    from smemviz.figures.sectors import spread
    from smemviz.model.counting.global_traffic import traffic_of

    traffic = traffic_of(inputs.launch, inputs.site) if inputs.site is not None else None
    if traffic is None:
        return empty(THEMES[inputs.theme], _("No request of this access was logged."))
    return spread(traffic, theme=inputs.theme)


def _elements(inputs: FigureInput) -> go.Figure:
    from smemviz.figures.elements import shown_array, touched_elements

    return touched_elements(inputs.now, shown_array(inputs.now, inputs.array, whole=inputs.whole), theme=inputs.theme)


def _degrees(inputs: FigureInput) -> go.Figure:
    from smemviz.figures.degrees import degrees
    from smemviz.views.degrees import degrees_of

    return degrees(degrees_of(inputs.launch, inputs.hardware), theme=inputs.theme)


def _degrees_sentence(inputs: FigureInput) -> str:
    from smemviz.views.degrees import degrees_of, described_degrees

    return described_degrees(degrees_of(inputs.launch, inputs.hardware))


def _stage(inputs: FigureInput) -> go.Figure:
    from smemviz.figures.stage import stage

    return stage(inputs.scenes(), view="page" if inputs.view == "page" else "column", theme=inputs.theme)


def _stage_sentence(inputs: FigureInput) -> str:
    from smemviz.figures.stage import before_and_after

    return before_and_after(inputs.scenes())[1].layout.says if inputs.scenes() else ""


FIGURES: Mapping[str, Figure] = {
    "tile": Figure(
        _tile, "request", N_("tile"), N_("Tile"), (*_REQUEST, "view", "array", "banks"), ("declared", "physical")
    ),
    "banks": Figure(_banks, "request", N_("banks"), N_("Banks by wavefront"), (*_REQUEST, "banks")),
    "warps": Figure(_warps, "launch", N_("warps"), N_("Warps by accesses"), _REQUEST),
    "sectors": Figure(_sectors, "request", N_("sectors"), N_("Sectors and lines"), _REQUEST, space="global"),
    "timeline": Figure(_timeline, "request", N_("timeline"), options=_REQUEST, caption=_timeline_sentence),
    "compare": Figure(_compare, "launches", N_("compare"), options=("view",), views=("wavefronts", "sectors", "times")),
    "source": Figure(_source, "launch", N_("source"), options=("site",)),
    "degrees": Figure(
        _degrees, "launch", N_("degrees"), N_("Requests by degree"), caption=_degrees_sentence, folded=True
    ),
    "stage": Figure(
        _stage, "request", N_("stage"), options=(*_REQUEST, "view"), views=("column", "page"), caption=_stage_sentence
    ),
    "spread": Figure(_spread, "request", heading=N_("Sectors of the access"), space="global"),
    "elements": Figure(_elements, "request", heading=N_("Elements touched"), space="global"),
}
EXPORTED = tuple(name for name, figure in FIGURES.items() if figure.noun)
FOLDED = tuple(name for name, figure in FIGURES.items() if figure.folded)
