"""The suggestions checked in for the H200, held against the recordings and against what is worked out now.

A rewritten kernel that the gallery has under another name was counted by Nsight Compute and timed there. When a kernel
file changes, ``store_suggestions.py`` writes them anew.
"""

import ast
import json

import pytest

from smemviz.engines import run
from smemviz.frontends.reading import read_program
from smemviz.model.hardware.hardware import H200
from smemviz.paths import kernels_dir
from smemviz.recordings.file import load
from smemviz.suggest.find import Suggestion, suggestions
from smemviz.suggest.rewrites import rewritten
from smemviz.suggest.verify import Verifier

FOLDER = kernels_dir() / "recordings" / "h200"
STORED = json.loads((FOLDER / "suggestions.json").read_text(encoding="utf-8"))
FILES = {facts["file"].removeprefix("kernels/"): facts for facts in STORED["files"]}
MEASURED = [(file, one) for file, facts in FILES.items() for one in facts["suggestions"] if one["hardware"]]


def body(program, kernel):
    """Return what a kernel does, without its name and docstring."""
    return [ast.dump(node) for node in program.kernels[kernel].body[1:]]


def test_the_transpose_the_product_and_the_rectangle_are_there_and_were_measured():
    assert STORED["device"]["name"] == "NVIDIA H200"
    assert {"transpose.py", "matmul.py", "rectangle.py"} <= {file for file, _ in MEASURED}


def test_rewritten_kernels_ran_on_the_gpu_with_the_wavefronts_promised_and_faster():
    ran = [(file, one) for file, facts in FILES.items() for one in facts["suggestions"] if "gpu" in one["verified"]]
    assert {(file, one["kernel"]) for file, one in ran} >= {
        ("transpose.py", "tile"),
        ("rectangle.py", "set_col_read_col"),
        ("rectangle.py", "set_row_read_col"),
        ("rectangle.py", "set_row_read_col_dyn"),
    }
    for _, one in ran:
        assert one["verified"]["gpu"] == {"wavefronts": one["predicted"], "problem": None, "notes": []}
        for launch in one["time"]:
            assert launch["after"]["high_us"] < launch["before"]["low_us"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("file", FILES)
def test_what_is_stored_is_what_is_found_now(file):
    program = read_program(kernels_dir() / file)
    assert program.sha256 == FILES[file]["sha256"]
    recording = run(program, engine="lockstep")
    found = [one for one in suggestions(recording, program) if isinstance(one, Suggestion)]
    keys = ("kernel", "array", "wavefronts", "predicted")
    now = [(one.kernel, one.array.name, one.before, one.after) for one in found]
    assert now == [tuple(one[key] for key in keys) for one in FILES[file]["suggestions"]]
    verifier = Verifier(program, recording, "lockstep", (), H200)
    for one, stored in zip(found, FILES[file]["suggestions"], strict=True):
        if one.rewrite:
            check = verifier.check([one])
            assert (check.problem, sum(check.counted)) == (None, stored["verified"]["lockstep"]["wavefronts"])
            counts = {(kept["problem"], kept["wavefronts"]) for kept in stored["verified"].values()}
            assert counts == {(None, stored["predicted"])}


@pytest.mark.parametrize(
    ("file", "one"), MEASURED, ids=lambda value: value if isinstance(value, str) else value["text"]
)
def test_the_hardware_counted_what_was_promised(file, one):
    recording, program = load(FOLDER / file.replace(".py", ".smem.npz")), read_program(kernels_dir() / file)
    found = suggestions(recording, program, one["kernel"])
    suggestion = next(x for x in found if isinstance(x, Suggestion) and x.rewrite and _kind(x) == one["layout"]["kind"])
    assert suggestion.rewrite is not None
    before, after = one["hardware"]["before"], one["hardware"]["after"]
    changed = rewritten(program, (suggestion.rewrite,))
    assert body(changed, one["kernel"]) == body(program, after["kernel"])
    for counted, promised in ((before, one["wavefronts"]), (after, one["predicted"])):
        launch = recording[counted["kernel"]]
        rows = [i for i, site in enumerate(launch.sites) if site.array == one["array"]]
        assert sum(launch.hardware[i].wavefronts or 0 for i in rows) == counted["ncu_wavefronts"] == promised
        assert sum(launch.summary()[i].wavefronts or 0 for i in rows) == counted["wavefronts"]
        assert launch.time.median_us == counted["median_us"]
    assert after["high_us"] < before["low_us"]  # faster, beyond its 95 % interval


def _kind(suggestion):
    return type(suggestion.layout).__name__.lower()
