import importlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import smemviz

Run = Callable[..., pytest.RunResult]

# By its module's name, so that the tests need no installed smemviz; an installed one is left out.
ARGUMENTS = ("-pno:smemviz", "-psmemviz.testing.pytest_plugin", "-pno:dash", "-pno:playwright", "-pno:cacheprovider")


@pytest.fixture(scope="session", autouse=True)
def loaded() -> None:
    """Load what a run needs before pytester forgets the modules that a test session imported."""
    import smemviz.testing.budget
    import smemviz.testing.pytest_plugin
    import smemviz.testing.report

    recording = smemviz.run(Path(__file__).parents[2] / "kernels" / "square.py", engine="lockstep")
    recording.launches[0].summary()
    with suppress(ImportError):
        importlib.import_module("numba.cuda")  # a second import would register CUDA a second time, which Numba refuses


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs pytest in the test's folder, with the plugin."""
    paths = [str(Path(smemviz.__file__).parents[1]), *filter(None, sys.path)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("COLUMNS", "400")
    kernels = Path(__file__).parents[2] / "kernels"
    for name in ("square.py", "transpose.py"):
        (pytester.path / name).write_text((kernels / name).read_text(encoding="utf-8"), encoding="utf-8")
    (pytester.path / "square.smem.npz").write_bytes((kernels / "recordings/h200/square.smem.npz").read_bytes())

    def go(*arguments: str, in_process: bool = True) -> pytest.RunResult:
        how = pytester.runpytest_inprocess if in_process else pytester.runpytest_subprocess
        return how(*ARGUMENTS, *arguments)

    return go
