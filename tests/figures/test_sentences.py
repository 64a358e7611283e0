"""How numbers, words and whole sentences about a launch are written."""

from dataclasses import replace
from datetime import date

import pytest
from helpers.gallery import matmul
from helpers.synthetic import square_recording

from smemviz.figures.drawing.style import THEMES
from smemviz.figures.tile import thumbnail
from smemviz.i18n import speaking
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.playback import request_view, worst_request
from smemviz.recordings.findings import MAIN_FAILED, Finding
from smemviz.wording.labels import (
    count,
    day,
    duration,
    finding_name,
    lanes_named,
    number,
    operation_name,
    percent,
    share_of_them,
)
from smemviz.wording.sentences import badge, degree_of, facts, headline, headline_of, origin, present, rule


def test_numbers_and_words_are_written_as_a_reader_would():
    """A time in four digits, a number whole where it is, a share under one percent with a digit, plural nouns."""
    for write, cases in [
        (duration, {0.0: "0.000 µs", 0.0001: "under 0.001 µs", 1.7486: "1.749 µs", 12.345: "12.35 µs",
                    994.04: "994.0 µs", 1359.0: "1.359 ms", 23_042_000.0: "23.04 s"}),
        (number, {3.0: "3", -1e6: "-1000000", 1e7: "1e+07", 0.12345: "0.1235", float("inf"): "inf",
                  float("-inf"): "-inf", 1e300: "1e+300"}),
        (percent, {0.0: "0 %", 0.0001: "under 0.1 %", 0.004: "0.4 %", 0.01: "1 %", 0.666: "67 %", 1.25: "125 %"}),
        (share_of_them, {1 / 2: "half of them", 1 / 3: "a third of them", 1 / 4: "a quarter of them",
                         0.31: "31 % of them"}),
        (operation_name, {"load": "load", "atomic_add": "atomic add", "reduce_inc": "reduce inc",
                          "ldmatrix_x4": "ldmatrix x4"}),
        (finding_name, {"out_of_bounds": "out of bounds", "not_known_yet": "not known yet"}),
        (lanes_named, {(3,): "lane 3", (0, 1, 2, 7): "lanes 0-2, 7"}),
    ]:  # fmt: skip
        assert {value: write(value) for value in cases} == cases
    counted = [count(1, "launch"), count(2, "launch"), count(1024, "wavefront")]
    assert counted == ["1 launch", "2 launches", "1,024 wavefronts"]
    with pytest.raises(KeyError, match="wave"):
        count(1, "wave")


def test_a_day_is_written_as_its_language_does():
    written = {}
    for tag in ("en", "ko", "zh-Hans"):
        with speaking(tag):
            written[tag] = day(date(2025, 11, 21))
    assert written == {"en": "21 November 2025", "ko": "2025년 11월 21일", "zh-Hans": "2025年11月21日"}


RECORDING = square_recording()
LAUNCH = RECORDING["set_row_read_col"]


def test_the_headline_is_the_total_and_the_worst_line():
    assert headline(LAUNCH) == "992 excess wavefronts, all on line 53, 32-way"
    assert headline(RECORDING["set_col_read_col"]) == "1,984 excess wavefronts; worst: line 38, 32-way, half of them"
    assert headline(RECORDING["set_row_read_row"]) == "No bank conflict: 64 wavefronts, as few as possible"


def test_a_mistake_comes_before_what_a_launch_costs():
    number = RECORDING.launches.index(LAUNCH)
    race, beyond = (
        Finding(kind, LAUNCH.kernel, line, (0, 0, 0), (), "", number)
        for kind, line in (("race", 53), ("out_of_bounds", 55))
    )
    failed = Finding(MAIN_FAILED, LAUNCH.kernel, 90, (0, 0, 0), (), "")

    def said(*findings):
        return headline_of(replace(RECORDING, findings=findings), LAUNCH)

    assert said(race, race) == "Race on line 53"
    assert said(beyond, race, race) == "Out of bounds on line 55, and 1 more mistake"
    assert said(failed) == said() == headline(LAUNCH)
    hint = replace(race, kind="negative_index")
    assert said(hint) == headline(LAUNCH)
    assert said(hint, beyond) == "Out of bounds on line 55"


