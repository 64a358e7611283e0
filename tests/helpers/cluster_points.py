"""What is done for a point, where the processes of a cluster can import it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from smemviz.errors import KernelFileError


def gpu_of(point: int) -> tuple[int, str]:
    time.sleep(0.3)
    return point, os.environ["CUDA_VISIBLE_DEVICES"]


def die_once(point: int, folder: Path) -> int:
    """End the process the first time that the second point is worked on."""
    if point == 1 and not (folder / "died").exists():
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return point


def die(point: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(point: int) -> None:
    raise KernelFileError("mine.py", point, "does not do")


def read(file: Path) -> str:
    return file.read_text()
