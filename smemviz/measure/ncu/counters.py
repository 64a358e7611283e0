"""Running the clean kernels of a kernel file under Nsight Compute, and reading what it counted."""

import csv
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from smemviz.engines.options import Progress
from smemviz.errors import InputError, MissingError
from smemviz.measure.ncu.sass import Instruction, function_name, read_listings
from smemviz.messages import english

MAX_SECONDS = 1800.0
_WAVEFRONTS = "data_pipe_lsu_wavefronts_mem_shared_op"
_MEMORY_OPS = ("ld", "st", "atom", "red")
METRICS = (
    *(f"smsp__sass_l1tex_{_WAVEFRONTS}_{op}.sum" for op in _MEMORY_OPS[:3]),
    *(f"l1tex__{_WAVEFRONTS}_{op}.sum" for op in _MEMORY_OPS[:3]),
    *(f"smsp__inst_executed_op_shared_{op}.sum" for op in _MEMORY_OPS[:3]),
    *(f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum" for what in ("sectors", "requests") for op in _MEMORY_OPS),
    "gpu__time_duration.sum",
)
# Totals of the section SourceCounters over the instructions of a launch, those without a source line included.
TOTALS = (
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "memory_l2_theoretical_sectors_global",
)
_COLLECT = (
    *("--clock-control", "none", "--cache-control", "none"),
    *("--metrics", ",".join(METRICS)),
    *("--section", "SourceCounters", "--import-source", "yes"),
)
_PRINT = ("--csv", "--print-units", "base")
_FOLDERS = ("/usr/local/cuda*/bin", "/opt/nvidia/nsight-compute/*", "/usr/lib/nsight-compute")

_NOT_INSTALLED = english(
    "Nsight Compute (ncu) is not installed here; it comes with the CUDA toolkit, "
    "or alone from https://developer.nvidia.com/nsight-compute"
)
_NOT_PERMITTED = english(
    "Nsight Compute may not read this GPU's counters (ERR_NVGPUCTRPERM); run as root, or let an administrator load "
    "the driver with NVreg_RestrictProfilingToAdminUsers=0: https://developer.nvidia.com/ERR_NVGPUCTRPERM"
)
_NOT_LOADED = english(
    "Nsight Compute cannot load the driver's profiling library (LibraryNotLoaded); "
    "it needs a driver and, in a container, access to the GPU that allow profiling"
)


@dataclass(frozen=True)
class ProfiledLaunch:
    """What Nsight Compute counted in one launch: its memory instructions, and metrics of the whole of it by name."""

    kernel: str
    instructions: tuple[Instruction, ...]
    metrics: Mapping[str, float]


def find_ncu() -> Path:
    """Return Nsight Compute's command line: on the PATH, or where NVIDIA's installers put it, the newest first.

    Raises:
        MissingError: when there is none.
    """
    program = shutil.which("ncu")
    if program:
        return Path(program)
    for folder in _FOLDERS:
        installed = [p / "ncu" for p in Path("/").glob(folder[1:]) if os.access(p / "ncu", os.X_OK)]
        if installed:
            return max(installed, key=lambda path: [int(part) for part in re.findall(r"\d+", str(path))])
    raise MissingError(_NOT_INSTALLED)


def profile(
    ncu: Path, file: Path, settings: Mapping[str, object], kernels: Sequence[str], progress: Progress | None = None
) -> tuple[ProfiledLaunch, ...]:
    """Run what a kernel file launches under Nsight Compute and return its launches, which must be of ``kernels``.

    Raises:
        MissingError: when Nsight Compute is not permitted to count here.
        InputError: when the kernel file fails under it, takes too long, or launches other kernels than named.
    """
    with tempfile.TemporaryDirectory(prefix="smemviz-") as folder:
        report = Path(folder, "clean.ncu-rep")
        program = [sys.executable, "-m", "smemviz.measure.ncu.clean", folder, str(file)]
        program += [f"{name}={value}" for name, value in settings.items()]
        _collect([str(ncu), *_COLLECT, "-o", str(report), *program], len(kernels), progress)
        if not report.exists():
            raise InputError(f"{file}: launched no kernel that Nsight Compute could see")
        read = [str(ncu), "-i", str(report), *_PRINT, "--page"]
        raw = _output([*read, "raw"])
        source = _output([*read, "source", "--print-source", "cuda,sass"])
    return read_launches(raw, source, kernels, str(file))


def read_launches(raw: str, source: str, kernels: Sequence[str], file: str) -> tuple[ProfiledLaunch, ...]:
    """Return the launches of ``kernels``, in that order, from the texts of Nsight Compute's pages raw and source.

    Other kernels may have run between them, those of a library for instance; they are left out.

    Raises:
        InputError: when one of the launches is not there.
    """
    metrics = iter(_read_raw(raw))
    listings = iter((function_name(listing.kernel), listing) for listing in read_listings(source))
    launches = []
    for kernel in kernels:
        plain = function_name(kernel)
        counted = next((values for name, values in metrics if name == plain), None)
        listing = next((candidate for name, candidate in listings if name == plain), None)
        if counted is None or listing is None:
            raise InputError(
                f"{file}: main() launched other kernels under Nsight Compute than when it was recorded: {kernel} is "
                "missing; make what it launches independent of time and chance"
            )
        launches.append(ProfiledLaunch(kernel, listing.instructions, counted))
    return tuple(launches)


def _read_raw(text: str) -> list[tuple[str, dict[str, float]]]:
    """Return the kernel's name and the metrics of each launch; one that has no value is left out."""
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    if not rows or "Kernel Name" not in rows[0]:
        raise InputError(f"Nsight Compute printed no counters but: {text.strip()[:120]}")
    launches = []
    for row in rows[2:]:  # after the names and the units
        cells = dict(zip(rows[0], row, strict=True))
        values = {name: cells.get(name, "").replace(",", "") for name in METRICS + TOTALS}
        known = {name: float(value) for name, value in values.items() if re.fullmatch(r"\d+(\.\d+)?", value)}
        launches.append((function_name(cells["Kernel Name"]), known))
    return launches


def _collect(command: Sequence[str], total: int, progress: Progress | None) -> None:
    environment = os.environ | {"NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0"}
    done = 0
    last: deque[str] = deque(maxlen=40)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
    ) as process:
        timer = threading.Timer(MAX_SECONDS, process.kill)
        timer.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                last.append(line.strip())
                name = re.match(r'==PROF== Profiling "(\w+)', line)
                if name and progress:
                    progress(done, max(total, done + 1), f"{name[1]} under Nsight Compute")
                done += bool(name)
            code = process.wait()
            stopped = not timer.is_alive()
        except BaseException:
            process.kill()
            raise
        finally:
            timer.cancel()
    if stopped:
        raise InputError(
            english("Nsight Compute did not finish within {seconds:.0f} s; launch less in main()", seconds=MAX_SECONDS)
        )
    if code:
        raise failure("\n".join(last))


def failure(output: str) -> InputError | MissingError:
    """Return the error that a failed run of Nsight Compute stands for, by what it printed."""
    if "ERR_NVGPUCTRPERM" in output:
        return MissingError(_NOT_PERMITTED)
    if "LibraryNotLoaded" in output:
        return MissingError(_NOT_LOADED)
    own = [line.removeprefix("smemviz: ") for line in output.splitlines() if line.startswith("smemviz: ")]
    lines = own or [line for line in output.splitlines() if line.startswith("==ERROR==")] or output.splitlines()
    if not lines:
        return InputError(english("under Nsight Compute: it stopped without a message"))
    return InputError(english("under Nsight Compute: {what}", what=lines[-1]))


def _output(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=MAX_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            english("Nsight Compute did not print its report within {seconds:.0f} s", seconds=MAX_SECONDS)
        ) from None
    if done.returncode:
        raise failure(done.stdout + done.stderr)
    return done.stdout
