"""The truth panel of the kernel page: what was recorded, what the model makes of it, what the hardware counted."""

from __future__ import annotations

from collections import Counter

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from smemviz.app.library import Shown
from smemviz.figures.sentences import origin
from smemviz.figures.served import Hardware
from smemviz.model.devices import device, known
from smemviz.model.summary import SiteSummary, summarize
from smemviz.recording import Launch, Site, SiteHardware

# A verdict is told by its word and its symbol; colour only helps.
SYMBOLS = {"agrees": "✓", "explained": "∴", "inflated": "↑", "unexplained": "?"}
_NOT_MEASURED = "not measured"


def truth_panel() -> Component:
    """Lay out the panel."""
    return html.Section(
        [html.H2("Recorded, model, hardware", id="truth-title"), html.Div(id="truth-body")],
        className="panel truth-panel",
    )


def view_truth(shown: Shown, launch: Launch, hardware: Hardware) -> list[Component]:
    """Show each site three times over, with the verdict, the raw counters, and where each number comes from."""
    verified = _verified(shown, launch)
    counted_for = _capability(shown, hardware) if verified.hardware else hardware
    rows = summarize(launch, counted_for.cc, counted_for.bank_bytes)
    found = verified.hardware or (None,) * len(launch.sites)
    return [
        html.P(_verdict(verified), className="verdict-line", id="verdict"),
        html.Div(
            html.Table(
                [
                    html.Caption("Counts of each site", className="visually-hidden"),
                    html.Thead(html.Tr([_head("Site"), _head("Recorded"), _head("Model"), _head("Hardware")])),
                    *(_site(*row) for row in zip(launch.sites, rows, found, strict=True)),
                ],
                className="table truth",
            ),
            className="scroller",
            tabIndex=0,
            role="region",
            **{"aria-labelledby": "truth-title"},
        ),
        *(_unaccounted(verified)),
        html.P(_sources(shown, verified, counted_for), className="note"),
        *(_counters(verified)),
    ]


def _verified(shown: Shown, launch: Launch) -> Launch:
    """Return the launch of the GPU recording with the same constants, else the launch itself."""
    if shown.recorded is None or shown.why is not None:
        return launch
    index = next(i for i, one in enumerate(shown.recording.launches) if one is launch)
    return shown.recorded.launches[index]


def _capability(shown: Shown, otherwise: Hardware) -> Hardware:
    """Return the card that counted: its rule is the one that its counters can be held against."""
    made_on = shown.recorded.device if shown.recorded else None
    if made_on is None or made_on.compute_capability not in {row.cc for row in known()}:
        return otherwise
    return Hardware(made_on.compute_capability, device(made_on.compute_capability).bank_bytes[0])


def _verdict(launch: Launch) -> str:
    if not launch.hardware:
        return "The hardware was not asked: its counters were not read with these constants."
    verdicts = [row.verdict for row in launch.hardware]
    told = [f"{n} agree" if name == "agrees" and n > 1 else f"{n} {name}" for name, n in Counter(verdicts).items()]
    if len(told) == 1 and verdicts[0] == "agrees":
        return f"All {len(verdicts)} sites agree with the hardware's counters."
    return f"Of {len(verdicts)} sites: {', '.join(told)}."


def _head(text: str) -> Component:
    return html.Th(text, scope="col")


def _site(site: Site, row: SiteSummary, found: SiteHardware | None) -> Component:
    """Show one site: its numbers in a row, its verdict in the row below."""
    name = [html.Code(site.source), html.Span(f"line {site.line}, {site.space} {site.op.replace('_', ' ')}")]
    numbers = html.Tr(
        [
            html.Th(name, scope="row"),
            html.Td(_counts(row.requests, None, None, None)),
            html.Td(row.reason or _counts(None, row.wavefronts, row.ideal, row.sectors)),
            html.Td(_counts(found.requests, found.wavefronts, found.ideal, found.sectors) if found else _NOT_MEASURED),
        ]
    )
    if found is None:
        return html.Tbody(numbers)
    said = [
        html.Span(
            [html.Span(f"{SYMBOLS[found.verdict]} ", **{"aria-hidden": "true"}), found.verdict],
            className=f"verdict {found.verdict}",
        ),
        html.Span(found.because),
    ]
    return html.Tbody([numbers, html.Tr(html.Td(html.Div(said, className="because"), colSpan=4))])


def _counts(requests: int | None, wavefronts: int | None, ideal: int | None, sectors: int | None) -> list[Component]:
    """Write the counts there are, one under the other."""
    told = []
    for value, noun in ((requests, "request"), (wavefronts, "wavefront"), (sectors, "sector")):
        if value is not None:
            unit = noun if value == 1 else f"{noun}s"
            told.append(html.Div([html.Strong(f"{value:,}"), html.Span(f" {unit}", className="unit")]))
    if ideal is not None:
        told.append(html.Div(f"{ideal:,} ideal", className="unit"))
    return told


def _unaccounted(launch: Launch) -> list[Component]:
    if not launch.unaccounted:
        return []
    return [
        html.P("Instructions that belong to no site:"),
        html.Ul([html.Li(text) for text in launch.unaccounted], className="note"),
    ]


def _sources(shown: Shown, verified: Launch, counted_for: Hardware) -> str:
    """Say where each number comes from."""
    basis = device(counted_for.cc).basis.kind
    recorded = f"Requests {origin(shown.recording)}."
    model = f"Model: the rule for compute capability {counted_for.name}, {basis}, applied to their addresses."
    if not verified.hardware or shown.recorded is None or shown.recorded.device is None:
        return f"{recorded} {model} smemviz verify reads the hardware's counters, where Nsight Compute is installed."
    card = shown.recorded.device
    return f"{recorded} {model} Hardware: the clean kernel under Nsight Compute on {card.name}, driver {card.driver}."


def _counters(launch: Launch) -> list[Component]:
    if not launch.counters:
        return []
    rows = [[f"{value:,.0f}", name] for name, value in launch.counters.items()]
    # One component for all rows: each one on the page costs the browser time at every step.
    table = dmc.Table(
        data={"head": ["count", "metric"], "body": rows}, withRowBorders=False, verticalSpacing=2, className="counters"
    )
    return [
        html.Details(
            [
                html.Summary(f"All {len(rows)} raw counters of the launch"),
                html.Div(
                    table,
                    className="scroller",
                    tabIndex=0,
                    role="region",
                    **{"aria-label": "Raw counters"},
                ),
            ],
            className="details",
        )
    ]
