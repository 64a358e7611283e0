"""What became of public programs: the figures that the documentation gives are those of the table."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path


def test_the_documentation_counts_the_programs_of_the_table() -> None:
    with open("tests/data/cu_programs.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    results = Counter(row["result"] for row in rows)
    longer = results["running"] + results["over"]
    sentence = (
        f"Of {len(rows)} public programs of {len({row['repository'] for row in rows})} repositories that use shared "
        f"memory, {results['end'] + longer} start and launch as they are: {results['end']} of them end"
    )
    text = " ".join(Path("docs/how-to/record.md").read_text(encoding="utf-8").split())
    assert sentence in text
    assert f"and {longer} take longer" in text
    assert f"{results['refused']} are refused" in text
    assert all(row["why"] for row in rows if row["result"] != "end")
