"""How fast kernels in CUDA C++ run without a GPU, beside the same in Python and beside Numba's CUDA simulator.

The tiled product of 512 x 512 makes 8.9 million requests, all of them counted; the aim is 1.5 s of the processor on an
idle core. The simulator only computes, and would keep a core for hours, so it computes 64 x 64 in blocks of 16 x 16.
Compared are times of the processor.

    python tests/benchmarks/bench_cuda.py
"""

import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
sys.path.insert(0, str(HERE))
SIDE = 512
REPEATS = 3


def seconds(call):
    """Return the least time of the processor that a call takes, warm, and what it returned."""
    call()
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        result = call()
        times.append(time.process_time() - begin)
    return min(times), result


def in_cpp(view):
    import smemviz

    file = smemviz.cuda_cpp(HERE.parents[1] / "kernels" / "matmul.cu", {"M": SIDE, "K": SIDE, "N": SIDE}, view)
    a = np.random.default_rng(0).integers(-8, 9, (SIDE, SIDE)).astype(np.float32)
    c = np.zeros_like(a)
    taken, recording = seconds(lambda: file["tiled"][(SIDE // 32, SIDE // 32), (32, 32)](c, a, a))
    assert np.array_equal(c, a @ a)
    return taken, recording.launches[0].request_count


def in_python():
    import smemviz
    from smemviz.frontends.reading import read_program

    program = read_program(HERE.parents[1] / "kernels" / "matmul.py").with_constants({})
    namespace = {"__name__": "matmul", "__file__": program.file}
    exec(compile(program.source, program.file, "exec"), namespace)
    a = np.random.default_rng(0).integers(-8, 9, (SIDE, SIDE)).astype(np.float32)
    c, grid, block = np.zeros_like(a), (SIDE // 32, SIDE // 32), (32, 32)
    taken, recording = seconds(lambda: smemviz.record(namespace["tiled"], grid, block, (c, a, a), engine="lockstep"))
    return taken, recording.launches[0].request_count


def main():
    from bench_lockstep import PRODUCT, simulated

    import smemviz

    for name, (taken, requests) in {
        "CUDA C++, as written": in_cpp("source"),
        "CUDA C++, as compiled": in_cpp("compiled"),
        "Python": in_python(),
    }.items():
        print(f"{name}: {taken:.2f} s for {requests:,} requests of {SIDE} cubed")
    slow, _ = simulated(PRODUCT)
    file = smemviz.cuda_cpp(HERE.parents[1] / "kernels" / "matmul.cu", {"TILE": 16})
    a = np.ones((64, 64), np.float32)
    fast, _ = seconds(lambda: file["tiled"][(4, 4), (16, 16)](np.zeros_like(a), a, a))
    print(f"Numba's simulator: {slow:.2f} s for 64 cubed, CUDA C++ {fast:.3f} s, {slow / fast:,.0f} times faster")


if __name__ == "__main__":
    main()
