"""The plugin as a test session meets it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.plugin_sessions import COLUMN

pytest_plugins = ["pytester"]

WITNESS = """\
square.py:53: load of tile[tx, ty] in set_row_read_col is 32-way; at most 1-way is allowed
  block 0, warp 0, step 1: 32 lanes, 32 wavefronts where 1 would do
  bank 0: lanes 0-31 ask for words 0, 32, 64, 96, ..., 992

  bank          0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
  wavefront  1  0  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
  wavefront  2  1  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
  wavefront  3  2  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
  wavefront  4  3  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
  ... and 28 more

  why: Neighbouring lanes are 32 words apart, 1 row down: gcd(32, 32) = 32, so 32 lanes fall into 1 of 32 banks, 32-way.
  to pass: pad the row of tile by 1, (32, 32) -> (32, 33) (128 bytes more), or swizzle to tile[r, c ^ r]: no excess is left at its 2 accesses, 992 before.
"""  # noqa: E501

TAKES = "smem_budget takes a limit for max_degree, excess, sectors_per_request, findings, and kernel and cc; "


def errors(result):
    """Return the lines that pytest marks with an E, without the mark."""
    return [line.removeprefix("E").removeprefix("   ") for line in result.outlines if re.match(r"E(   |$)", line)]


def test_a_failure_is_a_witness_at_the_line_of_the_test(pytester, run):
    pytester.makepyfile(COLUMN)
    result = run()
    result.assert_outcomes(failed=1)
    first, *rest = WITNESS.splitlines()
    shown = errors(result)
    assert shown[0] == f"    AssertionError: {first}"
    assert [line.strip() for line in shown[1:]] == [line.strip() for line in rest]
    assert '>       smem.assert_max_degree(recording["set_row_read_col"], 1)' in result.outlines
    assert not any("fixture.py" in line for line in result.outlines)


def test_what_keeps_its_limits_passes(pytester, run):
    pytester.makepyfile(
        """
        def test_limits(smem):
            recording = smem.run("square.py", engine="lockstep")
            launch = recording["set_row_read_col"]
            smem.assert_max_degree(launch, 32)
            smem.assert_max_degree(launch, 1, line=51)
            smem.assert_max_degree(launch, 1, source="tile[ty, tx]")
            smem.assert_max_degree(launch, 1, site=launch.sites[0])
            smem.assert_excess(launch, 992)
            smem.assert_excess(launch, 0, line=51)
            smem.assert_sectors_per_request(recording, 4)
            smem.assert_no_findings(recording)
            smem.assert_no_findings(launch)

        def test_kernels_without_shared_memory_are_left_out(smem):
            recording = smem.run("transpose.py", engine="lockstep")
            smem.assert_max_degree(recording, 32)
            smem.assert_max_degree(recording, 1, line=51)
        """
    )
    run().assert_outcomes(passed=2)


def test_a_kernel_of_the_test_file_is_recorded(pytester, run):
    pytester.makepyfile(
        """
        import numpy as np
        from numba import cuda, float64

        @cuda.jit
        def columns(out):
            tile = cuda.shared.array((32, 32), float64)
            t = cuda.threadIdx.x
            tile[t, 0] = t
            cuda.syncthreads()
            out[t] = tile[t, 0]

        def test_columns(smem):
            out = np.zeros(32)
            recording = smem.record(columns, 1, 32, (out,), engine="lockstep")
            assert out[31] == 31
            smem.assert_excess(recording, 0)
        """
    )
    result = run()
    result.assert_outcomes(failed=1)
    shown = errors(result)
    place = "test_a_kernel_of_the_test_file_is_recorded.py"
    assert shown[0].endswith(
        f"{place}:8: store of tile[t, 0] in columns takes 30 wavefronts in excess of 60 in all; at most 0 are allowed"
    )
    assert shown[-1].strip() == (
        "to pass: pad the row of tile by 1, (32, 32) -> (32, 33) (256 bytes more), "
        "or swizzle to tile[r, c ^ (r % 16)]: no excess is left at its 2 accesses, 60 before."
    )


def test_a_budget_holds_for_every_launch(pytester, run):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.smem_budget(max_degree=32, excess=992, sectors_per_request=32, findings=0, kernel="tile")
        def test_within(smem):
            smem.run("square.py", engine="lockstep")
            smem.run("transpose.py", engine="lockstep")

        @pytest.mark.smem_budget(max_degree=1)
        @pytest.mark.smem_budget(excess=99999)
        def test_over(smem):
            smem.run("square.py", {"IPAD": 0}, "lockstep")
        """
    )
    result = run()
    result.assert_outcomes(passed=0, failed=2)
    text = "\n".join(result.outlines)
    # 6 blocks of 32 requests, 31 wavefronts in excess each
    assert (
        "transpose.py:54: load of held[tx, ty] in tile takes 5952 wavefronts in excess; at most 992 are allowed" in text
    )
    assert "square.py:38: store of tile[tx, ty] in set_col_read_col is 32-way; at most 1-way is allowed" in text


