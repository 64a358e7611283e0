"""What a shell completes of smemviz, asked of bash itself."""

import shutil
import subprocess
from pathlib import Path

import pytest

from smemviz.cli.main import VERBS

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")


def completed(script, *words):
    """Return what bash offers for the last of the words behind ``smemviz``."""
    line = " ".join(f"'{word}'" for word in ("smemviz", *words))
    asked = f'{script}\nCOMP_WORDS=({line}) COMP_CWORD={len(words)}\n_shtab_smemviz\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    return sorted(done.stdout.split())


@needs_bash
def test_bash_completes_verbs_options_values_and_files(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").touch()
    script = command("completion", "bash").out
    assert set(completed(script, "")) >= set(VERBS)
    assert completed(script, "ca") == ["calibrate"]
    assert completed(script, "diff", "--mar") == ["--markdown"]
    assert completed(script, "run", "--engine", "") == ["auto", "gpu", "lockstep"]
    for words in (("run", "mi"), ("show", "mi"), ("diff", "mi"), ("export", "-o", "mi")):
        assert completed(script, *words) == ["mine.py"], words


def test_other_shells_have_a_script_of_their_own(command):
    for shell, begins in [("zsh", "#compdef smemviz\n"), ("tcsh", "# AUTOMATICALLY GENERATED")]:
        said = command("completion", shell).out
        assert said.startswith(begins)
        assert all(verb in said for verb in VERBS)


def test_a_shell_that_is_not_there_is_refused(command):
    assert "invalid choice: 'fish' (choose from" in command("completion", "fish", code=2).err
