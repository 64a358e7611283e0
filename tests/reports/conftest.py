"""The recordings that are exported, what runs the command, and what the tests that need a browser wait for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from smemviz import paths as resources
from smemviz.cli import main as cli
from smemviz.recordings.file import load
from smemviz.recordings.recording import Recording

RECORDINGS = resources.kernels_dir() / "recordings" / "h200"


@pytest.fixture(scope="session")
def square() -> Recording:
    return load(RECORDINGS / "square.smem.npz")


@pytest.fixture(scope="session")
def reduce() -> Recording:
    return load(RECORDINGS / "reduce.smem.npz")


@pytest.fixture
def square_file() -> Path:
    return RECORDINGS / "square.smem.npz"


@pytest.fixture
def export() -> Callable[..., int]:
    """Give what runs ``smemviz export`` with arguments and returns its exit code."""
    return lambda *arguments: cli.main(["export", *map(str, arguments)])
