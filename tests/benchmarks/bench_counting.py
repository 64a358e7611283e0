"""What counting costs on the GPU: the counting pass beside the clean kernel, a recording beside Nsight Compute.

Run on a machine with a GPU: ``python tests/benchmarks/bench_counting.py``. The work is the product of two 2,048 x 2,048
matrices by tiles in shared memory. The clean kernel and the passes are timed in turns in one process, each with its
synchronization; the peer collects the same counters per source line, of the same kernel in a process of its own. These
processes, too, run in turns.
"""

import math
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

FILE = "tests/benchmarks/product_64.py"
SIZE = 2048
TILES = (16, 32)
REPEATS = 7
PROCESSES = 3
ALLOWED = 20


def main():
    from numba import cuda

    card = cuda.get_current_device()
    print(f"{card.name.decode() if isinstance(card.name, bytes) else card.name}; {SIZE} cubed, medians of {REPEATS}")
    slow = []
    for tile in TILES:
        clean, counting, writing = passes(tile)
        ratio = counting / clean
        print(f"tile {tile}: clean {1e3 * clean:.3f} ms, counting {1e3 * counting:.1f} ms = {ratio:.1f} times as long,")
        print(f"    writing the log of one block {1e3 * writing:.1f} ms = {writing / clean:.1f} times as long")
        slow += [str(tile)] if ratio > ALLOWED else []
        print(f"    {processes(tile)}")
        for view in ("source", "compiled"):
            clean, counting = cuda_passes(tile, view)
            ratio = counting / clean
            slow += [f"{tile} in C++, {view} view"] if ratio > ALLOWED else []
            times = f"clean {1e3 * clean:.3f} ms, counting {1e3 * counting:.1f} ms = {ratio:.1f} times as long"
            print(f"    C++, {view} view: {times}")
    if slow:
        sys.exit(f"counting takes more than {ALLOWED} times the clean kernel for tiles of {', '.join(slow)}")


def passes(tile):
    """Return the seconds of the clean kernel and of the passes that count and write."""
    from numba import cuda

    from smemviz.engines.gpu.numba_launch import Arguments, MarkedKernel, NumbaPasses
    from smemviz.engines.launch_shape import configuration
    from smemviz.frontends.numba.python_functions import function_of
    from smemviz.frontends.reading import read_program

    program = read_program(Path(FILE)).with_constants({"N": SIZE, "TILE": tile})
    namespace = {"__name__": "product", "__file__": FILE}
    exec(program.code(), namespace)
    kernel = namespace["product"]
    rng = np.random.default_rng(0)
    arrays = [cuda.to_device(rng.random((SIZE, SIZE), dtype=np.float32)) for _ in range(3)]
    grid, block = (SIZE // tile, SIZE // tile), (tile, tile)
    marked = MarkedKernel(function_of(kernel.py_func, program.source, program.tree), arrays)
    warps = -(-tile * tile // 32)
    chosen = np.zeros(math.prod(grid) * warps, np.bool_)
    chosen[:warps] = True
    taken = {}

    class Timed(NumbaPasses):
        def run(self, mode, launch):
            taken[mode] = timed(lambda: marked.launch(mode, self.configuration, held.values, launch))
            held.restore()

    with Arguments(arrays) as held:
        samples = []
        for _ in range(REPEATS + 1):  # the first compiles
            clean = timed(lambda: (kernel[grid, block](*held.values), cuda.synchronize()))
            both = Timed(marked, configuration((FILE, 1), (grid, block)), held)
            both.count()
            both.write(chosen, 100_000, ())
            samples.append((clean, taken["count"], taken["write"]))
    return tuple(statistics.median(column) for column in zip(*samples[1:], strict=True))


def cuda_passes(tile, view):
    """Return the seconds of the kernel that nvcc would make, and of the pass that counts, of the product in C++."""
    from dataclasses import replace

    from cuda.bindings import driver

    from smemviz.engines.gpu.ptx.driver import Gpu, assembled, checked, loaded, start
    from smemviz.engines.gpu.ptx.ptx_launch import CudaPasses, Kernel
    from smemviz.engines.launch_shape import configuration
    from smemviz.engines.lockstep.ptx.host.arguments import bind_arguments
    from smemviz.engines.lockstep.ptx.host.cuda_launch import prepare
    from smemviz.engines.lockstep.ptx.host.entry import Entry
    from smemviz.frontends.cuda import compile_program
    from smemviz.frontends.reading import read_program

    program = read_program("kernels/matmul.cu").with_constants({"M": SIZE, "K": SIZE, "N": SIZE, "TILE": tile})
    place = (program.file, 1)
    shape = configuration(place, ((SIZE // tile, SIZE // tile), (tile, tile), 0, 0))
    rng = np.random.default_rng(0)
    arrays = [rng.random((SIZE, SIZE), dtype=np.float32) for _ in range(3)]
    taken = {}

    class Timing(Gpu):
        def run(self, kernel, configuration, parameters):
            module = checked(driver.cuModuleLoadData(assembled(kernel.ptx)))
            function = loaded(module, kernel.name, configuration)
            checked(driver.cuCtxSynchronize())

            def work():
                start(function, configuration, parameters, 0, cooperative=False)
                checked(driver.cuCtxSynchronize())

            taken[kernel.name] = timed(work)
            driver.cuModuleUnload(module)

    samples = []
    for _ in range(REPEATS + 1):
        card = Timing()
        for one in ("compiled", view):
            seen = replace(program, view=one)
            entry = Entry(seen, compile_program(seen, ["tiled"], one), "tiled")
            ready = prepare(entry, shape, place)
            given = bind_arguments(entry, ready.kernel, arrays, place, card)
            if one == "compiled":
                card.run(Kernel(entry.compiled.ptx, entry.symbol, False), shape, list(given.parameters.values()))
                clean = taken[entry.symbol]
        CudaPasses(card, ready, shape, given).count()
        samples.append((clean, taken["smemviz_kernel"]))
    return tuple(statistics.median(column) for column in zip(*samples[1:], strict=True))


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def processes(tile):
    """Say how long a recording takes, from the command line to the table, and Nsight Compute, to its report on disk."""
    from smemviz.errors import MissingError
    from smemviz.measure.ncu.counters import find_ncu, profile

    command = [sys.executable, "-m", "smemviz", "run", FILE, "--engine", "gpu", "--json"]
    command += ["--set", f"N={SIZE}", "--set", f"TILE={tile}"]
    ours, theirs = [], []
    try:
        for _ in range(PROCESSES):
            ours.append(timed(lambda: subprocess.run(command, capture_output=True, check=True)))
            theirs.append(timed(lambda: profile(find_ncu(), Path(FILE), {"N": SIZE, "TILE": tile}, ["product"])))
    except MissingError as error:
        return f"smemviz run, whole process: {ours[0]:.1f} s; no peer here: {error}"
    ours, theirs = statistics.median(ours), statistics.median(theirs)
    return f"smemviz run, whole process: {ours:.1f} s; Nsight Compute: {theirs:.1f} s; ratio {ours / theirs:.2f}"


if __name__ == "__main__":
    main()
