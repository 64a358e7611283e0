"""Findings and conflicts at their lines: as commands of GitHub's workflows, and as SARIF."""

import json
from pathlib import Path

import pytest
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Sarif

from smemviz.reports.annotations import Annotation, to_github, to_sarif

KERNEL = """\
import numpy as np
from numba import cuda, float32
PAD = 0
COLUMNS = 32 + PAD

@cuda.jit
def turn(out):
    tile = cuda.shared.array((32, COLUMNS), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = x
    cuda.syncthreads()
    out[y, x] = tile[x, y]

def main():
    turn[1, (32, 32)](np.zeros((32, 32), np.float32))
"""


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    (tmp_path / "turn.py").write_text(KERNEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "turn.py"


def valid(text):
    """Return a log of SARIF that its schema takes; the models are made of OASIS's, and know no other property."""
    Sarif.model_validate_json(text)
    log: dict[str, object] = json.loads(text)
    return log


def test_a_conflict_is_a_warning_at_its_access(kernel, command):
    (line,) = command("run", kernel, "--engine", "lockstep", "--format", "github").out.splitlines()
    place, _, message = line.removeprefix("::").partition("::")
    assert place == "warning file=turn.py,line=12,endLine=12,col=17,endColumn=26,title=bank conflict"
    assert KERNEL.splitlines()[11][16:26] == "tile[x, y]"
    assert message.startswith("tile[x, y] in turn: 32-way, 992 wavefronts more than needed. Neighbouring lanes are 32 ")
    assert "Pad the row of tile by 1, (32, 32) -> (32, 33)" in message


def test_a_mistake_is_an_error_and_fails(kernel, command):
    kernel.write_text(KERNEL.replace("    cuda.syncthreads()\n", ""))
    first, *rest = command("run", kernel, "--engine", "lockstep", "--format", "github", code=1).out.splitlines()
    assert first.startswith("::error file=turn.py,line=11,title=race::race in turn, block (0, 0, 0), threads ")
    assert [line.partition(" ")[0] for line in rest] == ["::warning"]


def test_what_a_change_makes_worse_is_an_error_at_its_line(kernel, command):
    asked = ("diff", kernel, "--set-a", "PAD=1", "--engine", "lockstep", "--format")
    assert command(*asked, "github", code=1).out == (
        "::error file=turn.py,line=12,endLine=12,col=17,endColumn=26,title=costs more than before::"
        "tile[x, y] in turn: 32 → 1,024 wavefronts.\n"
    )
    assert command("diff", kernel, "--set-b", "PAD=1", "--engine", "lockstep", "--format", "github").out == ""


def test_a_log_of_sarif_is_valid_and_says_the_same(kernel, command):
    (run,) = valid(command("run", kernel, "--engine", "lockstep", "--format", "sarif").out)["runs"]  # type: ignore[misc]
    assert run["tool"]["driver"]["rules"] == [{"id": "bank_conflict", "shortDescription": {"text": "bank conflict"}}]
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("bank_conflict", "warning")
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "turn.py"},
        "region": {"startLine": 12, "startColumn": 17, "endLine": 12, "endColumn": 27},
    }
    asked = ("diff", kernel, "--set-a", "PAD=1", "--engine", "lockstep", "--format", "sarif")
    (run,) = valid(command(*asked, code=1).out)["runs"]  # type: ignore[misc]
    assert [one["level"] for one in run["results"]] == ["error"]


def test_what_a_recording_holds_of_several_files_and_of_nothing_is_valid(command):
    recorded = Path(__file__).parents[2] / "kernels" / "recordings" / "h200"
    for name in ("matmul.cu", "square", "stencil"):
        assert valid(command("show", recorded / f"{name}.smem.npz", "--format", "sarif").out)
    assert valid(json.dumps(to_sarif([])))["version"] == "2.1.0"


def test_names_and_texts_end_no_command_early():
    found = Annotation("note", "race", "odd, name: 50%.py", "100 % of\n::error::it", 3)
    assert list(to_github([found])) == [
        "::notice file=odd%2C name%3A 50%25.py,line=3,title=race::100 %25 of ::error::it"
    ]
    (result,) = to_sarif([found])["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "odd%2C%20name%3A%2050%25.py"
    assert valid(json.dumps(to_sarif([found])))


def test_json_and_markdown_keep_their_own_options(kernel, command):
    run = ("run", kernel, "--engine", "lockstep")
    same = json.loads(command(*run, "--json").out) | {"date": ""}
    assert json.loads(command(*run, "--format", "json").out) | {"date": ""} == same
    diff = ("diff", kernel, "--set-b", "PAD=1", "--engine", "lockstep")
    assert command(*diff, "--markdown").out == command(*diff, "--format", "markdown").out
