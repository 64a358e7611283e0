"""What a server keeps: the latest results and answers, worked out once, as long as there is room."""

import ast
import gc
import gzip
import shutil
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flask import Flask
from helpers.callbacks import send

from smemviz.app import cache
from smemviz.app.cache import Cache, size_of
from smemviz.app.factory import create_app
from smemviz.app.library import Library
from smemviz.engines import run
from smemviz.errors import BusyError
from smemviz.paths import kernels_dir

ROOM = 40_000  # ten thousand for each visitor


def texts():
    return Cache(ROOM)


def test_a_result_is_worked_out_once():
    cache, made = texts(), []
    for _ in range(2):
        assert cache.once("key", lambda: made.append(1) or "value") == "value"  # type: ignore[func-returns-value]
    assert made == [1]
    assert cache.get("key") == "value"


def test_who_asks_for_what_is_coming_waits_and_nobody_else_does():
    cache, begun, may_end = texts(), threading.Event(), threading.Event()

    def slowly():
        begun.set()
        assert may_end.wait(60)
        return "slow"

    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(cache.once, "slow", slowly) for _ in range(2)]
        try:
            assert begun.wait(60)
            assert pool.submit(cache.once, "quick", lambda: "quick").result(60) == "quick"
        finally:
            may_end.set()
        assert [one.result(60) for one in asked] == ["slow", "slow"]