def test_budgets_of_a_file_a_class_and_a_test_all_hold(pytester, run):
    pytester.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.smem_budget(excess=1984, findings=0)

        @pytest.mark.smem_budget(max_degree=1, excess=0, sectors_per_request=4, kernel="set_row_read_col_pad")
        class TestSquare:
            @pytest.mark.smem_budget(sectors_per_request=4)
            def test_it(self, smem):
                smem.run("square.py", engine="lockstep")

            @pytest.mark.smem_budget(max_degree=31, kernel="set_row_read_col_dyn")
            def test_one_of_four(self, smem):
                smem.run("square.py", engine="lockstep")
        """
    )
    run().assert_outcomes(passed=1, failed=1)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ("", TAKES + "not nothing"),
        ("degree=1", TAKES + "not degree"),
        ("1", TAKES + "not 1"),
        ("findings=2", "smem_budget allows findings=0 or says nothing of them, not 2"),
        ("max_degree=0", "max_degree must be a number of 1 or more, not 0"),
        ("excess=0, kernel='none'", "smem_budget: the test recorded no launch of none through smem"),
        ("excess=0, kernel='copy'", "smem_budget: no recorded launch has an access to shared memory for excess"),
    ],
)
def test_a_budget_that_means_nothing_fails_in_one_line(pytester, run, budget, message):
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.smem_budget({budget})
        def test_it(smem):
            smem.run("transpose.py", engine="lockstep")
        """
    )
    result = run()
    result.assert_outcomes(failed=1)
    start = next(i for i, line in enumerate(result.outlines) if " test_it " in line)
    end = next(i for i, line in enumerate(result.outlines) if i > start and line.startswith("="))
    assert [line for line in result.outlines[start + 1 : end] if line] == [message]


