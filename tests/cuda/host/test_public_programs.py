"""What became of public programs: the figures that the documentation gives are those of the table."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

ABSENT = {"library", "hardware", "header", "data", "arguments", "other source", "memory"}  # what is not there
NO_PROGRAM = {"not CUDA", "unfinished", "removed"}  # nvcc of CUDA 13 compiles none of these


def test_the_documentation_counts_the_programs_of_the_table() -> None:
    with open("tests/data/cu_programs.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 100
    assert {row["half"] for row in rows} == {"seen", "held out"}
    assert all((row["kind"] == "") == (row["result"] == "end") for row in rows)
    assert all((row["kind"] == "slow") == (row["result"] == "over") for row in rows)
    text = " ".join(Path("docs/how-to/record.md").read_text(encoding="utf-8").split())
    repositories = len({row["repository"] for row in rows})
    assert f"{len(rows)} public programs of {repositories} repositories" in text
    for half in ("seen", "held out"):
        of_half = [row for row in rows if row["half"] == half]
        kinds = Counter(row["kind"] for row in of_half)
        absent, none = sum(kinds[kind] for kind in ABSENT), sum(kinds[kind] for kind in NO_PROGRAM)
        others = sum(kinds.values()) - kinds[""] - kinds["slow"] - absent - none
        line = f"| {half} | {len(of_half)} | {kinds['']} | {kinds['slow']} | {absent} | {none} | {others} |"
        assert line in text
    slow = [row["on_gpu"] for row in rows if row["kind"] == "slow"]
    assert all(row["on_gpu"] == "" for row in rows if row["kind"] != "slow")
    tried, same, end = len(slow) - slow.count(""), slow.count("same"), slow.count("same") + slow.count("end")
    assert (
        f"Of the {len(slow)} that take longer, {tried} were run on an H200 too, in 100 seconds each: {end} end," in text
    )
    assert f"and {same} of them were held against what nvcc makes of them, which prints the same but for times." in text
