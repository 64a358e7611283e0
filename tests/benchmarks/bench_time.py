"""`smemviz time` of the six square kernels, end to end, beside Nsight Compute on the same file in the same run.

Run on a machine with a GPU: ``python tests/benchmarks/bench_time.py``. Then ten repeats, and how far they lie apart.
"""

import csv
import json
import shutil
import subprocess
import sys
import time

import numpy as np

FILE = "kernels/square.py"
REPEATS = 10


def main():
    ours, seconds = timed([sys.executable, "-m", "smemviz", "time", FILE, "--json"])
    print(f"smemviz time {FILE}: {seconds:.1f} s")
    ncu = shutil.which("ncu")
    if ncu:
        options = ["--clock-control", "none", "--cache-control", "none", "--metrics", "gpu__time_duration.sum"]
        options += ["--print-units", "base", "--page", "raw", "--csv"]
        output, peer = timed([ncu, *options, sys.executable, FILE])
        print(f"ncu, one launch of each: {peer:.1f} s; smemviz takes {seconds / peer:.2f} times as long")
        rows = list(csv.reader(line for line in output.splitlines() if line.startswith('"')))
        column = rows[0].index("gpu__time_duration.sum")
        durations = [float(row[column].replace(",", "")) / 1000 for row in rows[2:]]
    else:
        print("ncu is not installed; no peer here")
        durations = []
    runs = [json.loads(ours)]
    runs += [
        json.loads(timed([sys.executable, "-m", "smemviz", "time", FILE, "--json"])[0]) for _ in range(REPEATS - 1)
    ]
    print(f"\n{'kernel':26}{'median us':>10}{'floor us':>10}{'spread %':>10}{'ncu us, one launch':>20}")
    for index, launch in enumerate(runs[0]["launches"]):
        medians = np.array([run["launches"][index]["time"]["median_us"] for run in runs])
        spread = 100 * (medians.max() - medians.min()) / np.median(medians)
        peer_time = f"{durations[index]:.3f}" if durations else "-"
        floor = launch["time"]["floor_us"]
        print(f"{launch['kernel']:26}{np.median(medians):10.3f}{floor:10.3f}{spread:10.2f}{peer_time:>20}")


def timed(command):
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout, time.perf_counter() - start


if __name__ == "__main__":
    main()