@pytest.mark.parametrize(
    ("arguments", "body", "said"),
    [
        ("", "pass", "smem_budget: the test does not use the fixture smem, so nothing was recorded"),
        ("smem", 'smem.run("square.py", engine="lockstep"); assert 1 == 2', "E       assert 1 == 2"),
    ],
)
def test_a_budget_is_not_held_against_what_records_nothing_or_fails_by_itself(pytester, run, arguments, body, said):
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.smem_budget(excess=0)
        def test_it({arguments}):
            {body}
        """
    )
    result = run("--strict-markers")
    result.assert_outcomes(failed=1)
    assert said in result.outlines
    assert errors(result) in ([], ["    assert 1 == 2"])


def test_findings_are_shown_with_their_line(pytester, run):
    pytester.makepyfile(
        far="""
        import numpy as np
        from numba import cuda

        @cuda.jit
        def far(out):
            out[cuda.threadIdx.x + 1] = 1

        def main():
            far[1, 32](np.zeros(32))
        """
    )
    pytester.makepyfile(
        """
        def test_far(smem):
            smem.assert_no_findings(smem.run("far.py", engine="lockstep"))
        """
    )
    result = run()
    result.assert_outcomes(failed=1)
    shown = errors(result)
    assert shown[0].startswith(
        "    AssertionError: far.py:6: out of bounds in far, block (0, 0, 0), thread (31, 0, 0): "
    )
    assert shown[1].strip() == "out[cuda.threadIdx.x + 1] = 1"


def test_a_recording_of_a_gpu_is_replayed_without_one(pytester, run):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.smem_budget(excess=0, kernel="set_row_read_col_pad")
        def test_replayed(smem):
            recording = smem.load("square.smem.npz", source="square.py")
            assert recording.device.name == "NVIDIA H200"
            smem.assert_max_degree(recording["set_row_read_col"], 1)
        """
    )
    result = run()
    result.assert_outcomes(failed=1)
    # the recording names its file as it was called then
    assert errors(result)[0] == f"    AssertionError: kernels/{WITNESS.splitlines()[0]}"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ('smem.run("none.py")', "InputError: none.py: no such file in {path}"),
        ('smem.run("square.py", {"IPAD": "x"}, "lockstep")', "ConstantError: square.py:*"),
        ('smem.run("square.py", engine="fast")', "InputError: there is no engine 'fast'; use auto, gpu or lockstep"),
        ("smem.record(print, 1, 32, ())", "InputError: <built-in function print> is not a kernel;*"),
        ('smem.load("square.py")', "RecordingError: square.py: *"),
        (
            'import pathlib; pathlib.Path("square.py").write_text(""); smem.load("square.smem.npz", "square.py")',
            "InputError: square.smem.npz: was recorded from another version of square.py; record it again",
        ),
        (
            'smem.load("square.smem.npz")',
            "InputError: square.smem.npz: was recorded from kernels/square.py, which is not here; "
            "name the kernel file: smem.load(path, source=...)",
        ),
        (
            'smem.assert_no_findings(smem.load("square.smem.npz", "square.py"))',
            "InputError: kernels/square.py: was recorded on a GPU, which looks for no mistakes; "
            "record with engine='lockstep'",
        ),
        (
            'smem.assert_excess(smem.run("transpose.py", engine="lockstep"), 0, line=1)',
            "InputError: transpose.py: no launch made an access to shared memory at line 1",
        ),
        (
            'import smemviz; smem.assert_excess(smemviz.load("square.smem.npz").launches[0], 0)',
            "InputError: *is not a launch that came from smem.run, smem.record or smem.load",
        ),
    ],
)
def test_a_mistake_in_a_test_is_one_line(pytester, run, statement, message):
    pytester.makepyfile(f"def test_it(smem):\n    {statement}\n")
    result = run()
    result.assert_outcomes(failed=1)
    pattern = re.escape(message.format(path=pytester.path)).replace(r"\*", ".*")
    (line,) = errors(result)
    assert re.fullmatch(pattern, line.removeprefix("    smemviz.errors."))


def test_paths_start_at_the_test_file_or_at_the_root(pytester, run):
    inner = pytester.mkpydir("inner")
    (inner / "test_inner.py").write_text(
        'def test_it(smem):\n    assert smem.run("square.py", engine="lockstep").file == "square.py"\n'
        '    assert smem.run("own.py", engine="lockstep").file == "inner/own.py"\n',
        encoding="utf-8",
    )
    (inner / "own.py").write_text((pytester.path / "square.py").read_text(encoding="utf-8"), encoding="utf-8")
    run("--rootdir", str(pytester.path)).assert_outcomes(passed=1)


