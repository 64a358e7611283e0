"""What ``import smemviz`` offers: names that are there, and no others."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.gallery import RECORDINGS

import smemviz

PACKAGE = Path(smemviz.__file__)


def test_a_prompt_completes_what_is_public():
    assert dir(smemviz) == sorted(smemviz.__all__)
    assert [name for name in dir(smemviz) if not name.startswith("__")] == [
        *("Finding", "Launch", "Recording", "Site", "create_app", "cuda_cpp", "errors", "load", "record"),
        *("recording", "run", "sectors", "wavefronts"),
    ]


def test_every_name_is_there_and_belongs_to_the_types_of_a_recording():
    recording = smemviz.load(RECORDINGS / "square.smem.npz")
    assert isinstance(recording, smemviz.Recording)
    assert isinstance(recording.launches[0], smemviz.Launch)
    assert isinstance(recording.launches[0].sites[0], smemviz.Site)
    assert [name for name in smemviz.__all__ if not hasattr(smemviz, name)] == []
    with pytest.raises(AttributeError, match="module 'smemviz' has no attribute 'wavefront'"):
        _ = smemviz.wavefront
    assert (PACKAGE.parent / "py.typed").is_file()


def test_type_checkers_know_no_name_but_these():
    tree = ast.parse(PACKAGE.read_text("utf-8"))
    hidden = [one for one in tree.body if isinstance(one, ast.If) and ast.unparse(one.test) == "not TYPE_CHECKING"]
    assert [part.name for one in hidden for part in one.body if isinstance(part, ast.FunctionDef)] == ["__getattr__"]
    assert [one.name for one in tree.body if isinstance(one, ast.FunctionDef)] == ["__dir__"]


@pytest.mark.exhaustive
def test_a_name_that_is_misspelt_is_told_by_a_type_checker(tmp_path):
    user = tmp_path / "user.py"
    user.write_text(
        "import smemviz\n"
        "def worst(launch: smemviz.Launch) -> int:\n"
        "    return max(site.excess or 0 for site in launch.sites)\n"
        "def first(recording: smemviz.Recording) -> smemviz.Finding:\n"
        "    return recording.findings[0]\n"
        "smemviz.recrod\n"
        "worst(3)\n"
        "smemviz.load('a.smem.npz').launhces\n"
        "with smemviz.recording() as recorded:\n"
        "    pass\n"
        "recorded.launhces\n"
        "worst(recorded['k'])\n"
    )
    # Of the package no more than those modules that the names come from, or it takes minutes.
    homes = ["__init__", "recordings/data", "recordings/recording", "recordings/file", "recordings/findings"]
    homes += ["recordings/counted", "engines/script"]
    checked = [str(PACKAGE.parent / f"{home}.py") for home in homes]
    options = [
        "--strict",
        "--follow-imports=skip",
        "--explicit-package-bases",
        "--config-file=",
        "--no-warn-unused-ignores",
    ]
    command = [sys.executable, "-m", "mypy", *options, f"--cache-dir={tmp_path}", *checked, str(user)]
    done = subprocess.run(command, cwd=PACKAGE.parents[1], capture_output=True, text=True, check=False)
    told = [line.split(": ", 1)[1] for line in done.stdout.splitlines() if line.startswith(str(user))]
    numbers = [int(line.split(":")[1]) for line in done.stdout.splitlines() if line.startswith(str(user))]
    assert numbers == [6, 7, 8, 11], done.stdout
    assert 'Module has no attribute "recrod"' in told[0]
    assert '"Launch"' in told[1]
    assert told[2].startswith('error: "Recording" has no attribute "launhces"')
    assert told[3].startswith('error: "Recorded" has no attribute "launhces"')
