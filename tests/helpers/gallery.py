"""What an H200 recorded of the gallery, and an H100; and its matrix products in lockstep."""

from functools import cache
from pathlib import Path

import smemviz
from smemviz.paths import kernels_dir
from smemviz.recordings.file import load
from smemviz.recordings.recording import Recording

RECORDINGS = kernels_dir() / "recordings" / "h200"
SLOW = ("matmul", "matmul.cu", "submatrix", "submatrix.cu", "latency", "latency.cu")  # to run
H100 = Path(__file__).resolve().parents[1] / "data" / "h100"


@cache
def h200(file: str) -> Recording:
    """Return the recording of a kernel file, named without its ending if that is ``.py``."""
    return load(RECORDINGS / f"{file}.smem.npz")


@cache
def matmul(tile: int = 32, m: int = 64, k: int = 64, n: int = 64) -> Recording:
    """Return the products of the gallery as lockstep runs them, which takes it two seconds."""
    return smemviz.run(kernels_dir() / "matmul.py", {"M": m, "K": k, "N": n, "TILE": tile}, engine="lockstep")
