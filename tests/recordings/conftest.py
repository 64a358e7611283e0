from pathlib import Path

import pytest
from helpers.strategies import a_recording


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a good recording in it, to be spoiled."""
    a_recording().save(tmp_path / "a.smem.npz")
    return tmp_path / "a.smem.npz"
