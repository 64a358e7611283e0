"""The recordings that are exported, what runs the command, and what the tests that need a browser wait for."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from helpers.commands import Command, Text
from helpers.gallery import RECORDINGS, h200

from smemviz.recordings.recording import Recording


@pytest.fixture(scope="session")
def square() -> Recording:
    return h200("square")


@pytest.fixture(scope="session")
def reduce() -> Recording:
    return h200("reduce")


@pytest.fixture
def square_file() -> Path:
    return RECORDINGS / "square.smem.npz"


@pytest.fixture
def export(command: Command) -> Callable[..., Text]:
    """Give what runs ``smemviz export``."""
    return partial(command, "export")
