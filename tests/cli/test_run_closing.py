"""The last line of ``smemviz run``: what was recorded, where to begin, how to look; and times stored in a recording."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from helpers.measured import timing
from helpers.strategies import a_launch

from smemviz.cli import main as cli
from smemviz.cli.verbs.time import with_times


def last_line(capsys, *arguments):
    cli.main(["run", *arguments, "--engine", "lockstep"])
    return capsys.readouterr().out.splitlines()[-1]


def test_the_line_that_loses_most_comes_first(capsys):
    # A warp stores down a column of 32 words in a row: 32 wavefronts for 1, 32 times.
    assert last_line(capsys, "kernels/square.py") == (
        "Recorded 6 launches of 6 kernels. "
        "Begin with line 38 of kernels/square.py, which takes 992 wavefronts more than it needs. "
        "Look at it with: smemviz kernels/square.py"
    )


def test_a_mistake_comes_before_it(capsys):
    said = last_line(capsys, "kernels/mistakes.py", "--kernel", "no_second_barrier")
    assert said.startswith("Recorded 1 launch of 1 kernel. Begin with line ")
    assert ", a mistake." in said


MISSING = """
import numpy as np
from numba import cuda

@cuda.jit
def fine(a):
    a[cuda.threadIdx.x] = 1{harmless}

@cuda.jit
def refused(a):
    a[0] = [1, 2][0]

def main():
    fine[1, 64](np.zeros(64))
    {launch}
"""


def test_a_launch_that_is_missing_is_no_mistake(capsys, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MISSING.format(harmless="", launch="refused[1, 1](np.zeros(1))"), encoding="utf-8")
    missing = f"Begin with line 11 of {path}: a launch of refused is missing."
    assert last_line(capsys, str(path)).startswith(f"Recorded 1 launch of 1 kernel. {missing} Look at it with: ")


def test_what_does_no_harm_is_no_mistake(capsys, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MISSING.format(harmless="\n    a[0] = 1", launch="pass"), encoding="utf-8")
    cli.main(["run", str(path), "--engine", "lockstep"])
    said = capsys.readouterr().out
    assert "benign race" in said
    assert "No line has bank conflicts." in said.splitlines()[-1]


def test_what_is_saved_is_what_is_opened(capsys, tmp_path):
    path = tmp_path / "my run.smem.npz"
    assert last_line(capsys, "kernels/reverse.py", "-o", str(path)).endswith(f"Look at it with: smemviz '{path}'")
    said = last_line(capsys, "kernels/reverse.py", "--set", "N=32")
    assert "No line has bank conflicts." in said
    assert said.endswith("smemviz run.smem.npz (save it first: add -o run.smem.npz)")


def test_json_is_one_document_without_it(capsys):
    assert last_line(capsys, "kernels/reverse.py", "--json") == "}"


def test_a_launch_has_its_own_time_where_kernels_run_that_are_not_recorded():
    launches = [replace(a_launch(), kernel=name) for name in ("store", "load", "store")]
    timed: Any = SimpleNamespace(
        kernels=("store", "made", "load", "made", "store"), times=tuple(timing(n) for n in (1, 2, 3, 4, 5))
    )
    assert [one.time.median_us for one in with_times(launches, timed) if one.time] == [1, 3, 5]


def test_a_script_is_opened_as_it_was_run(capsys, tmp_path):
    path = tmp_path / "mine.py"
    script = MISSING.format(harmless="", launch="pass").partition("@cuda.jit\ndef refused")[0]
    path.write_text(f"{script}fine[1, 64](np.zeros(64))\n", encoding="utf-8")
    assert last_line(capsys, str(path)).endswith(f"smemviz {path}")
    assert last_line(capsys, str(path), "--target", "sm_90").endswith(f"smemviz {path} --target sm_90")
