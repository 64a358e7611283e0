"""How fast kernels of few threads run without a GPU: compiled, by NumPy, and by Numba's CUDA simulator, as ratios.

Each is there in CUDA C++ and in Python, which in lockstep is compiled where a launch takes more than a second.

In lockstep every request is logged and looked at for mistakes; the simulator only computes. Compared are times of the
processor, warm: what Numba and LLVM compile once is not in them, and compiling the kernel is told apart.

    python tests/benchmarks/bench_compiled.py
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from few_threads import ONE_THREAD

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
KERNELS = {
    "bubble sort, one thread": (
        "__shared__ int s[256]; for (int i = 0; i < n; i++) s[i] = i * 7919 % 1000;"
        " for (int i = 0; i < n; i++) for (int j = 0; j + 1 < n - i; j++)"
        " if (s[j] > s[j + 1]) { int t = s[j]; s[j] = s[j + 1]; s[j + 1] = t; }"
        " for (int i = 0; i < n; i++) a[i] = s[i];",
        """    s = cuda.shared.array(256, np.int32)
    for i in range(n):
        s[i] = i * 7919 % 1000
    for i in range(n):
        for j in range(n - i - 1):
            if s[j] > s[j + 1]:
                t = s[j]
                s[j] = s[j + 1]
                s[j + 1] = t
    for i in range(n):
        a[i] = s[i]""",
        1,
        250,
    ),
    "Collatz, 64 threads": (
        "int i = threadIdx.x, v = i + n, k = 0; while (v != 1) { v = v % 2 ? 3 * v + 1 : v / 2; k++; a[i] = k; }",
        """    i = cuda.threadIdx.x
    v = i + n
    k = 0
    while v != 1:
        v = 3 * v + 1 if v % 2 else v // 2
        k += 1
        a[i] = k""",
        64,
        1000,
    ),
    "bitonic sort, 256 threads": (
        "__shared__ int s[256]; int i = threadIdx.x; s[i] = i * 7919 % 1000; __syncthreads();"
        " for (int k = 2; k <= 256; k *= 2) for (int j = k / 2; j > 0; j /= 2) { int o = i ^ j;"
        " if (o > i && (s[i] > s[o]) == ((i & k) == 0)) { int t = s[i]; s[i] = s[o]; s[o] = t; } __syncthreads(); }"
        " a[i] = s[i];",
        """    s = cuda.shared.array(256, np.int32)
    i = cuda.threadIdx.x
    s[i] = i * 7919 % 1000
    cuda.syncthreads()
    k = 2
    while k <= 256:
        j = k // 2
        while j > 0:
            o = i ^ j
            if o > i and (s[i] > s[o]) == ((i & k) == 0):
                t = s[i]
                s[i] = s[o]
                s[o] = t
            cuda.syncthreads()
            j //= 2
        k *= 2
    a[i] = s[i]""",
        256,
        256,
    ),
    **ONE_THREAD,
}
SIMULATED = """
import time
import numpy as np
from numba import cuda
@cuda.jit
def k(a, n):
{body}
a = np.zeros(256, np.int32)
k[1, {block}](a, 4)
begin = time.process_time()
k[1, {block}](a, {n})
print(time.process_time() - begin, *a[:4])
"""


def in_lockstep(text, block, n, *, compiled):
    """Return the least of three times, and the result."""
    import numpy as np

    import smemviz
    from smemviz.engines.lockstep.ptx import scheduler
    from smemviz.engines.lockstep.ptx.host import cuda_launch

    scheduler.LONG_LAUNCH_SECONDS, scheduler._FEW_VISITS = (-1.0, 0) if compiled else (1e9, 1 << 60)
    cuda_launch._made_ready.cache_clear()
    kernel = smemviz.cuda_cpp(f"__global__ void k(int *a, int n) {{ {text} }}")["k"]
    times = []
    for _ in range(4 if compiled else 1):
        a = np.zeros(256, np.int32)
        begin = time.process_time()
        kernel[1, block](a, n)
        times.append(time.process_time() - begin)
    return times[0], min(times), a


def in_python(body, block, n, machine_code):
    """Return the first and the least time of a kernel in Python, and the result."""
    import importlib.util

    import numpy as np

    from smemviz.engines.launch_shape import configuration
    from smemviz.engines.lockstep import launch
    from smemviz.engines.options import LaunchOptions
    from smemviz.frontends.numba.python_functions import function_of

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mine.py"
        file.write_text(
            f"import numpy as np\nfrom numba import cuda\n@cuda.jit\ndef k(a, n):\n{body}\n", encoding="utf-8"
        )
        spec = importlib.util.spec_from_file_location("mine", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        function, place = function_of(module.k.py_func), (str(file), 1)
        shape, options = configuration(place, (1, block, 0, 0)), LaunchOptions(machine_code=machine_code)
        times = []
        for _ in range(4 if machine_code == "always" else 1):
            a = np.zeros(256, np.int32)
            begin = time.process_time()
            made, _ = launch(function, shape, [a, n], place, options)
            times.append(time.process_time() - begin)
    assert made.machine_code == (machine_code == "always")
    return times[0], min(times), a


def simulated(body, block, n):
    """Return the time of Numba's simulator, and the first elements of the result."""
    done = subprocess.run(
        [sys.executable, "-c", SIMULATED.format(body=body, block=block, n=n)],
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, *some = done.stdout.split()
    return float(seconds), [int(value) for value in some]


def main():
    """Print a line for each kernel in each language."""
    in_lockstep("a[threadIdx.x] = n;", 32, 1, compiled=True)  # loads what is compiled
    in_python("    a[cuda.threadIdx.x] = n", 32, 1, "always")
    print(f"{'':40}{'compiled':>10}{'the first':>11}{'by NumPy':>10}{'simulator':>11}{'NumPy/c.':>10}{'sim./c.':>9}")
    for name, (text, body, block, n) in KERNELS.items():
        of_simulator, some = simulated(body, block, n)
        made = {
            "C++": (in_lockstep(text, block, n, compiled=True), in_lockstep(text, block, n, compiled=False)),
            "Python": (in_python(body, block, n, "always"), in_python(body, block, n, "never")),
        }
        for language, ((first, compiled, a), (_, plain, b)) in made.items():
            assert (a == b).all(), name
            assert some == list(a[:4]), name
            ratios = f"{plain / compiled:10.1f}{of_simulator / compiled:9.1f}"
            row = f"{name}, {language}"
            print(f"{row:40}{compiled:9.3f}s{first:10.3f}s{plain:9.2f}s{of_simulator:10.3f}s{ratios}")


if __name__ == "__main__":
    main()
