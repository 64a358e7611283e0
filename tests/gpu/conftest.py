"""Tests that need a GPU: skipped, and saying so, where there is none; those that measure have it to themselves."""

import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest


class _WithoutGpu(pytest.Module):
    """A file that is not even imported, which takes seconds."""

    def collect(self) -> NoReturn:
        pytest.skip("no GPU here that Numba can use", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return None if _has_gpu() else _WithoutGpu.from_parent(parent, path=module_path)


@pytest.fixture(autouse=True)
def _one_gpu(request: pytest.FixtureRequest) -> Iterator[None]:
    """Share the GPU with the tests of other processes; one that is marked ``alone`` waits until it is nobody else's.

    All pass a gate first, which such a test holds while it waits: those that come after it would go before it else.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    kind = fcntl.LOCK_EX if request.node.get_closest_marker("alone") else fcntl.LOCK_SH
    folder = Path(tempfile.gettempdir())
    with (folder / "smemviz-tests-gpu.lock").open("w") as lock:
        with (folder / "smemviz-tests-gpu.gate").open("w") as gate:
            fcntl.flock(gate, kind)
            fcntl.flock(lock, kind)
        yield


@cache
def _has_gpu() -> bool:
    try:
        from numba import cuda
    except ImportError:
        return False
    return bool(cuda.is_available())