def test_what_failed_is_tried_again():
    cache = texts()
    with pytest.raises(ZeroDivisionError):
        cache.once("key", lambda: str(1 // 0))
    assert cache.once("key", lambda: "value") == "value"


def test_the_latest_stay():
    cache = texts()
    for key in ("a", "b", "a", "c", "d"):
        if cache.get(key) is None:
            cache.keep(key, key * 2000)  # some 3,100 bytes, three of which have room
    assert [key for key in "abcd" if cache.get(key)] == ["a", "c", "d"]
    cache.keep("large", "x" * 2 * ROOM)  # the last one stays in any case, alone
    assert [key for key in ("a", "c", "d", "large") if cache.get(key)] == ["large"]


def test_a_visitor_takes_no_room_from_another():
    cache, server = texts(), Flask("test")
    with server.test_request_context(environ_base={"REMOTE_ADDR": "192.0.2.1"}):
        cache.keep("of one", "x" * 2000)
    with server.test_request_context(environ_base={"REMOTE_ADDR": "192.0.2.2"}):
        for n in range(100):
            cache.keep(f"of another {n}", "x" * 2000)
    assert cache.get("of one")
    assert [n for n in range(100) if cache.get(f"of another {n}")] == [97, 98, 99]
    for n in range(100):  # many visitors together have no more than the room there is
        with server.test_request_context(environ_base={"REMOTE_ADDR": f"192.0.2.{n}"}):
            cache.keep(f"of many {n}", "x" * 2000)
    assert cache.get("of one") is None
    assert len([n for n in range(100) if cache.get(f"of many {n}")]) == ROOM // 3100


def test_a_long_key_weighs_too():
    cache = texts()
    for n in range(100):
        cache.keep(str(n) + "k" * 2000, "")
    assert len([n for n in range(100) if cache.get(str(n) + "k" * 2000) is not None]) == 3


def used_by(make):
    gc.collect()
    tracemalloc.start()
    try:
        made = make()  # type: ignore[operator]
        gc.collect()
        return made, tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.exhaustive
@pytest.mark.parametrize("text", ["a;" * 2000, f"x = [{'1, ' * 2000}]"])
def test_a_syntax_tree_weighs_what_it_takes(text):
    tree, used = used_by(lambda: ast.parse(text))
    assert 0.7 < size_of(tree) / used < 1.3


def test_a_run_weighs_its_arrays_too():
    recording = run(kernels_dir() / "reverse.py", engine="lockstep")
    launch = recording.launches[0]
    grown = replace(launch, arrays=tuple(replace(launch.arrays[0], name=f"a{n}") for n in range(18_000)))
    assert size_of(replace(recording, launches=(grown,))) > 18_000 * 64  # bytes that one of them takes at least
    assert size_of(np.zeros(1 << 20, np.int8)[::2]) > 1 << 20  # a view keeps all of its array


TEXT = """from numba import cuda


@cuda.jit
def kernel(a):
    a[cuda.threadIdx.x] = 0


def main():
    kernel[1, 32](cuda.device_array(32))
"""
RUN = {"file": "reduce", "kernel": "halves"}


@pytest.fixture
def kernel(tmp_path):
    return Path(shutil.copy(kernels_dir() / "reduce.py", tmp_path))


@pytest.fixture
def app(kernel, monkeypatch):
    monkeypatch.setattr(cache, "_STAMP_SECONDS", 0.0)
    return create_app([kernel], local=False)


@pytest.fixture
def shown(monkeypatch):
    """Return the files that are looked up, as they are: nothing is while answers are known."""
    found: list[str] = []
    show = Library.show

    def noted(library, state):
        found.append(state.file)
        return show(library, state)

    monkeypatch.setattr(Library, "show", noted)
    return found


def look_at(app, block=0, run=RUN, **headers):
    values = {"run.data": run, "look.data": {"block": str(block)}}
    return send(app, "played.data", values, changed=["look.data"], headers=headers)


def asks_each_time(app, run, shown):
    look_at(app, run=run)
    once = len(shown)
    look_at(app, run=run)
    return len(shown) > once > 0


def test_the_same_question_is_answered_once(app, shown):
    first, asked = look_at(app), len(shown)
    again = look_at(app)
    assert first.json["response"]["played"]["data"]["block"]
    assert (again.data, dict(again.headers)) == (first.data, dict(first.headers))
    assert "Content-Security-Policy" in again.headers
    assert len(shown) == asked > 0
    assert look_at(app, 1).data != first.data
    assert len(shown) > asked


def test_an_answer_is_compressed_for_who_takes_it_so(app):
    plain = look_at(app)
    packed = look_at(app, **{"Accept-Encoding": "br;q=1.0, gzip;q=0.8"})
    assert (plain.content_encoding, packed.content_encoding) == (None, "gzip")
    assert gzip.decompress(packed.data) == plain.data
    assert len(packed.data) < len(plain.data) / 3
    assert {answer.headers["Vary"] for answer in (plain, packed)} == {"Accept-Encoding"}


def test_a_file_that_changes_is_looked_at_again(app, kernel):
    before = look_at(app)
    kernel.write_text(kernel.read_text("utf-8").replace("def halves(", "def other("), "utf-8")
    after = look_at(app)
    assert after.data != before.data
    kernel.unlink()
    assert look_at(app).data != after.data


def test_each_language_has_its_answers(app):
    values = {"run.data": RUN | {"THREADS": "0"}, "look.data": {}}  # which is refused, in words
    said = [
        send(app, "notices.html", values, changed=["run.data"], headers={"Accept-Language": language}).data
        for language in ("en", "ko", "en", "ko")
    ]
    assert said[0] != said[1]
    assert said[:2] == said[2:]


def test_texts_of_the_editor_are_asked_for_anew(app, shown):
    values = {"run.data": {}, "editor-text.data": {"source": TEXT, "at": "1"}}
    for _ in range(2):
        answer = send(app, "editor-answer.data", values, changed=["editor-text.data"])
        assert "editor-answer" in answer.json["response"]
    name = answer.json["response"]["editor-answer"]["data"]["file"]
    assert asks_each_time(app, {"file": name}, shown)


def test_that_a_server_is_busy_is_not_kept(app, monkeypatch):
    run = RUN | {"THREADS": "64"}
    sandbox = "smemviz.engines.sandbox.Supervisor.run"
    with monkeypatch.context() as busy:
        busy.setattr(sandbox, lambda *given, **named: (_ for _ in ()).throw(BusyError("reduce.py: busy", seconds=1)))
        assert look_at(app, run=run).status_code == 429
    assert look_at(app, run=run).json["response"]["played"]["data"]["block"]


def test_a_dashboard_on_ones_own_machine_keeps_none(kernel, shown):
    assert asks_each_time(create_app([kernel]), RUN, shown)
