"""Figures and sentences in a language in brackets: every text is a message or data, and none stays for the next."""

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from helpers.gallery import h200
from helpers.pseudo import forgotten, pseudo

from smemviz.figures.banks import banks
from smemviz.figures.compare import sector_bars, time_bars, wavefront_bars
from smemviz.figures.degrees import degrees
from smemviz.figures.drawing.cells import BADGES, CHARACTERS, LANES, characters
from smemviz.figures.drawing.style import FONT, font, mono
from smemviz.figures.elements import accessed, described_counts, shown_array, touched_elements
from smemviz.figures.sectors import largest_request, sectors, spread, used_of
from smemviz.figures.source import source
from smemviz.figures.tile import thumbnail, tile
from smemviz.figures.timeline import timeline
from smemviz.figures.times import times
from smemviz.figures.warps import warps
from smemviz.frontends.reading import kernel_lines
from smemviz.i18n import speaking
from smemviz.model.counting.global_traffic import traffic_of
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.playback import request_view, worst_request
from smemviz.recordings.findings import LAUNCH_REFUSED, MAIN_FAILED, Finding
from smemviz.views import comparison as compared
from smemviz.views.comparison import Entry, time_origin, to_csv
from smemviz.views.degrees import degrees_of
from smemviz.views.published_findings import published
from smemviz.wording.impact import Measured
from smemviz.wording.labels import COUNTED, count, duration, percent
from smemviz.wording.sentences import badge, degree_of, described, facts, findings_of, headline, origin, present, rule

ROOT = Path(__file__).resolve().parents[2]
EIGHT_BYTE_BANKS = Hardware((3, 5), 8)


@dataclass(frozen=True)
class Seen:
    """A launch of a recording that came from an H200, and what it is counted for."""

    file: str
    kernel: str
    hardware: Hardware = H200


# Conflicts, padding, dynamic arrays; atomics whose wavefronts depend on data; arrays of many elements; no shared array.
SEEN = (
    Seen("square", "set_row_read_col"),
    Seen("square", "set_row_read_col_pad", EIGHT_BYTE_BANKS),
    Seen("histogram", "weigh_in_shared_memory"),
    Seen("histogram", "count_in_shared_memory", EIGHT_BYTE_BANKS),
    Seen("histogram", "count_in_global_memory"),
    Seen("reduce", "neighbours_by_spread_threads"),
    Seen("transpose", "copy"),
)


@cache
def recording(file):
    return h200(file)


def pictures(now, hardware):
    launch = now.launch
    names = [array.name for array in launch.shared_arrays] or [""]
    for view in ("declared", "physical"):
        yield tile(now, names[0], view=view, hardware=hardware)
    yield banks(now, hardware=hardware)
    yield sectors(now)
    yield timeline(now, hardware=hardware)
    yield warps(launch, now.block, site=0, warp=0, hardware=hardware)
    for whole in (False, True):
        for array in accessed(launch) or [None]:
            yield touched_elements(now, shown_array(now, array, whole=whole))


def sentences(now, hardware):
    yield present(now, hardware)
    yield from (described_counts(now, shown_array(now, array)) for array in accessed(now.launch))


def drawn(found, launch, hardware=H200):
    rows = summarize(launch, hardware)
    at = [
        worst_request(launch, hardware),
        largest_request(launch, len(launch.sites) - 1),
        request_view(launch, step=10**6),
    ]
    shown: list[Any] = []
    for now in filter(None, at):
        shown += [*pictures(now, hardware), *sentences(now, hardware)]
    for i in range(len(launch.sites)):
        traffic = traffic_of(launch, i)
        shown += [spread(traffic), used_of(traffic)] if traffic else []
        shown += [used_of(replace(traffic, requests=traffic.requests + 1))] if traffic else []
    shown += [
        source(found, launch, kernel_lines(found, launch), site=0, hardware=hardware),
        thumbnail(launch, hardware=hardware),
        degrees(degrees_of(launch, hardware)),
    ]
    shown += [headline(launch, hardware), degree_of(facts(launch, hardware)), origin(found), rule(hardware)]
    shown += [badge(site, row) for site, row in zip(launch.sites, rows, strict=True)]
    return shown + ([times(launch.time)] if launch.time else [])


