"""Launches side by side, drawn: wavefronts with their excess, and time with its floor."""

from collections.abc import Sequence

import plotly.graph_objects as go

from smemviz.figures.bars import RIGHT, at_end, bar, bars_layout, grey, hatched, names_above, places_of, plain, room
from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, alternative, empty
from smemviz.figures.sectors import used_of
from smemviz.i18n import _
from smemviz.views.comparison import KINDS, Row, time_text, wavefronts
from smemviz.wording.labels import count, duration, items, operation_name

_WIDE_RIGHT = 170  # pixels beside the bars, where the texts there are long


def wavefront_bars(rows: Sequence[Row], *, theme: ThemeName = "light") -> go.Figure:
    """Draw a bar per kind of access of each launch: the ideal plain, the excess hatched after it."""
    colours = THEMES[theme]
    kinds = _kinds(rows)
    if not kinds:
        return empty(colours, _("No wavefront of shared memory to compare."))
    names = [(row.entry.name, operation_name(kind)) for row in rows for kind in kinds]
    traffic = [row.wavefronts_by_kind[kind] for row in rows for kind in kinds]
    hover = [
        _(
            "{kind}: {wavefronts}, {ideal:,} would do",
            kind=kind,
            wavefronts=count(t.wavefronts, "wavefront"),
            ideal=t.ideal,
        )
        for (_launch, kind), t in zip(names, traffic, strict=True)
    ]
    labels = [
        _("{wavefronts:,} ({excess:,} excess)", wavefronts=t.wavefronts, excess=t.excess)
        if t.excess
        else f"{t.wavefronts:,}"
        for t in traffic
    ]
    meta = alternative(
        _sentence([(row.entry.name, count(wavefronts(row), "wavefront")) for row in rows]),
        [_("launch"), _("operation"), _("wavefronts"), _("ideal"), _("excess")],
        [(*name, t.wavefronts, t.ideal, t.excess) for name, t in zip(names, traffic, strict=True)],
    )
    parts = (_("ideal"), [t.ideal for t in traffic]), (_("excess"), [t.wavefronts for t in traffic])
    return _two_parts(rows, names, parts, hover, labels, _("wavefronts"), meta, RIGHT, colours)


def sector_bars(rows: Sequence[Row], *, theme: ThemeName = "light") -> go.Figure:
    """Draw a bar per kind of access of each launch: the sectors that would do plain, those beyond them hatched.

    Of a launch that was logged in part only the sectors are known of all requests, and its bar is plain.
    """
    colours = THEMES[theme]
    kinds = [kind for kind in KINDS if any(row.traffic_by_kind[kind].sectors for row in rows)]
    if not kinds:
        return empty(colours, _("No sector of global memory to compare."))
    moved = [row.traffic_by_kind[kind] for row in rows for kind in kinds]
    names = [(row.entry.name, operation_name(kind)) for row in rows for kind in kinds]
    fewest = [traffic.fewest if traffic.complete else traffic.sectors for traffic in moved]
    hover = [
        _("{kind}: {used}", kind=name[1], used=used_of(traffic)) for name, traffic in zip(names, moved, strict=True)
    ]
    labels = [
        _("{sectors:,}, {each:.4g} per request", sectors=traffic.sectors, each=traffic.sectors_per_request)
        if traffic.sectors_per_request
        else f"{traffic.sectors:,}"
        for traffic in moved
    ]
    meta = alternative(
        _sentence([(row.entry.name, count(row.sectors, "sector")) for row in rows]),
        [_("launch"), _("operation"), _("sectors"), _("would do"), _("sectors per request")],
        [
            (*name, traffic.sectors, traffic.fewest if traffic.complete else None, traffic.sectors_per_request)
            for name, traffic in zip(names, moved, strict=True)
        ],
    )
    parts = (_("would do"), fewest), (_("beyond that"), [traffic.sectors for traffic in moved])
    return _two_parts(rows, names, parts, hover, labels, _("sectors"), meta, _WIDE_RIGHT, colours)


