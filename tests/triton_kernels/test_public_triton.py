"""The table of public scripts with kernels of Triton, and what the documentation says of it.

``result`` is what became of a script in lockstep: ``ends``, ``over`` (its ``cause`` is time or memory), ``refused``, or
``fails itself``. ``launches`` are those of the whole run. Of these, ``held`` were made on an H200 too, from the same
PTX with the same arguments, ``requests`` in all; ``h200`` says whether each access had the same requests, wavefronts
and sectors.
"""

import csv
import re
from collections import Counter
from pathlib import Path


def test_the_documentation_counts_the_scripts_of_the_table():
    with open("tests/data/triton_scripts.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({(row["repository"], row["path"]) for row in rows}) == len(rows)
    for row in rows:
        assert re.fullmatch(r"[0-9a-f]{40}", row["commit"])
        assert (row["result"] == "ends") == (row["cause"] == "") == row["launches"].isdecimal()
        assert bool(row["h200"]) == row["held"].isdecimal() == row["requests"].isdecimal()
    text = " ".join(Path("docs/explanation/what-runs.md").read_text(encoding="utf-8").split())
    assert f"{len(rows)} public scripts of {len({row['repository'] for row in rows})} repositories, Triton's" in text
    kinds = Counter(row["cause"] if row["result"] == "over" else row["result"] for row in rows)
    words = {
        "ends": "end, and no check of theirs fails",
        "slow": "take longer",
        "memory": "needs more memory",
        "fails itself": "fails by itself",
    }
    assert kinds.keys() == words.keys()
    assert all(f"| {kinds[kind]} | {said}" in text for kind, said in words.items())
    held = [row for row in rows if row["h200"] == "equal"]
    assert len(held) == sum(bool(row["h200"]) for row in rows)
    launches, requests = (sum(int(row[name]) for row in held) for name in ("held", "requests"))
    assert f"{launches} launches of {len(held)} of them were made on an H200 from the same PTX" in text
    assert f"In all {launches}, requests, wavefronts and sectors" in text
    assert f"{requests:,} requests in all" in text
