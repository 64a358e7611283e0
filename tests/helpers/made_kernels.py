"""Kernel files made for tests: a tile that is stored one way and loaded another."""

from smemviz.frontends.program import Program
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


# A tile with a pad, the constant PITCH, that the two versions of a comparison change.
TURN = """
import numpy as np
from numba import cuda, float32

PITCH = 33

@cuda.jit
def turn(a, out):
    tile = cuda.shared.array((32, PITCH), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[y, x]
    cuda.syncthreads()
    out[y, x] = tile[x, y]

def main():
    a = np.ones((32, 32), np.float32)
    turn[1, (32, 32)](a, a.copy())
"""

# What would take minutes in lockstep.
LONG = """
import numpy as np
from numba import cuda, int32

@cuda.jit
def kernel(out):
    held = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    for k in range(100):
        held[t] = k
        out[t] = held[t]

def main():
    kernel[1 << 20, 256](cuda.device_array(256, np.int32))
"""

# The start of a file that launches one kernel often: what follows is in main().
FILLS = """
import numpy as np
from numba import cuda, int32

@cuda.jit
def fill(out, step):
    tile = cuda.shared.array(128, int32)
    tile[cuda.threadIdx.x * step] = 1
    out[cuda.threadIdx.x] = 1

def main():
    out = cuda.to_device(np.zeros(32, np.int32))
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
