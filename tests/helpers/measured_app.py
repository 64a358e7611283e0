"""A dashboard on kernel files whose recordings have times and verdicts with known numbers."""

import json
import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path

from helpers.measured import MEDIANS, measured_recording, timing
from smemviz.paths import kernels_dir
from smemviz.recordings.measured import Device

HERE = Device("NVIDIA Test Card", (9, 0), "600.1", "CUDA 13.0")


def write_gallery(folder: Path) -> list[Path]:
    """Write square.py with its recording, and reverse.py without one; return their paths."""
    (folder / "recordings" / "h200").mkdir(parents=True)
    for name in ("square.py", "reverse.py"):
        shutil.copy(kernels_dir() / name, folder / name)
    recording = measured_recording()
    rows = list(recording["set_row_read_row"].hardware)
    rows[1] = replace(rows[1], requests=8, wavefronts=8, ideal=8, verdict="explained", because="4 loads became 1")
    launches = tuple(
        replace(launch, hardware=tuple(rows), unaccounted=("square.py:30: LDS belongs to no access",))
        if launch.kernel == "set_row_read_row"
        else launch
        for launch in recording.launches
    )
    replace(recording, launches=launches).save(folder / "recordings" / "h200" / "square.smem.npz")
    return [folder / "square.py", folder / "reverse.py"]


def time_json(kernels: list[str], median: float) -> str:
    """Write what ``smemviz time --json`` prints, the same median for every kernel."""
    launches = [{"kernel": kernel, "time": asdict(timing(median))} for kernel in kernels]
    return json.dumps({"schema": 1, "device": asdict(HERE), "launches": launches})


def printing(text: str, *, seconds: float = 0.0, until: Path | None = None, said: str = "") -> list[str]:
    """Return a command that says something, takes its time or waits until a file is there, and prints."""
    code = """
import pathlib, sys, time
print(sys.argv[1], file=sys.stderr, flush=True)
time.sleep(float(sys.argv[2]))
while not pathlib.Path(sys.argv[3]).exists():
    time.sleep(0.05)
print(sys.argv[4])
"""
    return [sys.executable, "-c", code, said, str(seconds), str(until or Path.cwd()), text]


SQUARE = list(MEDIANS)
