"""Record random kernels of both languages on this GPU and in lockstep, verify part of them, and write what differs.

    python tests/gpu/measure_random_kernels.py figures.json [kernels] [verified] [seed]

200 kernels by default, half of them in CUDA C++ and half in Python, the former in both views; 100 of them are also run
under Nsight Compute. ``apart`` are launches whose lanes make the same accesses in other groups: a GPU may let lanes
stay apart after a branch. The kernels are rich in short circuits and choices.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
TOGETHER = 10  # kernels to a file


def written(folder, language, first):
    """Write a file of kernels and return it."""
    from helpers.random_kernels import PICK, conditional_kernel, cpp_file, python_file

    before = PICK[language]
    made = [conditional_kernel(first + n, f"k{first + n}") for n in range(TOGETHER)]
    path = folder / f"random{first}.{language}"
    path.write_text(cpp_file(made, before=before) if language == "cu" else python_file(made, before=before, shows=True))
    return path


def ran(path, engine, view):
    """Return the launches of a file, and what each left."""
    import smemviz
    from smemviz.frontends.reading import read_program

    program = read_program(path).in_view(view)
    if path.suffix == ".cu":
        from smemviz.engines.gpu.ptx.cuda_on_gpu import Recorder
        from smemviz.engines.lockstep.ptx.host import cuda_in_lockstep
        from smemviz.engines.lockstep.ptx.host.cuda_launch import launch

        left: list[object] = []
        make = Recorder().launch if engine == "gpu" else launch
        launches, _ = cuda_in_lockstep.run(program, make=make, after=lambda kernel, args: left.append(args[0].tolist()))
        return launches, left
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        launches = smemviz.run(program, engine=engine).launches
    return launches, list(printed.getvalue().splitlines())


def requests(launch):
    """Count the requests of a launch: block, warp, site, and for each lane the array and its offset there."""
    from smemviz.model.layout.array_requests import relative_addresses

    arrays, offsets = relative_addresses(launch)
    of = launch.requests
    return Counter(
        (int(block), int(warp), int(site), *zip(one.tolist(), two.tolist(), strict=True))
        for block, warp, site, one, two in zip(of.block, of.warp, of.site, arrays, offsets, strict=True)
    )


def lanes(launch):
    """Count the accesses of a launch lane by lane, however they were grouped."""
    found: Counter[Any] = Counter()
    for (block, warp, site, *each), times in requests(launch).items():
        for lane, at in enumerate(each):
            if at[0] >= 0:
                found[block, warp, site, lane, at] += times
    return found


def differences(path, view):
    """Give each kernel of a file with what its two recordings are: equal, apart or different."""
    (ours, left), (theirs, other) = ran(path, "gpu", view), ran(path, "lockstep", view)
    for one, two, kept, expected in zip(ours, theirs, left, other, strict=True):
        assert one.kernel == two.kernel
        if kept != expected:
            yield one.kernel, "other results"
        elif requests(one) == requests(two):
            yield one.kernel, "equal"
        else:
            yield one.kernel, "apart" if lanes(one) == lanes(two) else "other requests"


def compared(job):
    """Compare one file in one view."""
    path, view = Path(job[0]), job[1]
    try:
        found = list(differences(path, view))
    except Exception as error:  # one file does not take the others with it
        return [{"file": path.name, "view": view, "kernel": "", "is": f"{type(error).__name__}: {error}"[:300]}]
    return [{"file": path.name, "view": view, "kernel": kernel, "is": what} for kernel, what in found]


def verified(job):
    """Verify one file in one view, site by site, and keep what Nsight Compute printed."""
    import smemviz
    from smemviz.frontends.reading import read_program
    from smemviz.measure.ncu.counters import find_ncu
    from smemviz.measure.ncu.verify import verify

    path, view, _ = Path(job[0]), job[1], job[2]
    try:
        program = read_program(path).in_view(view)
        with contextlib.redirect_stdout(io.StringIO()):
            recording = smemviz.run(program, engine="gpu")
            recording, _ = verify(program, {}, recording, find_ncu(), lambda *_: None)
    except Exception as error:
        return [{"file": path.name, "view": view, "kernel": "", "is": f"{type(error).__name__}: {error}"[:300]}]
    cc = recording.device.compute_capability
    found = []
    for launch in recording.launches:
        for site, row, counted in zip(launch.sites, launch.hardware, launch.summary(cc), strict=True):
            pair = [counted.wavefronts if site.space == "shared" else counted.sectors]
            pair.append(row.wavefronts if site.space == "shared" else row.sectors)
            found.append({
                "file": path.name, "view": view, "kernel": launch.kernel, "is": row.verdict,
                "site": f"{site.op} {site.source} line {site.line}", "because": row.because, "counts": str(pair),
            })  # fmt: skip
        found += [
            {"file": path.name, "view": view, "kernel": launch.kernel, "is": "unaccounted", "because": one}
            for one in launch.unaccounted
        ]
    return found


def main(path, total="200", ncu="100", first="0"):
    """Compare them all, verify some, and write what was found."""
    begin = time.time()
    files = max(1, int(total) // TOGETHER // 2)
    checked = max(0, int(ncu) // TOGETHER // 2)
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(max(1, min(14, os.cpu_count() or 1)), mp_context=get_context("spawn")) as pool,
    ):
        starts = [int(first) + TOGETHER * n for n in range(2 * files)]
        made = {language: [written(Path(folder), language, seed) for seed in own]
                for language, own in (("cu", starts[:files]), ("py", starts[files:]))}  # fmt: skip
        cpp = [(str(one), view, "") for one in made["cu"] for view in ("source", "compiled")]
        jobs = [(str(one), "source", "") for one in made["py"]] + cpp
        recordings = [row for rows in pool.map(compared, jobs) for row in rows]
        recorded = time.time() - begin
        jobs = [(str(one), "source", "") for one in made["py"][:checked]]
        jobs += [(str(one), ("source", "compiled")[n % 2], "") for n, one in enumerate(made["cu"][:checked])]
        verdicts = [row for rows in pool.map(verified, jobs) for row in rows]
    report = {
        "kernels": 2 * files * TOGETHER,
        "seconds": [round(recorded, 1), round(time.time() - begin - recorded, 1)],
        "recorded": counted(recordings),
        "verified": counted(verdicts),
        "differences": [row for row in recordings if row["is"] != "equal"],
        "not_agreeing": [row for row in verdicts if row["is"] != "agrees"],
    }
    Path(path).write_text(json.dumps(report, indent=1), encoding="utf-8")
    print(json.dumps({name: value for name, value in report.items() if not isinstance(value, list)}, indent=1))
    for row in report["differences"][:20]:
        print(row)
    for row in report["not_agreeing"]:
        if row["is"] not in ("explained", "inflated"):
            print(row)


def counted(rows):
    """Count by language, view and what was found."""
    return dict(sorted(Counter(f"{Path(row['file']).suffix[1:]} {row['view']}: {row['is']}" for row in rows).items()))


if __name__ == "__main__":
    main(*sys.argv[1:])
