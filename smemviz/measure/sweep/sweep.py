"""The matrix products of a kernel file over sizes: time, error, traffic; beside cuBLAS, NumPy and plain loops.

``main()`` says how each kernel is launched for a size. The launch is then repeated with matrices of our own, random
numbers instead of the small whole ones that make a check exact; ``main()`` finds its own arrays as it left them.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from numba import cuda

from smemviz.engines.backend import gpu_engine
from smemviz.engines.options import Progress
from smemviz.errors import KernelFileError
from smemviz.frontends.program import Program, digests
from smemviz.measure.meters import meter_of
from smemviz.measure.sweep.blas import MISSING, by_loops, by_numpy, describe_host, find_blas, loops_expected
from smemviz.measure.sweep.ceilings import measure_ceilings
from smemviz.measure.sweep.launches import Job, Matrices, Measure, clocked, whole_us
from smemviz.measure.time.conditions import conditions
from smemviz.measure.time.replays import queued, replayed
from smemviz.recordings.sweep import CUBLAS, LOOPS, NUMPY, SIZE_CONSTANTS, Point, Size, Sweep
from smemviz.version import __version__

_FLOAT32 = np.dtype(np.float32)
_START_UP = """
import time
from numba import cuda
began = time.perf_counter()
cuda.current_context()
print(time.perf_counter() - began)
"""


def sweep(
    program: Program,
    sizes: Sequence[Size],
    limit_s: float,
    progress: Progress | None = None,
) -> Sweep:
    """Measure every kernel of a file at every size.

    Args:
        program: a kernel file with constants M, K and N, whose kernels take ``(c, a, b)``.
        sizes: what to multiply; the smallest is measured first, for the larger ones are foretold from it.
        limit_s: a point that is expected to take longer is skipped, and says so.
        progress: called as ``progress(done, total, text)``.

    Raises:
        MissingError: when there is no GPU.
    """
    card = gpu_engine().device()
    start_up = _start_up_seconds()
    blas = find_blas()
    ordered = sorted(set(sizes), key=lambda size: size.operations)
    job = Job(limit_s, blas, progress, len(ordered) * (len(program.kernels) + 3) + 1)
    job.step("ceilings")
    ceilings = measure_ceilings()
    for size in ordered:
        _measure(job, program, size)
    return Sweep(
        file=program.file,
        sha256=program.sha256,
        version=__version__,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        device=card,
        host=describe_host(),
        library=blas.name if blas else MISSING,
        start_up_s=start_up,
        limit_s=limit_s,
        conditions=conditions(),
        ceilings=ceilings,
        points=tuple(job.points),
        notes=tuple(job.notes),
        kernels=digests(program),
    )


def _start_up_seconds() -> float:
    """Return how long a fresh process takes to get hold of the card, Python's imports not counted."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", _START_UP], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def _measure(job: Job, program: Program, size: Size) -> None:
    """Measure everything at one size; a ``main()`` that fails is noted."""
    sized = program.with_constants(dict(zip(SIZE_CONSTANTS, (size.m, size.k, size.n), strict=True)))
    matrices = Matrices()
    try:
        meter_of(sized, "sweep").measure_products(sized, Measure(job, sized, size, matrices))
    except KernelFileError as error:
        job.notes.append(f"{size.name}: {error.what}")
    _cublas(job, size, matrices)
    _host(job, size, matrices)


def _cublas(job: Job, size: Size, matrices: Matrices) -> None:
    job.step(f"{CUBLAS} {size.name}")
    if job.blas is None:
        return
    a, b = matrices.on_device((size.m, size.k), (size.k, size.n), _FLOAT32)
    c = cuda.device_array((size.m, size.n), _FLOAT32)
    multiply = job.blas.multiply
    began = time.perf_counter()
    multiply(c, a, b, cuda.default_stream())
    cuda.synchronize()
    first = time.perf_counter() - began
    stream = cuda.stream()  # cuBLAS takes its room for a stream at the first call on it, not under capture
    multiply(c, a, b, stream)
    timed = (replayed if job.blas.captured else queued)(lambda stream: multiply(c, a, b, stream))
    whole = whole_us(lambda c, a, b: multiply(c, a, b, cuda.default_stream()), c, a, b)
    error, largest = matrices.error(c.copy_to_host(), a, b)
    job.points.append(Point(CUBLAS, size, None, "float32", clocked(timed, whole, first), error, largest))


def _host(job: Job, size: Size, matrices: Matrices) -> None:
    a, b = matrices.on_host((size.m, size.k), (size.k, size.n), _FLOAT32)
    job.step(f"{NUMPY} {size.name}")
    time, c = by_numpy(a, b)
    job.points.append(Point(NUMPY, size, None, "float32", time, *matrices.error(c, a, b)))
    job.step(f"{LOOPS} {size.name}")
    expected = loops_expected(a, b)
    if expected > job.limit_s:
        job.points.append(Point(LOOPS, size, None, "float32", None, skipped=job.too_long(expected)))
        return
    time, c = by_loops(a, b)
    job.points.append(Point(LOOPS, size, None, "float32", time, *matrices.error(c, a, b)))