@pytest.mark.exhaustive
def test_a_session_that_does_not_use_it_loads_nothing_of_it(pytester, run, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # other plug-ins may load what they like
    pytester.makepyfile(
        """
        import sys

        def test_light():
            mine = sorted(name for name in sys.modules if name.partition(".")[0] == "smemviz")
            plugin = ["smemviz.testing", "smemviz.testing.pytest_plugin"]
            assert mine == ["smemviz", "smemviz.errors", "smemviz.printable", *plugin, "smemviz.version"]
            assert not {"numba", "numpy", "plotly", "rich", "dash"} & set(sys.modules)
        """
    )
    run(in_process=False).assert_outcomes(passed=1)


@pytest.mark.exhaustive
def test_pytest_finds_it_by_its_entry_point(pytester, run, monkeypatch):
    repository = Path(__file__).parents[2]
    text = (repository / "pyproject.toml").read_text(encoding="utf-8")
    declared = re.search(r'\[project\.entry-points\.pytest11\]\nsmemviz = "(.+)"', text)
    assert declared
    assert declared[1] == "smemviz.testing.pytest_plugin"
    info = pytester.mkdir("installed") / "smemviz-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: smemviz\nVersion: 0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[pytest11]\nsmemviz = {declared[1]}\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(repository), str(info.parent), *filter(None, sys.path)]))
    for option, found in (([], True), (["-p", "no:smemviz"], False)):
        command = [sys.executable, "-m", "pytest", "--markers", "-p", "no:dash", *option]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert ("@pytest.mark.smem_budget(max_degree, excess" in done.stdout) == found


@pytest.mark.exhaustive
def test_the_examples_of_the_readme_and_of_budgets_pass(pytester, run):
    root = Path(__file__).parents[2]
    pages = [(root / name).read_text(encoding="utf-8") for name in ("README.md", "docs/how-to/pytest-budget.md")]
    fence = re.compile(r"^```python\n(import pytest.*?)^```$", re.DOTALL | re.MULTILINE)
    pytester.makepyfile("\n".join(code for page in pages for code in fence.findall(page)))
    pytester.mkdir("kernels")
    (pytester.path / "square.py").rename(pytester.path / "kernels" / "square.py")
    run("--strict-markers", in_process=False).assert_outcomes(passed=3)
    readme, budget = (re.findall(r"^```(?:text)?\n(kernels/square.*?)```$", page, re.DOTALL | re.M) for page in pages)
    assert budget == [f"kernels/{WITNESS}"]
    assert budget[0].startswith(readme[0])


def test_the_tutorial_that_keeps_a_kernel_fixed_fails_as_it_says(pytester, run):
    page = (Path(__file__).parents[2] / "docs" / "tutorials" / "keep-it-fixed.md").read_text(encoding="utf-8")
    for file, text in re.findall(r'```python title="(.+?)"\n(.*?)```', page, re.DOTALL):
        (pytester.path / file).write_text(text, encoding="utf-8")
    run("test_turn.py").assert_outcomes(passed=1)
    kernel = pytester.path / "turn.py"
    kernel.write_text(kernel.read_text("utf-8").replace("PAD = 1", "PAD = 0"), encoding="utf-8")
    failed = run("test_turn.py")
    failed.assert_outcomes(failed=1)
    (said,) = re.findall(r"^turn\.py:15: .+$", page, re.MULTILINE)
    failed.stdout.fnmatch_lines(f"*{said.replace('[', '[[]')}")


def test_limits_of_the_project_are_those_of_tests_without_their_own(pytester, run):
    pytester.makepyprojecttoml(
        '[tool.smemviz]\nengine = "lockstep"\nlimits = { max_degree = 1, sectors_per_request = 4 }\n'
    )
    pytester.makepyfile(
        """
        import pytest

        def test_too_much(smem):
            recording = smem.run("square.py")
            assert recording.engine == "lockstep"

        @pytest.mark.smem_budget(max_degree=32)
        def test_own_budget(smem):
            smem.run("square.py")

        def test_records_nothing(smem):
            pass

        def test_does_not_ask():
            pass
        """
    )
    result = run()
    result.assert_outcomes(failed=1, passed=3)
    result.stdout.fnmatch_lines(["square.py:38: store of tile?tx, ty? in set_col_read_col is 32-way; at most 1-way *"])
