"""Write kernels/recordings/h200/suggestions.json anew: after a change of a kernel file or of its recording.

    python tests/suggest/store_suggestions.py kernels/recordings/h200/suggestions.json

Each suggestion is verified in lockstep, and on the GPU where there is one; where there is none, what a GPU found of the
very same rewriting is kept. A rewritten kernel that is, word for word,
another kernel of its file has been recorded: what Nsight Compute counted of that one, and its time, are stored too.
"""

import ast
import json
import sys
from dataclasses import asdict
from pathlib import Path

from smemviz.engines.backend import chosen
from smemviz.frontends.reading import read_program
from smemviz.model.hardware.hardware import H200
from smemviz.recordings.file import load
from smemviz.reports.suggestions import answer_facts
from smemviz.suggest.answering import answer
from smemviz.suggest.rewrites import rewritten

FILES = ("transpose", "rectangle", "matmul", "square")
FOLDER = Path("kernels/recordings/h200")


def body(program, kernel):
    """Return what a kernel does, without its name and docstring."""
    return [ast.dump(node) for node in program.kernels[kernel].body[1:]]


def counted(launch, array):
    """Return what a GPU and Nsight Compute counted of the accesses to an array of a launch, and its time."""
    rows = [i for i, site in enumerate(launch.sites) if site.array == array]
    time = launch.time
    assert time is not None
    return {
        "kernel": launch.kernel,
        "wavefronts": sum(launch.summary()[i].wavefronts or 0 for i in rows),
        "ncu_wavefronts": sum(launch.hardware[i].wavefronts or 0 for i in rows),
        "median_us": time.median_us,
        "low_us": time.low_us,
        "high_us": time.high_us,
    }


def keep(earlier, suggestion):
    """Keep the counts and the time that a GPU gave for the same change of the same text."""
    if "gpu" in earlier["verified"] and "gpu" not in suggestion["verified"] and suggestion["verified"]:
        suggestion["verified"]["gpu"] = earlier["verified"]["gpu"]
        suggestion["time"] = earlier["time"]


def main(output):
    """Suggest for every file, verify, and write."""
    stored = json.loads(Path(output).read_text(encoding="utf-8"))["files"] if Path(output).exists() else []
    earlier = {(facts["sha256"], one["diff"]): one for facts in stored for one in facts["suggestions"]}
    files, device = [], None
    for name in FILES:
        recording, program = load(FOLDER / f"{name}.smem.npz"), read_program(f"kernels/{name}.py")
        assert recording.sha256 == program.sha256, f"{name}.py has changed since it was recorded"
        device = recording.device

        def measured(one, program=program, launched=recording):
            if one.rewrite is None:
                return None
            kernel = one.kernel
            changed = body(rewritten(program, (one.rewrite,)), kernel)
            same = (other for other in launched.launches if body(program, other.kernel) == changed)
            for other in same:
                if (other.grid, other.block) == (launched[kernel].grid, launched[kernel].block):
                    array = one.array.name
                    return {"before": counted(launched[kernel], array), "after": counted(other, array)}
            return None

        found = answer(recording, program, None, chosen("auto"), H200)
        facts = answer_facts(recording, found, found.notes)
        for one, suggestion in zip(found.suggested, facts["suggestions"], strict=True):
            suggestion["hardware"] = measured(one)
            if (facts["sha256"], suggestion["diff"]) in earlier:
                keep(earlier[facts["sha256"], suggestion["diff"]], suggestion)
        files.append({**facts, "file": program.file})
    assert device is not None
    text = json.dumps({"schema": 1, "device": asdict(device), "files": files}, indent=1)
    Path(output).write_text(f"{text}\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1])
