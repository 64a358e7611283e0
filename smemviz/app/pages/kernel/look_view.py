"""What a look at a run puts on the kernel page: a block's requests, which the browser draws and steps through."""

from dataclasses import dataclass

from smemviz.app.components.launches import Filling, Query, hardware_of, request_view_of
from smemviz.app.library import Library, ShownRun
from smemviz.app.state import LookState, RunState
from smemviz.errors import SmemvizError
from smemviz.figures.elements import accessed, shown_array
from smemviz.i18n import _, ngettext
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.playback import RequestView, blocks
from smemviz.recordings.data import Launch
from smemviz.reports.html.playback import played_block
from smemviz.wording.labels import count, sentences

LOOK_PROPERTIES = (
    "played.data",
    "tile-panel.hidden",
    "tile-note.children",
    "shown-look.data",
    "present.data",
)


@dataclass(frozen=True)
class ShownRequest:
    """What the URL asks to look at: a request of a launch, and how."""

    shown_run: ShownRun
    launch: Launch
    hardware: Hardware
    look: LookState
    now: RequestView


def looked_at(library: Library, run_query: Query, look_query: Query) -> ShownRequest | None:
    """Return what is looked at, None where the run is refused, which ``view_run`` says."""
    state, look = RunState.read(run_query), LookState.read(look_query)
    try:
        shown_run = library.show(state)
        launch = shown_run.launch(state)
    except SmemvizError:
        return None
    hardware = hardware_of(shown_run, state)
    return ShownRequest(shown_run, launch, hardware, look, request_view_of(shown_run.recording, launch, hardware, look))


def view_look(library: Library, run_query: Query, look_query: Query) -> Filling:
    """Return what the browser draws of what is looked at; nothing where the run is refused."""
    view = looked_at(library, run_query, look_query)
    if view is None:
        return {}
    shown_run, launch, hardware, look, now = view.shown_run, view.launch, view.hardware, view.look, view.now
    names = [array.name for array in launch.shared_arrays]
    looked = shown_array(now, look.elements)
    drawn = look.banks or hardware.banks
    block = played_block(now, hardware, banks=drawn, view=look.view)
    group = next(group for group in shown_run.groups() if any(other is launch for other, _ in group))
    nth, numbers = next(n for other, n in group if other is launch), [n for _, n in group]
    return {
        "played.data": block | {"array": look.array if look.array in names else None},
        "tile-panel.hidden": not names,
        "tile-note.children": sentences(_drawing_note(drawn, hardware), _left_out(block["left_out"])),
        "shown-look.data": {
            "values": {
                "view": look.view,
                "banks": drawn,
                "array": look.array if look.array in names else _array_of(now, names),
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
        "present.data": _present(now),
    }


def _array_of(now: RequestView, names: list[str]) -> str:
    """Return the shared array that the present request goes to, else the first."""
    goes_to = now.site.array if now.site else ""
    return goes_to if goes_to in names else (names[0] if names else "")


def _present(now: RequestView) -> dict[str, int | str | None]:
    """Tell which request is looked at: its place in the block, and the names it has in the URL."""
    if now.row is None:
        return {"position": now.position, "block": now.block, "site": None}
    requests = now.launch.requests
    request = {name: int(getattr(requests, name)[now.row]) for name in ("site", "warp", "step")}
    return {"position": now.position, "block": now.block, **request}


def _left_out(requests: int) -> str:
    if not requests:
        return ""
    singular = "{n:,} more request of this block is counted and not played."
    return ngettext(singular, "{n:,} more requests of this block are counted and not played.", requests)


def _drawing_note(drawn: int, hardware: Hardware) -> str:
    real = hardware.banks
    if drawn == real:
        return ""
    sentence = _("Drawn with {drawn}. All counts are for {real} banks.", drawn=count(drawn, "bank"), real=real)
    grouped = _("Lanes are served in groups, as many at a time as there are banks.") if drawn < real else ""
    return sentences(sentence, grouped)
