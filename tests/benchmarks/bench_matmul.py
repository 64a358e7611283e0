"""The kernels of kernels/matmul.py beside cuBLAS sgemm in one run, at 4096 cubed; the best of them should reach 60 %.

Needs a GPU, and CuPy or PyTorch to call cuBLAS by; says so when neither is there. Blocks of 128 x 128 results suit this
size, where the file's own PANEL of 64 also keeps a small card's worth of blocks busy at smaller sizes.

    python tests/benchmarks/bench_matmul.py
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[2]))
SIDE = 4096
PANELS = (64, 128)
LIMIT_SECONDS = 2.0  # nothing slower is measured: neither NumPy's nor a counted product of this size
TARGET = 0.6


def main():
    """Print a line per kernel and panel; exit 1 when the best misses the target."""
    from smemviz.measure.sweep import sweep
    from smemviz.model.matmul import Size
    from smemviz.program import read_program
    from smemviz.sweep_file import CUBLAS

    program = read_program(HERE.parents[2] / "kernels" / "matmul.py")
    best = 0.0
    for panel in PANELS:
        sizes = [Size(side, side, side) for side in (256, SIDE)]  # what takes too long is foretold from the small one
        found = sweep(program.with_constants({"PANEL": panel}), sizes, LIMIT_SECONDS)
        rates = {one.kernel: one.rate for one in found.points if one.size == sizes[-1] and one.rate}
        print(f"{SIDE} cubed, PANEL = {panel}, {found.device.name}; {found.library}")
        for kernel in program.kernels:
            if kernel not in rates:
                print(f"{kernel:28}not measured")
                continue
            ratio = rates[kernel] / rates[CUBLAS] if CUBLAS in rates else None
            print(f"{kernel:28}{rates[kernel] / 1e12:7.2f} TFLOP/s{'' if ratio is None else f'{ratio:8.3f} of cuBLAS'}")
            best = max(best, ratio or 0.0)
        if CUBLAS not in rates:
            return 1
        print(f"{CUBLAS:28}{rates[CUBLAS] / 1e12:7.2f} TFLOP/s")
        for note in found.notes:
            print(note)
    print(f"best: {best:.3f} of cuBLAS (target {TARGET})")
    return int(best < TARGET)


if __name__ == "__main__":
    sys.exit(main())
