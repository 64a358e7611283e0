"""The panels that explain and suggest, and the page of all GPUs, in a language in brackets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from dash import html
from helpers.gallery import RECORDINGS
from helpers.pseudo import forgotten, pseudo

from smemviz.app.components.rich import rich
from smemviz.app.library import Library
from smemviz.app.pages.gpus_page import gpus_page, view_gpus
from smemviz.app.pages.kernel.suggest_panel import suggest_panel, suggestion_parts, view_suggest
from smemviz.app.pages.kernel.why_panel import view_why, why_panel
from smemviz.app.state import RunState
from smemviz.app.tasks.suggester import Suggester
from smemviz.i18n import spoken
from smemviz.model.hardware.compute_capability import known
from smemviz.paths import gallery
from smemviz.recordings import calibration
from smemviz.recordings.calibration import load_calibration
from smemviz.views.suggestions import Note, refused_notes, suggested_rows

CODE = ("gcd", "r", "c", "i", "tile", "held", "set_row_read_col", "out", "idx", "tx", "ty")
FAMILIES = [row.family for row in known()]


@pytest.fixture(scope="module")
def library() -> Library:
    return Library(gallery())


def test_why_a_site_costs_what_it_costs(library: Library) -> None:
    run, look = {"file": "square", "kernel": "set_row_read_col"}, {"theme": "light"}
    with pseudo():
        panel, filling = why_panel(), view_why(library, run, look)
        assert forgotten([panel, *filling.values()], CODE) == []
        assert "⟦Fix.⟧" in str(filling["why.html"])
    english = view_why(library, run, look)
    assert spoken() == "en"
    assert "⟦" not in str(english)


def test_what_is_suggested(library: Library) -> None:
    """The dynamic tile has a pad that cannot be written, the others were counted and timed on the H200."""
    for file, kernel in (("square", "set_row_read_col"), ("square", "set_row_read_col_dyn"), ("transpose", "tile")):
        query = {"file": file, "kernel": kernel}
        with pseudo():
            filling = view_suggest(library, Suggester(), query)
            assert forgotten([suggest_panel(), *filling.values()], CODE) == []
            nothing = view_suggest(library, Suggester(), {"file": "reduce", "kernel": "neighbours_by_close_threads"})
            assert forgotten(list(nothing.values())) == []
            assert forgotten(list(view_suggest(library, Suggester(), query, busy=True).values()), CODE) == []
        assert "⟦" not in str(view_suggest(library, Suggester(), query))


def test_reasons_are_messages_where_they_are_and_quoted_in_english_where_they_are_not(library: Library) -> None:
    stored = json.loads((RECORDINGS / "suggestions.json").read_text(encoding="utf-8"))
    (facts,) = [one for one in stored["files"] if one["file"].endswith("square.py")]
    launch = library.show(RunState.read({"file": "square"})).recording["set_row_read_col_dyn"]
    (padded,) = [one for one in facts["suggestions"] if one["reason"]]
    reason = "line 59: tile is dynamic: the launch states its size, and no constant is its pitch"
    check = {"wavefronts": None, "problem": "it does not run: 5", "notes": [reason]}
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
        Note(f"{change} (128 bytes more): it does not run: 5."),
        Note(f"{change} (128 bytes more) {reason}."),
        Note("Counts are of the requests that were logged."),
    )
    assert refused_notes(failed, launch.kernel) == [Note(f"tile: {reason}."), Note("tile: else.")]


def test_a_message_with_components_has_its_texts_in_one_piece() -> None:
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


def test_one_access_on_every_gpu(library: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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
            filling = view_gpus(library, run, look)
            assert forgotten(list(filling.values()), words) == [], run
    assert "⟦" not in str(view_gpus(library, kernel, {"site": "1"}))
