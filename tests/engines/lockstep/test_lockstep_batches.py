"""Batches of blocks: how many run at once, how long they will take, and stopping in the middle."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from helpers.lockstep_text import body
from helpers.made_kernels import LONG

from smemviz import progress
from smemviz.engines.lockstep import running_launch as module
from smemviz.engines.lockstep.running_launch import Pace, announcing, batches
from smemviz.recordings.file import load


class Clock:
    """A clock that only work moves on."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(module, "perf_counter", made)
    return made


def run(clock, blocks, at_once, seconds, expected):
    """Go through the batches, each taking ``seconds(first, count)``; return them."""
    made = []
    for first, count in batches(blocks, at_once, expected.append):
        made.append((first, count))
        clock.now += seconds(first, count)
    return made


SMALL = [(0, 1), (1, 1), (2, 1), (3, 4), (7, 4)]
ALL_THREE = [(11, 32), (43, 32), (75, 32)]


def test_a_large_launch_begins_with_small_batches_which_tell_how_long_the_rest_takes(clock):
    for blocks, at_once, seconds, wanted, told in [
        (32, 32, lambda first, count: 1.0, [(0, 32)], []),
        (100, 32, lambda first, count: 0.1, [*SMALL, (11, 32), (43, 32), (75, 25)], None),
        # A block costs 8 s and a batch nothing, as two batches tell: none is repeated.
        (5 + 64, 32, lambda first, count: 8.0 * count, [(0, 1), (1, 4), (5, 32), (37, 32)], [512.0]),
        # A block costs 0.25 s; the first four wait 6 s longer for a compiler, which four batches of one would not.
        (11 + 64, 32, lambda first, count: 0.25 * count + 6.0 * (first == 3), [*SMALL, *ALL_THREE[:2]], [16.0]),
        (20, 8, lambda first, count: 1.0, [(0, 8), (8, 8), (16, 4)], []),  # too small to tell a rate
        # A batch costs 0.5 s and a block 0.0625 s, the first 0.25 s more; full batches of 32 then take 2.5 s each.
        (11 + 96, 32, lambda first, count: 0.5 + 0.0625 * count + 0.25 * (first == 0), [*SMALL, *ALL_THREE], [7.5]),
        # Of batches of a size the shortest counts: the second of one block and of four are disturbed.
        (11 + 64, 32, lambda first, count: 0.25 + 0.0625 * count + 100 * (first in (1, 7)), None, [4.5]),
    ]:
        expected = []
        made = run(clock, blocks, at_once, seconds, expected)
        assert made == wanted or wanted is None
        assert told is None or expected == pytest.approx(told)
    assert list(batches(100, 32, None)) == [(0, 32), (32, 32), (64, 32), (96, 4)]  # of which nobody asks the time


@pytest.mark.parametrize("grid", [2**22, 2**25])
def test_the_last_of_more_threads_than_32_bits_number_are_themselves(grid, monkeypatch):
    """Only the last two blocks run here: all of them take a minute and more."""
    monkeypatch.setattr(module, "batches", lambda blocks, at_once, expect: [(blocks - 2, 2)])
    out, threads = np.zeros(2048, np.int64), grid * 1024
    text = "i = cuda.grid(1)\nout[i - n] = i\nout[0] = i"

    launch, findings = body(text, out, threads - 2048, parameters="out, n", grid=grid, block=1024)

    np.testing.assert_array_equal(out[1:], np.arange(threads - 2047, threads))
    assert set(launch.requests.block) == {grid - 2, grid - 1}
    assert {(one.kind, one.block) for one in findings} == {("race", (grid - 2, 0, 0))}


class Listener:
    def __init__(self):
        self.heard = []

        self.told = []

    def __call__(self, done, total, text):
        self.told.append((done, total, text))

    def expect(self, seconds, text):
        self.heard.append((seconds, text))


def test_only_a_long_time_is_announced_and_only_to_who_wants_to_know():
    listener = Listener()
    announcing(listener, "kernel")(2.9)
    announcing(listener, "kernel")(3.1)
    assert listener.heard == [(3.1, "kernel")]
    assert announcing(lambda done, total, text: None, "kernel") is None
    assert announcing(None, "kernel") is None


