"""The recordings that are exported, what runs the command, and what the tests that need a browser wait for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from helpers.commands import Command, Said

from smemviz import paths as resources
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
def export(command: Command) -> Callable[..., Said]:
    """Give what runs ``smemviz export``."""
    return partial(command, "export")
