"""Panels, lessons, the lab, the editor and the GPUs in a language in brackets: every text is a message, or data."""

import json
import re
from dataclasses import replace

import pytest
from dash import html
from helpers.gallery import RECORDINGS
from helpers.pseudo import TAG, forgotten, pseudo
from helpers.tiers import one_in

from smemviz.app.components.rich import rich
from smemviz.app.pages.editor_page import _panel, run_asked
from smemviz.app.pages.gpus_page import gpus_page, view_gpus
from smemviz.app.pages.kernel.suggest_panel import suggest_panel, suggestion_parts, view_suggest
from smemviz.app.pages.kernel.why_panel import view_why, why_panel
from smemviz.app.pages.layouts.lab_page import lab_page
from smemviz.app.pages.layouts.lab_view import view_lab, view_layouts
from smemviz.app.pages.layouts.swizzle_page import swizzle_page, view_swizzles
from smemviz.app.pages.learn.learn_page import learn_page
from smemviz.app.pages.learn.learn_view import view_lesson
from smemviz.app.state import RunState
from smemviz.app.tasks.suggester import Suggester
from smemviz.figures.drawing.cells import CHARACTERS
from smemviz.i18n import spoken
from smemviz.lessons.course import LESSONS, lesson_of
from smemviz.lessons.handout import handout_page
from smemviz.lessons.lesson import lanes_of, read_answer
from smemviz.model.hardware.compute_capability import known
from smemviz.model.layout.accesses import PATTERNS, access_of
from smemviz.paths import gallery
from smemviz.recordings import calibration
from smemviz.recordings.calibration import load_calibration
from smemviz.views.layout_lab import access_text
from smemviz.views.suggestions import Note, refused_notes, suggested_rows

CODE = ("gcd", "r", "c", "i", "tile", "held", "set_row_read_col", "out", "idx", "tx", "ty")
FAMILIES = [row.family for row in known()]


def test_why_a_site_costs_what_it_costs(served):
    run, look = {"file": "square", "kernel": "set_row_read_col"}, {"theme": "light"}
    with pseudo():
        panel, filling = why_panel(), view_why(served, run, look)
        assert forgotten([panel, *filling.values()], CODE) == []
        assert "⟦Fix.⟧" in str(filling["why.html"])
    english = view_why(served, run, look)
    assert spoken() == "en"
    assert "⟦" not in str(english)


def test_what_is_suggested(served):
    """The dynamic tile has a pad that cannot be written, the others were counted and timed on the H200."""
    for file, kernel in (("square", "set_row_read_col"), ("square", "set_row_read_col_dyn"), ("transpose", "tile")):
        query = {"file": file, "kernel": kernel}
        with pseudo():
            filling = view_suggest(served, Suggester(), query)
            assert forgotten([suggest_panel(), *filling.values()], CODE) == []
            nothing = view_suggest(served, Suggester(), {"file": "reduce", "kernel": "neighbours_by_close_threads"})
            assert forgotten(list(nothing.values())) == []
            assert forgotten(list(view_suggest(served, Suggester(), query, busy=True).values()), CODE) == []
        assert "⟦" not in str(view_suggest(served, Suggester(), query))


def test_reasons_are_messages_where_they_are_and_quoted_in_english_where_they_are_not(served):
    stored = json.loads((RECORDINGS / "suggestions.json").read_text(encoding="utf-8"))
    (facts,) = [one for one in stored["files"] if one["file"].endswith("square.py")]
    launch = served.show(RunState.read({"file": "square"})).recording["set_row_read_col_dyn"]
    (padded,) = [one for one in facts["suggestions"] if one["reason"]]
    reason = "line 59: tile is dynamic: the launch states its size, and no constant is its pitch"
    check = {"wavefronts": None, "problem": "it fails: 5", "notes": [reason]}
    failed = facts | {"suggestions": [padded | {"verified": {"gpu": check}, "complete": False}]}
    failed["refused"] = [{"kernel": launch.kernel, "array": "tile", "reason": text} for text in (reason, "else")]
    with pseudo():
        shown = suggestion_parts(failed, [launch])
        assert forgotten(shown, CODE) == []
        refused = refused_notes(failed, launch.kernel)
        assert forgotten([note.text for note in refused], CODE) == []
        assert refused[-1] == Note("tile⟦:⟧", "else.")
    (row,), change = (
        suggested_rows(failed, [launch]),
        "leave 1 element of tile unused after every 32, index i + i // 32",
    )
    assert row.notes == (
        Note(f"{change} (128 bytes more): not written, {reason}."),
        Note(f"{change} (128 bytes more): it fails: 5."),
        Note(f"{change} (128 bytes more) {reason}."),
        Note("Counts are of the requests that were logged."),
    )
    assert refused_notes(failed, launch.kernel) == [Note(f"tile: {reason}."), Note("tile: else.")]


