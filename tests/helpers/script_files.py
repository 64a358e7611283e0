"""Scripts as people write them, for tests: no main(), a module beside it, arguments, streams and events."""

from pathlib import Path

TILES = """
from numba import cuda, float32


@cuda.jit(device=True)
def put(tile, x, y, value):
    tile[x, y] = value


@cuda.jit
def by_columns(out):
    tile = cuda.shared.array((32, 32), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    put(tile, x, y, out[y, x])
    cuda.syncthreads()
    out[y, x] = tile[x, y]
"""

TRAIN = """
import argparse
import sys

import numpy as np
from numba import cuda
from numba.cuda import to_device

from tiles import by_columns, put

PITCH = 33


def transposer(pitch):
    @cuda.jit
    def transpose(a):
        tile = cuda.shared.array((32, pitch), np.float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        put(tile, y, x, a[y, x])
        cuda.syncthreads()
        a[x, y] = tile[y, x]

    return transpose


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1)
options = parser.parse_args()

if __name__ == "__main__":
    stream, start, end = cuda.stream(), cuda.event(), cuda.event()
    first = np.arange(1024, dtype=np.float32).reshape(32, 32)
    a = to_device(first, stream)
    start.record(stream)
    for step in range(options.steps):
        transposer(PITCH)[1, (32, 32), stream](a)
    end.record(stream)
    end.synchronize()
    by_columns[1, (32, 32)](a)
    cuda.synchronize()
    expected = first.T if options.steps % 2 else first
    assert np.array_equal(a.copy_to_host(), expected)
    print("steps", options.steps, "of", sys.argv[0], "took", cuda.event_elapsed_time(start, end))
"""


def write_script(folder: Path) -> Path:
    """Write the script and its module; return the script's path."""
    (folder / "tiles.py").write_text(TILES)
    script = folder / "train.py"
    script.write_text(TRAIN)
    return script
