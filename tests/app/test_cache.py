"""What the server keeps: the latest results, worked out once, as long as there is room."""

from __future__ import annotations

import ast
import gc
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from flask import Flask

from smemviz.app.cache import Cache, size_of
from smemviz.engines import run
from smemviz.paths import kernels_dir

ROOM = 40_000  # ten thousand for each visitor


def texts() -> Cache[str, str]:
    return Cache(ROOM)


def test_a_result_is_worked_out_once() -> None:
    cache, made = texts(), []
    for _ in range(2):
        assert cache.once("key", lambda: made.append(1) or "value") == "value"  # type: ignore[func-returns-value]
    assert made == [1]
    assert cache.get("key") == "value"


def test_who_asks_for_what_is_coming_waits_and_nobody_else_does() -> None:
    cache, begun, may_end = texts(), threading.Event(), threading.Event()

    def slowly() -> str:
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


def test_what_failed_is_tried_again() -> None:
    cache = texts()
    with pytest.raises(ZeroDivisionError):
        cache.once("key", lambda: str(1 // 0))
    assert cache.once("key", lambda: "value") == "value"


def test_the_latest_stay() -> None:
    cache = texts()
    for key in ("a", "b", "a", "c", "d"):
        if cache.get(key) is None:
            cache.keep(key, key * 2000)  # some 3,100 bytes, three of which have room
    assert [key for key in "abcd" if cache.get(key)] == ["a", "c", "d"]
    cache.keep("large", "x" * 2 * ROOM)  # the last one stays in any case, alone
    assert [key for key in ("a", "c", "d", "large") if cache.get(key)] == ["large"]


def test_a_visitor_takes_no_room_from_another() -> None:
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


def test_a_long_key_weighs_too() -> None:
    cache = texts()
    for n in range(100):
        cache.keep(str(n) + "k" * 2000, "")
    assert len([n for n in range(100) if cache.get(str(n) + "k" * 2000) is not None]) == 3


def used_by(make: object) -> tuple[object, int]:
    """Return what a function makes, and how many bytes it takes."""
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
def test_a_syntax_tree_weighs_what_it_takes(text: str) -> None:
    tree, used = used_by(lambda: ast.parse(text))
    assert 0.7 < size_of(tree) / used < 1.3


def test_a_run_weighs_its_arrays_too() -> None:
    recording = run(kernels_dir() / "reverse.py", engine="lockstep")
    launch = recording.launches[0]
    grown = replace(launch, arrays=tuple(replace(launch.arrays[0], name=f"a{n}") for n in range(18_000)))
    assert size_of(replace(recording, launches=(grown,))) > 18_000 * 64  # bytes that one of them takes at least
    assert size_of(np.zeros(1 << 20, np.int8)[::2]) > 1 << 20  # a view keeps all of its array
