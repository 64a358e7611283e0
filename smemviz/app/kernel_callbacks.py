"""What the server fills into the kernel page: one callback for a run, one for a look at it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from smemviz.app.library import Library, Shown
from smemviz.app.source_view import source_view
from smemviz.app.state import LookState, RunState, hardware_key
from smemviz.errors import SmemvizError
from smemviz.figures.banks import banks
from smemviz.figures.labels import count
from smemviz.figures.moment import blocks, moment, playback_order
from smemviz.figures.sentences import facts, headline, origin, present, rule
from smemviz.figures.served import H200, Hardware
from smemviz.figures.thumbnail import worst_site
from smemviz.figures.tile import tile
from smemviz.figures.warps import warps
from smemviz.model.devices import device, known
from smemviz.model.summary import summarize
from smemviz.recording import Launch

Query = dict[str, str]
_REFUSED = "This cannot be launched"
PICTURES = ("tile", "warps", "banks")


def add_callbacks(app: Dash, library: Library) -> None:
    """Connect the kernel page of an app to its files."""

    @app.callback(  # type: ignore[untyped-decorator]
        Output("kernels", "children"),
        Output("eyebrow", "children"),
        Output("headline", "children"),
        Output("origin", "children"),
        Output("notices", "children"),
        Output("source", "children"),
        Output("facts", "children"),
        Output("facts-note", "children"),
        Output("shown-run", "data"),
        Output("results", "className"),
        Input("run", "data"),
        State("shown-run", "data"),
    )
    def show_run(query: Query, before: dict[str, Any] | None) -> Any:
        state = RunState.read(query)
        try:
            shown = library.show(state)
            launch = shown.launch(state)
        except SmemvizError as error:
            kept = "columns stale" if before else "columns nothing"
            return no_update, no_update, _REFUSED, "", _refusal(error, before), *[no_update] * 4, kept
        hardware = hardware_of(shown, state)
        return (
            _kernel_links(shown, launch, query, hardware),
            [Path(shown.program.file).name, " · ", html.Strong(launch.kernel)],
            headline(launch, hardware),
            _origin(shown, hardware),
            _notices(shown, launch),
            source_view(shown.recording.source, launch, summarize(launch, hardware.cc, hardware.bank_bytes)),
            _facts(launch, hardware),
            f"From the {'GPU recording' if shown.from_file else 'lockstep run'}; {rule(hardware)}.",
            _shown_run(shown, launch, hardware),
            "columns",
        )

    @app.callback(  # type: ignore[untyped-decorator]
        *(Output(picture, "figure") for picture in PICTURES),
        *(Output(picture, "style") for picture in PICTURES),
        Output("position-text", "children"),
        Output("tile-note", "children"),
        Output("shown-look", "data"),
        Input("run", "data"),
        Input("look", "data"),
    )
    def show_look(run_query: Query, look_query: Query) -> Any:
        state, look = RunState.read(run_query), LookState.read(look_query)
        try:
            shown = library.show(state)
            launch = shown.launch(state)
        except SmemvizError:  # show_run says it
            return [no_update] * 9
        hardware = hardware_of(shown, state)
        site = look.site if look.site is not None or look.warp is not None else worst_site(launch, hardware)
        now = moment(launch, look.block, look.warp, look.step, site)
        row = now.row
        at_site = int(launch.requests.site[row]) if row is not None else None
        at_warp = int(launch.requests.warp[row]) if row is not None else None
        names = [array.name for array in launch.shared_arrays]
        accessed = launch.sites[at_site].array if at_site is not None else None
        array = next((name for name in (look.array, accessed) if name in names), names[0] if names else "")
        drawn = look.banks or device(hardware.cc).banks
        figures = (
            tile(now, array, view=look.view, banks=drawn, hardware=hardware, theme=look.theme),
            warps(launch, now.block, site=at_site, warp=at_warp, hardware=hardware, theme=look.theme),
            banks(now, banks=drawn, hardware=hardware, theme=look.theme),
        )
        return (
            *figures,
            *({"height": figure.layout.height} for figure in figures),
            f"{now.position + 1:,} of {len(now.rows):,}: {present(now, hardware)}",
            _drawing_note(drawn, hardware),
            {
                "position": now.position,
                "site": at_site,
                "values": {"view": look.view, "banks": drawn, "array": array, "block": str(now.block)},
                "options": {"array": names, "block": [str(b) for b in blocks(launch)]},
            },
        )

    @app.callback(Output("order", "data"), Input("run", "data"), Input("shown-block", "data"))  # type: ignore[untyped-decorator]
    def show_order(query: Query, block: str | None) -> Any:
        state = RunState.read(query)
        try:
            launch = library.show(state).launch(state)
        except SmemvizError:
            return no_update
        rows = playback_order(launch, moment(launch, int(block) if block else None).block)
        requests = launch.requests
        return {name: getattr(requests, name)[rows].tolist() for name in ("site", "warp", "step")}


def hardware_of(shown: Shown, state: RunState) -> Hardware:
    """Return the hardware that counts: what the URL says, else what the recording was made on, else the H200."""
    if state.hardware is not None:
        return state.hardware
    made_on = shown.recording.device
    if made_on is not None and made_on.compute_capability in {row.cc for row in known()}:
        cc = made_on.compute_capability
        return Hardware(cc, device(cc).bank_bytes[0])
    return H200


def _kernel_links(shown: Shown, launch: Launch, query: Query, hardware: Hardware) -> list[Component]:
    """Link every launch of the run, with its worst degree; constants and hardware stay as they are."""
    links, seen = [], dict[str, int]()
    for other in shown.recording.launches:
        nth = seen.get(other.kernel, 0)
        seen[other.kernel] = nth + 1
        kept = {key: value for key, value in query.items() if key not in ("kernel", "launch")}
        href = "/kernel?" + urlencode(kept | {"kernel": other.kernel} | ({"launch": str(nth)} if nth else {}))
        degree = facts(other, hardware).max_degree
        name = other.kernel if nth == 0 else f"{other.kernel} ({nth + 1})"
        links.append(
            dcc.Link(
                [html.Span(name), html.Span(f"{degree}-way", className="degree conflict" if degree > 1 else "degree")],
                href=href,
                className="kernel-link current" if other is launch else "kernel-link",
            )
        )
    return links


def _origin(shown: Shown, hardware: Hardware) -> str:
    text = f"Requests {origin(shown.recording)}; {rule(hardware)}."
    return text if shown.why is None else f"{text} {shown.why}"


def _notices(shown: Shown, launch: Launch) -> list[Component]:
    """Say what is missing from the recording, and what went wrong while it was made."""
    notices: list[Component] = []
    if launch.missing:
        text = f"{count(launch.missing, 'request')} were counted but not logged; pictures show the logged blocks."
        notices.append(dmc.Alert(text, title="Not every request is logged", color="yellow", variant="light"))
    for finding in shown.recording.findings:
        if finding.kernel == launch.kernel:
            notices.append(dmc.Alert(f"line {finding.line}: {finding.message}", title=finding.kind, color="orange"))
    return notices


def _refusal(error: SmemvizError, before: dict[str, Any] | None) -> Component:
    """Say what is wrong, and what the pictures are of that are still there."""
    below = f"The pictures below are of the last run that worked, {before['title']}." if before else ""
    return dmc.Alert([html.Span(str(error)), html.Br(), below], color="red", id="error", className="refusal")


def _facts(launch: Launch, hardware: Hardware) -> list[Component]:
    total = facts(launch, hardware)
    pairs = [
        ("grid", " x ".join(map(str, launch.grid))),
        ("block", " x ".join(map(str, launch.block))),
        ("shared bytes", f"{launch.shared_bytes:,}"),
        ("shared requests", f"{total.requests:,}"),
        ("wavefronts", f"{total.wavefronts:,}"),
        ("ideal", f"{total.ideal:,}"),
        ("excess", f"{total.excess:,}"),
        ("global sectors", f"{total.sectors:,}"),
    ]
    if total.uncounted:
        pairs.append(("data-dependent sites", f"{total.uncounted:,}"))
    return [
        html.Div(
            [html.Dt(name), html.Dd(value)], className="fact conflict" if name == "excess" and total.excess else "fact"
        )
        for name, value in pairs
    ]


def _drawing_note(drawn: int, hardware: Hardware) -> str:
    real = device(hardware.cc).banks
    return "" if drawn == real else f"A drawing with {count(drawn, 'bank')}. All counts stay those of {real} banks."


def _shown_run(shown: Shown, launch: Launch, hardware: Hardware) -> dict[str, Any]:
    """Tell the browser what the controls should show, and which constants may be left out of the URL."""
    constants = shown.program.constants
    return {
        "title": launch.kernel,
        "values": {
            **{name: c.value if c.kind in ("int", "float") else str(c.value) for name, c in constants.items()},
            "cc": hardware_key(hardware),
            "source": "recording" if shown.from_file else "lockstep",
        },
        "constants": list(constants),
        "switchable": shown.recorded is not None and shown.why is None,
    }