def _two_parts(
    rows: Sequence[Row],
    names: Sequence[tuple[str, str]],
    parts: tuple[tuple[str, Sequence[int]], tuple[str, Sequence[int]]],
    hover: Sequence[str],
    labels: Sequence[str],
    title: str,
    meta: dict[str, object],
    right: int,
    colours: Theme,
) -> go.Figure:
    (low_name, low), (high_name, high) = parts
    places, ticks = places_of(len(rows), len(names) // len(rows)), [kind for _launch, kind in names]
    y = places.bars
    over = [i for i in range(len(y)) if high[i] > low[i]]  # a bar of no length would still draw its outline
    base, beyond = [low[i] for i in over], [high[i] - low[i] for i in over]
    traces = [
        bar(low_name, y, [0] * len(y), low, hover, plain(colours)),
        bar(high_name, [y[i] for i in over], base, beyond, [hover[i] for i in over], hatched(colours)),
        at_end(high, y, labels, [i in over for i in range(len(y))], colours),
        names_above([row.entry.name for row in rows], places, colours),
    ]
    return go.Figure(
        traces, bars_layout(colours, places, ticks, title, max(high), meta, right=room(high, labels, right))
    )


def time_bars(rows: Sequence[Row], *, theme: ThemeName = "light") -> go.Figure:
    """Draw the median time of each launch, its floor hatched, with a whisker for the median's 95 % interval."""
    colours = THEMES[theme]
    # As high as the bars of wavefronts, so that the two pictures line up beside each other.
    places = places_of(len(rows), max(len(_kinds(rows)), 1)).centred()
    placed = list(zip(rows, places.bars, strict=True))
    timed = [(row, row.entry.measured.time, place) for row, place in placed if row.entry.measured]
    if not timed:
        return empty(colours, _("No time was measured."))
    y = [place for _row, _time, place in timed]
    floor = [min(time.floor_us, time.median_us) for _row, time, _place in timed]
    median = [time.median_us for _row, time, _place in timed]
    hover = [
        _(
            "{median}, 95 % interval {low:.5g} to {high:.5g} µs",
            median=duration(time.median_us),
            low=time.low_us,
            high=time.high_us,
        )
        + "<br>"
        + _("floor {floor}, net {net}", floor=duration(time.floor_us), net=duration(time.net_us))
        for _row, time, _place in timed
    ]
    unmeasured = [(place, row) for row, place in placed if not row.entry.measured]
    texts = [f"{time_text(row)} · {row.against_best:.2f} x" for row, _time, _place in timed]
    traces = [
        bar(_("floor"), y, [0] * len(y), floor, hover, grey(colours)),
        bar(_("net"), y, floor, [m - f for m, f in zip(median, floor, strict=True)], hover, plain(colours)),
        go.Scatter(
            name=_("95 % interval"),
            x=median,
            y=y,
            mode="markers",
            marker={"size": 1, "color": colours.ink},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [time.high_us - time.median_us for _row, time, _place in timed],
                "arrayminus": [time.median_us - time.low_us for _row, time, _place in timed],
                "color": colours.ink,
                "thickness": 1.5,
                "width": 6,
            },
            hoverinfo="skip",
            showlegend=False,
        ),
        at_end(
            [*median, *[0.0] * len(unmeasured)],
            [*y, *(place for place, _row in unmeasured)],
            [*texts, *(time_text(row) for _place, row in unmeasured)],
            [False] * len(rows),
            colours,
        ),
        names_above([row.entry.name for row in rows], places, colours),
    ]
    columns = [_("launch"), _("median, µs"), _("95 % interval, low"), _("95 % interval, high"), _("floor"), _("net")]
    meta = alternative(
        _sentence([(row.entry.name, time_text(row)) for row in rows]),
        columns,
        [
            (row.entry.name, time.median_us, time.low_us, time.high_us, time.floor_us, time.net_us)
            for row, time, _place in timed
        ],
    )
    return go.Figure(
        traces, bars_layout(colours, places, [""] * len(rows), _("µs per launch"), max(median), meta, left=12)
    )


def _sentence(amounts: Sequence[tuple[str, str]]) -> str:
    return items(*(_("{launch}: {amount}", launch=launch, amount=amount) for launch, amount in amounts))


def _kinds(rows: Sequence[Row]) -> list[str]:
    return [kind for kind in KINDS if any(row.wavefronts_by_kind[kind].wavefronts for row in rows)]
