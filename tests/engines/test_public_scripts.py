"""The table of public scripts: well formed, and what the page on recording says of it follows from it.

``result`` is what became of a script in lockstep: ``runs``; ``refused``, by lockstep alone; ``refused by numba too``;
``cannot run``, for it launches nothing by itself or lacks a package, a file or an argument; ``too long``, for it takes
over 25 seconds. ``size`` is ``smaller`` where the numbers on the host were made smaller first.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

RESULTS = {"runs", "refused", "refused by numba too", "cannot run", "too long"}


def rows() -> list[dict[str, str]]:
    with open("tests/data/scripts.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_row_names_a_file_of_a_public_repository_once() -> None:
    places = [(row["repository"], row["path"]) for row in rows()]
    assert len(places) == len(set(places)) >= 150
    for row in rows():
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", row["repository"])
        assert re.fullmatch(r"[0-9a-f]{40}", row["commit"])
        assert row["path"].endswith((".py", ".ipynb"))
        assert row["size"] in ("published", "smaller")


def test_every_row_has_a_result_and_what_does_not_run_a_cause() -> None:
    found = rows()
    assert {row["result"] for row in found} == RESULTS
    for row in found:
        assert row["cause"] or row["result"] in ("runs", "too long")


def test_what_numba_refuses_too_is_refused_with_those_words_or_for_its_signature() -> None:
    for row in rows():
        if row["result"] == "refused by numba too":
            assert re.search(r"Numba refuses|for Numba as well|is compiled for", row["cause"])


def test_the_share_that_runs_is_what_the_docs_say() -> None:
    found = Counter(row["result"] for row in rows())
    accepted = found["runs"] + found["refused"]
    assert found["runs"] / accepted >= 0.95
    repositories = len({row["repository"] for row in rows()})
    text = " ".join(Path("docs/how-to/record.md").read_text(encoding="utf-8").split())
    assert (
        f"Of {len(rows())} scripts and notebooks of {repositories} public repositories that use Numba for CUDA, "
        f"{accepted} launch kernels that Numba accepts and end in time; {found['runs']} of them run in lockstep"
    ) in text
