"""Run the small kernels of Hopper on this GPU; write what they leave, and under Nsight Compute what is counted of them.

    python tests/gpu/measure_hopper.py results results.npz
    python tests/gpu/measure_hopper.py counters counters.csv [LABEL...]

The file of counters has those metrics of which a launch makes more, or fewer, than one without what is measured.
"""

import csv
import ctypes
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from helpers.hopper_cases import TensorMap, cases  # noqa: E402
from helpers.hopper_kernels import source  # noqa: E402

FOLDER = Path("/tmp/hopper")
WORDS = (
    r"shared|dsmem|lsuin|data_bank|data_pipe|gmma|tma|bulk|matrix|pipe_tensor|inst_executed_op|lsu_mem|l1tex__m_|"
    r"idx_|ublkcp|async|lsu_wavefronts|inst_executed_pipe"
)
SWIZZLES = {16: 0, 32: 1, 64: 2, 128: 3}
TYPES = {
    np.dtype("u1"): 0,
    np.dtype("u2"): 1,
    np.dtype("u4"): 2,
    np.dtype("i4"): 3,
    np.dtype("f2"): 6,
    np.dtype("f4"): 7,
}
BF16 = 9


def compiled():
    """Return the kernels as machine code."""
    FOLDER.mkdir(exist_ok=True)
    text, made = FOLDER / "kernels.cu", FOLDER / "kernels.cubin"
    if not made.exists():
        text.write_text(source(), encoding="utf-8")
        target = ("-gencode", "arch=compute_90a,code=sm_90a", "-cubin", "-w")
        subprocess.run(["nvcc", *target, "-o", str(made), str(text)], check=True, capture_output=True)
    return made


def encoded(tensor, address):
    """Return the 128 bytes of a tensor map, as the driver makes them."""
    driver = ctypes.CDLL("libcuda.so.1")
    made = (ctypes.c_uint64 * 32)()
    start = -(-ctypes.addressof(made) // 64) * 64
    sizes = tensor.data.shape[::-1]
    rank = len(sizes)
    strides = (ctypes.c_uint64 * max(1, rank - 1))(*tensor.data.strides[-2::-1])
    code = driver.cuTensorMapEncodeTiled(
        ctypes.c_void_p(start),
        BF16 if tensor.bf16 else TYPES[tensor.data.dtype],
        rank,
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * rank)(*sizes),
        strides,
        (ctypes.c_uint32 * rank)(*tensor.box),
        (ctypes.c_uint32 * rank)(*(tensor.steps or (1,) * rank)),
        0,
        SWIZZLES[tensor.swizzle],
        0,
        int(tensor.nan),
    )
    if code:
        raise SystemExit(f"cuTensorMapEncodeTiled gives {code} for {tensor.box}")
    return ctypes.string_at(start, 128)


def launched(module, case, idle):
    """Run a case and return its result."""
    import cupy

    given: list[Any] = []
    held = []
    result = None
    for number, value in enumerate(case.given):
        data = value.data if isinstance(value, TensorMap) else value
        if isinstance(data, np.ndarray):
            room = cupy.cuda.alloc(data.nbytes + 256)
            array = cupy.ndarray(data.shape, data.dtype, room)
            array.set(np.ascontiguousarray(data))
            held.append(array)
            if number == case.out_at:
                result = array
            if isinstance(value, TensorMap):
                array = cupy.asarray(np.frombuffer(encoded(value, array.data.ptr), np.uint8).copy())
                held.append(array)
            given.append(array)
        else:
            given.append(np.int32(case.idle.get(number, value) if idle else value))
    function = module.get_function(case.kernel)
    if case.shared > 48000:
        function.max_dynamic_shared_size_bytes = case.shared
    function((case.blocks,), (case.threads,), tuple(given), shared_mem=case.shared)
    cupy.cuda.runtime.deviceSynchronize()
    return result.get()


def run(labels, folder=None, *, twice=False):
    """Run the cases, each with and without what is measured where that is asked for."""
    import cupy

    module = cupy.RawModule(path=str(compiled()))
    for case in cases():
        if case.label not in labels:
            continue
        result = launched(module, case, False)
        if folder:
            np.save(folder / f"{labels.index(case.label)}.npy", result)
        if twice and case.idle:
            launched(module, case, True)


def results(path):
    """Write what the cases leave; a device that stops a kernel runs no other in this process."""
    labels = [case.label for case in cases()]
    folder, left, stopped = FOLDER / "left", {}, []
    folder.mkdir(parents=True, exist_ok=True)
    while labels:
        for file in folder.glob("*.npy"):
            file.unlink()
        done = subprocess.run([sys.executable, __file__, "some", *labels], capture_output=True, text=True)
        made = {label: folder / f"{number}.npy" for number, label in enumerate(labels)}
        left |= {label: np.load(file) for label, file in made.items() if file.exists()}
        labels = [label for label in labels if label not in left]
        if labels:
            reason = [line for line in done.stderr.splitlines() if "Error" in line]
            print("stopped:", labels[0], reason[:1], flush=True)
            stopped.append(labels.pop(0))
    np.savez_compressed(path, **left)
    path.with_suffix(".stopped").write_text("\n".join(stopped), encoding="utf-8")


def metrics():
    """Return what this GPU counts that could be of interest."""
    text = subprocess.run(["ncu", "--query-metrics"], check=True, capture_output=True, text=True).stdout
    names = [line.split()[0] for line in text.splitlines() if re.match(r"\w+__\w+ +Counter", line)]
    return [name + ".sum" for name in names if re.search(WORDS, name) and not name.startswith(("lts", "fbpa", "nvl"))]


def counted(path, labels):
    """Write the metrics of each case that differ from those of the same launch without what is measured."""
    wanted = metrics()
    print(len(wanted), "metrics", flush=True)
    command = ["ncu", "--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw"]
    command += ["--print-units", "base", "--metrics", ",".join(wanted)]
    command += [sys.executable, __file__, "twice", *labels]
    text = subprocess.run(command, capture_output=True, text=True)
    lines = text.stdout.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        print(text.stdout[-3000:], text.stderr[-3000:])
        raise SystemExit("ncu counted nothing")
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[start:]))))[1:]
    chosen = [case for case in cases() if not labels or case.label in labels]
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["label", "metric", "with", "without"])
        rest = iter(rows)
        for case in chosen:
            one = next(rest)
            other = next(rest) if case.idle else dict.fromkeys(one, "0")
            assert one["Kernel Name"].startswith(case.kernel), (one["Kernel Name"], case.label)
            for metric in wanted:
                if metric in one and one[metric] != other[metric]:
                    out.writerow([case.label, metric.removesuffix(".sum"), one[metric], other[metric]])


def main():
    what, *rest = sys.argv[1:]
    compiled()
    if what == "results":
        results(Path(rest[0]))
    elif what == "some":
        run(rest, FOLDER / "left")
    elif what == "twice":
        run(rest, twice=True)
    else:
        counted(Path(rest[0]), rest[1:])


main()
