"""Explanations in a language in brackets: every word is a message or data, and none stays for the next reader."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.gallery import h200
from helpers.launches import array, launch, site
from helpers.measured import measured_recording
from helpers.pseudo import forgotten, pseudo

from smemviz import paths as resources
from smemviz.model.counting.pattern import Level, Pattern
from smemviz.model.hardware.compute_capability import known
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.layout.accesses import access_of
from smemviz.model.layout.across_gpus import Access
from smemviz.model.layout.candidates import Pad, Swizzle
from smemviz.model.layout.layouts import layout_of
from smemviz.recordings.data import ArrayInfo, Totals
from smemviz.views.across_gpus import gpu_rows, gpus_headline
from smemviz.views.layout_lab import SetUp
from smemviz.views.layout_search import layout_heads, layout_rows, layouts_text
from smemviz.wording.explanations import Explaining
from smemviz.wording.impact import Measured, impact
from smemviz.wording.labels import capital, clause, sentences
from smemviz.wording.layout_changes import change_text
from smemviz.wording.patterns import described, name

GALLERY = [path for path in sorted(resources.kernels_dir().glob("*.py")) if resources.recording_for(path)]
LANES = np.arange(32, dtype=np.int64)
CODE = ("gcd", "r", "c", "i")  # gcd(32, 32), tile[r, c ^ r], i + i // 32


def texts(said):
    return [text for text in (said.pattern, said.because, said.fix) if text]


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_every_site_of_the_gallery_is_explained_in_messages_and_in_english_to_the_next_reader(path):
    for one in {one.kernel: one for one in h200(path.stem).launches}.values():
        explaining, sites = Explaining(one), range(len(one.sites))
        with pseudo():
            bracketed = [text for i in sites for text in texts(explaining.site(i))]
        assert all("⟦" in text for text in bracketed)
        assert forgotten(bracketed, [*CODE, *(info.name for info in one.arrays)]) == []
        assert not any("⟦" in text for i in sites for text in texts(explaining.site(i)))


def one_site(offsets, *, op="load", width=4, dtype="int32", size=16384, **changed):
    info = array("held", "shared", (size // width,), 1024, (width,))
    sites = (site("held", "shared", op, width, dtype),)
    rows = [(0, np.where(np.asarray(offsets) < 0, -1, 1024 + np.asarray(offsets)))]
    return texts(Explaining(replace(launch(sites, rows, (info,)), **changed)).site(0))


def test_what_the_gallery_does_not_have_is_said_in_messages_too():
    degrees = np.zeros((1, 33), np.int64)
    degrees[0, 32] = 7
    partly = Totals(*(np.array([n]) for n in (7, 224, 7, 0)), degrees)
    few = np.where(LANES < 3, 0, np.where(LANES == 3, 32, LANES))
    nowhere = launch((site("held", "shared", "load"),), [], (array("held", "shared", (32,), 1024),))
    outside = launch((site("held", "shared", "load"),), [(0, 1024 + 128 * LANES)], (array("held", "shared", (9,), 0),))
    with pseudo():
        said = [
            *one_site(256 * LANES, width=8, dtype="float64"),
            *one_site(264 * LANES, width=8, dtype="float64"),
            *one_site(256 * LANES, width=16, dtype="complex128"),
            *one_site(16 * LANES, width=16, dtype="complex128"),
            *one_site(np.where(LANES % 3 == 0, 128 * LANES, -1)),
            *one_site(np.where(LANES % 4 == 0, 128 * LANES, -1)),
            *one_site(np.where(LANES == 4, 4, -1)),
            *one_site(0 * LANES, op="atomic_add"),
            *one_site(4 * few, op="atomic_add"),
            *one_site(4 * (LANES % 2 * 32), op="atomic_add"),
            *one_site(4 * LANES, op="atomic_add", dtype="float32"),
            *one_site(8 * LANES, op="atomic_exch", width=8, dtype="int64"),
            *one_site(128 * LANES, totals=partly),
            *one_site(128 * LANES, shared_bytes=49152),
            *texts(Explaining(nowhere).site(0)),
            *texts(Explaining(outside).site(0)),
        ]
        assert forgotten(said, [*CODE, "held"]) == []


GROUPS = [
    [(4, 0), (8, 4)], [(16, 4), (2, 0)], [(4, 4), (4, 64), (2, 512)], [(4, 0), (2, 0), (4, 64)],
    [(2, 4), (2, 64), (2, 0), (4, 6)], [(2, 4), (2, 64), (2, -512), (4, 0)],
]  # fmt: skip


def test_patterns_and_steps_are_messages():
    groups = [Pattern("groups", tuple(Level(*level) for level in levels)) for levels in GROUPS]
    column = Pattern("stride", (Level(32, -128),))
    steps = [(1, 0), (-2, 0), (0, 1), (0, -1), (1, 1), (1, 0, 0), (0, 0)]
    with pseudo():
        others = [Pattern("irregular"), Pattern("data-dependent")]
        said = [described(one, None) for one in (*groups, *others)]
        said += [described(column, step) for step in steps]
        named = [name(one) for one in (*groups, column, Pattern("one lane"), Pattern("xor"), *others)]
        assert forgotten([*said, *named]) == []


def test_an_index_that_stays_has_no_step():
    """Lanes a byte apart in one element of two dimensions: there is no step to tell."""
    assert described(Pattern("stride", (Level(4, 1),)), (0, 0)) == "neighbouring lanes are 1 byte apart"


def test_changes_are_messages():
    for written in [True, False]:
        flat = ArrayInfo("held", "shared", (1024,), (4,), "int32", 0, 1)
        planes = ArrayInfo("held", "shared", (4, 3, 32), (384, 128, 4), "int32", 0, 1)
        with pseudo():
            said = [
                change_text(flat, Pad(32, 2), 256, {}, written=written),
                change_text(planes, Pad(32, 1), 1, {}, written=written),
                change_text(planes, Swizzle(32, 5), 0, {}, written=written),
                change_text(flat, Swizzle(32, 3, 2, 1), 0, {}, written=written),
                change_text(flat, Pad(32, 1), 128, {"IPAD": 2}, written=written),
            ]
            assert forgotten(said, [*CODE, "held", "IPAD"]) == []


def test_what_excess_costs_is_said_in_messages():
    recording = measured_recording()
    device, launches = recording.device, recording.launches
    assert device is not None
    all_ = [Measured(one, one.time, device, recording.calibration) for one in launches if one.time]
    col = next(one for one in all_ if one.launch.kernel == "set_row_read_col")
    slow, unread = replace(col.time, median_us=9.0), replace(col.time, conditions={})
    large = replace(col.launch, grid=(200, 1, 1), hardware=())
    kinds = [
        *all_,
        replace(col, time=slow),
        replace(col, time=unread, calibration=None),
        replace(col, launch=large),
        replace(col, launch=large, device=replace(device, name="NVIDIA Unheard Of")),
    ]
    with pseudo():
        judged = [impact(one, others) for one in kinds for others in ((), all_)]
        said = [text for one in judged for text in (one.answer, one.sentence, one.basis)]
        assert forgotten(said, [one.kernel for one in launches]) == []
    english = impact(col, all_)
    assert english.sentence.startswith("992 wavefronts in excess take 992 cycles, ")


def test_why_gpus_differ_is_said_in_messages():
    for access in [
        Access(128 * LANES[None], 4, "load", "float32"),
        Access(16 * LANES[None], 16, "load", "complex128"),
        Access(8 * LANES[None], 8, "load", "float64"),
        Access(4 * LANES[None], 4, "atomic_add", "float32"),
        Access(4 * LANES[None], 4, "atomic_add", "int32"),
        Access(16 * LANES[None], 16, "ldmatrix_x4", "float16"),
    ]:
        recording = measured_recording()
        calibrations = [recording.calibration] if recording.calibration else []
        families = [row.family for row in known()]
        with pseudo():
            for reference in (H200, Hardware((3, 5), 8), Hardware((1, 0))):
                rows = gpu_rows(access, reference, calibrations)
                said = [text for row in rows for text in (row.name, *row.numbers, row.difference, row.basis)]
                assert forgotten([*said, gpus_headline(rows)], [*families, "add", "ldmatrix x4", "ldmatrix_x4"]) == []
                assert not any(row.quoted for row in rows)


def test_layouts_that_were_found_are_told_in_messages():
    layouts = ("32x32 float32", "32x32 float32; pad=1", "32x32 float32; pad=32", "32x32 float32; swizzle=xor 5 0 0")
    for text in layouts:
        setup = SetUp(layout_of(text), (access_of("row; op=store"), access_of("column")), H200)
        with pseudo():
            rows = layout_rows(setup)
            said = [
                *layout_heads(setup),
                layouts_text(rows),
                *(cell for row in rows for cell in (row.name, *row.cells)),
            ]
            assert forgotten(said, ["xor", "Swizzle", "column", "row"]) == []  # code


def test_english_alone_begins_sentences_with_a_capital():
    said = "tile is padded"
    assert (capital(said), clause("A lock. Or two.")) == ("Tile is padded", "a lock. Or two")
    assert sentences("One.", "", "Two.") == "One. Two."
    with pseudo():
        assert capital(said) == said
        assert clause("원자 연산은 반복된다.") == "원자 연산은 반복된다"
        assert clause("循环。") == "循环"
