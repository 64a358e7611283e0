"""The hook for pre-commit: what it runs for the files of a commit."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KERNEL = """\
import numpy as np
from numba import cuda, float32
COLUMNS = 33

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


def git(*words):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="the hook is run by bash, and there is none here")
def test_a_commit_that_adds_conflicts_is_stopped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hook = re.search(r"^  entry: (.+)$", (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"), re.MULTILINE)
    assert hook
    (tmp_path / "kernels").mkdir()
    kernel, new = Path("kernels/turn.py"), Path("kernels/new.py")
    kernel.write_text(KERNEL)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")

    def run():
        words = [*shlex.split(hook[1]), str(kernel), str(new)]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})

    new.write_text(KERNEL)  # which HEAD has not
    kernel.write_text(KERNEL.replace("= x", "= x + 1"))
    assert run().returncode == 0
    kernel.write_text(KERNEL.replace("33", "32"))
    done = run()
    assert done.returncode == 1
    assert "Worse in B: turn in wavefronts." in done.stdout
