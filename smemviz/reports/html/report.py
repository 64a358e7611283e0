"""A whole recording as one HTML file that plays offline: source, tile, banks, requests one by one, and tables."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, blend, css_variables, font, mono
from smemviz.figures.registry import FIGURES
from smemviz.i18n import _, ngettext
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording
from smemviz.reports.html.folded import folded_figures
from smemviz.reports.html.page import document, messages_element, picture_style, report_scripts, text_of
from smemviz.reports.html.playback import Played, played
from smemviz.reports.pictures import missing
from smemviz.views.columns import columns_in
from smemviz.wording.labels import count, duration, launch_name, operation_name, sentences, space_name, verdict_name
from smemviz.wording.sentences import described, facts, findings_of, folded, headline_of, provenance

_MOST_REQUESTS = 400_000  # played in all; about 3 MB of the file
_MOST_CELLS = 400_000  # of the shared arrays of all launches; about 10 MB before they are packed
_COLORS = ("paper", "ink", "muted", "value", "idle", "frame", "conflict", "unused")


def report_page(
    recording: Recording,
    launches: Sequence[tuple[Launch, int]],
    hardware: Hardware,
    theme: ThemeName | None = None,
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
    lines += [", ".join(f"{key} = {value}" for key, value in recording.constants.items())] * bool(recording.constants)
    footer = _("smemviz {version}. This file loads nothing and sends nothing.", version=recording.version)
    body = "\n".join(
        (
            f"<header><div><h1>{text_of(name)}</h1>{''.join(f'<p>{text_of(line)}</p>' for line in lines)}</div>"
            f'<button id="theme" type="button" hidden>{text_of(_("Dark"))}</button></header>',
            "<main>",
            _notices(recording, [launch for launch, _ in launches], parts),
            _overview(launches, hardware),
            _player(),
            _sites(recording, launches, hardware),
            "</main>",
            f"<footer><p>{text_of(footer)}</p></footer>",
            messages_element(),
            f'<script type="application/octet-stream" id="data">{packed}</script>',
        )
    )
    sheet = _colours(theme, banks) + picture_style() + (files("smemviz.reports.html") / "report.css").read_text("utf-8")
    return document(f"{name}: smemviz", body, sheet, report_scripts(), theme=theme)


def _player() -> str:
    """Return the controls and the places of the pictures; ``assets/pictures`` fills them."""
    paces = {1: _("1 a second"), 4: _("4 a second"), 16: _("16 a second")}
    paced = "".join(
        f'<option value="{pace}"{" selected" * (pace == 4)}>{escape(name)}</option>' for pace, name in paces.items()
    )
    return f"""<section id="player" hidden aria-labelledby="player-title">
<div class="head"><h2 id="player-title">{text_of(_("Request by request"))}</h2>
<label>{text_of(_("Launch"))} <select id="launch"></select></label>
<label>{text_of(_("Block"))} <select id="block"></select></label></div>
<p id="headline" class="headline"></p>
<p id="why"></p>
<p id="left-out" class="note"></p>
<div class="controls" role="group" aria-label="{escape(_("Playback"))}">
{_button("first", "&#x23EE;", _("First request"))}
{_button("previous", "&#x25C1;", _("Previous request"))}
{_button("play", "&#x25B6;", _("Play"))}
{_button("next", "&#x25B7;", _("Next request"))}
{_button("last", "&#x23ED;", _("Last request"))}
<input type="range" id="place" min="0" value="0" step="1" aria-label="{escape(_("Request"))}">
<label>{text_of(_("Pace"))} <select id="pace">{paced}</select></label>
</div>
<p id="present" aria-live="polite"></p>
<p class="note">{text_of(_("Left and right step, Home and End go to the ends, space plays."))}</p>
<div class="pictures">
<div><h3 id="source-title">{text_of(_("Source"))}</h3>
<div class="scroller" tabindex="0" role="region" aria-labelledby="source-title"><ol id="source"></ol></div></div>
<div>
{_picture("tile", f'<label>{text_of(_("Array"))} <select id="array"></select></label>')}
{_picture("banks")}
{_picture("sectors")}
</div>
</div>
</section>
<noscript><p>{text_of(_("To play the requests this page needs its own script; the tables do not."))}</p></noscript>"""


def _picture(identity: str, controls: str = "") -> str:
    """Return the place of a picture, with the button that opens its table."""
    title = FIGURES[identity].title
    table = f'data-table="{escape(title)}" aria-expanded="false">{text_of(_("Table"))}'
    return f"""<div id="{identity}-picture"><div class="head"><h3 id="{identity}-title">{text_of(title)}</h3>{controls}
<button type="button" class="text-button" {table}</button></div>
<div class="scroller" tabindex="0" role="region" aria-labelledby="{identity}-title">\
<div id="{identity}" class="own-figure"></div></div>
<p class="note" id="{identity}-note"></p></div>"""


def _button(identity: str, sign: str, name: str) -> str:
    return f'<button type="button" id="{identity}" aria-label="{escape(name)}">{sign}&#xFE0E;</button>'


def _notices(recording: Recording, launches: Sequence[Launch], parts: Sequence[Played]) -> str:
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
    lines = [f"<li>{text_of(text)}</li>" for text in (*sentences_first, *findings) if text]
    return f'<ul class="notices">{"".join(lines)}</ul>' if lines else ""


def _overview(launches: Sequence[tuple[Launch, int]], hardware: Hardware) -> str:
    """Return a table with a row per launch."""
    timed = any(launch.time for launch, _ in launches)
    counts = columns_in("launches")
    heads = [_("launch"), _("grid"), _("block"), *(column.head("launches") for column in counts)]
    heads += [_("median time")] * timed
    rows = []
    for launch, number in launches:
        cells = [launch_name(launch, number), *(" x ".join(map(str, size)) for size in (launch.grid, launch.block))]
        cells += [column.total_text(launch, hardware) for column in counts]
        cells += [duration(launch.time.median_us) if launch.time else "-"] * timed
        rows.append((cells, bool(facts(launch, hardware).excess)))
    return _table(_("Launches"), heads, rows)


def _sites(recording: Recording, launches: Sequence[tuple[Launch, int]], hardware: Hardware) -> str:
    """Return for every launch a table with a row per access."""
    titled = [(launch, launch_name(launch, number)) for launch, number in launches]
    return "\n".join(
        _site_table(recording, launch, name, hardware) + folded_figures(recording, launch, name, hardware)
        for launch, name in titled
    )


def _site_table(recording: Recording, launch: Launch, name: str, hardware: Hardware) -> str:
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
    return _table(sentences(sentence, missing(recording, [launch]) if launch.missing else ""), heads, rows, "sites")


def _table(caption: str, heads: Sequence[str], rows: Sequence[tuple[Sequence[str], bool]], kind: str = "") -> str:
    """Write a table that scrolls by itself; rows with excess are marked by more than their colour."""
    head = "".join(f'<th scope="col">{text_of(name)}</th>' for name in heads)
    lines = "".join(
        f"<tr{' class=conflict' if excess else ''}>{''.join(f'<td>{text_of(cell)}</td>' for cell in cells)}</tr>"
        for cells, excess in rows
    )
    return (
        f'<div class="scroller" tabindex="0" role="region" aria-label="{escape(caption)}"><table class="{kind}">'
        f"<caption><span>{text_of(caption)}</span></caption><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


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
    return f"{colours}; --sans: {font()}; --mono: {mono()}"