def test_a_message_with_components_has_its_texts_in_one_piece():
    code = html.Code("tile")
    assert rich("{n:,} of {code}: {more}.", n=1024, code=code, more=["a", code]) == [
        "1,024 of ",
        code,
        ": a",
        code,
        ".",
    ]
    with pseudo():
        assert rich("{access}; compared with {gpu}.", access=code, gpu="9.0") == [code, "⟦; compared with ⟧9.0⟦.⟧"]


def test_one_access_on_every_gpu(served, monkeypatch, tmp_path):
    monkeypatch.setattr(calibration, "user_folder", lambda: tmp_path)
    one = load_calibration(RECORDINGS / "calibration.json")
    wrong = [replace(row, card="64", agrees=False) if row.what == "number of banks" else row for row in one.rows]
    calibration.save_calibration(replace(one, device=replace(one.device, name="Ada"), rows=tuple(wrong)))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "calibration.json").write_text("{", encoding="utf-8")
    kernel = {"file": "square", "kernel": "set_row_read_col", "cc": "3.5-8"}
    matrices = {"A": "32x64 float16", "A-access": "matrices; op=ldmatrix_x4", "cc": "3.5"}
    words = [*CODE, *FAMILIES, "NVIDIA H100 80GB HBM3", "float16", "ldmatrix_x4", "ldmatrix x4", "32x64", "0x9"]
    with pseudo():
        assert forgotten(gpus_page()) == []
        for run, look in ((kernel, {"site": "1"}), (kernel, {"site": "2"}), (matrices, {}), ({"A": "0x9 int32"}, {})):
            filling = view_gpus(served, run, look)
            assert forgotten(list(filling.values()), words) == [], run
    assert "⟦" not in str(view_gpus(served, kernel, {"site": "1"}))


# What the texts of a URL are made of: shapes, dtypes, patterns, formulas, swizzles, and the names of the set-ups.
URL = ["A", "B", "dtype", "xor", "Swizzle", "lane", "warp", "row", "column", "float16", "float32", *PATTERNS]
PARTS = [row.family for row in known()]
LAB_WORDS = [*URL, *PARTS, "add", "ldmatrix", "ldmatrix_x4", "x4"]


def test_the_lab_before_it_is_filled():
    with pseudo():
        assert forgotten(lab_page(), [*LAB_WORDS, *OPTIONS]) == []


OPTIONS = [
    *("atomic_add", "atomic_max", "reduce_add", "reduce_inc", "load", "store", "matrices"),
    *("ldmatrix_x1", "ldmatrix_x2", "ldmatrix_x4_trans", "ldmatrix_x1_trans", "ldmatrix_x2_trans"),
    *("stmatrix_x1", "stmatrix_x2", "stmatrix_x4", "wgmma"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float64", "bool"),
]


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"A": "32x32 float32", "B": "32x32 float32; pad=1", "VIEW": "banks"},
        {"A": "32x64 float16; pitch=72", "A-access": "row; op=store; width=16\nmatrices; op=ldmatrix_x4"},
        {"A": "32x32 float32; swizzle=xor 5; pad=1", "cc": "3.5-8", "A-access": "lane, warp; op=atomic_add"},
        {"A": "32x32 float32; base=4; pad=2", "A-access": "row", "B": "32x32; pad=x"},
    ],
)
def test_what_the_lab_shows(query):
    with pseudo():
        shown = view_lab(query)
        assert (
            forgotten([value for name, value in shown.items() if not name.endswith((".href", ".className"))], LAB_WORDS)
            == []
        )
        found = [value for name, value in view_layouts(query).items() if not name.endswith(".data")]
        assert forgotten(found, LAB_WORDS) == []


def test_the_page_of_swizzles():
    words = [*URL, "wgmma", "ldmatrix", "stmatrix", "x4", "int8", "32B", "64B", "128B", "bulk load", "bulk store"]
    with pseudo():
        assert forgotten(swizzle_page(), words) == []
        for query in ({}, {"access": "wgmma", "dtype": "int8", "at": "3"}):
            filling = {**view_swizzles(query)}
            maps = filling.pop("swizzles-maps.html")
            assert forgotten(list(filling.values()), words) == []
            assert forgotten(maps, words) == []


NO_KERNEL_RUNS = "from numba import cuda\n\n\n@cuda.jit\ndef k():\n    pass\n\n\ndef main():\n    1 / 0\n"


