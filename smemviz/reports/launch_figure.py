"""A figure of a launch by itself, for Python and notebooks: no recording is at hand, so none of its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from smemviz.errors import InputError
from smemviz.figures.registry import EXPORTED, FIGURES, FigureInput
from smemviz.model.hardware.hardware import Hardware
from smemviz.paths import whole_needed
from smemviz.recordings.data import Launch
from smemviz.reports.pictures import array_shown
from smemviz.reports.selection import Choice, request_view

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from smemviz.figures.drawing.style import ThemeName

_OF_RECORDINGS = ("compare", "source", "stage")
_OF_LAUNCHES = tuple(name for name in EXPORTED if name not in _OF_RECORDINGS)


@dataclass(frozen=True)
class Look:
    """How a figure looks; None is what the figure does by itself."""

    array: str | None
    view: str | None
    banks: int | None
    theme: ThemeName


def figure(launch: Launch, name: str, choice: Choice, look: Look, cc: tuple[int, int]) -> go.Figure:
    """Draw a figure at the request that is named, else at the one that wastes the most."""
    if name in _OF_RECORDINGS:
        raise InputError(f"the figure {name} needs the recording: smemviz export RECORDING --figure {name}")
    if name not in _OF_LAUNCHES:
        raise InputError(f"no figure is called {name!r}; there are {', '.join(_OF_LAUNCHES)}")
    chosen, hardware = FIGURES[name], Hardware(cc)
    given: dict[str, object] = {
        "line": choice.line,
        "column": choice.column,
        "block": choice.block,
        "warp": choice.warp,
    }
    given |= {"step": choice.step, "array": look.array, "view": look.view, "banks": look.banks}
    known = {*chosen.options} | ({"line", "column"} if "site" in chosen.options else set())
    if wrong := [option for option, value in given.items() if value is not None and option not in known]:
        raise InputError(f"the figure {name} has no {wrong[0]}; it has {', '.join(sorted(known - {'site'})) or 'none'}")
    if look.view is not None and look.view not in chosen.views:
        raise InputError(f"view {look.view!r}: the figure {name} has {', '.join(chosen.views)}")
    if choice.column is not None and choice.line is None:
        raise InputError(f"column {choice.column}: name its line too")
    if choice.line is not None and not any(site.line == choice.line for site in launch.sites):
        lines = ", ".join(map(str, sorted({site.line for site in launch.sites})))
        raise InputError(f"{launch.kernel}: no access begins in line {choice.line}; accesses are in lines {lines}")
    now = request_view(launch, choice, hardware, chosen.space)
    array = array_shown(launch, now, look.array) if "array" in chosen.options else None
    with whole_needed():
        drawn = chosen.draw(FigureInput(None, hardware, look.theme, now, view=look.view, array=array, banks=look.banks))
    if not drawn.data:
        raise InputError(f"{launch.kernel}: no figure {name}: {drawn.layout.meta['says']}")
    return drawn
