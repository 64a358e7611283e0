"""Many findings for one reason: what is told of them, and what is kept of all."""

import json
import re
import textwrap
from itertools import groupby

import pytest
from helpers.components import text

import smemviz
from smemviz.app.library import Library
from smemviz.app.pages.kernel.run_view import view_run
from smemviz.cli import main as cli
from smemviz.model.hardware.hardware import Hardware
from smemviz.reports.html.report import report_page
from smemviz.wording.sentences import folded

KERNEL = """
    from numba import cuda, float32


    @cuda.jit
    def crowd(out):
        few = cuda.shared.array(4, float32)
        i = cuda.threadIdx.x
        {stores}
        out[i] = few[0]


    def main():
        out = cuda.device_array(64, "float32")
        crowd[1, 64](out)
"""
STORES = 11


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("flood") / "crowd.py"
    stores = "\n        ".join(f"few[i % 4] = {k} + i" for k in range(STORES))
    path.write_text(textwrap.dedent(KERNEL.format(stores=stores)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def recording(path):
    return smemviz.run(path, engine="lockstep")


def test_of_many_in_a_line_the_first_is_told_and_the_others_are_counted(recording):
    """Each store races with itself and with each other one, and with the load behind them."""
    races = STORES * (STORES + 1) // 2 + STORES
    assert len(recording.findings) == races

    told = folded(recording.findings)

    assert sum(1 + more for _, more in told) == races
    for line, some in groupby(sorted(told, key=lambda one: one[0].line), key=lambda one: one[0].line):
        in_line = [finding for finding in recording.findings if finding.line == line]
        shown = list(some)
        assert [finding for finding, _ in shown] == (in_line if len(in_line) <= 2 else in_line[:1])


def test_every_way_to_read_them_tells_of_as_many(path, recording, capsys):
    told = folded(recording.findings)
    counts = sorted(more for _, more in told if more)

    def counted(said):
        return sorted(map(int, re.findall(r"And (\d+) more of this kind on this line\.", said)))

    cli.main(["run", str(path), "--engine", "lockstep"])
    console = capsys.readouterr().out
    assert console.count("race in crowd") == len(told)
    assert counted(console) == counts

    shown = view_run(Library([path]), {"file": "crowd"})
    others = sorted(more for _, more in told[1:] if more)  # the first stands in the title
    assert len(shown["notices.html"]) == len(told) - 1
    assert counted(text(shown["notices.html"])) == others

    report = report_page(recording, [(recording.launches[0], 0)], Hardware.of(recording))
    notices = report[report.index('class="notices"') : report.index("</ul>", report.index('class="notices"'))]
    assert notices.count("race in crowd") == len(told)
    assert counted(notices) == counts


def test_json_keeps_all_of_them(path, recording, capsys):
    cli.main(["run", str(path), "--engine", "lockstep", "--json"])

    assert len(json.loads(capsys.readouterr().out)["findings"]) == len(recording.findings)
