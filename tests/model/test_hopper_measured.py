"""What an H200 left and counted of Hopper's own instructions is what NumPy and the rules say."""

import csv
import hashlib
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
from helpers.hopper_cases import cases
from helpers.hopper_kernels import WIDTHS, swizzled
from helpers.hopper_results import expected

import smemviz

DATA = Path(__file__).parents[1] / "data" / "hopper"
LEFT = json.loads((DATA / "results.json").read_text(encoding="utf-8"))
COUNTED: dict[str, dict[str, int]] = defaultdict(dict)
with (DATA / "counters.csv").open(encoding="utf-8") as file:
    for row in csv.DictReader(file):
        COUNTED[row["launch"]][row["metric"]] = int(row["counted"])
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_"
ROWS = np.arange(32)


def test_the_gpu_left_what_numpy_says():
    compared = [case for case in cases() if case.label in LEFT and case.kernel != "addresses"]
    assert len(compared) == 96
    for case in compared:
        assert hashlib.sha256(expected(case).tobytes()).hexdigest()[:16] == LEFT[case.label], case.label


def test_a_store_below_zero_stopped_the_kernel():
    stopped = [case.label for case in cases() if case.label not in LEFT]
    assert len(stopped) == 4
    assert all("-8" in label and ("store" in label or "reduce" in label) for label in stopped)


def test_a_warp_group_reads_its_operands_without_conflicts():
    for label in [label for label in COUNTED if label.startswith("wgmma")]:
        kernel, width = label.split()
        of_a = 0 if kernel == "wgmma_registers" else 64 * 32
        of_b = (8 if kernel == "wgmma_n8" else 64) * 32
        counted = COUNTED[label]
        assert counted[WAVEFRONTS + "gmma"] == 4 * (of_a + of_b) // 128
        assert "l1tex__data_bank_conflicts_pipe_lsu_mem_shared" not in counted
        # The rule gives as many: four matrices of 8 rows of 16 bytes, with the swizzle of the name.
        pitch = int(width.removesuffix("B"))
        assert pitch in WIDTHS
        rows = np.arange(8)[None, :] * pitch + (np.arange(4) * 8 * pitch)[:, None]
        assert smemviz.wavefronts(swizzled(rows.reshape(32), pitch), width=16, op="wgmma") == 4


def test_stmatrix_costs_what_the_rule_says():
    for label in [label for label in COUNTED if label.startswith("stmatrix")]:
        name, stride = label.removeprefix("stmatrix_").replace("trans", "").split()
        ruled = smemviz.wavefronts(ROWS * int(stride), width=16, op=f"stmatrix_{name}")
        assert COUNTED[label][WAVEFRONTS + "st"] == ruled


def test_no_wavefronts_are_counted_of_bulk_copies_and_other_blocks():
    for label in [label for label in COUNTED if label.startswith(("bulk", "tensor", "multicast", "cluster"))]:
        counted = {metric.removeprefix(WAVEFRONTS): n for metric, n in COUNTED[label].items() if WAVEFRONTS in metric}
        if label.startswith("cluster 4"):  # its own memory, which is as ever
            assert counted["ld"] == 8 * smemviz.wavefronts(ROWS * int(label.split()[2]), width=4)
        else:
            assert counted in ({}, {"atom": 8}, {"misc": 1})
