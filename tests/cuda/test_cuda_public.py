"""Kernels of public repositories that were run in lockstep and held against NumPy: facts, without their code."""

import csv
import re
from collections import Counter
from pathlib import Path

ROWS = list(
    csv.DictReader((Path(__file__).parents[1] / "data" / "public_kernels.csv").read_text(encoding="utf-8").splitlines())
)
RESULTS = ("right", "wrong", "refused")


def test_each_row_says_which_kernel_of_which_version_it_is_about():
    for row in ROWS:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", row["repository"])
        assert re.fullmatch(r"[0-9a-f]{40}", row["commit"])
        assert re.fullmatch(r"[^/].*\.cuh?", row["path"])
        assert row["kernel"]
        assert row["result"] in RESULTS
        assert row["result"] == "right" or row["note"]


def test_at_least_sixty_kernels_came_out_right_and_none_wrong():
    results = Counter(row["result"] for row in ROWS)
    assert results["right"] >= 60
    assert not results["wrong"]
    keys = [(row["repository"], row["path"], row["kernel"]) for row in ROWS]
    assert len(set(keys)) == len(keys)
    assert len({row["repository"] for row in ROWS}) >= 5