def entries(*, timed=True):
    found = recording("square")
    assert found.device
    kernels = ("set_row_read_row", "set_row_read_col", "set_col_read_col")
    measured = [Measured(found[k], found[k].time, found.device, found.calibration) for k in kernels if found[k].time]
    shown = [*measured[:2], None] if timed else [None] * 3
    return [
        Entry(kernel, found.file, found[kernel], H200, origin(found), one)
        for kernel, one in zip(kernels, shown, strict=True)
    ]


def side_by_side():
    shown: list[Any] = []
    for timed in (True, False):
        rows = compared.compared(entries(timed=timed))
        shown += [wavefront_bars(rows), sector_bars(rows), time_bars(rows), compared.headline(rows)]
        shown += [time_origin(row.entry.measured) for row in rows if row.entry.measured]
    naive = compared.compared([replace(entries()[0], launch=recording("transpose")["copy"], measured=None)])
    return [*shown, compared.headline(naive), wavefront_bars(naive), sector_bars(naive)]


def names(found, launch=None):
    """Return what is shown of a recording and no language translates: its source with every name in it."""
    assert found.device
    known = [found.device.name, found.device.driver, *(one.kernel for one in found.launches)]
    known += [node.id for node in ast.walk(ast.parse(found.source)) if isinstance(node, ast.Name)]
    for one in [launch] if launch else found.launches:
        known += [array.name for array in one.arrays]
        known += [site.source for site in one.sites] + [site.op.replace("_", " ") for site in one.sites]
        known += [site.op.partition("_")[2] for site in one.sites]
        known += [f"{site.source[:letters]}…" for site in one.sites for letters in range(len(site.source))]
    return known


def read(shown):
    """Return figures without the source of the kernel in them, with what they say to those who do not see them."""
    found: list[Any] = []
    for one in shown:
        if isinstance(one, go.Figure):
            traces = [trace for trace in one.data if trace.meta != CHARACTERS]
            found += [
                go.Figure(traces, one.layout),
                *strings(one.layout.meta),
                *strings([t.meta for t in traces if t.meta not in (LANES, BADGES)]),
            ]
            # Of the source, what stands beside the lines: the badge after the access.
            found += [text.rpartition("\N{NO-BREAK SPACE}" * 2)[2] for text in badges(one)]
        else:
            found.append(one)
    return found


def badges(figure):
    rows = [text for trace in figure.data if trace.meta == CHARACTERS for text in trace.text]
    return [text.replace("</b>", "") for text in rows if "⟦" in text or "·" in text]


def strings(value):
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [text for part in value for text in strings(part)] if isinstance(value, list | tuple) else []


def as_json(shown):
    return [one.to_json() if isinstance(one, go.Figure) else json.dumps(one) for one in shown]


@pytest.mark.exhaustive
@pytest.mark.parametrize("seen", SEEN, ids=lambda seen: f"{seen.file}-{seen.kernel}-{seen.hardware.key}")
def test_every_text_of_a_launch_is_a_message_or_data_and_none_stays_for_the_next(seen):
    found, launch = recording(seen.file), recording(seen.file)[seen.kernel]
    english = as_json(drawn(found, launch, seen.hardware))
    with pseudo():
        shown = drawn(found, launch, seen.hardware)
        assert forgotten(read(shown), names(found, launch)) == []
    assert as_json(shown) != english
    assert as_json(drawn(found, launch, seen.hardware)) == english


@pytest.mark.parametrize("sites", [pytest.param(True, marks=pytest.mark.exhaustive), False])
def test_what_there_is_not_is_said_in_messages(sites):
    found = replace(recording("square"), device=None, engine="lockstep")
    launch = found["set_row_read_col"]
    none = launch.requests.select(launch.requests.site < 0)
    launch = replace(launch, requests=none, sites=launch.sites if sites else (), arrays=launch.arrays * sites)
    with pseudo():
        shown = drawn(found, launch)
        assert forgotten(read(shown), [*names(recording("square")), "lockstep"]) == []
    assert len(shown) > 10


