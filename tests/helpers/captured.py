"""Launches recorded and profiled on an H200 (driver 580.159, Nsight Compute 2025.3), checked in under tests/data/ncu.

``NAME.smem.npz`` is what was recorded, ``NAME.raw.csv`` and ``NAME.source.csv`` are what Nsight Compute printed, less
the columns and instructions nothing reads. ``crowded`` is traffic.py with SIZE=2048 and a log of 1 MiB.
"""

from functools import cache
from pathlib import Path

from smemviz.measure.ncu.counters import ProfiledLaunch, read_launches
from smemviz.measure.ncu.reconcile import Reconciled, reconcile
from smemviz.recordings.data import Launch
from smemviz.recordings.file import load
from smemviz.recordings.measured import SiteHardware
from smemviz.recordings.recording import Recording

FOLDER = Path(__file__).parents[1] / "data" / "ncu"
NAMES = ("merged", "removed", "atomics", "calls", "tiles", "crowded", "square", "unrolled", "sunk")


def text(name: str) -> str:
    """Return a file of the folder."""
    return (FOLDER / name).read_text()


@cache
def recording(name: str) -> Recording:
    """Return what was recorded."""
    return load(FOLDER / f"{name}.smem.npz")


@cache
def profiled(name: str) -> tuple[ProfiledLaunch, ...]:
    """Return what was counted, one for each recorded launch."""
    kernels = [launch.kernel for launch in recording(name).launches]
    return read_launches(text(f"{name}.raw.csv"), text(f"{name}.source.csv"), kernels, name)


def pair(name: str, kernel: str) -> tuple[Launch, ProfiledLaunch]:
    """Return a launch, recorded and counted."""
    launches = recording(name).launches
    index = [launch.kernel for launch in launches].index(kernel)
    return launches[index], profiled(name)[index]


def reconciled(name: str, launch: Launch, counted: ProfiledLaunch) -> Reconciled:
    """Reconcile a launch, perhaps a changed one."""
    return reconcile(launch, counted, recording(name).source, recording(name).file, (9, 0))


def rows(name: str, kernel: str) -> dict[tuple[int, str, str], list[SiteHardware]]:
    """Return the verdicts of a kernel by line, source and operation."""
    launch, counted = pair(name, kernel)
    found: dict[tuple[int, str, str], list[SiteHardware]] = {}
    for site, row in zip(launch.sites, reconciled(name, launch, counted).hardware, strict=True):
        found.setdefault((site.line, site.source, site.op), []).append(row)
    return found
