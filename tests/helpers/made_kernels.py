"""Kernel files made for tests: a tile that is stored one way and loaded another."""

from __future__ import annotations

from smemviz.frontends.numba.program import Program
from smemviz.frontends.reading import parse_program

HEAD = "import numpy as np\nfrom numba import cuda, float32, float64, int8, int16, int32, uint32\n\n"

# What somebody writes into the editor first.
SHORT = """from numba import cuda, float32
import numpy as np

STRIDE = 2


@cuda.jit
def strided(a):
    held = cuda.shared.array(1024, float32)
    i = cuda.threadIdx.x
    held[i * STRIDE] = a[i]


def main():
    print("stride", STRIDE)
    strided[1, 32](np.zeros(32, np.float32))
"""


def tile_program(shape: str, dtype: str, store: str, load: str, elements: int, threads: int = 64) -> Program:
    """Make a kernel that stores number n at one index and loads it from another; both take every element once."""
    return parse_program(
        f"""{HEAD}
@cuda.jit
def turn(out):
    tile = cuda.shared.array({shape}, np.{dtype})
    for n in range(cuda.threadIdx.x, {elements}, {threads}):
        tile[{store}] = n
    cuda.syncthreads()
    for n in range(cuda.threadIdx.x, {elements}, {threads}):
        out[n] = tile[{load}]


def main():
    turn[2, {threads}](cuda.to_device(np.zeros({elements}, np.{dtype})))
""",
        "made.py",
    )


def transposing(body: str, constants: str = "", launch: str = "turn[1, (32, 32)]", before: str = "") -> Program:
    """Make a kernel of 32 x 32 threads around a body that declares, stores and loads ``held``."""
    lines = "\n    ".join(body.strip().split("\n"))
    return parse_program(
        f"""{HEAD}{constants}
{before}
@cuda.jit
def turn(out):
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    {lines}


def main():
    {launch}(cuda.to_device(np.zeros((32, 32), np.float32)))
""",
        "made.py",
    )
