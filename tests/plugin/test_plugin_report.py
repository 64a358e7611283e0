"""The report of a test session: recordings, and a page of what failed."""

import re
from importlib.util import find_spec

import pytest
from helpers.plugin_sessions import COLUMN

import smemviz
from smemviz.testing.report import file_name


def test_the_report_has_recordings_and_a_page_of_what_failed(pytester, run):
    pytester.makepyfile(COLUMN + '\ndef test_good(smem):\n    smem.run("transpose.py", engine="lockstep")\n')
    result = run("--smem-report=out/report")
    result.assert_outcomes(passed=1, failed=1)
    folder = pytester.path / "out" / "report"
    name = "test_the_report_has_recordings_and_a_page_of_what_failed.py"
    assert sorted(path.name for path in folder.iterdir()) == [
        "index.html", f"{name}-test_column.smem.npz", f"{name}-test_good.smem.npz"
    ]  # fmt: skip
    assert smemviz.load(folder / f"{name}-test_column.smem.npz").file == "square.py"
    assert f"smemviz report: {folder / 'index.html'}" in result.outlines
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "<h1>1 test failed</h1>" in page
    assert f"<h2>{name}::test_column</h2>" in page
    assert "square.py:53: load of tile[tx, ty] in set_row_read_col is 32-way; at most 1-way is allowed</h3>" in page
    assert "<mark>   53     out[idx] = tile[tx, ty]</mark>" in page
    assert page.count('<td class="conflict">') == 32
    assert f'<a href="{name}-test_column.smem.npz">' in page
    assert "test_good" not in page
    assert len(page) < 20_000
    assert re.findall(r"https?:|//|<script|<link|<img|url\(|@import|sendDataToCloud|plotly", page) == []


def test_the_page_shows_text_as_text(pytester, run):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("name", ["<b>bold</b>"])
        def test_it(smem, name):
            smem.run("square.py", engine="lockstep")
            raise ValueError(name + "<script>alert(1)</script>")
        """
    )
    run("--smem-report=out")
    page = (pytester.path / "out" / "index.html").read_text(encoding="utf-8")
    assert "<b>" not in page
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert len(list((pytester.path / "out").glob("*-test_it__b_bold*-????????.smem.npz"))) == 1


def test_without_a_failure_the_page_says_so(pytester, run):
    pytester.makepyfile("def test_it():\n    pass\n")
    run("--smem-report=out").assert_outcomes(passed=1)
    assert "<h1>No test failed</h1>" in (pytester.path / "out" / "index.html").read_text(encoding="utf-8")


def test_a_report_that_cannot_be_written_stops_before_the_first_test(pytester, run):
    pytester.makepyfile("def test_it():\n    pass\n")
    (pytester.path / "taken").write_text("", encoding="utf-8")
    result = run("--smem-report=taken")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: --smem-report: {pytester.path / 'taken'}: cannot be a folder: File exists" in (
        result.errlines + result.outlines
    )


def test_tests_are_filed_under_different_names():
    assert file_name("tests/test_a.py::test_b") == "tests.test_a.py-test_b"
    names = {file_name(f"test_a.py::test_b[{sign}]") for sign in "<>|*?"}
    assert len(names) == 5
    assert all(re.fullmatch(r"test_a\.py-test_b___-[0-9a-f]{8}", name) for name in names)
    assert len(file_name("x" * 1000)) == 129


@pytest.mark.exhaustive
@pytest.mark.skipif(find_spec("xdist") is None, reason="pytest-xdist is not installed")
def test_workers_of_xdist_save_and_one_page_is_written(pytester, run):
    pytester.makepyfile(test_one=COLUMN, test_two=COLUMN)
    result = run("-n2", "--smem-report=out", in_process=False)
    result.assert_outcomes(failed=2)
    folder = pytester.path / "out"
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "<h1>2 tests failed</h1>" in page
    assert page.count('<td class="conflict">') == 64
    assert sorted(path.name for path in folder.iterdir()) == [
        "index.html", "test_one.py-test_column.smem.npz", "test_two.py-test_column.smem.npz"
    ]  # fmt: skip
