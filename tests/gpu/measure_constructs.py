"""Run every construct of tests/data/constructs.json on this GPU and in lockstep, and write where they differ.

    python tests/gpu/measure_constructs.py found.json

``numba`` of a row is the error with which Numba refuses it on this machine, empty where it runs.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]


def on_the_gpu(source: str) -> list[float]:
    """Return what a kernel leaves on the device."""
    from helpers.constructs import arguments

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mine.py"
        file.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("mine", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        given = arguments()
        module.kernel[1, 8](*given)
    return given[2].tolist()


def in_lockstep(text: str) -> list[float]:
    """Return what it leaves in lockstep."""
    from helpers.constructs import arguments
    from helpers.lockstep_text import launch_text

    given = arguments()
    launch_text(text, *given, block=8)
    return given[2].tolist()


def compared(row: dict) -> dict:
    """Return what both leave of a construct, or their errors."""
    from helpers.constructs import Construct

    one = Construct(**row)
    found: dict[str, object] = {"name": one.name, "numba": "", "says": ""}
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            found["gpu"] = on_the_gpu(one.source)
        except BaseException as error:  # Numba's are of many kinds
            found["numba"] = f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
        try:
            found["lockstep"] = in_lockstep(one.text)
        except Exception as error:
            found["says"] = str(error)
    both = "gpu" in found and "lockstep" in found
    found["same"] = not both or np.allclose(found["gpu"], found["lockstep"], rtol=1e-6, atol=1e-7, equal_nan=True)
    return found


def main(path: str) -> None:
    """Compare them all."""
    rows = json.loads((ROOT / "tests" / "data" / "constructs.json").read_text(encoding="utf-8"))
    workers = max(1, min(12, os.cpu_count() or 1))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(compared, rows))
    failed = [k for k, one in enumerate(found) if one["numba"].startswith("CUDAError")]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        again = pool.map(compared, [rows[k] for k in failed])  # a kernel that fails takes its process's context with it
        for k, one in zip(failed, again, strict=True):
            found[k] = one
    Path(path).write_text(json.dumps(found, indent=0), encoding="utf-8")
    wrong = [one for one in found if not one["same"]]
    print(len(found), "constructs;", sum("gpu" in one for one in found), "run on the GPU;", len(wrong), "differ")
    for one in wrong:
        print(json.dumps(one))


if __name__ == "__main__":
    main(*sys.argv[1:])
