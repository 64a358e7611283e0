"""A whole recording as one HTML file that plays offline: source, tile, banks, requests one by one, and tables."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, blend, css_variables, font, mono
from smemviz.figures.registry import FIGURES, FOLDED, FigureInput
from smemviz.i18n import _, ngettext
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.playback import request_view
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording
from smemviz.reports.html.page import document, messages_element, picture_style, report_scripts
from smemviz.reports.html.playback import Played, played
from smemviz.reports.pictures import missing
from smemviz.views.columns import columns_in
from smemviz.wording.labels import count, duration, launch_name, operation_name, sentences, space_name, verdict_name
from smemviz.wording.sentences import described, facts, findings_of, folded, headline_of, provenance

if TYPE_CHECKING:
    import plotly.graph_objects as go

_MOST_REQUESTS = 400_000  # played in all; about 3 MB of the file
_MOST_CELLS = 400_000  # of the shared arrays of all launches; about 10 MB before they are packed
Row = tuple[list[str], bool]  # the cells of a table, and whether there is excess
_COLORS = ("paper", "ink", "muted", "value", "idle", "frame", "conflict", "unused")
_STEP, _DIGIT, _BAR, _HEIGHT = 46, 8, 28, 120  # pixels from bar to bar, of a digit, of a bar's width, of the highest
_TOP, _BOTTOM, _ENTRY = 48, 44, 140  # above, a legend and a number; below; from entry to entry of the legend
_NAMES = {getattr(THEMES["light"], name): name for name in ("paper", "ink", "muted", "conflict", "unused")}
_NAMES[THEMES["light"].ramp[0]] = "bank0"


def report_page(
    recording: Recording, launches: Sequence[tuple[Launch, int]], hardware: Hardware, theme: ThemeName | None = None
) -> str:
    """Write launches, each with its number among those of its kernel, as a page; without a theme it is the reader's."""
    most = _MOST_REQUESTS // max(len(launches), 1)
    parts: list[Played] = []
    cells = _MOST_CELLS
    for played_launch, number in launches:
        parts.append(played(recording, played_launch, launch_name(played_launch, number), hardware, most, cells))
        cells -= sum(len(array["address"]) for array in parts[-1]["arrays"])
    banks = hardware.banks
    worst = max(range(len(parts)), key=lambda i: facts(launches[i][0], hardware).excess)
    data = json.dumps({"banks": banks, "worst": worst, "launches": parts}, separators=(",", ":"))
    packed = b64encode(zlib.compress(data.encode(), 9)).decode()
    name = Path(recording.file).name
    lines = [provenance(recording, hardware)]
    if recording.constants:
        values = ", ".join(f"{key} = {value}" for key, value in recording.constants.items())
        lines.append(_("Constants of the file: {values}", values=values))
    titled = [(launch, launch_name(launch, number)) for launch, number in launches]
    sheet = _colours(theme, banks) + picture_style() + (files("smemviz.reports.html") / "report.css").read_text("utf-8")
    return document(
        "report.html",
        f"{name}: smemviz",
        report_scripts(),
        theme=theme,
        style=sheet,
        name=name,
        lines=lines,
        notices=_notices(recording, [launch for launch, _ in launches], parts),
        overview=_overview(titled, hardware),
        titles={picture: FIGURES[picture].title for picture in ("tile", "banks", "sectors")},
        launches=[
            {
                "name": launch_title,
                "sites": _sites(recording, launch, launch_title, hardware),
                "figures": _figures(recording, launch, launch_title, hardware),
            }
            for launch, launch_title in titled
        ],
        footer=_("smemviz {version}. This file loads nothing and sends nothing.", version=recording.version),
        messages=messages_element(),
        data=packed,
    )


def _notices(recording: Recording, launches: Sequence[Launch], parts: Sequence[Played]) -> list[str]:
    """Say what the recording or the page lacks, and what went wrong while it was recorded."""
    sentences_first = [missing(recording, launches)]
    left_out = sum(part["left_out"] for part in parts)
    if left_out:
        requests = count(left_out, "logged request")
        sentences_first.append(
            _("{requests} are not played, to keep this file small; all are counted.", requests=requests)
        )
    undrawn = sum(bool(array.nbytes) for other in launches for array in other.shared_arrays)
    undrawn -= sum(len(part["arrays"]) for part in parts)
    if undrawn:
        sentences_first.append(
            ngettext(
                "{n:,} shared array is not drawn, to keep this file small; --kernel and --launch choose what is.",
                "{n:,} shared arrays are not drawn, to keep this file small; --kernel and --launch choose what is.",
                undrawn,
            )
        )
    findings = dict.fromkeys(
        _("Line {line}: {what}", line=finding.line, what=described(finding, recording, more))
        for launch in launches
        for finding, more in folded(findings_of(recording, launch))
    )
    return [text for text in (*sentences_first, *findings) if text]


def _overview(titled: Sequence[tuple[Launch, str]], hardware: Hardware) -> tuple[list[str], list[Row]]:
    """Return heads and rows of a table with a row per launch."""
    timed = any(launch.time for launch, _ in titled)
    counts = columns_in("launches")
    heads = [_("launch"), _("grid"), _("block"), *(column.head("launches") for column in counts)]
    heads += [_("median time")] * timed
    rows = []
    for launch, name in titled:
        cells = [name, *(" x ".join(map(str, size)) for size in (launch.grid, launch.block))]
        cells += [column.total_text(launch, hardware) for column in counts]
        cells += [duration(launch.time.median_us) if launch.time else "-"] * timed
        rows.append((cells, bool(facts(launch, hardware).excess)))
    return heads, rows


