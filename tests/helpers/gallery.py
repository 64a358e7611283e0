"""What an H200 recorded of the gallery, and an H100."""

from __future__ import annotations

from pathlib import Path

from smemviz.paths import kernels_dir
from smemviz.recordings.file import load
from smemviz.recordings.recording import Recording

RECORDINGS = kernels_dir() / "recordings" / "h200"
SLOW = ("matmul", "matmul.cu", "submatrix", "submatrix.cu", "latency", "latency.cu")  # to run
H100 = Path(__file__).resolve().parents[1] / "data" / "h100"


def h200(file: str) -> Recording:
    """Return the recording of a kernel file, named without its ending if that is ``.py``."""
    return load(RECORDINGS / f"{file}.smem.npz")
