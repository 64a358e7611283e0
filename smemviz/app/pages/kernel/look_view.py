"""What a look at a run puts on the kernel page: the pictures and the present request in words."""

from __future__ import annotations

from dataclasses import dataclass

from smemviz.app.components.launches import Filling, Query, hardware_of, request_view_of
from smemviz.app.library import Library, Shown
from smemviz.app.state import LookState, RunState
from smemviz.errors import SmemvizError
from smemviz.figures.elements import accessed, look_at
from smemviz.figures.registry import FIGURES, Asked
from smemviz.i18n import _
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.playback.request_view import RequestView, blocks, playback_order, request_view
from smemviz.recordings.data import Launch
from smemviz.recordings.places import place_of
from smemviz.wording.grammar import sentences
from smemviz.wording.labels import count
from smemviz.wording.sentences import present

PICTURES = ("tile", "warps", "request")
LOOK_PROPERTIES = (
    *(f"{picture}.{name}" for picture in PICTURES for name in ("figure", "style")),
    "tile-panel.hidden",
    "request-title.children",
    "position-text.children",
    "tile-note.children",
    "shown-look.data",
    "present.data",
)


@dataclass(frozen=True)
class Looked:
    """What the URL asks to look at: a request of a launch, and how."""

    shown: Shown
    launch: Launch
    hardware: Hardware
    look: LookState
    now: RequestView


def looked_at(library: Library, run_query: Query, look_query: Query) -> Looked | None:
    """Return what is looked at, None where the run is refused, which ``view_run`` says."""
    state, look = RunState.read(run_query), LookState.read(look_query)
    try:
        shown = library.show(state)
        launch = shown.launch(state)
    except SmemvizError:
        return None
    hardware = hardware_of(shown, state)
    return Looked(shown, launch, hardware, look, request_view_of(shown.recording, launch, hardware, look))


def view_look(library: Library, run_query: Query, look_query: Query) -> Filling:
    """Draw what is looked at; nothing where the run is refused."""
    found = looked_at(library, run_query, look_query)
    if found is None:
        return {}
    shown, launch, hardware, look, now = found.shown, found.launch, found.hardware, found.look, found.now
    row = now.row
    at_site = int(launch.requests.site[row]) if row is not None else None
    names = [array.name for array in launch.shared_arrays]
    goes_to = launch.sites[at_site].array if at_site is not None else None
    array = next((name for name in (look.array, goes_to) if name in names), names[0] if names else "")
    is_global = at_site is not None and launch.sites[at_site].space == "global"
    looked = look_at(now, look.elements)
    drawn = look.banks or hardware.banks
    asked = Asked(shown.recording, hardware, look.theme, now, view=look.view, array=array, banks=drawn)
    request = FIGURES["sectors" if is_global else "banks"]
    figures = [one.draw(asked) for one in (FIGURES["tile"], FIGURES["warps"], request)]
    group = next(group for group in shown.groups() if any(one is launch for one, _ in group))
    nth, numbers = next(n for one, n in group if one is launch), [n for _, n in group]
    filling: Filling = {}
    for picture, figure in zip(PICTURES, figures, strict=True):
        filling[f"{picture}.figure"] = figure
        filling[f"{picture}.style"] = {"height": figure.layout.height}
    return filling | {
        "tile-panel.hidden": not names,
        "request-title.children": request.title,
        "position-text.children": _(
            "{position:,} of {requests:,}: {request}",
            position=now.position + 1,
            requests=len(now.rows),
            request=present(now, hardware),
        ),
        "tile-note.children": _drawing_note(drawn, hardware),
        "shown-look.data": {
            "values": {
                "view": look.view,
                "banks": drawn,
                "array": array,
                "block": str(now.block),
                "elements": looked.array.name if looked else "",
                "scope": "launch" if look.whole else "block",
                "launch": str(nth),
            },
            "options": {
                "array": names,
                "block": [str(block) for block in blocks(launch)],
                "elements": accessed(launch),
                "launch": [str(number) for number in numbers] if len(numbers) > 1 else [],
            },
        },
        "present.data": {
            "position": now.position,
            "site": at_site,
            "at": place_of(launch, at_site) if at_site is not None else None,
        },
    }


def view_order(library: Library, query: Query, block: str | None) -> dict[str, list[int]] | None:
    """Return site, warp and step of a block's requests in playback order, None where the run is refused."""
    state = RunState.read(query)
    try:
        launch = library.show(state).launch(state)
    except SmemvizError:
        return None
    rows = playback_order(launch, request_view(launch, int(block) if block else None).block)
    return {name: getattr(launch.requests, name)[rows].tolist() for name in ("site", "warp", "step")}


def _drawing_note(drawn: int, hardware: Hardware) -> str:
    real = hardware.banks
    if drawn == real:
        return ""
    said = _("A drawing with {drawn}. All counts stay those of {real} banks.", drawn=count(drawn, "bank"), real=real)
    grouped = _("It serves the lanes in groups, as many at a time as it has banks for.") if drawn < real else ""
    return sentences(said, grouped)
