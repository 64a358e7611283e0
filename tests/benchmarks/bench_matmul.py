"""The kernels of kernels/matmul.py beside cuBLAS sgemm in one run, at 4096 cubed; the best of them should reach 60 %.

Needs a GPU, and PyTorch or CuPy to call cuBLAS by; says so when neither is there. ``main()`` launches the kernels and
checks each product. Blocks of 128 x 128 results suit this size; the 64 x 64 of the file suit small ones too.

    python tests/benchmarks/bench_matmul.py
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
SIDE = 4096
SIZES = ({"PANEL": 64}, {"PANEL": 128, "DEPTH": 16})
TARGET = 0.6


class Clock:
    """Times each kernel as ``main()`` is about to launch it; ``microseconds`` by kernel."""

    def __init__(self):
        self.microseconds = {}

    def launch(self, dispatcher, function, config, arguments):
        from smemviz.measure.time.replays import replayed

        def issue(stream):
            dispatcher.configure(config.grid, config.block, stream, config.dynamic_shared)(*arguments)

        issue(config.stream)  # compiles
        self.microseconds[function.name] = replayed(issue).spread.median


def ladder(**constants):
    """Return the microseconds of every kernel of the file at ``SIDE`` cubed."""
    from smemviz.engines.gpu.python_on_gpu import watch
    from smemviz.frontends.reading import read_program

    program = read_program(ROOT / "kernels" / "matmul.py")
    clock = Clock()
    watch(program.with_constants({"M": SIDE, "K": SIDE, "N": SIDE, **constants}), clock)
    return clock.microseconds


def cublas(blas):
    """Return the microseconds of cuBLAS sgemm at ``SIDE`` cubed."""
    import numpy as np
    from numba import cuda

    from smemviz.measure.time.replays import queued, replayed

    a, b = (cuda.to_device(np.random.default_rng(i).random((SIDE, SIDE), np.float32)) for i in range(2))
    c = cuda.device_array((SIDE, SIDE), np.float32)
    blas.multiply(c, a, b, cuda.stream())
    return (replayed if blas.captured else queued)(lambda stream: blas.multiply(c, a, b, stream)).spread.median


def main():
    """Print a line per kernel and block; exit 1 when the best misses the target, 3 without cuBLAS."""
    from smemviz.engines.gpu.device import device
    from smemviz.measure.sweep.blas import MISSING, find_blas

    blas = find_blas()
    print(f"{SIDE} cubed on {device().name}; {blas.name if blas else MISSING}")
    peer = cublas(blas) if blas else None
    rate = 2e-6 * SIDE**3  # TFLOP/s of one microsecond
    if peer:
        print(f"{'cuBLAS':28}{rate / peer:7.2f} TFLOP/s")
    best = 0.0
    for constants in SIZES:
        print(constants)
        for kernel, taken in ladder(**constants).items():
            print(f"{kernel:28}{rate / taken:7.2f} TFLOP/s" + (f"{peer / taken:8.3f} of cuBLAS" if peer else ""))
            best = max(best, peer / taken if peer else 0.0)
    if peer is None:
        return 3
    print(f"best: {best:.3f} of cuBLAS (target {TARGET})")
    return int(best < TARGET)


if __name__ == "__main__":
    sys.exit(main())
