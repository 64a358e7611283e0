"""The hardware panel of the kernel page: what was recorded, what the model makes of it, what the hardware counted."""

from collections import Counter
from collections.abc import Callable, Mapping

from dash import html
from dash.development.base_component import Component

from smemviz.app.components.frames import scroller
from smemviz.app.components.rich import translated
from smemviz.app.components.tables import table
from smemviz.app.components.written_html import Written
from smemviz.app.library import ShownRun
from smemviz.i18n import N_, _, ngettext
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.compute_capability import BasisKind
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.hardware.operations import weakest_basis
from smemviz.recordings.data import Launch, Site, SiteSummary
from smemviz.recordings.measured import SiteHardware
from smemviz.wording.labels import clauses, count, sentences, verdict_name
from smemviz.wording.sentences import access_kind, origin

# A verdict is told by its word and its symbol; colour only helps.
SYMBOLS = {"agrees": "✓", "explained": "∴", "inflated": "↑", "unexplained": "?"}
_COUNTED: Mapping[str, Callable[[int], str]] = {
    "agrees": lambda n: ngettext("{n} agrees", "{n} agree", n),
    "explained": lambda n: ngettext("{n} explained", "{n} explained", n),
    "inflated": lambda n: ngettext("{n} inflated", "{n} inflated", n),
    "unexplained": lambda n: ngettext("{n} unexplained", "{n} unexplained", n),
}
_RULES: Mapping[BasisKind, str] = {
    "measured": N_("Model: the rule for compute capability {capability}, measured, applied to their addresses."),
    "documented": N_("Model: the rule for compute capability {capability}, documented, applied to their addresses."),
    "assumed": N_("Model: the rule for compute capability {capability}, partly assumed, applied to their addresses."),
}


def hardware_panel() -> Component:
    """Lay out the panel."""
    return html.Section(
        [
            Written(html.H2(_("Recorded, model, hardware"), id="hardware-title")),
            Written(html.Div(id="hardware-body")),
        ],
        className="panel measured-panel",
    )


def view_hardware(shown_run: ShownRun, launch: Launch, hardware: Hardware) -> list[Component]:
    """Show each site three times over, with the verdict, the raw counters, and where each number comes from."""
    verified = _verified(shown_run, launch)
    # The card that counted: its rule is the one that its counters can be held against.
    counted_for = Hardware.of(shown_run.recorded) if verified.hardware and shown_run.recorded else hardware
    rows = summarize(launch, counted_for)
    measured = verified.hardware or (None,) * len(launch.sites)
    heads = _("Access"), _("Recorded"), _("Model"), _("Hardware")
    return [
        html.P(_verdict(verified), className="verdict-line", id="verdict"),
        scroller(
            html.Table(
                [
                    html.Caption(_("Counts of each access"), className="visually-hidden"),
                    html.Thead(html.Tr([html.Th(head, scope="col") for head in heads])),
                    *(_site(*row) for row in zip(launch.sites, rows, measured, strict=True)),
                ],
                className="table hardware-table",
            ),
            titled="hardware-title",
        ),
        *(_unaccounted(verified)),
        html.P(_sources(shown_run, verified, counted_for), className="note"),
        *(_counters(verified)),
    ]


def _verified(shown_run: ShownRun, launch: Launch) -> Launch:
    """Return the launch of the GPU recording with the same constants, else the launch itself."""
    if shown_run.recorded is None or shown_run.why is not None:
        return launch
    index = next(i for i, other in enumerate(shown_run.recording.launches) if other is launch)
    return shown_run.recorded.launches[index]


def _verdict(launch: Launch) -> str:
    if not launch.hardware:
        return _("Not checked against hardware: no counters were read with these constants.")
    verdicts = [row.verdict for row in launch.hardware]
    counts = [_COUNTED[name](n) for name, n in Counter(verdicts).items()]
    if len(counts) == 1 and verdicts[0] == "agrees":
        return _("All {n} accesses agree with the hardware's counters.", n=len(verdicts))
    return _("Of {n} accesses: {verdicts}.", n=len(verdicts), verdicts=clauses(*counts))


def _site(site: Site, row: SiteSummary, hardware: SiteHardware | None) -> Component:
    """Show one site: its numbers in a row, its verdict in the row below."""
    where = _("line {n}, {access}", n=site.line, access=access_kind(site))
    name = [html.Code(site.source), html.Span(where)]
    numbers = html.Tr(
        [
            html.Th(name, scope="row"),
            html.Td(_counts(row.requests, None, None, None)),
            html.Td(_(row.reason) if row.reason else _counts(None, row.wavefronts, row.ideal, row.sectors)),
            html.Td(
                _counts(hardware.requests, hardware.wavefronts, hardware.ideal, hardware.sectors)
                if hardware
                else _("not measured")
            ),
        ]
    )
    if hardware is None:
        return html.Tbody(numbers)
    words = [
        html.Span(
            [html.Span(f"{SYMBOLS[hardware.verdict]} ", **{"aria-hidden": "true"}), verdict_name(hardware.verdict)],
            className=f"verdict {hardware.verdict}",
        ),
        html.Span(translated(hardware.because)),
    ]
    return html.Tbody([numbers, html.Tr(html.Td(html.Div(words, className="because"), colSpan=4))])


def _counts(requests: int | None, wavefronts: int | None, ideal: int | None, sectors: int | None) -> list[Component]:
    """Write the counts there are, one under the other."""
    lines = []
    for value, noun in ((requests, "request"), (wavefronts, "wavefront"), (sectors, "sector")):
        if value is not None:
            before, number, unit = count(value, noun).partition(f"{value:,}")
            words = [before, html.Strong(number), html.Span(unit, className="unit")]
            lines.append(html.Div([word for word in words if word]))
    if ideal is not None:
        lines.append(html.Div(_("{n:,} ideal", n=ideal), className="unit"))
    return lines


def _unaccounted(launch: Launch) -> list[Component]:
    if not launch.unaccounted:
        return []
    return [
        html.P(_("Instructions that belong to no access:")),
        html.Ul([html.Li(translated(text)) for text in launch.unaccounted], className="note"),
    ]


def _sources(shown_run: ShownRun, verified: Launch, counted_for: Hardware) -> str:
    """Say where each number comes from."""
    rule = _RULES[weakest_basis([verified], counted_for.cc)]
    card = shown_run.recorded.device if shown_run.recorded else None
    if verified.hardware and card:
        message = N_("Hardware: the clean kernel under Nsight Compute on {card}, driver {driver}.")
        counted = _(message, card=card.name, driver=card.driver)
    else:
        counted = _("smemviz verify reads the hardware's counters, where Nsight Compute is installed.")
    recorded = _("Requests {origin}.", origin=origin(shown_run.recording))
    return sentences(recorded, _(rule, capability=counted_for.name), counted)


def _counters(launch: Launch) -> list[Component]:
    if not launch.counters:
        return []
    rows = [html.Tr([html.Td(f"{value:,.0f}"), html.Td(name)]) for name, value in launch.counters.items()]
    head = html.Summary(_("All {n} raw counters of the launch", n=len(rows)))
    counters = scroller(table("counters", "", (_("count"), _("metric")), rows), label=_("Raw counters"))
    return [html.Details([head, counters], className="details")]
