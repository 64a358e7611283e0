"""What recording a script costs on the GPU: ``smemviz run SCRIPT`` beside ``python SCRIPT``, whole processes.

Run on a machine with a GPU: ``python tests/benchmarks/bench_script.py``. Two runs of each, in turn; the least counts.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

REPEATS = 2
TURN = """
import sys
import numpy as np
from numba import cuda, float32

@cuda.jit
def turn(a, out):
    tile = cuda.shared.array((32, 33), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[cuda.blockIdx.y * 32 + y, cuda.blockIdx.x * 32 + x]
    cuda.syncthreads()
    out[cuda.blockIdx.x * 32 + y, cuda.blockIdx.y * 32 + x] = tile[x, y]

side, launches = int(sys.argv[1]), int(sys.argv[2])
a = cuda.to_device(np.arange(side * side, dtype=np.float32).reshape(side, side))
out = cuda.device_array_like(a)
for _ in range(launches):
    turn[(side // 32, side // 32), (32, 32)](a, out)
assert np.array_equal(out.copy_to_host(), a.copy_to_host().T)
"""
CASES = (
    ("1 launch of 1 block", 32, 1, ()),
    ("200 launches of 1 block", 32, 200, ()),
    ("200 launches, one recorded", 32, 200, ("--max-launches", "1")),
    ("1 launch of 65,536 blocks", 8192, 1, ()),
    ("20 launches of 65,536 blocks", 8192, 20, ()),
)


def main():
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "turn.py"
        script.write_text(TURN)
        print(f"{'script':32}{'plain s':>10}{'recorded s':>12}{'more s':>10}{'per launch ms':>15}")
        first = None
        for name, side, launches, options in CASES:
            given = [str(side), str(launches)]
            plain, recorded = [], []
            for _ in range(REPEATS):
                plain.append(seconds([sys.executable, str(script), *given]))
                command = [sys.executable, "-m", "smemviz", "run", str(script), "--engine", "gpu", "--json", *options]
                recorded.append(seconds([*command, "--", *given]))
            more = np.min(recorded) - np.min(plain)
            first = more if first is None else first
            each = f"{(more - first) / (launches - 1) * 1000:.2f}" if launches > 1 else "-"
            print(f"{name:32}{np.min(plain):10.2f}{np.min(recorded):12.2f}{more:10.2f}{each:>15}")


def seconds(command):
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
