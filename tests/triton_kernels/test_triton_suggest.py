"""What is turned of kernels in Triton, how it is written into the file, and which change is best."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from helpers.triton_scripts import IN_PLACE, MATMUL, SOFTMAX

import smemviz
from smemviz.frontends.reading import parse_program, read_program
from smemviz.paths import recording_for, triton_gallery
from smemviz.suggest import turning
from smemviz.suggest.turning import Cost, Turn, best, turned


@pytest.fixture
def matmul():
    path = next(path for path in triton_gallery() if path.stem == "matmul")
    recording = recording_for(path)
    assert recording is not None
    return smemviz.load(recording), read_program(path)


def launching(recording, *kernels):
    """Return a recording as if it were of launches of other kernels."""
    return replace(recording, launches=tuple(replace(recording.launches[0], kernel=kernel) for kernel in kernels))


def test_each_number_of_a_launch_is_turned_by_one_step_and_counted(matmul, monkeypatch):
    recording, program = matmul
    ran: list[Any] = []

    def run(changed, like, options):
        ran.append(changed.values)
        assert (like, options.target, options.config) == (recording, (9, 0), None)
        return "out of shared memory" if changed.values["STAGES"] == 4 else recording

    monkeypatch.setattr(turning, "_run", run)
    turns = turned(recording, program, None, (9, 0))
    texts = ["TILE: 32 -> 16", "TILE: 32 -> 64", "DEPTH: 32 -> 16", "DEPTH: 32 -> 64", "WARPS: 4 -> 2", "WARPS: 4 -> 8"]
    assert [turn.text for turn in turns] == [*texts, "STAGES: 3 -> 2", "STAGES: 3 -> 4"]
    assert [values["TILE"] for values in ran[:3]] == [16, 64, 32]
    by_text = {turn.text: turn for turn in turns}
    assert by_text["TILE: 32 -> 64"].line == 14
    assert "-TILE = 32\n+TILE = 64\n" in by_text["TILE: 32 -> 64"].diff
    failed = turns[-1]  # behind those that count
    assert (failed.text, failed.after, failed.problem) == ("STAGES: 3 -> 4", None, "out of shared memory")
    cost = turns[0].before
    assert turns[0].after == cost
    launch = recording.launches[0]
    rows = launch.summary()
    assert (cost.blocks, cost.threads, cost.shared_bytes) == (4, 128, launch.shared_bytes)
    assert cost.wavefronts == sum(row.wavefronts or 0 for row in rows)
    assert cost.sectors == sum(row.sectors or 0 for row in rows)
    assert best(turns) is None  # all cost the same


def test_what_a_launch_does_not_say_is_added_to_it(matmul, monkeypatch):
    sources: list[str] = []

    def run(program, *_):
        sources.append(program.source)
        return "not run"

    monkeypatch.setattr(turning, "_run", run)
    turns = turned(launching(matmul[0], "softmax"), parse_program(SOFTMAX, "softmax.py"), None)
    assert [turn.text for turn in turns] == [
        *("BLOCK: 1024 -> 512", "BLOCK: 1024 -> 2048", "num_warps: 4 -> 2", "num_warps: 4 -> 8")  # and it has no loop
    ]
    assert "softmax[(4,)](x, out, 1000, BLOCK=512)" in sources[0]
    assert "+softmax[(4,)](x, out, 1000, BLOCK=1024, num_warps=2)\n" in turns[2].diff
    assert turned(launching(matmul[0], "other"), parse_program(SOFTMAX, "softmax.py"), None) == ()


def test_of_two_kernels_each_is_turned_by_itself(matmul, monkeypatch):
    monkeypatch.setattr(turning, "_run", lambda *_: "not run")
    recording, program = launching(matmul[0], "double", "turn"), parse_program(IN_PLACE, "in_place.py")
    texts = [(turn.kernel, turn.line, turn.text) for turn in turned(recording, program, None)]
    assert texts[:2] == [("double", 19, "N: 32 -> 16"), ("double", 19, "N: 32 -> 64")]
    assert texts[4:6] == [("turn", 22, "N: 128 -> 64"), ("turn", 22, "N: 128 -> 256")]
    assert {turn.kernel for turn in turned(recording, program, "turn")} == {"turn"}


def test_configurations_are_run_by_their_number_and_a_list_is_cut_down_to_one(matmul, monkeypatch):
    asked: list[int | None] = []

    def run(program, like, options):
        asked.append(options.config)
        options.configurations["matmul"] = ("BM: 64, num_warps: 4, maxnreg: None", "BM: 128, num_warps: 4")
        return "not run"

    monkeypatch.setattr(turning, "_run", run)
    turns = turned(matmul[0], parse_program(MATMUL, "matmul.py"), None)
    assert asked == [0, 1]  # the first one once
    assert [(turn.config, turn.text, turn.line) for turn in turns] == [
        (0, "--config 0 (BM: 64, num_warps: 4)", 5),
        (1, "--config 1 (BM: 128, num_warps: 4)", 5),
    ]
    assert '+CONFIGURATIONS = [triton.Config({"BM": 128, "BN": 64, "BK": 32})]\n' in turns[1].diff


def test_the_best_saves_most_wavefronts_and_bytes_alone_save_nothing():
    before = Cost(4, 128, 8192, 600, 2000, 500)

    def turn(text, after):
        return Turn("matmul", text, 1, before, after)

    fewer, lean, same = replace(before, wavefronts=1500), replace(before, shared_bytes=4096), before
    less = replace(before, wavefronts=1500, sectors=400)
    assert best([turn("lean", lean), turn("same", same), turn("failed", None)]) is None
    first = best([turn("lean", lean), turn("fewer", fewer), turn("less", less), turn("failed", None)])
    assert first.text == "less"


@pytest.mark.exhaustive
@pytest.mark.skipif(not (find_spec("triton") and find_spec("torch")), reason="Triton or torch is not installed")
def test_the_table_says_what_each_change_costs_and_the_difference_writes_the_best(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Path("softmax.py").write_text(SOFTMAX)
    said = command("suggest", "softmax.py", "--engine", "lockstep").out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in said.splitlines() if line.startswith("│")]
    # One wavefront for each store and load of a warp, two reductions of 4 rows: twice as many with twice the warps.
    assert ["softmax", "18", "num_warps: 4 -> 2", "4", "64", "8", "32", "32", "32", "1,000"] in rows
    assert "softmax, BLOCK: 1024 -> 512: left out: the script ended with AssertionError" in said
    assert "Best of these: line 18, num_warps: 4 -> 2: wavefronts 64 -> 32, sectors 1,000 -> 1,000" in said
    assert "+softmax[(4,)](x, out, 1000, BLOCK=1024, num_warps=2)" in said.splitlines()
    Path("turn.py").write_text(IN_PLACE)
    found = command("suggest", "turn.py:turn", "--engine", "lockstep", "--json").json["turns"]
    smaller = next(turn for turn in found if turn["text"] == "N: 128 -> 64")
    assert smaller["problem"] == "it stores 256 bytes then, not 512: it does other work"
    assert [smaller["after"], smaller["saves"]] == [None, False]
