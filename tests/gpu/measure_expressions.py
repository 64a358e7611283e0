"""Compute random typed expressions on this GPU and in lockstep, and write every difference.

    python tests/gpu/measure_expressions.py differences.json [expressions] [seed]

10,000 of them by default, 100 to a kernel, in several processes. Values are equal bit by bit or both NaN; the last step
of some is a transcendental function, which may be off by two in the last place. What a float that no int64 holds leaves
in an array of those is left open and not compared. ``refused`` are those that Numba, or lockstep, or both refuse, with
their errors. Of 10,000 with the first seed 1000, 9,954 were computed on an H200, and none differed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

LAST_PLACES = 2
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
TOGETHER = 100


def on_the_gpu(text: str, arrays: list[np.ndarray], shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return what a kernel leaves in its two results on the device."""
    from helpers.lockstep_text import HEAD

    scope: dict[str, object] = {}
    exec(HEAD + text, scope)
    whole, real = np.zeros(shape, np.int64), np.zeros(shape)
    scope["kernel"][1, shape[1]](*arrays, whole, real)
    return whole, real


def in_lockstep(text: str, arrays: list[np.ndarray], shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return what a kernel leaves in its two results in lockstep."""
    from helpers.lockstep_text import launch_text

    whole, real = np.zeros(shape, np.int64), np.zeros(shape)
    launch_text(text, *arrays, whole, real, block=shape[1])
    return whole, real


def same(ours: np.ndarray, theirs: np.ndarray, *, rough: bool) -> np.ndarray:
    """Tell which floats are equal, in all their bits unless ``rough``."""
    fine = (ours.view(np.int64) == theirs.view(np.int64)) | (np.isnan(ours) & np.isnan(theirs))
    if rough:
        # In float32 where both are such numbers: most functions are of that type or of float64.
        single = (ours == ours.astype(np.float32)) & (theirs == theirs.astype(np.float32))
        step = np.where(single, np.spacing(np.abs(theirs).astype(np.float32)), np.spacing(np.abs(theirs)))
        fine |= np.abs(ours - theirs) <= LAST_PLACES * step
    return fine


def compared(job: tuple[int, int]) -> dict[str, list]:
    """Compare the expressions of one seed."""
    from helpers.typed_expressions import expressions, inputs

    seed, count = job
    arrays = inputs(seed)
    found: dict[str, list] = {"computed": [], "refused": [], "differences": []}
    fine = []
    for one in expressions(seed, count, device=True):
        error = _refusal(in_lockstep, [one], arrays)
        if not error:
            fine.append(one)
        else:
            by_numba = _refusal(on_the_gpu, [one], arrays)
            found["refused"].append({"lines": one.lines, "lockstep": error, "numba": by_numba, "seed": seed})
    groups = [fine]
    while groups:
        made = groups.pop()
        try:
            differences = _differences(made, arrays)
        except Exception as error:  # of typing, see _refusal
            if len(made) > 1:
                groups += [made[: len(made) // 2], made[len(made) // 2 :]]
            else:
                found["refused"].append(
                    {"lines": made[0].lines, "lockstep": "", "numba": str(error)[:300], "seed": seed}
                )
            continue
        found["computed"] += [one.name for one in made]
        found["differences"] += [{"seed": seed, **different} for different in differences]
    return found


def _refusal(run: Callable, made: list, arrays: dict[str, np.ndarray]) -> str:
    """Return with which error expressions are refused; empty where they are computed."""
    try:
        _run(run, made, arrays)
    except Exception as error:  # of typing: Numba's and lockstep's are of many kinds
        return f"{type(error).__name__}: {error}"[:300]
    return ""


def _run(run: Callable, made: list, arrays: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    from helpers.typed_expressions import ELEMENTS, kernel_text

    with np.errstate(all="ignore"):
        return run(kernel_text(made), list(arrays.values()), (len(made), ELEMENTS))


def _differences(made: list, arrays: dict[str, np.ndarray]) -> list[dict[str, object]]:
    """Return the expressions whose values differ, each with the first of them."""
    (whole, real), (our_whole, our_real) = _run(on_the_gpu, made, arrays), _run(in_lockstep, made, arrays)
    found: list[dict[str, object]] = []
    for row, one in enumerate(made):
        with np.errstate(all="ignore"):
            fine = same(our_real[row], real[row], rough=one.rough)
        open_ = ~(np.abs(real[row]) < 2.0**63)
        fine &= (our_whole[row] == whole[row]) | one.rough | open_
        if not fine.all():
            at = int(np.argmin(fine))
            found.append(
                {
                    "lines": one.lines,
                    "of": {name: str(array[at]) for name, array in arrays.items() if f"a_{name}[" in str(one.lines)},
                    "gpu": [str(whole[row, at]), float(real[row, at]).hex()],
                    "lockstep": [str(our_whole[row, at]), float(our_real[row, at]).hex()],
                    "elements": int(np.count_nonzero(~fine)),
                    "rough": one.rough,
                }
            )
    return found


def main(path: str, total: str = "10000", first: str = "0") -> None:
    """Compare them all and write what was found."""
    begin = time.time()
    jobs = [(int(first) + k, TOGETHER) for k in range(-(-int(total) // TOGETHER))]
    with ProcessPoolExecutor(max(1, min(12, os.cpu_count() or 1)), mp_context=get_context("spawn")) as pool:
        results = list(pool.map(compared, jobs))
    report = {
        "expressions": len(jobs) * TOGETHER,
        "computed": sum(len(one["computed"]) for one in results),
        "seconds": round(time.time() - begin, 1),
        "differences": [different for one in results for different in one["differences"]],
        "refused": [refused for one in results for refused in one["refused"]],
    }
    Path(path).write_text(json.dumps(report, indent=1), encoding="utf-8")
    counts = {name: len(value) if isinstance(value, list) else value for name, value in report.items()}
    print(json.dumps(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
