import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def lockstep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the programs of this folder in lockstep where there is a GPU, too; ``tests/gpu`` runs them there."""
    monkeypatch.setattr("smemviz.engines.cuda_runner.chosen", lambda engine: "lockstep")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write files into a folder, a text for each name, and return the path of the first."""
    if not (shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("needs a C++ compiler, g++ or clang++")

    def written(**texts: str) -> Path:
        paths = [tmp_path / name.replace("__", "/").replace("_cu", ".cu").replace("_h", ".h") for name in texts]
        for path, text in zip(paths, texts.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        return paths[0]

    return written