def _sites(recording: Recording, launch: Launch, name: str, hardware: Hardware) -> tuple[str, list[str], list[Row]]:
    """Return caption, heads and rows of a table with a row per access of a launch."""
    counts = columns_in("accesses")
    heads = [_("line"), _("source"), _("space"), _("operation"), _("bytes")]
    heads += [*(column.head("accesses") for column in counts), *[_("hardware")] * bool(launch.hardware)]
    rows = []
    for i, (site, row) in enumerate(zip(launch.sites, summarize(launch, hardware), strict=True)):
        line = f"{Path(site.file).name}:{site.line}" if site.file else str(site.line)
        cells = [line, site.source, space_name(site.space), operation_name(site.op), str(site.width)]
        cells += [column.site_text(launch, i, hardware) for column in counts]
        cells += [verdict_name(launch.hardware[i].verdict)] if launch.hardware else []
        rows.append((cells, bool(row.excess)))
    sentence = _("{kernel}: {headline}.", kernel=name, headline=headline_of(recording, launch, hardware))
    return sentences(sentence, missing(recording, [launch]) if launch.missing else ""), heads, rows


def _colours(theme: ThemeName | None, banks: int) -> str:
    """Return the style sheet's colours: of one theme, or light and dark as the reader's system or button says."""
    light, dark = (_variables(THEMES[name], banks) for name in ("light", "dark"))
    if theme:
        return f":root {{ {light if theme == 'light' else dark} }}\n"
    return (
        f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f":root[data-theme=light] {{ {light} }}\n:root[data-theme=dark] {{ {dark} }}\n"
    )


def _variables(theme: Theme, banks: int) -> str:
    colours = css_variables(theme, _COLORS, bank=blend(theme.ramp, banks), faint=blend(theme.faint, banks))
    colours += f"; --accent: {theme.line}"  # as of the dashboard
    return f"{colours}; --sans: {font()}; --mono: {mono()}"


def _figures(recording: Recording, launch: Launch, name: str, hardware: Hardware) -> list[dict[str, Any]]:
    """Return the figures of a launch that have something to show; ``name`` is that of the launch."""
    inputs = FigureInput(recording, hardware, "light", request_view(launch))
    drawn = ((FIGURES[name], FIGURES[name].draw(inputs)) for name in FOLDED)
    return [
        {
            "title": chosen.title,
            "caption": chosen.caption(inputs) if chosen.caption else "",
            "bars": _bars_of(figure, name),
            "table": _table_of(figure),
        }
        for chosen, figure in drawn
        if figure.data
    ]


def _bars_of(figure: go.Figure, of: str) -> dict[str, Any]:
    """Place the bars of a figure of categories, its legend and its numbers.

    ``of`` is what no other picture of the page is of: a pattern in one that is folded does not show in another.
    """
    traces = [trace for trace in figure.data if trace.type == "bar"]
    names = list(figure.layout.xaxis.categoryarray or dict.fromkeys(str(x) for trace in traces for x in trace.x))
    most = max((int(y) for trace in traces for y in trace.y), default=0) or 1
    step = max(_STEP, _DIGIT * max(len(str(text)) + 1 for trace in traces for text in trace.text))
    marks = [
        _mark(_box(trace, 2 + i * _ENTRY, 2, 12, 12), 22 + i * _ENTRY, 12, trace.name, "note")
        for i, trace in enumerate(traces)
    ]
    for trace in traces:
        for x, y, text in zip(trace.x, trace.y, trace.text, strict=True):
            size = max(round(int(y) / most * _HEIGHT), 1)
            left, top = (names.index(str(x)) + 0.5) * step - _BAR / 2, _TOP + _HEIGHT - size
            marks.append(_mark(_box(trace, left, top, _BAR, size), left + _BAR / 2, top - 6, str(text)))
    marks += [_mark(None, (i + 0.5) * step, _TOP + _HEIGHT + 16, name, "axis") for i, name in enumerate(names)]
    height = _TOP + _HEIGHT + _BOTTOM
    marks.append(_mark(None, 0, height - 8, figure.layout.xaxis.title.text or "", "note"))
    return {
        "hatch": "hatch-" + re.sub(r"\W+", "-", of),
        "label": figure.layout.meta["says"],
        "width": max(len(names) * step, _ENTRY * len(traces)),
        "height": height,
        "marks": marks,
    }


def _mark(box: dict[str, Any] | None, x: float, y: float, text: str, kind: str = "") -> dict[str, Any]:
    """Return a text at its place, with the bar that it is of."""
    return {"box": box, "x": x, "y": y, "text": text, "kind": kind}


def _box(trace: go.Bar, x: float, y: float, width: int, height: int) -> dict[str, Any]:
    """Return a bar that looks as its trace does."""
    look = {"colour": _NAMES[trace.marker.color], "hatched": trace.marker.pattern.shape is not None}
    return {"x": x, "y": y, "width": width, "height": height} | look


def _table_of(figure: go.Figure) -> tuple[Sequence[str], list[tuple[list[str], bool]]]:
    """Return the heads and rows of the table that a figure says of itself."""
    cells = figure.layout.meta["table"]
    rows = [([f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row], False) for row in cells["rows"]]
    return cells["columns"], rows
