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
    from smemviz.model.playback.request_view import RequestView
    from smemviz.recordings.data import Launch, Space
    from smemviz.recordings.recording import Recording
    from smemviz.views.comparison import Row

Needs = Literal["request", "launch", "launches"]
_REQUEST = ("site", "block", "warp", "step")


class Asked(NamedTuple):
    """What a figure is drawn of: the present request of a launch, or launches side by side, one of ``rows`` each.

    Those may come from several recordings, and then it is ``of`` none. ``lines`` are the first and last lines of the
    source to show; ``array``, ``whole`` and ``banks`` are of the figures that have such options.
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

    draw: Callable[[Asked], go.Figure]
    needs: Needs
    noun: str = ""
    heading: str = ""
    options: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    space: Space = "shared"
    caption: Callable[[Asked], str] | None = None
    folded: bool = False

    @property
    def title(self) -> str:
        """Return its heading in the spoken language."""
        return _(self.heading)


def _tile(asked: Asked) -> go.Figure:
    from smemviz.figures.tile import View, tile

    view: View = "physical" if asked.view == "physical" else "declared"
    array = asked.array or ""
    return tile(asked.now, array, view=view, banks=asked.banks, hardware=asked.hardware, theme=asked.theme)


def _banks(asked: Asked) -> go.Figure:
    from smemviz.figures.banks import banks

    return banks(asked.now, banks=asked.banks, hardware=asked.hardware, theme=asked.theme)


def _warps(asked: Asked) -> go.Figure:
    from smemviz.figures.warps import warps

    block, hardware = asked.now.block, asked.hardware
    return warps(asked.launch, block, site=asked.site, warp=asked.warp, hardware=hardware, theme=asked.theme)


def _sectors(asked: Asked) -> go.Figure:
    from smemviz.figures.sectors import sectors

    return sectors(asked.now, theme=asked.theme)


def _timeline(asked: Asked) -> go.Figure:
    from smemviz.figures.timeline import timeline

    return timeline(asked.now, hardware=asked.hardware, theme=asked.theme)


def _compare(asked: Asked) -> go.Figure:
    from smemviz.figures.compare import sector_bars, time_bars, wavefront_bars

    draw = {"wavefronts": wavefront_bars, "sectors": sector_bars, "times": time_bars}[asked.view or "wavefronts"]
    return draw(asked.rows, theme=asked.theme)


def _source(asked: Asked) -> go.Figure:
    from smemviz.figures.source import source

    lines, hardware = asked.lines(), asked.hardware
    return source(asked.recording, asked.launch, lines, site=asked.site, hardware=hardware, theme=asked.theme)


def _spread(asked: Asked) -> go.Figure:
    from smemviz.figures.drawing.style import THEMES, empty
    from smemviz.figures.sectors import spread
    from smemviz.model.counting.global_traffic import traffic_of

    traffic = traffic_of(asked.launch, asked.site) if asked.site is not None else None
    if traffic is None:
        return empty(THEMES[asked.theme], _("No request of this access was logged."))
    return spread(traffic, theme=asked.theme)


def _elements(asked: Asked) -> go.Figure:
    from smemviz.figures.elements import look_at, touched_elements

    return touched_elements(asked.now, look_at(asked.now, asked.array, whole=asked.whole), theme=asked.theme)


def _degrees(asked: Asked) -> go.Figure:
    from smemviz.figures.degrees import degrees
    from smemviz.views.degrees import degrees_of

    return degrees(degrees_of(asked.launch, asked.hardware), theme=asked.theme)


def _degrees_sentence(asked: Asked) -> str:
    from smemviz.views.degrees import degrees_of, described_degrees

    return described_degrees(degrees_of(asked.launch, asked.hardware))


FIGURES: Mapping[str, Figure] = {
    "tile": Figure(
        _tile, "request", N_("tile"), N_("Tile"), (*_REQUEST, "view", "array", "banks"), ("declared", "physical")
    ),
    "banks": Figure(_banks, "request", N_("banks"), N_("Banks by wavefront"), (*_REQUEST, "banks")),
    "warps": Figure(_warps, "launch", N_("warps"), N_("Warps by accesses"), _REQUEST),
    "sectors": Figure(_sectors, "request", N_("sectors"), N_("Sectors and lines"), _REQUEST, space="global"),
    "timeline": Figure(_timeline, "request", N_("timeline"), options=_REQUEST),
    "compare": Figure(_compare, "launches", N_("compare"), options=("view",), views=("wavefronts", "sectors", "times")),
    "source": Figure(_source, "launch", N_("source"), options=("site",)),
    "degrees": Figure(
        _degrees,
        "launch",
        N_("degrees"),
        N_("Requests by degree"),
        caption=_degrees_sentence,
        folded=True,
    ),
    "spread": Figure(_spread, "request", heading=N_("Sectors of the access"), space="global"),
    "elements": Figure(_elements, "request", heading=N_("Elements touched"), space="global"),
}
EXPORTED = tuple(name for name, figure in FIGURES.items() if figure.noun)
FOLDED = tuple(name for name, figure in FIGURES.items() if figure.folded)