def test_an_access_is_named_by_a_whole_message():
    with pseudo():
        assert access_text(access_of("row; op=store; width=16")) == "row⟦ ⟧⟦store⟧⟦, ⟧16⟦ bytes⟧"


def test_the_editor_and_what_it_says_of_a_run(texts):
    with pseudo():
        panel = _panel()
        assert forgotten(panel, [path.stem for path in gallery()]) == []
        said, *_ = run_asked(
            texts, "from numba import cuda\n\n\n@cuda.jit\ndef k():\n    pass\n\n\ndef main():\n    k[1, 32]()\n"
        )
        assert re.fullmatch(r"⟦Ran in ⟧\d+\.\d\d⟦ s: ⟧1⟦ launch⟧⟦\.⟧", said["message"])
        assert said["lang"] == TAG
        refused, *_ = run_asked(texts, "def main(:")
        assert forgotten(refused["message"], ["invalid syntax"]) == []
        assert (refused["lang"], refused["marks"][0]["message"]) == (TAG, "⟦is not valid Python: ⟧invalid syntax")
        raised, *_ = run_asked(texts, NO_KERNEL_RUNS)
        assert (raised["message"], raised["lang"]) == ("Line 10: ZeroDivisionError: division by zero", "en")


# Code, constants and files of the gallery, as they stand in questions and pictures.
DATA = [
    *("tile", "i", "tx", "ty", "PITCH", "BDIMX", "BDIMY", "IPAD", "out", "column", "row", "a_tile", "b_tile", "k"),
    *("turn_plain", "turn_swizzled", "turn.cu", "p\xa0^\xa0r\xa0%\xa08"),
    *("square.py", "rectangle.py", "transpose.py", "matmul.py", "held", "lane", "float32", "int32", "S³", "T"),
    *("matrix", "matrix[column,\xa0row]", "held", "RADIUS", "stencil.py", "latency.py", "reverse.py", "reduce.py"),
    *("threadIdx.x", "threadIdx.y", "threadIdx.y\xa0*\xa0blockDim.x\xa0+\xa0threadIdx.x", "c\xa0^\xa0r", "c ^ r"),
    *("cuda.syncthreads()", "cuda.syncwarp()", "held[r,\xa0c\xa0^\xa0r]", "2\xa0*\xa0step\xa0*\xa0t", "static_reverse"),
    *("from_shared_memory", "load_columns_store_rows", "swizzled_tile", "tiled", "held[t\xa0+\xa06]", "square"),
    *("rectangle", "reduce", "transpose", "set_row_read_col", "set_row_read_col_pad", "NVIDIA H200"),
    *("_pad", "µs", "matmul", "ldmatrix", "x4", "a", "p ^ (r // 2 % 4)", "p\xa0^\xa0(r\xa0//\xa02\xa0%\xa04)"),
]


def answers(lesson):
    kind = lesson.stage(lesson.values({})).question.kind
    return {"number": ["1", "45", "32", "5", "99", "256", "8192", "x"], "lanes": ["none", "3", "0", "8", "16", "x"],
            "choice": ["flat", "column", "x"]}[kind]  # fmt: skip


def test_the_list_of_lessons():
    with pseudo():
        assert forgotten(learn_page("/learn"), DATA) == []


@pytest.mark.parametrize("lesson", one_in(20, LESSONS), ids=lambda lesson: lesson.slug)
def test_a_lesson_before_and_after_its_answer(lesson):
    with pseudo():
        assert forgotten(learn_page(f"/learn/{lesson.slug}"), DATA) == []
        for given in ("", "show", *answers(lesson)):
            shown = view_lesson(lesson, {"ANSWER": given}, "light")
            for panel in ("scene", "1"):
                if _is_source(shown[f"learn-{panel}-figure.figure"]):
                    del shown[f"learn-{panel}-figure.figure"]
            texts = [value for name, value in shown.items() if name.endswith((".children", ".figure", ".aria-label"))]
            assert forgotten(texts, DATA) == []


def _is_source(figure):
    return any(trace.meta == CHARACTERS for trace in figure.data)


@pytest.mark.exhaustive
def test_a_handout_has_the_question_before_the_answer():
    with pseudo():
        for lesson in LESSONS:
            values = lesson.values({})
            stage = lesson.stage(values)
            page = handout_page([(lesson, values, stage, [])])
            assert page.index("⟦Question⟧") < page.index("⟦It is ⟧")


def test_lanes_read_are_lanes_written():
    lesson = lesson_of("words")
    question = lesson.stage(lesson.values({})).question
    assert lanes_of(read_answer(question, "31, 4-6")) == [4, 5, 6, 31]
