"""The same product by others: cuBLAS through CuPy or PyTorch, where they are installed; NumPy; three nested loops."""

import importlib
import importlib.util
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np

from smemviz.measure.time.statistics import spread
from smemviz.messages import english
from smemviz.recordings.sweep import Clocked, Host

Multiply = Callable[[Any, Any, Any, Any], None]

MISSING = english("neither CuPy nor PyTorch is installed, so there is no cuBLAS to compare with")
_SECONDS = 0.3
_MAX_SAMPLES = 20


@dataclass(frozen=True)
class Blas:
    """``multiply(c, a, b, stream)`` issues c = a b on device arrays of float32; ``name`` says which cuBLAS.

    ``captured`` tells whether that can be captured into a graph.
    """

    name: str
    multiply: Multiply
    captured: bool


def find_blas() -> Blas | None:
    """Return cuBLAS as PyTorch or CuPy calls it, None where neither is installed."""
    if importlib.util.find_spec("torch") is not None:
        return _through_torch()
    if importlib.util.find_spec("cupy") is not None:
        return _through_cupy()
    return None


def _through_cupy() -> Blas:
    cupy = importlib.import_module("cupy")

    def multiply(c: Any, a: Any, b: Any, stream: Any) -> None:
        with cupy.cuda.ExternalStream(int(stream)):
            cupy.dot(cupy.asarray(a), cupy.asarray(b), out=cupy.asarray(c))

    # CuPy 14 refuses to call cuBLAS under capture (NotImplementedError).
    number = cupy.cuda.cublas.getVersion(cupy.cuda.device.get_cublas_handle())
    version = f"{number // 10000}.{number // 100 % 100}.{number % 100}"  # 130200 is 13.2.0
    return Blas(f"cuBLAS {version} through CuPy {cupy.__version__}", multiply, captured=False)


def _through_torch() -> Blas:
    torch = importlib.import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = False  # float32 throughout, as the kernels

    def multiply(c: Any, a: Any, b: Any, stream: Any) -> None:
        with torch.cuda.stream(torch.cuda.ExternalStream(int(stream))):
            torch.mm(*(torch.as_tensor(x, device="cuda") for x in (a, b)), out=torch.as_tensor(c, device="cuda"))

    return Blas(f"cuBLAS of CUDA {torch.version.cuda} through PyTorch {torch.__version__}", multiply, captured=True)


def describe_host() -> Host:
    """Describe the machine's processor, the cores this process may use, and NumPy."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Host(_processor(), cores, f"NumPy {np.__version__} with {blas['name']} {blas['version']}")


def by_numpy(a: Any, b: Any) -> tuple[Clocked, Any]:
    """Time ``a @ b``, and return the product with its time."""
    c = a @ b
    return _clocked(lambda: np.matmul(a, b, out=c)), c


def by_loops(a: Any, b: Any) -> tuple[Clocked, Any]:
    """Time three nested loops over rows, columns and the sum, compiled, on one core; return the product, too."""
    c = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    return _clocked(lambda: _three_loops(c, a, b)), c


def loops_expected(a: Any, b: Any) -> float:
    """Return how many seconds the three loops will take, by the time for one row."""
    c = np.zeros((1, b.shape[1]), a.dtype)
    _three_loops(c, a[:1], b)  # compiles
    began = time.perf_counter()
    _three_loops(c, a[:1], b)
    return (time.perf_counter() - began) * len(a)


@numba.njit  # type: ignore[untyped-decorator]
def _three_loops(c: Any, a: Any, b: Any) -> None:
    for row in range(c.shape[0]):
        for column in range(c.shape[1]):
            c[row, column] = 0
            total = c[row, column]  # of the type of c
            for k in range(a.shape[1]):
                total += a[row, k] * b[k, column]
            c[row, column] = total


def _clocked(call: Any) -> Clocked:
    samples: list[float] = []
    start = time.perf_counter()
    while not samples or (time.perf_counter() - start < _SECONDS and len(samples) < _MAX_SAMPLES):
        began = time.perf_counter()
        call()
        samples.append((time.perf_counter() - began) * 1e6)
    times = spread(samples)
    return Clocked(times.median, times.low, times.high, len(samples), 1)


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
