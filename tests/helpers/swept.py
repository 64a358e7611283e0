"""A sweep with round numbers."""

from smemviz.recordings.measured import Device
from smemviz.recordings.sweep import CUBLAS, LOOPS, NUMPY, Ceiling, Clocked, Host, Point, Size, Sweep, Traffic

CARD = Device("NVIDIA Test Card", (9, 0), "600.1", "CUDA 13.0")
SIZES = (Size(64, 64, 64), Size(1024, 1024, 1024), Size(4096, 4096, 4096))
_STATE = {"SM clock": "1980 MHz"}


def clocked(microseconds: float, whole: float | None = None, compiling: float | None = None) -> Clocked:
    return Clocked(microseconds, 0.99 * microseconds, 1.01 * microseconds, 20, 4, whole, compiling)


def at_rate(kernel: str, size: Size, rate: float, tile: int | None = 32, dtype: str = "float32") -> Point:
    """Return a point with so many operations per second, that moves each element four times."""
    microseconds = size.operations / rate * 1e6
    host = kernel in (NUMPY, LOOPS)
    moved = None
    if tile:
        sectors = 4 * size.elements * 4 // 32
        moved = Traffic(sectors // 4, sectors - 64, 64, 4 * sectors, 0, 0, 1)
    time = clocked(microseconds, None if host else 2 * microseconds, None if host else 0.25)
    error = None if host else 0.0 if dtype == "int32" else 1.5e-4
    largest = None if error is None else 100.0
    return Point(kernel, size, tile, dtype, time, error, largest, moved, grid=(2, 2, 1) if tile else ())


def sweep() -> Sweep:
    """Return a sweep in which tiled runs at half and naive at a twentieth of cuBLAS."""
    points = []
    for size in SIZES:
        points += [
            at_rate("naive", size, 2.5e12),
            at_rate("tiled", size, 25e12),
            at_rate("tiled_integer", size, 20e12, dtype="int32"),
            at_rate(CUBLAS, size, 50e12, None),
            at_rate(NUMPY, size, 1e12, None),
        ]
    points.append(at_rate(LOOPS, SIZES[1], 1e9, None))
    points.append(Point(LOOPS, SIZES[2], None, "float32", None, skipped="expected to take 137 s"))
    return Sweep(
        "kernels/matmul.py", "0" * 64, "0.1.0", "2026-11-21T05:44:20+00:00", CARD,
        Host("Test Processor", 16, "NumPy 2.4.6"), "cuBLAS 13.1.0", 0.14, 10.0, _STATE,
        (
            Ceiling("memory copy", "bytes", 4e12, 3.9e12, 4.1e12, "copied", _STATE),
            Ceiling("L2 read", "bytes", 6e12, 5.9e12, 6.1e12, "read", _STATE),
            Ceiling("shared read", "bytes", 30e12, 29e12, 31e12, "loaded", _STATE),
            Ceiling("float32", "operations", 60e12, 59e12, 61e12, "multiplied", _STATE),
        ),
        tuple(points),
    )  # fmt: skip
