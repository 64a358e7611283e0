"""How much faster lockstep is than Numba's CUDA simulator, on the same kernels with the same results.

Lockstep runs the whole kernel file, finds the sites and records every request; the simulator, in a process of its own
with NUMBA_ENABLE_CUDASIM=1, only computes. Targets: 500 times on ``set_row_read_col`` (one block of 1,024 threads), 200
times on a 64 x 64 tiled product (16 blocks of 256 threads).

    python tests/benchmarks/bench_lockstep.py
"""

import os
import runpy
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
FILES = {"set_row_read_col": (HERE / "transpose_1024.py", 500), "tiled product": (HERE / "product_64.py", 200)}
REPEATS = 30


def simulate(path, out):
    """Run a file's ``main()`` here, under the simulator, and write how long it took and what it returned."""
    module = runpy.run_path(str(path))
    module["main"]()  # the first run imports
    begin = time.perf_counter()
    result = module["main"]()
    np.savez(out, seconds=time.perf_counter() - begin, result=result)


def measure(path):
    """Return lockstep's median seconds for a file, warm, and the array its ``main()`` returned."""
    from smemviz.engines.lockstep import run
    from smemviz.program import read_program

    program = read_program(path)
    launches, _ = run(program)
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        run(program)
        times.append(time.perf_counter() - begin)
    return float(np.median(times)), launches


def results(path):
    """Return what ``main()`` of a file leaves behind in lockstep."""
    from smemviz.engines.host import namespace_for
    from smemviz.engines.lockstep import launch
    from smemviz.engines.lockstep.cuda import Cuda
    from smemviz.functions import function_of
    from smemviz.program import read_program

    program = read_program(path)

    def start(kernel, configuration, args, place):
        launch(function_of(kernel, program.source, program.tree), configuration, args, place)

    namespace = namespace_for(program.file, Cuda(program.file, start))
    exec(program.code(), namespace)
    return namespace["main"]()


def main():
    """Print a line per kernel; exit 1 when a target is missed or results differ."""
    failed = False
    for name, (path, target) in FILES.items():
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "simulated.npz"
            environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
            subprocess.run([sys.executable, __file__, str(path), str(out)], check=True, env=environment)
            simulated = np.load(out)
            seconds, result = float(simulated["seconds"]), simulated["result"]
        ours, launches = measure(path)
        same = np.allclose(results(path), result, rtol=1e-5)
        ratio = seconds / ours
        requests = sum(launch.request_count for launch in launches)
        print(
            f"{name}: simulator {seconds * 1e3:,.0f} ms, lockstep {ours * 1e3:.2f} ms, {requests:,} requests recorded, "
            f"{ratio:,.0f} times faster (target {target}), results {'equal' if same else 'DIFFER'}"
        )
        failed |= not same or ratio < target
    return int(failed)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        simulate(*sys.argv[1:])
    else:
        sys.exit(main())
