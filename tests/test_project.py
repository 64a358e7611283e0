"""What ``[tool.smemviz]`` of a pyproject.toml decides where nobody else does."""

import json
from pathlib import Path

import pytest
from helpers.gallery import RECORDINGS

from smemviz.errors import InputError
from smemviz.project import Project, project_at

ALL = '[tool.smemviz]\nengine = "lockstep"\ncc = "3.5-8"\nlimits = { max_degree = 2, findings = 0 }\n'


def test_the_nearest_file_that_speaks_of_it_counts(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(ALL)
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'a'\n")
    (inner / "pyproject.toml").write_text("is no TOML")
    assert project_at(inner) == Project("lockstep", "3.5-8", {"max_degree": 2, "findings": 0})
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.smemviz]\n")
    assert project_at(inner) == Project()


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('enigne = "gpu"', "has no 'enigne'; it has engine, cc and limits"),
        ('engine = "cpu"', "engine = 'cpu': take one of auto, gpu, lockstep"),
        ("cc = 9.0", 'cc = 9.0: write it as text, such as "9.0"'),
        ("limits = 1", "limits is a table of max_degree, excess, sectors_per_request, findings"),
        ("limits = { degree = 1 }", "limits has no 'degree'; it has max_degree, excess, sectors_per_request, findings"),
        ("limits = { excess = true }", "limits: excess = True is no number from 0 on"),
    ],
)
def test_what_does_not_fit_is_told_in_a_line(tmp_path, monkeypatch, command, table, says):
    (tmp_path / "pyproject.toml").write_text(f"[tool.smemviz]\n{table}\n")
    with pytest.raises(InputError) as told:
        project_at(tmp_path)
    assert str(told.value) == f"{tmp_path}/pyproject.toml: [tool.smemviz] {says}"
    monkeypatch.chdir(tmp_path)
    assert command("show", RECORDINGS / "square.smem.npz", code=2).err == f"smemviz: {told.value}\n"


def test_commands_take_the_engine_and_the_hardware_from_it(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text(ALL.replace("lockstep", "gpu"))
    shown = ("show", RECORDINGS / "square.smem.npz", "--json")
    facts = json.loads(command(*shown).out)
    assert (facts["cc"], facts["bank_bytes"]) == ([3, 5], 8)
    assert json.loads(command(*shown, "--cc", "9.0").out)["cc"] == [9, 0]
