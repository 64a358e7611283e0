"""What an H200 recorded of the gallery."""

from __future__ import annotations

from smemviz.paths import kernels_dir
from smemviz.recordings.file import load
from smemviz.recordings.recording import Recording

RECORDINGS = kernels_dir() / "recordings" / "h200"


def h200(file: str) -> Recording:
    """Return the recording of a kernel file, named without its ending if that is ``.py``."""
    return load(RECORDINGS / f"{file}.smem.npz")
