"""The times of a sweep over sizes, for a launch with constants that the recording does not have."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from smemviz.frontends.numba.digests import digests
from smemviz.frontends.numba.program import Program
from smemviz.paths import sweep_for
from smemviz.recordings.sweep import SIZE_CONSTANTS, Point, Size, Sweep, load_sweep


def swept(path: Path, program: Program, kernel: str) -> tuple[Sweep, Point] | None:
    """Return what a sweep of the file measured of a kernel with these constants, None where it did not."""
    file = sweep_for(path)
    varied = (*SIZE_CONSTANTS, "TILE")
    if file is None or not set(program.overrides) <= set(varied) or not set(varied) <= program.constants.keys():
        return None
    sweep = _read(file, file.stat().st_mtime_ns)
    if sweep.kernels.get(kernel) != digests(program).get(kernel):
        return None
    m, k, n, tile = (int(str(program.values[name])) for name in varied)
    named = (point for point in sweep.points if point.kernel == kernel and point.time)
    return next(((sweep, point) for point in named if (point.size, point.tile) == (Size(m, k, n), tile)), None)


@lru_cache(maxsize=4)
def _read(file: Path, _changed: int) -> Sweep:
    return load_sweep(file)