def test_of_loops_in_loops_it_is_told_how_far_they_are_and_how_long_they_take(clock):
    """10 turns of 40 turns of a quarter of a second are 100 s; a second has passed when that is looked at first."""
    listener = Listener()
    pace = Pace(listener, "kernel", 2)
    for _ in pace.batches(1):
        outer = pace.begin(10.0)
        for _ in range(10):
            outer.begun += 1
            inner = pace.begin(40)
            for _ in range(40):
                inner.begun += 1
                pace.look()
                clock.now += 0.25
            pace.end()
        pace.end()
    assert listener.heard == [(99.0, "kernel")]
    assert listener.told[:2] == [(0, 100, "kernel"), (1, 100, "kernel")]
    assert listener.told[98:103] == [
        (49, 100, "kernel"),
        (1, 2, "kernel"),
        *[(50, 100, "kernel")] * 2,
        (51, 100, "kernel"),
    ]


def test_what_takes_far_longer_than_was_said_is_said_again(clock):
    """Behind n turns of n / 10 s, n - 1 the last, 0.05 (n - 1) (100 - n) s are left as it seems."""
    listener = Listener()
    pace = Pace(listener, "kernel", 1)
    turns = pace.begin(100)
    for number in range(100):
        turns.begun += 1
        pace.look()
        clock.now += number / 10
    assert [seconds for seconds, _ in listener.heard] == pytest.approx([19.0, 44.5, 90.0])


@pytest.mark.parametrize("most", [None, 40])
def test_of_a_loop_that_may_end_at_any_turn_nothing_is_expected(clock, most):
    listener = Listener()
    pace = Pace(listener, "kernel", 1)
    turns = [pace.begin(None), *([] if most is None else [pace.begin(most)])]
    for _ in range(30):
        turns[-1].begun += 1
        pace.look()
        clock.now += 1
    assert listener.heard == []
    assert listener.told == [(0, 100, "kernel")] * 29


@pytest.mark.parametrize(("seconds", "said"), [(3.4, "3 s"), (99.0, "99 s"), (100.0, "2 min"), (1500.0, "25 min")])
def test_a_long_time_is_said_on_standard_error(seconds, said, capsys):
    with progress.progress_bar() as report:
        report.expect(seconds, "tiled")
    assert capsys.readouterr() == ("", f"smemviz: tiled will take about {said}\n")


def test_a_long_time_is_a_line_among_lines(monkeypatch, capsys):
    monkeypatch.setitem(os.environ, "SMEMVIZ_PROGRESS", "lines")
    with progress.progress_bar() as report:
        report.expect(40.0, "tiled")
        report(1, 8, "tiled")
    assert capsys.readouterr().err == "tiled will take about 40 s\n1/8 tiled\n"


def stopped(folder, text):
    """Run a file that would take minutes and stop it once it has said so; return that, the code, and what it wrote."""
    (folder / "long.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "smemviz", "run", "long.py", "--engine", "lockstep", "-o", "long.smem.npz"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            said = process.stderr.readline()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    return said, process.returncode, out, err


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
def test_ctrl_c_stops_a_long_run_with_one_line_and_keeps_the_launches_before_it(tmp_path):
    said, *rest = stopped(tmp_path, LONG)
    assert said.startswith("smemviz: kernel will take about ")
    assert rest == [130, "", "smemviz: stopped before it was done; nothing was saved\n"]
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".py"] == []
    said, code, _, _ = stopped(tmp_path, SERIAL)
    assert (said.startswith("smemviz: serial will take about "), code) == (True, 130)
    assert [launch.kernel for launch in load(tmp_path / "long.smem.npz").launches] == ["short"]


SERIAL = """
from numba import cuda
import numpy as np

@cuda.jit
def short(a):
    a[cuda.threadIdx.x] = 1

@cuda.jit
def serial(a):
    for k in range(1000):
        for m in range(k, k + 1000):
            a[0] += m

def main():
    a = np.zeros(32)
    short[1, 32](a)
    serial[1, 1](a)
"""