def test_a_launch_without_shared_sites_has_a_headline_too():
    log = LAUNCH.requests.select(LAUNCH.requests.site == 2)
    log.site[:] = 0
    launch = replace(LAUNCH, sites=LAUNCH.sites[2:], requests=log)
    assert headline(launch) == "No shared memory is used, and every access is coalesced"
    assert degree_of(facts(launch)) == "global only"
    assert degree_of(facts(LAUNCH)) == "32-way"


@pytest.mark.exhaustive
def test_two_rows_that_no_layout_brings_into_one_sector_are_not_called_a_waste_of_one():
    """A warp of 16 x 16 threads loads an element of each of two rows: 8 of the 64 bytes of two sectors."""
    launch = matmul(16)["naive"]
    assert headline(launch) == "2 sectors per request of a[row, k], 12.5 % of their bytes used"


def test_the_present_request_and_the_badges_of_sites_are_said_in_one_line():
    said = [present(request_view(LAUNCH, warp=3, step=step)) for step in range(3)]
    assert said == [
        "store by warp 3, step 0: 32 lanes, 1 wavefront",
        "load by warp 3, step 1: 32 lanes, 32 wavefronts where 1 would do",
        "global store by warp 3, step 2: 32 lanes, 4 sectors for 128 bytes",
    ]
    said = [badge(site, row) for site, row in zip(LAUNCH.sites, LAUNCH.summary(), strict=True)]
    assert said == [
        "shared store · 1-way · 0 excess",
        "shared load · 32-way · 992 excess",
        "global store · 128 sectors, 4 per request",
    ]
    total = facts(LAUNCH)
    assert (total.requests, total.wavefronts, total.ideal, total.excess, total.sectors) == (64, 1056, 64, 992, 128)


def test_every_number_can_say_where_it_comes_from():
    assert origin(RECORDING) == "recorded on NVIDIA H200, driver 580.159, 21 November 2025"
    lockstep = replace(RECORDING, engine="lockstep", device=None)
    assert origin(lockstep) == "run by the lockstep engine, 21 November 2025, 02:00 UTC"
    assert rule(Hardware()) == "wavefronts by the rule for compute capability 9.0, measured"
    assert rule(Hardware((3, 5), 8)) == ("wavefronts by the rule for compute capability 3.5, 8-byte banks, documented")
    wide = replace(LAUNCH, sites=tuple(replace(site, width=16, dtype="complex128") for site in LAUNCH.sites))
    assert rule(Hardware(), [LAUNCH, wide]) == "wavefronts by the rule for compute capability 9.0, measured"
    assert rule(Hardware((8, 6)), [LAUNCH]) == "wavefronts by the rule for compute capability 8.6, documented"
    assert rule(Hardware((8, 6)), [LAUNCH, wide]) == (
        "wavefronts by the rule for compute capability 8.6, partly assumed"
    )


def test_a_card_shows_the_worst_site_with_its_lanes_in_conflict():
    drawn = thumbnail(LAUNCH)
    assert f'<path fill="{THEMES["light"].conflict}" d="M0 0h1v32h-1z"/>' in drawn  # the first column, all of it
    assert drawn.count('<path fill="#') == 32  # that, and the 31 other banks
    assert thumbnail(replace(LAUNCH, sites=(), arrays=())) == ""


def test_one_looks_first_at_the_request_that_wastes_the_most():
    now = worst_request(LAUNCH)
    assert present(now) == "load by warp 0, step 1: 32 lanes, 32 wavefronts where 1 would do"
    assert present(worst_request(RECORDING["set_row_read_row"])) == "store by warp 0, step 0: 32 lanes, 1 wavefront"
    log = LAUNCH.requests.select(LAUNCH.requests.site == 2)
    assert present(worst_request(replace(LAUNCH, requests=log))).startswith("global store by warp 0")
