"""A server answers a question once, and gives the same answer to all who ask it again."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest
from dash import Dash
from helpers.callbacks import send

from smemviz.app import cache
from smemviz.app.factory import create_app
from smemviz.app.library import Library
from smemviz.errors import BusyError
from smemviz.paths import kernels_dir

TEXT = """from numba import cuda


@cuda.jit
def kernel(a):
    a[cuda.threadIdx.x] = 0


def main():
    kernel[1, 32](cuda.device_array(32))
"""
RUN = {"file": "reduce", "kernel": "halves"}


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    return Path(shutil.copy(kernels_dir() / "reduce.py", tmp_path))


@pytest.fixture
def app(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> Dash:
    """Return a server for others, which looks at its files before each answer."""
    monkeypatch.setattr(cache, "_STAMP_SECONDS", 0.0)
    return create_app([kernel], local=False)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the files that are looked up, as they are: nothing is while answers are known."""
    found: list[str] = []
    show = Library.show

    def noted(library: Library, state: Any) -> Any:
        found.append(state.file)
        return show(library, state)

    monkeypatch.setattr(Library, "show", noted)
    return found


def look_at(app: Dash, block: int = 0, run: dict[str, str] = RUN, **headers: str) -> Any:
    values = {"run.data": run, "look.data": {"block": str(block)}}
    return send(app, "played.data", values, changed=["look.data"], headers=headers)


def asks_each_time(app: Dash, run: dict[str, str], shown: list[str]) -> bool:
    """Tell whether a question that is asked twice is answered anew each time."""
    look_at(app, run=run)
    once = len(shown)
    look_at(app, run=run)
    return len(shown) > once > 0


def test_the_same_question_is_answered_once(app: Dash, shown: list[str]) -> None:
    first, asked = look_at(app), len(shown)
    again = look_at(app)
    assert first.json["response"]["played"]["data"]["block"]
    assert (again.data, dict(again.headers)) == (first.data, dict(first.headers))
    assert "Content-Security-Policy" in again.headers
    assert len(shown) == asked > 0
    assert look_at(app, 1).data != first.data
    assert len(shown) > asked


def test_an_answer_is_compressed_for_who_takes_it_so(app: Dash) -> None:
    plain = look_at(app)
    packed = look_at(app, **{"Accept-Encoding": "br;q=1.0, gzip;q=0.8"})
    assert (plain.content_encoding, packed.content_encoding) == (None, "gzip")
    assert gzip.decompress(packed.data) == plain.data
    assert len(packed.data) < len(plain.data) / 3
    assert {answer.headers["Vary"] for answer in (plain, packed)} == {"Accept-Encoding"}


def test_a_file_that_changes_is_looked_at_again(app: Dash, kernel: Path) -> None:
    before = look_at(app)
    kernel.write_text(kernel.read_text("utf-8").replace("def halves(", "def other("), "utf-8")
    after = look_at(app)
    assert after.data != before.data
    kernel.unlink()
    assert look_at(app).data != after.data


def test_each_language_has_its_answers(app: Dash) -> None:
    values = {"run.data": RUN | {"THREADS": "0"}, "look.data": {}}  # which is refused, in words
    said = [
        send(app, "notices.html", values, changed=["run.data"], headers={"Accept-Language": language}).data
        for language in ("en", "ko", "en", "ko")
    ]
    assert said[0] != said[1]
    assert said[:2] == said[2:]


def test_texts_of_the_editor_are_asked_for_anew(app: Dash, shown: list[str]) -> None:
    values = {"run.data": {}, "editor-text.data": {"source": TEXT, "at": "1"}}
    for _ in range(2):
        answer = send(app, "editor-answer.data", values, changed=["editor-text.data"])
        assert "editor-answer" in answer.json["response"]
    name = answer.json["response"]["editor-answer"]["data"]["file"]
    assert asks_each_time(app, {"file": name}, shown)


def test_that_a_server_is_busy_is_not_kept(app: Dash, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RUN | {"THREADS": "64"}
    sandbox = "smemviz.engines.sandbox.Supervisor.run"
    with monkeypatch.context() as busy:
        busy.setattr(sandbox, lambda *given, **named: (_ for _ in ()).throw(BusyError("reduce.py: busy", seconds=1)))
        assert look_at(app, run=run).status_code == 429
    assert look_at(app, run=run).json["response"]["played"]["data"]["block"]


def test_a_dashboard_on_ones_own_machine_keeps_none(kernel: Path, shown: list[str]) -> None:
    assert asks_each_time(create_app([kernel]), RUN, shown)
