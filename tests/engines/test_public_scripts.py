"""The table of public scripts: well formed, and what the page on recording says of it follows from it.

``result`` is what became of a script in lockstep: ``runs``; ``refused``, by lockstep alone; ``refused by numba too``;
``cannot run``, for it launches nothing by itself or lacks a package, a file or an argument. ``size`` is ``smaller``
where it takes over 25 seconds of a processor and the numbers on the host were made smaller. ``sites`` are those of all
its launches; ``h200`` is whether requests, wavefronts and sectors of each were the same on an H200, or why not; both
are empty where it did not run there. Some that end in time ran there with smaller numbers, and ``sites`` are of these.
"""

import csv
import re
from collections import Counter
from pathlib import Path

RESULTS = {"runs", "refused", "refused by numba too", "cannot run"}
EQUAL = "equal"
APART = {
    "a warp splits after a loop",  # lanes that leave a loop in different rounds store one after the other there
    "fails there",
    "skipped there: out of bounds",
}


def rows():
    with open("tests/data/scripts.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_row_names_a_file_of_a_public_repository_once():
    places = [(row["repository"], row["path"]) for row in rows()]
    assert len(places) == len(set(places)) >= 150
    for row in rows():
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", row["repository"])
        assert re.fullmatch(r"[0-9a-f]{40}", row["commit"])
        assert row["path"].endswith((".py", ".ipynb"))
        assert row["size"] in ("published", "smaller")


def test_every_row_has_a_result_and_what_does_not_run_a_cause():
    found = rows()
    assert {row["result"] for row in found} == RESULTS
    for row in found:
        assert row["cause"] or row["result"] == "runs"


def test_what_numba_refuses_too_is_refused_with_those_words_or_for_its_signature():
    for row in rows():
        if row["result"] == "refused by numba too":
            assert re.search(r"Numba refuses|for Numba as well|is compiled for", row["cause"])


def test_every_script_that_ran_on_an_h200_has_the_sites_of_lockstep_or_a_reason():
    held = [row for row in rows() if row["h200"]]
    assert {row["h200"] for row in held} == APART | {EQUAL}
    assert all(row["sites"].isdecimal() and row["result"] == "runs" for row in held)
    assert sum(row["h200"] == EQUAL for row in held) >= 178


def test_the_share_that_runs_is_what_the_docs_say():
    found = Counter(row["result"] for row in rows())
    smaller = sum(row["size"] == "smaller" and row["result"] == "runs" for row in rows())
    accepted = found["runs"] + found["refused"]
    assert found["runs"] / accepted >= 0.95
    repositories = len({row["repository"] for row in rows()})
    held = [row for row in rows() if row["h200"]]
    equal = [int(row["sites"]) for row in held if row["h200"] == EQUAL]
    text = " ".join(Path("docs/explanation/what-runs.md").read_text(encoding="utf-8").split())
    assert (
        f"Of {len(rows())} scripts and notebooks of {repositories} public repositories that use Numba for CUDA, "
        f"{accepted} launch kernels that Numba accepts; {found['runs']} of them run in lockstep, {smaller} with "
        f"smaller numbers than theirs. {len(held)} of these ran on an H200 as well: in {len(equal)} both engines count "
        f"the same at each of {sum(equal):,} sites"
    ) in text