def test_launches_side_by_side_are_compared_in_messages():
    english = as_json(side_by_side())
    with pseudo():
        shown = side_by_side()
        dates = [entry.measured.time.date for entry in entries() if entry.measured]
        assert forgotten(read(shown), [*names(recording("square")), *names(recording("transpose")), *dates]) == []
    assert as_json(side_by_side()) == english


def test_a_csv_stays_english():
    rows = compared.compared(entries())
    english = to_csv(rows)
    with pseudo():
        assert to_csv(rows) == english


@pytest.mark.parametrize("file", ["latency", "square", "rectangle", "reverse"])
def test_published_figures_are_told_in_messages(file):
    english = published(recording(file))
    with pseudo():
        rows = published(recording(file))
        texts = [text for row in rows for text in vars(row).values()]
        launches = recording(file).launches
        named = [one.kernel for one in launches] + [array.name for one in launches for array in one.shared_arrays]
        assert forgotten(texts, named) == []
    assert len(rows) == len(english) > 0
    assert published(recording(file)) == english


def test_mistakes_are_told_in_messages_around_what_the_engine_said():
    found = recording("square")
    kinds = (
        "race",
        "out_of_bounds",
        "unwritten_read",
        "barrier_divergence",
        "benign_race",
        "barrier_skipped",
        "raised",
        LAUNCH_REFUSED,
        MAIN_FAILED,
    )
    threads = ((0, 0, 0), (1, 0, 0), (2, 0, 0))
    met = tuple(
        Finding(kind, "set_row_read_row", 1, (0, 0, 0), threads[: i % 4], "as the engine said", 0)
        for i, kind in enumerate(kinds)
    )
    found = replace(found, findings=met)
    with pseudo():
        texts = [described(finding, found) for finding in findings_of(found, found.launches[0])]
        assert forgotten(texts, ["as the engine said", "set_row_read_row"]) == []
    assert len(texts) == len(kinds)


def test_numbers_with_their_nouns_are_messages():
    with pseudo():
        assert forgotten([count(n, noun) for noun in COUNTED for n in (0, 1, 2)]) == []
        assert forgotten([duration(0.0001), percent(0.0001)]) == []


@pytest.mark.exhaustive
def test_every_noun_that_is_counted_anywhere_is_a_message():
    nouns = {noun for file in (ROOT / "smemviz").rglob("*.py") for noun in _counted(ast.parse(file.read_text()))}
    assert {"wavefront", "lane", "sector"} <= nouns
    assert nouns - set(COUNTED) == set()


def _counted(tree):
    """Return the nouns that a module gives to ``labels.count``, where it takes that name from there."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    if not any(node.module == "smemviz.wording.labels" and "count" in {a.name for a in node.names} for node in imports):
        return set()
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    given = [node.args[1] for node in calls if node.func.id == "count" and len(node.args) == 2]
    return {str(noun.value) for noun in given if isinstance(noun, ast.Constant)}


def test_fonts_with_the_letters_of_a_language_come_first_of_those_with_chinese_characters():
    for say, korean, chinese in [
        (font, "Malgun Gothic", "Microsoft YaHei"),
        (mono, "Malgun Gothic", "Microsoft YaHei"),
    ]:
        english = say()
        assert korean not in english
        generic = english.rpartition(", ")[2]
        for tag, first, second in (("ko", korean, chinese), ("zh-Hans", chinese, korean)):
            with speaking(tag):
                named = say()
            assert named.startswith(english.removesuffix(generic))
            assert named.endswith(generic)
            assert named.index(first) < named.index(second)


def test_english_pictures_name_the_fonts_they_did():
    assert banks(worst_request(recording("square")["set_row_read_col"])).layout.font.family == FONT


def test_a_letter_of_korean_or_chinese_is_as_wide_as_the_type_is_high():
    assert characters("32 lanes") == 8
    assert characters("32개 레인") == 3 + 6  # three such letters, each 1 / 0.58 digits wide
    assert characters("冲突") == 4  # rounded up
