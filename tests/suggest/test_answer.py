"""The whole answer: several engines, one diff, and what goes together."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from helpers.made_kernels import transposing
from helpers.measured import timing

from smemviz.engines import run
from smemviz.engines.backend import runner_of
from smemviz.frontends.reading import read_program
from smemviz.languages import LANGUAGES
from smemviz.model.hardware.hardware import H200
from smemviz.paths import kernels_dir
from smemviz.suggest import answering, verify
from smemviz.suggest.answering import answer


def answered(program, kernel=None, engine="lockstep"):
    return answer(run(program, engine="lockstep"), program, kernel, engine, H200)


def test_one_diff_writes_the_best_layout_of_every_kernel():
    found = answered(read_program(kernels_dir() / "square.py"))
    added = [line[1:].strip() for line in found.diff.splitlines() if line.startswith("+ ")]
    assert added == [
        "tile[tx, ty ^ tx] = idx",
        "out[idx] = tile[tx, ty ^ tx]",
        "tile[ty, tx ^ ty] = idx",
        "out[idx] = tile[tx, ty ^ tx]",
        "tile[row_idx ^ (row_idx >> 5)] = row_idx",
        "out[row_idx] = tile[col_idx ^ (col_idx >> 5)]",
    ]
    assert found.sound
    assert found.notes == ()


def test_one_kernel_can_be_asked_for():
    found = answered(read_program(kernels_dir() / "square.py"), "set_row_read_col_dyn")
    assert {one.kernel for one in found.suggested} == {"set_row_read_col_dyn"}


def test_a_file_without_excess_has_nothing_to_change():
    found = answered(read_program(kernels_dir() / "reverse.py"))
    assert (found.suggested, found.refused, found.diff) == ((), (), "")


def test_two_arrays_of_a_kernel_go_into_one_diff_and_are_verified_together():
    declared = "held = cuda.shared.array((32, 32), float32)\nkept = cuda.shared.array((32, 32), float32)\n"
    body = "held[ty, tx] = 1\nkept[tx, ty] = 2\ncuda.syncthreads()\nout[ty, tx] = held[tx, ty] + kept[ty, tx]"
    found = answered(transposing(declared + body))
    assert "+    held[ty, tx ^ ty] = 1\n+    kept[tx, ty ^ tx] = 2\n" in found.diff
    assert found.notes == ()


def test_a_file_that_cannot_be_run_is_answered_without_proof(monkeypatch):
    program = read_program(kernels_dir() / "transpose.py")
    recording = run(program, engine="lockstep")
    failing = replace(program, source=program.source, kernels={})  # as a script: nothing to run
    found = answer(recording, failing, None, "lockstep", H200)
    assert found.notes[0].startswith("not verified by lockstep: ")
    assert all(not one.checks for one in found.suggested)
    assert found.diff


@pytest.fixture
def pretended_gpu(monkeypatch):
    """Let lockstep stand in for a GPU; returns what was timed."""
    timed: list[set[str]] = []

    def record(program, options):
        recording = run(program, engine="lockstep", kernels=sorted(options.picker.selection.kernels))
        return recording.launches, recording.findings

    def hashes(program, kernels):
        return tuple(one for one in verify._run(program, "lockstep", (), None, "never").hashes if one.kernel in kernels)

    def times(program, kernels, progress=None):
        timed.append(set(kernels))
        launches = [one for one in run(program, engine="lockstep").launches if one.kernel in kernels]
        fast = ", PITCH)" in program.source.partition("def tile")[2].partition("def padded")[0]
        return tuple(timing(1.0 if fast else 2.0) for _ in launches)

    lockstep = {language: runner_of(language).run_in_lockstep for language in LANGUAGES}
    monkeypatch.setattr(
        verify, "runner_of", lambda language: SimpleNamespace(run_in_lockstep=lockstep[language], run_on_gpu=record)
    )
    monkeypatch.setattr(verify, "meter_of", lambda program, room: SimpleNamespace(outputs=hashes))
    monkeypatch.setattr(answering, "times", times)
    return timed


@pytest.mark.exhaustive
@pytest.mark.parametrize("file", ["square.py", "square.cu"])
def test_a_gpu_runs_and_times_only_the_kernels_that_change(pretended_gpu, file):
    found = answered(read_program(kernels_dir() / file), "set_row_read_col", "gpu")
    assert [[check.engine for check in one.checks] for one in found.suggested] == [["lockstep", "gpu"]] * 2
    assert [one.checks[1].counted for one in found.suggested] == [(32, 32)] * 2
    assert found.sound
    assert pretended_gpu == [{"set_row_read_col"}] * 3


def test_of_one_count_the_faster_layout_goes_into_the_diff(pretended_gpu):
    found = answered(read_program(kernels_dir() / "transpose.py"), None, "gpu")
    assert "+    held = cuda.shared.array((TILE, PITCH), float32)" in found.diff.splitlines()
    assert [one.times[0][1].median_us for one in found.suggested] == [2.0, 1.0]


def test_a_promise_about_the_blocks_that_were_logged_is_counted_in_those():
    program = read_program(kernels_dir() / "transpose.py")
    recording = run(program, engine="lockstep", blocks=[1, 2])  # of six
    found = answer(recording, program, "tile", "lockstep", H200)
    assert [(one.complete, one.after) for one in found.suggested] == [(False, 128)] * 2
    assert [one.checks[0].counted for one in found.suggested] == [(64, 64)] * 2
    assert found.sound


def test_where_a_run_logs_other_blocks_nothing_is_counted_and_that_is_said(monkeypatch):
    program = read_program(kernels_dir() / "transpose.py")
    recording = run(program, engine="lockstep", blocks=[1, 2])
    monkeypatch.setattr(verify, "_blocks", lambda launch: frozenset([1, 2] if launch.missing else [0]))
    found = answer(recording, program, "tile", "lockstep", H200)
    assert [one.checks[0].notes for one in found.suggested] == [("not counted: lockstep logs different blocks",)] * 2
